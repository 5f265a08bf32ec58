import Foundation
import LMDB
import TestSupport
import Testing

@testable import ColumnFormat
@testable import HealthKV

/// What can be saved of a damaged sealed store is saved with its key, and nothing that others put into it.
@Suite("Repair of sealed stores") struct SealedRepairTests {
    private static let word = "CANARY"
    private let folder = TemporaryFolder()
    private var old: String { folder.path + "/old" }
    private var new: String { folder.path + "/new" }

    private func options(_ key: UInt64? = 1) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.sealer = key.map { TestCipher(key: $0) }
        options.maintainsWhenIdle = false
        options.limits.ignoresPlace = true
        // Several pages of each table.
        options.limits.chunkBytes = 600
        return options
    }

    private func repairOptions(_ key: UInt64? = 1) -> RepairOptions {
        var options = RepairOptions()
        options.sealer = key.map { TestCipher(key: $0) }
        return options
    }

    /// Makes a store with steps, weights with texts and deletions, and returns its samples.
    ///
    /// - Parameter ended: whether the store looks as after a kill: the last commits are in its journal.
    private func makeStore(_ key: UInt64? = 1, ended: Bool = false) throws -> [SampleID: Double] {
        var options = options(key)
        if !ended { options.limits.journaledCommits = 0 }
        let store = try SampleStore.open(at: old, options: options)
        let source = Source(bundle: "org.example.\(Self.word)", name: Self.word)
        let starts = (0..<300).map { Instant.day(0, $0 * 60) }
        let steps = starts.map { Sample(.stepCount, 7, .count, from: $0, to: $0 + 1, source: source) }
        try store.write { txn in for sample in steps { try txn.save(sample) } }
        try store.write { txn in for sample in steps.prefix(20) { try txn.delete(id: sample.id) } }
        // Each of these goes into the journal, if there is one.
        for day in 1...12 {
            try store.save(
                Sample(
                    .bodyMass, Double(40 + day), .kilogram, at: .day(day), source: source,
                    metadata: ["note": .string("\(Self.word) \(day)")]))
        }
        let values = try values(in: store)
        let copies = ["data.mdb", "data.journal"].filter { _ in ended }.map { (old + "/" + $0, folder.path + "/" + $0) }
        for (path, copy) in copies { try FileManager.default.copyItem(atPath: path, toPath: copy) }
        try store.close()
        for (path, copy) in copies {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: copy, toPath: path)
        }
        return values
    }

    private func values(in store: SampleStore) throws -> [SampleID: Double] {
        try store.read { txn in
            try [SampleType.stepCount, .bodyMass].reduce(into: [:]) { values, type in
                for sample in try txn.samples(SampleQuery(type, includeShadowed: true)) {
                    values[sample.id] = sample.quantity.value
                }
            }
        }
    }

    /// Returns the samples of the new store, which opens with its key only and shows nothing without it.
    private func values(_ key: UInt64 = 1) throws -> [SampleID: Double] {
        expectError(.wrongKey) { try SampleStore.open(at: new, options: options(nil)) }
        expectError(.wrongKey) { try SampleStore.open(at: new, options: options(key + 1)) }
        for name in try FileManager.default.contentsOfDirectory(atPath: new) {
            #expect(try bytes(new + "/" + name).range(of: Data(Self.word.utf8)) == nil, "\(name)")
        }
        let store = try SampleStore.open(at: new, options: options(key))
        defer { try? store.close() }
        try store.expectClean()
        return try values(in: store)
    }

    @Test(
        "The commits in the journal of a sealed store are back, also where header and copy are lost, but no forged one")
    func journaled() throws {
        let known = try makeStore(ended: true)
        #expect(known.values.contains(52))
        let whole = try [UInt8](bytes(old + "/data.mdb"))
        let report = try SampleStore.repair(at: old, to: new, options: repairOptions())
        #expect(!report.isLossy, "\(report.findings)")
        #expect(try values() == known)
        // The frames name the store, too.
        try replace(without(identityOf: whole))
        _ = try SampleStore.repair(at: old, to: new, options: repairOptions())
        #expect(try values().allSatisfy { known[$0.key] == $0.value })
        // A frame of somebody else, under right checksums, ends the journal and is told.
        try replace(whole)
        try forgeJournal()
        let forged = try SampleStore.repair(at: old, to: new, options: repairOptions())
        #expect(forged.commitsLost > 0)
        #expect(try values().allSatisfy { known[$0.key] == $0.value })
    }

    /// Seals a value in the first frame of the journal with another key, and makes the checksums right: a change of
    /// somebody without the key.
    private func forgeJournal() throws {
        let url = URL(fileURLWithPath: old + "/data.journal")
        var file = try [UInt8](Data(contentsOf: url))
        let count = Int(file.rawBytes.word(16))
        var frame = Array(file[..<count])
        // The last value of the frame, which is sealed: its last byte is of the cipher.
        var place = Journal.head
        var last = 0..<0
        while place + 7 <= frame.count, TableCode(rawValue: frame[place]) != nil {
            let key = Int(frame[place + 1]) | Int(frame[place + 2]) << 8
            let value = (0..<4).reduce(0) { $0 | Int(frame[place + 3 + $1]) << (8 * $1) }
            place += 7 + key
            if value == Int(UInt32.max) { continue }
            if SealedValue.isSealed(Array(frame[place..<place + value]).rawBytes) {
                last = place..<place + value
            }
            place += value
        }
        #expect(!last.isEmpty)
        let id = try #require(try storeID())
        let value = Array(frame[last])
        let content = try #require(try SealedBodies(TestCipher(key: 1), of: id).opened(value.rawBytes))
        let sealed = try #require(try SealedBodies(TestCipher(key: 2), of: id).seal(content.rawBytes))
        #expect(sealed.count == last.count)
        frame.replaceSubrange(last, with: sealed)
        let sum = Checksum.hash(frame, 8..<frame.count)
        for byte in 0..<8 { frame[byte] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * byte)) }
        file.replaceSubrange(..<count, with: frame)
        try Data(file).write(to: url)
    }

    private func storeID() throws -> SampleID? {
        let journal = try JournalFile.open(old + "/data.journal", readOnly: true)
        return journal.flatMap { Journal.storeID(in: $0) }
    }

    /// Takes every page that holds the header or its copy, of any state.
    private func without(identityOf whole: [UInt8]) -> [UInt8] {
        var damaged = whole
        for page in 2..<whole.count / DataPages.size {
            let place = page * DataPages.size..<(page + 1) * DataPages.size
            let copy = Data([TableCode.upkeep.rawValue, FormatVersion.current])
            let page = Data(whole[place])
            guard page.range(of: Data("header".utf8)) != nil || page.range(of: copy) != nil else { continue }
            for offset in place { damaged[offset] = 0 }
        }
        return damaged
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func replace(_ bytes: [UInt8]) throws {
        try? FileManager.default.removeItem(atPath: new)
        try Data(bytes).write(to: URL(fileURLWithPath: old + "/data.mdb"))
    }

    @Test("A sound sealed store is repaired to one that holds the same") func sound() throws {
        let known = try makeStore()
        let report = try SampleStore.repair(at: old, to: new, options: repairOptions())
        #expect(report.isSound && !report.isLossy && report.check.isClean, "\(report.findings)")
        #expect(try values() == known)
        let again = try SampleStore.repair(at: new, to: folder.path + "/again", options: repairOptions())
        #expect(again.isSound)
    }

    @Test("Without any one page of a sealed store everything else is back, and nothing is invented")
    func pages() throws {
        let known = try makeStore()
        let whole = try [UInt8](bytes(old + "/data.mdb"))
        var lossy = 0
        for page in 0..<whole.count / DataPages.size {
            var damaged = whole
            DataPages.zero(&damaged) { $0 == page }
            try replace(damaged)
            let report = try SampleStore.repair(at: old, to: new, options: repairOptions())
            let found = try values()
            #expect(report.check.isClean, "page \(page)")
            let (own, nameless) = (found.filter { known[$0.key] != nil }, found.filter { known[$0.key] == nil })
            #expect(own.allSatisfy { known[$0.key] == $0.value }, "page \(page)")
            // Samples whose ids are lost have new ones.
            let told = report.identitiesLost.reduce(0) { $0 + ($1.samples ?? 0) }
            #expect(nameless.count == told, "page \(page): \(nameless.count) of \(told)")
            // No page holds more than a tenth of the samples.
            #expect(found.count > known.count * 9 / 10, "page \(page): \(found.count) of \(known.count)")
            #expect(found.count == known.count || report.isLossy, "page \(page): \(report)")
            if report.isLossy { lossy += 1 }
        }
        #expect(lossy > 5)
    }

    @Test("Without metas or without branches, and with any one wrong bit, all samples of a sealed store are back")
    func treesAndBits() throws {
        let known = try makeStore()
        let whole = try [UInt8](bytes(old + "/data.mdb"))
        var damaged = whole
        for takesMetas in [true, false] {
            damaged = whole
            DataPages.zero(&damaged) { takesMetas ? $0 < 2 : DataPages.isBranch(whole, $0) }
            try replace(damaged)
            _ = try SampleStore.repair(at: old, to: new, options: repairOptions())
            #expect(try values() == known)
        }
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            damaged = whole
            let bit = generator.number(0..<8 * whole.count)
            damaged[bit / 8] ^= 1 << (bit % 8)
            try replace(damaged)
            let report = try SampleStore.repair(at: old, to: new, options: repairOptions())
            #expect(try !report.isLossy && values() == known, "bit \(bit) of seed \(seed): \(report.findings)")
        }
    }

    @Test("With another key, none, or one for a store that is not sealed nothing is made")
    func keys() throws {
        _ = try makeStore()
        let whole = try [UInt8](bytes(old + "/data.mdb"))
        var withoutTrees = whole
        DataPages.zeroTrees(&withoutTrees)
        for file in [whole, withoutTrees] {
            try replace(file)
            for wrong in [nil, 2] as [UInt64?] {
                let error = expectError(.wrongKey) {
                    try SampleStore.repair(at: old, to: new, options: repairOptions(wrong))
                }
                #expect(String(describing: error).contains("Nothing was changed"))
                #expect(FileSystem.size(of: new) == nil)
            }
            #expect(try [UInt8](bytes(old + "/data.mdb")) == file)
        }
        try FileManager.default.removeItem(atPath: old)
        _ = try makeStore(nil)
        expectError(.wrongKey) { try SampleStore.repair(at: old, to: new, options: repairOptions()) }
        let error = expectError(.damaged) {
            try replace([UInt8](repeating: 0, count: whole.count))
            _ = try SampleStore.repair(at: old, to: new, options: repairOptions())
        }
        #expect(String(describing: error).contains("Nothing can be saved"))
    }

    @Test("A repair takes nothing that somebody without the key put into the file, nor an identity of his")
    func forged() throws {
        let known = try makeStore()
        let whole = try [UInt8](bytes(old + "/data.mdb"))
        for forger in [nil, 2] as [UInt64?] {
            try replace(whole)
            try forge(forger)
            let report = try SampleStore.repair(at: old, to: new, options: repairOptions())
            // Older states of the chunks may still be in the file. What is taken of them is the store's own.
            #expect(!report.isSound && report.findings.contains { $0.contains("chunks") }, "\(report.findings)")
            #expect(try values().allSatisfy { known[$0.key] == $0.value })
        }
        try replace(whole)
        try RawStore.change(old) { transaction, tables, header in
            header.storeID = SampleID()
            header.transaction = UInt64(transaction.id)
            try transaction.put(tables[.meta], StoreHeader.key, header.value)
        }
        _ = try SampleStore.repair(at: old, to: new, options: repairOptions())
        #expect(try values() == known)
    }

    @Test("The same forgery gets into a store that is not sealed: checksums are no signatures") func forgedOpenly()
        throws
    {
        let known = try makeStore(nil)
        try forge(nil, isSealed: false)
        _ = try SampleStore.repair(at: old, to: new)
        let store = try SampleStore.open(at: new, options: options(nil))
        defer { try? store.close() }
        #expect(try values(in: store) != known)
    }

    /// Returns a chunk with other values, whose checksums are right.
    private func forgery(_ value: [UInt8]) throws -> [UInt8] {
        let stored = try StoredValue(value.rawBytes, table: .chunks)
        guard let column = try stored.column(ColumnTag.value.rawValue) else { return value }
        var body = Array(value[stored.body..<stored.end])
        body[column.upperBound - 1 - stored.body] ^= 1
        var writer = ByteWriter(reserving: value.count)
        writer.bytes = Array(value[..<stored.blockSums])
        StoredValue.append(body, to: &writer, stored.blockShift)
        return writer.bytes
    }

    /// Replaces all chunks by others: those of somebody without the key.
    private func forge(_ key: UInt64?, isSealed: Bool = true) throws {
        try RawStore.change(old) { transaction, tables, header in
            let own = isSealed ? SealedBodies(TestCipher(key: 1), of: header.storeID) : nil
            var values: [([UInt8], [UInt8])] = []
            do {
                var cursor = try transaction.view.cursor(tables[.chunks])
                while try cursor.next() {
                    let value = own?.open(cursor.value) ?? cursor.value.copied()
                    values.append((cursor.key.copied(), value))
                }
            }
            let forger = key.map { SealedBodies(TestCipher(key: $0), of: header.storeID) }
            for (key, value) in values {
                let other = try forgery(value)
                try transaction.put(tables[.chunks], key, try forger?.seal(other.rawBytes) ?? other)
            }
            header.transaction = UInt64(transaction.id)
            try transaction.put(tables[.meta], StoreHeader.key, header.value)
        }
    }

    @Test("Where the header and its copy are lost, a repair says that nothing can be opened")
    func withoutIdentity() throws {
        _ = try makeStore()
        // The attribute beside the file names the store, too, so it is another file.
        let damaged = try without(identityOf: [UInt8](bytes(old + "/data.mdb")))
        try FileManager.default.removeItem(atPath: old + "/data.mdb")
        try replace(damaged)
        let error = expectError(.damaged) { try SampleStore.repair(at: old, to: new, options: repairOptions()) }
        #expect(String(describing: error).contains("identity"))
        #expect(FileSystem.size(of: new) == nil)
    }
}
