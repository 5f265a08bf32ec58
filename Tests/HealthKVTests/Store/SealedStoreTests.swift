import ColumnFormat
import Foundation
import LMDB
import TestSupport
import Testing

@testable import HealthKV

extension TestCipher: StoreSealer {}

/// A sealed store keeps from everybody else what it holds, and is otherwise a store like any other.
@Suite("Sealed stores") struct SealedStoreTests {
    private static let word = "CANARY"
    private let folder = TemporaryFolder()
    private let sealer = TestCipher(key: 1)

    private func options(sealer: TestCipher? = TestCipher(key: 1), journal: Bool = true) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.sealer = sealer
        options.clock = { .day(100) }
        let draws = Draws(seed: 5)
        options.limits.draw = { draws.next() }
        // A copy under another key takes several transactions.
        options.limits.copiedBytesAtOnce = 10_000
        options.source = Source(bundle: "org.example.\(Self.word)", name: Self.word)
        options.maintainsWhenIdle = false
        options.idlePeriod = .zero
        if !journal { options.limits.journaledCommits = 0 }
        return options
    }

    private func ids(_ count: Int, _ generator: inout SeededGenerator) -> [SampleID] {
        (0..<count).map { _ in SampleID(using: &generator) }
    }

    /// Fills a store with samples of many kinds, edits, deletions and sync state. The same each time.
    private func fill(_ store: SampleStore) throws {
        var generator = SeededGenerator(seed: 7)
        let scale = Source(bundle: "org.example.scale", name: "\(Self.word) scale", version: "1", product: Self.word)
        let starts = (0..<3_000).map { Instant.day(0, $0 * 60) }
        try store.importBatch(
            SampleBatch(
                .stepCount, .count, source: scale, starts: starts, values: (0..<3_000).map { Double($0 % 100) },
                ids: ids(3_000, &generator)))
        func weight(_ number: Int, _ id: SampleID, _ value: Double) -> Sample {
            var sample = Sample(
                .bodyMass, value, .kilogram, at: .day(number), source: scale,
                syncIdentifier: "\(Self.word)-\(number)", metadata: [Self.word: .string("\(Self.word) \(number)")])
            sample.id = id
            sample.device = Device(name: "\(Self.word) device")
            return sample
        }
        let weights = ids(40, &generator).enumerated().map { weight($0, $1, 70 + Double($0)) }
        for sample in weights { try store.save(sample) }
        for (number, sample) in weights.prefix(10).enumerated() {
            var edited = weight(number, sample.id, 71.5)
            edited.version = 2
            try store.save(edited)
        }
        try store.write { txn in
            for sample in weights.suffix(5) { try txn.delete(id: sample.id) }
            try txn.setPeer(RegisteredPeer(id: "peer", registered: .day(0), lastSeen: .day(0)))
            try txn.setAnchor(Anchor(peer: "peer", type: .stepCount, token: Array(Self.word.utf8), time: .day(0)))
            try txn.setSyncNote("peer:\(Self.word)", Array(Self.word.utf8))
            try txn.setPriority([RankedSource(scale.identity)], of: .stepCount)
        }
        _ = try store.write { try $0.delete(.range(of: .stepCount, from: .day(0, 6_000), to: .day(0, 60_000))) }
    }

    /// Whether any file of a folder holds the word.
    private func holdsWord(_ path: String) throws -> Bool {
        let word = Data(Self.word.utf8)
        return try FileManager.default.contentsOfDirectory(atPath: path).contains { name in
            try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)).range(of: word) != nil
        }
    }

    @Test("No file of a sealed store, its journal, backup or compacted copy holds a word that was stored")
    func canary() throws {
        let store = try SampleStore.open(at: folder.inner("sealed"), options: options())
        try fill(store)
        #expect(FileSystem.size(of: StoreFiles.journalPath(in: store.path)) ?? 0 > 0)
        #expect(try !holdsWord(store.path))
        try store.backup(to: folder.path + "/backup")
        try store.compact(to: folder.path + "/compacted")
        for copy in ["backup", "compacted"] { #expect(try !holdsWord(folder.path + "/" + copy), "\(copy)") }
        try store.compactInPlace()
        while try Upkeep.maintainStep(in: store.core) {}
        #expect(try !holdsWord(store.path))
        try store.expectClean()
        try store.close()
        // The search finds the word where a store is not sealed.
        let open = try SampleStore.open(at: folder.inner("open"), options: options(sealer: nil))
        try fill(open)
        #expect(try holdsWord(open.path))
        try open.close()
    }

    @Test("A sealed store answers like one that is not sealed", arguments: [true, false])
    func answers(journal: Bool) throws {
        var digests: [[UInt8]] = []
        for sealer in [sealer, nil] {
            let path = folder.inner("store \(sealer == nil)")
            var store = try SampleStore.open(at: path, options: options(sealer: sealer, journal: journal))
            try fill(store)
            digests.append(try store.digest())
            try store.close()
            store = try SampleStore.open(at: path, options: options(sealer: sealer, journal: journal))
            while try Upkeep.maintainStep(in: store.core) {}
            try store.rebuild()
            digests.append(try store.digest())
            try store.suspend()
            try store.resume()
            digests.append(try store.digest())
            try store.expectClean()
            try store.close()
        }
        #expect(Set(digests).count == 1)
    }

    @Test("A sealed store opens with its key only, and a store that is not sealed with none")
    func keys() throws {
        let path = folder.inner("sealed")
        var store = try SampleStore.open(at: path, options: options())
        try fill(store)
        try store.close()
        for wrong in [nil, TestCipher(key: 2)] {
            for readOnly in [true, false] {
                var options = options(sealer: wrong)
                options.readOnly = readOnly
                expectError(.wrongKey) { try SampleStore.open(at: path, options: options) }
            }
        }
        store = try SampleStore.open(at: path, options: options())
        // Nor does a second handle come to it otherwise.
        for wrong in [nil, TestCipher(key: 2)] {
            expectError(.wrongKey) { try SampleStore.open(at: path, options: options(sealer: wrong)) }
        }
        try SampleStore.open(at: path, options: options()).close()
        try store.expectClean()
        try store.close()
        let other = folder.inner("open")
        let open = try SampleStore.open(at: other, options: options(sealer: nil))
        expectError(.wrongKey) { try SampleStore.open(at: other, options: options()) }
        try open.close()
        expectError(.wrongKey) { try SampleStore.open(at: other, options: options()) }
        try SampleStore.open(at: other, options: options(sealer: nil)).close()
    }

    @Test("Without the key a check looks at pages, headers and checksums, and says what it cannot look at")
    func checkedFromOutside() throws {
        let path = folder.inner("sealed")
        let store = try SampleStore.open(at: path, options: options(journal: false))
        try fill(store)
        try store.define(TypeDefinition("org.example.\(Self.word)", unit: .count, combining: .sum))
        let samples = try store.read { try $0.count() }
        try store.close()
        var outside = SampleStore.Options()
        (outside.readOnly, outside.limits.ignoresSeal) = (true, true)
        let reader = try SampleStore.open(at: path, options: outside)
        #expect(try reader.info().lacksKey)
        expectError(.wrongKey) { try reader.read { try $0.samples(of: .bodyMass) } }
        try reader.close()
        let report = try SampleStore.check(at: path)
        #expect(report.isClean, "\(report.findings)")
        #expect(report.samples >= samples && report.unexamined.contains { $0.contains("sealed") }, "\(report)")
        let whole = try SampleStore.check(at: path, sealer: sealer)
        #expect(whole.isClean && whole.unexamined.isEmpty)
        expectError(.wrongKey) { try SampleStore.check(at: path, sealer: TestCipher(key: 2)) }
    }

    @Test("A value that somebody without the key puts, moves or changes is refused, never taken for the store's")
    func forged() throws {
        let path = folder.inner("sealed")
        var store = try SampleStore.open(at: path, options: options(journal: false))
        try fill(store)
        try store.close()
        // The same values as an app without a key would write them, and those of another key.
        for forger in [nil, TestCipher(key: 2)] {
            let other = folder.inner("other \(forger == nil)")
            try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: other + "/data.mdb")
            try forge(other, forger)
            store = try SampleStore.open(at: other, options: self.options(journal: false))
            let error = #expect(throws: StoreError.self) {
                try store.read { _ = try $0.samples(of: .bodyMass) }
            }
            #expect(error?.code == .damaged, "\(String(describing: error))")
            let report = try store.check()
            #expect(!report.isClean && report.findings.contains { $0.table == "chunks" })
            // Nothing of it is taken along.
            for copier in [nil, TestCipher(key: 3)] {
                expectError(.damaged) { try store.copy(to: folder.path + "/copy", sealer: copier) }
            }
            #expect(FileSystem.size(of: folder.path + "/copy") == nil)
            try store.close()
            // Without the key only what is not sealed at all can be told.
            #expect(try SampleStore.check(at: other).isClean == (forger != nil))
        }
    }

    /// Replaces all chunks by what `forger` makes of them.
    private func forge(_ path: String, _ forger: TestCipher?) throws {
        try RawStore.change(path) { transaction, tables, header in
            let own = SealedBodies(sealer, of: header.storeID)
            var values: [([UInt8], [UInt8])] = []
            do {
                var cursor = try transaction.view.cursor(tables[.chunks])
                while try cursor.next() { values.append((cursor.key.copied(), own.open(cursor.value)!)) }
            }
            for (key, value) in values {
                let forged = try forger.map { try SealedBodies($0, of: header.storeID).seal(value.rawBytes)! } ?? value
                try transaction.put(tables[.chunks], key, forged)
            }
            header.transaction = UInt64(transaction.id)
            try transaction.put(tables[.meta], StoreHeader.key, header.value)
        }
    }

    @Test("A copy is sealed, sealed with another key, or opened, and holds the same", arguments: [true, false])
    func resealed(journal: Bool) throws {
        let store = try SampleStore.open(at: folder.inner("open"), options: options(sealer: nil, journal: journal))
        try fill(store)
        let digest = try store.digest()
        var path = folder.path + "/copy"
        try store.copy(to: path, sealer: sealer)
        try store.close()
        for (from, to) in [(1, 2), (2, nil)] as [(UInt64, UInt64?)] {
            let copy = try SampleStore.open(at: path, options: options(sealer: TestCipher(key: from), journal: journal))
            #expect(try copy.digest() == digest && !holdsWord(path))
            try copy.expectClean()
            try copy.save(Sample(.bodyMass, 60, .kilogram, at: .day(200)))
            try copy.write { txn in
                for sample in try txn.samples(of: .bodyMass, from: .day(199)) { _ = try txn.delete(id: sample.id) }
            }
            path += "\(from)"
            try copy.copy(to: path, sealer: to.map { TestCipher(key: $0) })
            try copy.close()
        }
        let last = try SampleStore.open(at: path, options: options(sealer: nil, journal: journal))
        #expect(try last.digest() == digest && holdsWord(path))
        try last.expectClean()
        try last.close()
    }

    @Test(
        "A store is sealed, gets another key and is opened in its place, and stays the same", arguments: [true, false])
    func resealedInPlace(journal: Bool) throws {
        let path = folder.inner("store")
        var store = try SampleStore.open(at: path, options: options(sealer: nil, journal: journal))
        try fill(store)
        let (digest, info) = (try store.digest(), try store.info())
        let token = try store.read { $0.currentToken }
        expectError(.busy) { try SampleStore.reseal(at: path, from: nil, to: sealer) }
        try store.close()
        for (from, to) in [(nil, 1), (1, 2), (2, nil)] as [(UInt64?, UInt64?)] {
            let (old, new) = (from.map { TestCipher(key: $0) }, to.map { TestCipher(key: $0) })
            expectError(.wrongKey) { try SampleStore.reseal(at: path, from: TestCipher(key: 9), to: new) }
            try SampleStore.reseal(at: path, from: old, to: new)
            expectError(.wrongKey) { try SampleStore.open(at: path, options: options(sealer: old)) }
            #expect(try holdsWord(path) == (new == nil))
            store = try SampleStore.open(at: path, options: options(sealer: new, journal: journal))
            #expect(try store.digest() == digest)
            try store.expectClean()
            let now = try store.info()
            #expect(now.isSealed == (new != nil) && now.storeID == info.storeID && now.epoch == info.epoch)
            #expect(now.replica == info.replica)
            // The feed goes on.
            _ = try store.read { try $0.changes(since: token) }
            try store.save(Sample(.bodyMass, 60, .kilogram, at: .day(200)))
            try store.write { txn in
                for sample in try txn.samples(of: .bodyMass, from: .day(199)) { _ = try txn.purge(id: sample.id) }
            }
            try store.close()
        }
    }

    @Test("While a store gets another key nobody of the process opens it, and damage in it is not sealed as sound")
    func resealingAlone() throws {
        let path = folder.inner("store")
        let store = try SampleStore.open(at: path, options: options(sealer: nil, journal: false))
        try fill(store)
        try store.close()
        let found = Monitor<[StoreError.Code?]>([])
        var limits = EngineLimits()
        limits.atReplacement = { step in
            // A thread that opens a store during the last step waits for this one.
            guard step != .unlocked else { return }
            for sealer in [nil, TestCipher(key: 1)] {
                var options = SampleStore.Options()
                options.sealer = sealer
                do { try SampleStore.open(at: path, options: options).close() } catch {
                    found.withLock { $0.append((error as? StoreError)?.code) }
                }
            }
        }
        try SampleStore.reseal(at: path, from: nil, to: sealer, limits)
        #expect(found.withLock { $0.count == 6 && $0.allSatisfy { $0 == .busy } }, "\(found.withLock { $0 })")
        try SampleStore.reseal(at: path, from: sealer, to: nil)
        let url = URL(fileURLWithPath: path + "/data.mdb")
        var bytes = try Data(contentsOf: url)
        let place = try #require(bytes.range(of: Data("\(Self.word) 25".utf8)))
        bytes[place.lowerBound] ^= 1
        let handle = try FileHandle(forWritingTo: url)
        try handle.write(contentsOf: bytes)
        try handle.close()
        expectError(.damaged) { try SampleStore.reseal(at: path, from: nil, to: sealer) }
        #expect(try Data(contentsOf: url) == bytes || !SampleStore.check(at: path).isClean)
    }

    @Test(
        "A process that ends while it gives a store another key leaves it whole", arguments: ReplacementStep.allCases,
        [true, false])
    func killedWhileResealing(step: ReplacementStep, isSealed: Bool) async throws {
        let path = folder.inner("store")
        let old = isSealed ? sealer : nil
        var store = try SampleStore.open(at: path, options: options(sealer: old))
        try fill(store)
        let digest = try store.digest()
        try store.close()
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, step = step.rawValue as Int, isSealed = isSealed as Bool] in
            var limits = EngineLimits()
            limits.atReplacement = { if $0.rawValue == step { kill(getpid(), SIGKILL) } }
            let old = isSealed ? TestCipher(key: 1) : nil
            try SampleStore.reseal(at: path, from: old, to: TestCipher(key: 2), limits)
        }
        let new = TestCipher(key: 2)
        let isOld = step == .copied || step == .prepared
        expectError(.wrongKey) { try SampleStore.open(at: path, options: options(sealer: isOld ? new : old)) }
        store = try SampleStore.open(at: path, options: options(sealer: isOld ? old : new))
        #expect(try store.digest() == digest)
        #expect(try holdsWord(path) == (isOld && !isSealed))
        try store.expectClean()
        try store.close()
    }

    @Test("A sealer that fails stores nothing, and its error names no value")
    func failingSealer() throws {
        struct Broken: StoreSealer {
            let cipher: TestCipher
            let fails: Monitor<Bool>

            func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] {
                if fails.withLock({ $0 }) { throw Refusal() }
                return try cipher.seal(bytes, binding: binding)
            }

            func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
                try cipher.open(sealed, binding: binding)
            }
        }
        let fails = Monitor(false)
        var options = options()
        options.sealer = Broken(cipher: sealer, fails: fails)
        let store = try SampleStore.open(at: folder.inner("sealed"), options: options)
        let sample = Sample(.bodyMass, 71.25, .kilogram, at: .day(3))
        try store.save(sample)
        fails.withLock { $0 = true }
        let error = #expect(throws: StoreError.self) { try store.save(Sample(.bodyMass, 72.5, .kilogram, at: .day(4))) }
        #expect(error?.code == .storage && "\(error!)".contains("cipher") && !"\(error!)".contains("72.5"))
        fails.withLock { $0 = false }
        #expect(try store.read { try $0.count() } == 1)
        try store.save(Sample(.bodyMass, 73, .kilogram, at: .day(5)))
        try store.expectClean()
        try store.close()
    }
}
