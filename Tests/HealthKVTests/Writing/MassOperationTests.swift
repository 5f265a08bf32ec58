import Testing
import TestSupport

@testable import HealthKV

/// Deleting or purging a source or a range: at once for every reader, in bounded steps beneath.
@Suite struct MassOperationTests {
    private static let phone = Source(bundle: "org.example.phone", name: "Phone")
    private static let watch = Source(bundle: "org.example.watch", name: "Watch", version: "1")
    private static let newWatch = Source(bundle: "org.example.watch", name: "Watch", version: "2")

    private static let range = SampleSelection.range(of: .stepCount, from: .day(0, 3_000), to: .day(0, 9_000))

    /// What is taken away, and how.
    enum Operation: CaseIterable, Sendable {
        case deleteSource, purgeSource, deleteRange, purgeRange

        var purges: Bool { self == .purgeSource || self == .purgeRange }

        func perform(_ store: SampleStore) throws -> Int {
            try store.write { txn in
                switch self {
                case .deleteSource: try txn.delete(.source(watch.identity))
                case .purgeSource: try txn.purge(.source(watch.identity))
                case .deleteRange: try txn.delete(MassOperationTests.range)
                case .purgeRange: try txn.purge(MassOperationTests.range)
                }
            }
        }

        func covers(_ sample: Sample) -> Bool {
            switch self {
            case .deleteSource, .purgeSource: sample.source.identity == watch.identity
            case .deleteRange, .purgeRange:
                sample.type == .stepCount && sample.start >= .day(0, 3_000) && sample.start < .day(0, 9_000)
            }
        }
    }

    private static let samples: [Sample] = (0..<360).map { number in
        let source = [phone, watch, newWatch][number % 3]
        let start = Instant.day(0, number / 2 * 60)
        return switch number % 5 {
        case 0: Sample(.bodyMass, Double(number), .kilogram, at: start, source: source)
        case 1:
            Sample(
                .stepCount, Double(number), .count, from: start, to: start + 90_000_000_000_000, source: source,
                syncIdentifier: "s\(number)", group: "g\(number % 7)")
        default: Sample(.stepCount, Double(number), .count, at: start, source: source)
        }
    }

    private func open(_ folder: TemporaryFolder) throws -> SampleStore {
        try SampleStore.open(at: folder.path, options: tightOptions())
    }

    @Test("Interrupted between any two steps, an operation goes on where it stood", arguments: Operation.allCases)
    func interrupted(operation: Operation) throws {
        let folder = TemporaryFolder()
        var store = try open(folder)
        let samples = Self.samples
        for part in stride(from: 0, to: samples.count, by: 60) {
            try store.write { try $0.save(Array(samples[part..<part + 60])) }
        }
        let left = samples.filter { !operation.covers($0) }
        #expect(try operation.perform(store) == samples.count - left.count)
        #expect(try store.info().unfinished == 1)
        let digest = try store.digest()
        var steps = 0
        while true {
            // Each step in a life of its own.
            try store.close()
            store = try open(folder)
            #expect(try store.read { try $0.count() } == left.count)
            #expect(try store.digest() == digest)
            #expect(try store.counts() == store.countedSamples())
            try store.expectClean()
            let core = store.core
            guard try core.onWriter({ try Upkeep.maintainStep(in: core) }) else { break }
            steps += 1
        }
        #expect(steps > 2)
        #expect(try store.info().unfinished == 0)
        for sample in samples {
            let found = try store.read { try $0.sample(id: sample.id) }
            #expect((found != nil) == !operation.covers(sample))
            let tombstone = try store.read { try $0.deletedSample(id: sample.id) }
            #expect((tombstone != nil) == (operation.covers(sample) && !operation.purges))
        }
        #expect(try store.read { try $0.types().reduce(0) { $0 + $1.shadowed } } == shadowed(left))
        try store.close()
    }

    /// Of several weights at one time all but one are shadowed.
    private func shadowed(_ samples: [Sample]) -> Int {
        let weights = samples.filter { $0.type == .bodyMass }
        return weights.count - Set(weights.map(\.start)).count
    }

