import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// What can be saved of a damaged store is saved, and nothing else.
@Suite("Repair")
struct RepairTests {
    private static let pageSize = DataPages.size

    private func makeStore(_ folder: String) throws -> [SampleID: Double] {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: folder, options: options)
        var values: [SampleID: Double] = [:]
        for round in 0..<6 {
            let samples = (0..<400).map { index in
                Sample(
                    .stepCount, Double(index + 1), .count, from: .day(round + 1) + Int64(index) * 60_000_000_000,
                    to: .day(round + 1) + Int64(index) * 60_000_000_000 + 1, source: Source(bundle: "a", name: "A"))
            }
            try store.write { txn in for sample in samples { try txn.save(sample) } }
            for sample in samples { values[sample.id] = sample.quantity.value }
        }
        let gone = values.keys.sorted().prefix(30)
        try store.write { txn in for id in gone { try txn.delete(id: id) } }
        for id in gone { values[id] = nil }
        try store.close()
        return values
    }

    private func values(_ folder: String) throws -> [SampleID: Double] {
        var options = SampleStore.Options()
        (options.readOnly, options.createIfMissing) = (true, false)
        let store = try SampleStore.open(at: folder, options: options)
        defer { try? store.close() }
        let samples = try store.read { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)) }
        return Dictionary(uniqueKeysWithValues: samples.map { ($0.id, $0.quantity.value) })
    }

    private func starts(_ folder: String) throws -> Set<Instant> {
        var options = SampleStore.Options()
        (options.readOnly, options.createIfMissing) = (true, false)
        let store = try SampleStore.open(at: folder, options: options)
        defer { try? store.close() }
        return try Set(store.read { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)) }.map(\.start))
    }

    private func damage(_ folder: String, _ change: (inout Data) -> Void) throws {
        let url = URL(fileURLWithPath: folder + "/data.mdb")
        var bytes = try Data(contentsOf: url)
        change(&bytes)
        try bytes.write(to: url)
    }

    /// Puts a sound file in place, with one page zeroed.
    private func zero(_ page: Int, of whole: Data, in folder: String) throws {
        var bytes = [UInt8](whole)
        DataPages.zero(&bytes) { $0 == page }
        try Data(bytes).write(to: URL(fileURLWithPath: folder + "/data.mdb"))
    }

    private func damagePages(_ folder: String, _ change: (inout [UInt8]) -> Void) throws {
        try damage(folder) { data in
            var bytes = [UInt8](data)
            change(&bytes)
            data = Data(bytes)
        }
    }

    @Test("Without both meta pages every sample is back, and a second repair finds a sound store") func metas() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        do {
            let known = try makeStore(place + "/a")
            try damage(place + "/a") { $0.replaceSubrange(0..<2 * Self.pageSize, with: Data(count: 2 * Self.pageSize)) }
            let before = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
            let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
            #expect(!report.isSound && !report.isLossy && report.check.isClean)
            #expect(try values(place + "/b") == known)
            #expect(try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb")) == before)
            let again = try SampleStore.repair(at: place + "/b", to: place + "/c")
            #expect(again.isSound)
            #expect(try values(place + "/c") == known)
        }
    }

    @Test("Any wrong bit in the number of a meta page's transaction loses nothing") func transactions() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        let known = try makeStore(place + "/a")
        let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
        for bit in 0..<128 {
            // Behind the head of the page and the fields of the meta.
            let byte = bit / 64 * Self.pageSize + 144 + bit % 64 / 8
            try damage(place + "/a") { bytes in
                bytes = whole
                bytes[byte] ^= 1 << UInt8(bit % 8)
            }
            let report = try SampleStore.repair(at: place + "/a", to: place + "/n\(bit)")
            #expect(!report.isLossy && report.transactionsLost == 0 && report.check.isClean, "bit \(bit)")
            #expect(try values(place + "/n\(bit)") == known, "bit \(bit)")
            try FileManager.default.removeItem(atPath: place + "/n\(bit)")
        }
    }

    @Test("Samples whose ids are lost stay under new ids, and in a store with peers only on request")
    func nameless() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        for hasPeers in [false, true] {
            let old = place + "/old\(hasPeers)"
            let known = try makeStore(old)
            if hasPeers {
                let store = try SampleStore.open(at: old)
                try store.write { try $0.setPeer(RegisteredPeer(id: "hub", registered: .now, lastSeen: .now)) }
                try store.close()
            }
            let whole = try Data(contentsOf: URL(fileURLWithPath: old + "/data.mdb"))
            var count = 0
            for page in stride(from: 2 + Int.random(in: 0..<3), to: whole.count / Self.pageSize, by: 3) {
                try damage(old) { bytes in
                    bytes = whole
                    let begin = page * Self.pageSize
                    bytes.replaceSubrange(begin..<begin + Self.pageSize, with: Data(count: Self.pageSize))
                }
                let report = try SampleStore.repair(at: old, to: place + "/new\(hasPeers)\(page)")
                let lost = report.identitiesLost.reduce(0) { $0 + ($1.samples ?? 0) }
                #expect(report.detailsLost == report.identitiesLost)
                guard lost > 0 else { continue }
                count += 1
                let found = try values(place + "/new\(hasPeers)\(page)")
                #expect(report.isLossy && report.check.isClean && report.keepsNameless != hasPeers)
                #expect(
                    found.count == known.count - (hasPeers ? lost : 0), "page \(page): \(lost), \(report.lost)")
                #expect(found.count { known[$0.key] == nil } == (hasPeers ? 0 : lost), "page \(page)")
                let isSame = found.values.sorted() == known.values.sorted()
                #expect(isSame != hasPeers, "page \(page)")
                var options = RepairOptions()
                options.includesDoubtful = true
                let all = place + "/all\(hasPeers)\(page)"
                _ = try SampleStore.repair(at: old, to: all, options: options)
                let isAll = try values(all).values.sorted() == known.values.sorted()
                #expect(isAll, "page \(page)")
            }
            #expect(count > 0)
        }
    }

    @Test("A page that is lost while a deletion of a range is under way brings nothing of it back")
    func removalUnderWay() throws {
        let folder = TemporaryFolder()
        let (old, place) = (folder.path + "/old", folder.path)
        _ = try makeStore(old)
        var options = SampleStore.Options()
        (options.maintainsWhenIdle, options.limits.removedAtOnce) = (false, 10)
        let store = try SampleStore.open(at: old, options: options)
        let removed = try store.write { try $0.delete(.range(of: .stepCount, from: .day(2), to: .day(5))) }
        #expect(removed > 1_000)
        #expect(try store.info().unfinished == 1)
        try store.write { try $0.save(Sample(.stepCount, 1, .count, from: .day(3) + 5, to: .day(3) + 6)) }
        try store.close()
        let known = try starts(old)
        let whole = try Data(contentsOf: URL(fileURLWithPath: old + "/data.mdb"))
        var nameless = 0
        for page in 2..<whole.count / Self.pageSize {
            try damage(old) { bytes in
                bytes = whole
                let begin = page * Self.pageSize
                bytes.replaceSubrange(begin..<begin + Self.pageSize, with: Data(count: Self.pageSize))
            }
            let new = place + "/new\(page)"
            let report = try SampleStore.repair(at: old, to: new)
            let found = try starts(new)
            #expect(found.isSubset(of: known) && report.check.isClean, "page \(page)")
            #expect(found == known || report.isLossy, "page \(page)")
            nameless += report.identitiesLost.isEmpty ? 0 : 1
            try FileManager.default.removeItem(atPath: new)
        }
        #expect(nameless > 0)
    }

    @Test("An interrupted import starts over in a store that lost something, and only there") func importPosition()
        throws
    {
        let folder = TemporaryFolder()
        let place = folder.path
        _ = try makeStore(place + "/a")
        let store = try SampleStore.open(at: place + "/a")
        try store.write { for _ in 0..<3 { try $0.countBatch(of: "history") } }
        try store.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
        func position(_ folder: String) throws -> Int {
            let store = try SampleStore.open(at: folder)
            defer { try? store.close() }
            return try store.importPosition(of: "history")
        }
        var (kept, dropped) = (0, 0)
        for page in stride(from: 2, to: whole.count / Self.pageSize, by: 4) {
            try zero(page, of: whole, in: place + "/a")
            let new = place + "/n\(page)"
            let report = try SampleStore.repair(at: place + "/a", to: new)
            let found = try position(new)
            #expect(found == 0 || found == 3 && !report.isLossy, "page \(page)")
            if report.isLossy { dropped += 1 } else if found == 3 { kept += 1 }
        }
        #expect(kept > 0 && dropped > 0, "kept \(kept), dropped \(dropped)")
    }

    @Test("With any page zeroed nothing is invented or comes back, and what is lost is told") func pages() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        do {
            let known = try makeStore(place + "/a")
            let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
            let seed = UInt64.random(in: 0 ... .max)
            print("seed \(seed)")
            var random = SeededGenerator(seed: seed, part: 0)
            for round in 0..<12 {
                let page = random.number(2..<whole.count / Self.pageSize)
                try zero(page, of: whole, in: place + "/a")
                let new = place + "/n\(round)"
                let report = try SampleStore.repair(at: place + "/a", to: new)
                let found = try values(new)
                #expect(report.check.isClean, "seed \(seed), page \(page)")
                let renamed = report.identitiesLost.reduce(0) { $0 + ($1.samples ?? 0) }
                #expect(found.count { known[$0.key] != $0.value } == renamed, "seed \(seed), page \(page)")
                #expect(found.count == known.count || report.isLossy, "seed \(seed), page \(page)")
            }
        }
    }

    @Test("Without metas and branch pages the newest state is repaired, not the whole but empty one of the beginning")
    func noTree() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        let known = try makeStore(place + "/a")
        try damagePages(place + "/a") { DataPages.zeroTrees(&$0) }
        let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
        #expect(report.check.isClean && report.transactionsLost == 0)
        let found = try values(place + "/b")
        #expect(found == known, "\(found.count) of \(known.count): \(report.findings)")
    }

    @Test("Any wrong bit in what a page says of its entries loses none of them") func entryList() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: place + "/first", options: options)
        for day in 1...20 {
            let sample = Sample(.stepCount, Double(day), .count, from: .day(day), to: .day(day) + 1)
            try store.write { _ = try $0.save(sample) }
        }
        try store.setShadowing(of: .stepCount, true)
        // No page of an older state is left in a compacted copy.
        try store.compact(to: place + "/a")
        try store.close()
        let known = try values(place + "/a")
        var pages: [Int] = []
        try PageListing.read(place + "/a", meta: nil) { list in
            try list.forEachPage { page in
                if page.table == "upkeep" { pages.append(Int(page.number)) }
                return true
            }
        }
        let page = try #require(pages.first) * Self.pageSize
        let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
        // The header's flags and its limits of the list; then the list, of two bytes an entry.
        let end = Int(whole[page + 12]) | Int(whole[page + 13]) << 8
        #expect(end > 16 && pages.count == 1)
        for byte in 10..<end {
            for bit in 0..<8 {
                try damage(place + "/a") { bytes in
                    bytes = whole
                    bytes[page + byte] ^= 1 << UInt8(bit)
                }
                let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
                #expect(!report.isLossy && report.check.isClean, "bit \(bit) of byte \(byte): \(report.recordsLost)")
                #expect(try values(place + "/b") == known, "bit \(bit) of byte \(byte)")
                try FileManager.default.removeItem(atPath: place + "/b")
            }
        }
    }

    @Test("A wrong bit that marks a value as the record of a table does not lose the value") func markedValues() throws
    {
        let folder = TemporaryFolder()
        let place = folder.path
        let known = try makeStore(place + "/a")
        let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
        func word(_ offset: Int) -> Int { Int(whole[offset]) | Int(whole[offset + 1]) << 8 }
        var marks: [Int] = []
        for page in 2..<whole.count / Self.pageSize where word(page * Self.pageSize + 10) == 2 {
            let begin = page * Self.pageSize
            // A later page of a long value may begin with anything.
            guard word(begin) == page, word(begin + 12) >= 16 else { continue }
            let entries = (0..<(word(begin + 12) - 16) / 2).map { begin + word(begin + 16 + 2 * $0) }
            // Not the records of tables themselves.
            marks += entries.filter { word($0 + 4) & 2 == 0 }.map { $0 + 4 }
        }
        try #require(marks.count > 20)
        var random = SeededGenerator()
        for mark in marks.shuffled(using: &random).prefix(40) {
            try damage(place + "/a") { bytes in
                bytes = whole
                bytes[mark] ^= 2
            }
            let report = try SampleStore.repair(at: place + "/a", to: place + "/n\(mark)")
            #expect(!report.isLossy && report.check.isClean, "byte \(mark): \(report.recordsLost) \(report.lost)")
            #expect(try values(place + "/n\(mark)") == known, "byte \(mark)")
        }
    }

    @Test("A wrong bit in the header of a long value is damage for a repair as for a check, and loses nothing")
    func headersOfLongValues() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        let known = try makeStore(place + "/a")
        let whole = try Data(contentsOf: URL(fileURLWithPath: place + "/a/data.mdb"))
        var pages: [String: Int] = [:]
        try PageListing.read(place + "/a", meta: nil) { list in
            try list.forEachPage { page in
                // Later pages of a value have no entries.
                if page.kind == .overflow, page.state == .used, page.entries != nil, let table = page.table {
                    pages[table] = Int(page.number)
                }
                return true
            }
        }
        try #require(!pages.isEmpty)
        let before = try SampleStore.check(at: place + "/a")
        #expect(before.isClean)
        // The number of the page, its flags, and its number of pages.
        let bits = [0, 40, 63, 80, 82, 88, 96, 97, 99, 104, 112, 127]
        for (table, page) in pages.sorted(by: { $0.key < $1.key }) {
            for bit in bits {
                try damage(place + "/a") { bytes in
                    bytes = whole
                    bytes[page * Self.pageSize + bit / 8] ^= 1 << UInt8(bit % 8)
                }
                let check = try SampleStore.check(at: place + "/a")
                let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
                #expect(!check.isClean && !report.isSound, "\(table), bit \(bit)")
                #expect(!report.isLossy && report.check.isClean, "\(table), bit \(bit): \(report.findings)")
                #expect(try values(place + "/b") == known, "\(table), bit \(bit)")
                try FileManager.default.removeItem(atPath: place + "/b")
            }
        }
    }

    @Test("Without the page of the header its copy brings identity, queue, ranking and shadowing back") func header()
        throws
    {
        let folder = TemporaryFolder()
        let place = folder.path
        var known = try makeStore(place + "/first")
        let id = try #require(known.keys.sorted().first)
        let order = [RankedSource(SourceIdentity(bundle: "b", name: "B"), isUserEntered: nil)]
        do {
            let store = try SampleStore.open(at: place + "/first")
            defer { try? store.close() }
            try store.write { txn in
                try txn.setPriority(order, of: .stepCount)
                _ = try txn.enqueue(PendingOperation(peer: "p", kind: .save, sample: id, version: 1), of: .stepCount)
            }
            try store.setShadowing(of: .stepCount, true)
            // No page of an older state is left in a compacted copy.
            try store.compact(to: place + "/a")
        }
        let before = try #require(try PageListing.header(of: place + "/a"))
        var pages: Set<Int> = []
        try PageListing.read(place + "/a", meta: nil) { list in
            try list.forEachPage { page in
                if page.table == "meta" { pages.insert(Int(page.number)) }
                return true
            }
        }
        #expect(pages.count == 1)
        try damagePages(place + "/a") { DataPages.zero(&$0) { pages.contains($0) } }
        let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
        #expect(report.check.isClean && report.lost.isEmpty && report.pending == 1, "\(report)")
        #expect(report.recordsLost["pending"] == nil && report.recordsLost["peers"] == nil)
        let after = try #require(try PageListing.header(of: place + "/b"))
        #expect(after.storeID == before.storeID && after.epoch != before.epoch)
        let found = try values(place + "/b")
        let (mine, all) = (known.removeValue(forKey: id), known)
        #expect(found[id] == mine && found.count == all.count + 1)
        let store = try SampleStore.open(at: place + "/b")
        defer { try? store.close() }
        #expect(try store.read { try $0.priority(of: .stepCount) } == order)
        #expect(try store.read { $0.snapshot.header.shadowing.values.contains(true) })
    }

    /// A file without its root may show change records of older states, which another record has taken over since.
    @Test("Of change records that overlap those of the newer state remain", arguments: [false, true])
    func overlappingChanges(goesBackFurther: Bool) throws {
        let folder = TemporaryFolder()
        let place = folder.path
        let known = try makeStore(place + "/a")
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        do {
            let store = try SampleStore.open(at: place + "/a", options: options)
            defer { try? store.close() }
            try store.write { txn in
                var records: [ChangeRecord] = []
                try ChangeLog.forEachRecord(from: 0, in: txn.snapshot) { record in
                    records.append(record)
                    return true
                }
                var (older, newer) = (records[records.count - 3], records[records.count - 1])
                if goesBackFurther { older.since = records[0].commit }
                newer.since = older.commit
                (newer.deletions, newer.spans) = (records.flatMap(\.deletions), records.flatMap(\.spans))
                newer.deletions.removeAll { $0.commit < older.commit }
                for record in [older, newer] { try ChangeLog.put(record, in: &txn) }
            }
        }
        let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
        #expect(report.check.isClean, "\(report)")
        #expect(try values(place + "/b") == known)
        let store = try SampleStore.open(at: place + "/b", options: options)
        defer { try? store.close() }
        let commits = try store.read { txn in
            var commits: [ClosedRange<UInt64>] = []
            try ChangeLog.forEachRecord(from: 0, in: txn.snapshot) { record in
                commits.append(record.commits)
                return true
            }
            return commits
        }
        #expect(zip(commits, commits.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "\(commits)")
        #expect(goesBackFurther ? commits.count == 1 : commits.count > 1)
        let saved = try store.feed(since: nil).filter { if case .saved = $0.kind { true } else { false } }
        #expect(saved.count == known.count)
    }

    @Test("Where the ranking of sources is lost or of an older state, its copy counts", arguments: [false, true])
    func rankingFromCopy(isOlder: Bool) throws {
        let folder = TemporaryFolder()
        let place = folder.path
        _ = try makeStore(place + "/a")
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        let orders = ["A", "B"].map { [RankedSource(SourceIdentity(bundle: "a", name: $0))] }
        do {
            let store = try SampleStore.open(at: place + "/a", options: options)
            defer { try? store.close() }
            try store.write { try $0.setPriority(orders[0], of: .stepCount) }
            let older = try store.read { txn in
                try txn.snapshot.view.get(txn.snapshot.tables[.meta], PriorityTable.key)?.copied() ?? []
            }
            #expect(!older.isEmpty)
            try store.write { try $0.setPriority(orders[1], of: .stepCount) }
            try store.write { txn in
                if isOlder {
                    try txn.put(.meta, PriorityTable.key, older)
                } else {
                    try txn.remove(.meta, PriorityTable.key)
                }
            }
        }
        let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
        #expect(report.check.isClean, "\(report)")
        let store = try SampleStore.open(at: place + "/b", options: options)
        defer { try? store.close() }
        #expect(try store.read { try $0.priority(of: .stepCount) } == orders[1])
    }

    @Test("A repair can be stopped in each of its parts, also while it builds and checks the new store")
    func stopping() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        _ = try makeStore(place + "/a")
        try damage(place + "/a") { $0.replaceSubrange(0..<2 * Self.pageSize, with: Data(count: 2 * Self.pageSize)) }
        var all = 0
        let report = try SampleStore.repair(at: place + "/a", to: place + "/whole") {
            all += 1
            return true
        }
        #expect(report.check.isClean)
        // The check of the new store is the last part, and counts its own steps.
        var checks = 0
        let whole = try SampleStore.open(at: place + "/whole")
        _ = try whole.check { _ in
            checks += 1
            return true
        }
        try whole.close()
        #expect(checks > 0 && all > 2 * checks)
        for step in stride(from: 1, through: all, by: max(1, all / 40)) + [all] {
            var count = 0
            #expect(throws: StoreError.self, "step \(step) of \(all)") {
                try SampleStore.repair(at: place + "/a", to: place + "/b") {
                    count += 1
                    return count < step
                }
            }
            // A check that is stopped tells its end once more.
            #expect(count == step || count == step + 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: place).sorted() == ["a", "whole"])
        }
    }

    @Test("Samples of a chunk whose columns are lost are not told as mended because a bit of their details was")
    func mendedAndLost() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        // One commit, so that no older state of the chunk holds its rows.
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: place + "/a", options: options)
        let samples = (0..<6_000).map { number in
            Sample(
                .stepCount, Double(number + 1), .count, from: .day(1) + Int64(number) * 60_000_000_000,
                to: .day(1) + Int64(number) * 60_000_000_000 + 1, source: Source(bundle: "a", name: "A"))
        }
        var batch = SampleBatch()
        for sample in samples { batch.append(sample) }
        _ = try store.importBatch(batch)
        var chunks: [(hot: Data, details: Data)] = []
        try store.read { txn in
            var details: [[UInt8]: [UInt8]] = [:]
            try txn.forEachRecord(ofTable: "details") { details[$0] = $1 }
            try txn.forEachRecord(ofTable: "chunks") { key, value in
                let own = details.first { key.starts(with: $0.key) || $0.key.starts(with: key) }
                if let own { chunks.append((Data(value), Data(own.value))) }
            }
        }
        try store.close()
        let chunk = try #require(chunks.max { $0.hot.count < $1.hot.count })
        try damage(place + "/a") { bytes in
            while let range = bytes.range(of: chunk.hot) {
                // So many bytes of it that nothing can be set right.
                bytes.replaceSubrange(range.lowerBound + 40..<range.upperBound, with: Data(count: range.count - 40))
            }
            while let range = bytes.range(of: chunk.details) { bytes[range.upperBound - 20] ^= 0x10 }
        }
        let report = try SampleStore.repair(at: place + "/a", to: place + "/b")
        let kept = try values(place + "/b")
        #expect(report.check.isClean && report.mendedValues == 1 && kept.count < samples.count)
        #expect(report.mended.isEmpty, "\(report.mended)")
        let lost = report.lost.reduce(0) { $0 + ($1.samples ?? 0) }
        #expect(lost == samples.count - kept.count)
    }

    @Test("A destination that holds a store is refused") func taken() throws {
        let folder = TemporaryFolder()
        let place = folder.path
        do {
            _ = try makeStore(place + "/a")
            #expect(throws: StoreError.self) { try SampleStore.repair(at: place + "/a", to: place + "/a") }
        }
    }
}