    @Test("What was deleted does not come back by itself; what was purged may (A9, C11)", arguments: Operation.allCases)
    func comingBack(operation: Operation) throws {
        for isFinished in [false, true] {
            try withStore(options: tightOptions()) { store throws in
                let samples = Self.samples
                try store.write { try $0.save(samples) }
                #expect(try operation.perform(store) > 0)
                if isFinished { while try store.maintain() {} }
                let covered = samples.filter(operation.covers)
                let outcomes = try store.write { try $0.save(covered) }
                #expect(outcomes.allSatisfy { $0 == (operation.purges ? .inserted : .vetoed) })
                while try store.maintain() {}
                #expect(try store.counts() == store.countedSamples())
            }
        }
    }

    @Test("What is saved after an operation stays, while its steps are still to come", arguments: Operation.allCases)
    func savedAfter(operation: Operation) throws {
        try withStore(options: tightOptions()) { store throws in
            let samples = Self.samples
            try store.write { try $0.save(samples) }
            #expect(try operation.perform(store) > 0)
            let fresh = (0..<50).map { Sample(.stepCount, 1, .count, at: .day(0, 3_000 + $0), source: Self.watch) }
            try store.write { try $0.save(fresh) }
            for _ in 0..<2 {
                let count = try store.read { try $0.count() }
                #expect(count == samples.count(where: { !operation.covers($0) }) + 50)
                for sample in fresh { #expect(try store.read { try $0.sample(id: sample.id) } != nil) }
                while try store.maintain() {}
            }
            // The same again takes those too.
            #expect(try operation.perform(store) == 50)
            #expect(try operation.perform(store) == 0)
        }
    }

    @Test("Several operations at once, one over the other, count each sample once") func several() throws {
        try withStore(options: tightOptions()) { store throws in
            let samples = Self.samples
            try store.write { try $0.save(samples) }
            var left = samples
            for operation in Operation.allCases.reversed() {
                let taken = left.count(where: operation.covers)
                #expect(try operation.perform(store) == taken)
                left.removeAll(where: operation.covers)
                #expect(try store.read { try $0.count() } == left.count)
                try store.expectClean()
            }
            #expect(try store.info().unfinished > 1)
            while try store.maintain() {}
            #expect(try store.read { try $0.count() } == left.count)
            #expect(try store.counts() == store.countedSamples())
        }
    }

    @Test("Operations on what the store has never met, or no longer has, change nothing") func nothing() throws {
        try withStore { store throws in
            try store.save(Self.samples[0])
            let token = try store.read { $0.currentToken }
            let stranger = SourceIdentity(name: "Stranger")
            #expect(try store.write { try $0.delete(.source(stranger)) } == 0)
            #expect(try store.write { try $0.purge(.source(stranger)) } == 0)
            #expect(try store.write { try $0.delete(.range(of: .dietaryWater)) } == 0)
            #expect(try store.write { try $0.delete(.range(of: .bodyMass, from: .day(5))) } == 0)
            #expect(try store.read { $0.currentToken } == token)
        }
    }

    @Test("Upkeep that a damaged chunk stops tells so once, and goes on by itself when the damage is gone")
    func damaged() async throws {
        let notices = Notices()
        var options = tightOptions()
        options.idlePeriod = .milliseconds(5)
        options.onNotice = { notices.note($0) }
        let folder = TemporaryFolder()
        let quiet = try SampleStore.open(at: folder.path, options: options)
        _ = try await quiet.write { try $0.save(Self.samples) }
        _ = try Operation.purgeSource.perform(quiet)
        var chunks: [(key: [UInt8], value: [UInt8])] = []
        try quiet.blockingRead { try $0.forEachRecord(ofTable: "chunks") { chunks.append(($0, $1)) } }
        try quiet.put(
            chunks.map { chunk in
                var value = chunk.value
                value[value.count - 9] ^= 0x10
                return (chunk.key, value)
            })
        try quiet.close()

        options.maintainsWhenIdle = true
        let store = try SampleStore.open(at: folder.path, options: options)
        let later = Sample(.height, 1.8, .meter, at: .day(9))
        try store.save(later)
        try await waitUntil { notices.codes.contains(.upkeepFailed) }
        try store.save(later)
        try store.save(Sample(.height, 1.8, .meter, at: .day(8)))
        try await Task.sleep(for: .milliseconds(50))
        #expect(notices.codes.filter { $0 == .upkeepFailed }.count == 1)
        try store.put(chunks)
        try await waitUntil { try store.info().unfinished == 0 }
        try store.expectClean()
        try store.close()
    }

    private func waitUntil(_ condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try !condition(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try condition())
    }
}
