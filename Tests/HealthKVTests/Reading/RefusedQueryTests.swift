import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// What cannot be meant is refused with a word, and not taken for something near it.
@Suite("Questions that cannot be meant")
struct RefusedQueryTests {
    @Test("Limits below zero are refused by every read")
    func limits() throws {
        try withStore { store in
            try store.save(Sample(.stepCount, 1, .count, at: .day(0)))
            #expect(try store.read { try $0.samples(of: .stepCount, limit: 0) }.isEmpty)
            try store.read { txn in
                for limit in [-1, .min] {
                    expectRefusal { _ = try txn.samples(of: .stepCount, limit: limit) }
                    expectRefusal { try txn.forEachSample(SampleQuery(.stepCount, limit: limit)) { _ in true } }
                }
                for limit in [0, -1] {
                    expectRefusal { _ = try txn.changes(since: nil, limit: limit) }
                    expectRefusal { _ = try txn.deletions(limit: limit) }
                    expectRefusal { _ = try txn.pending(for: "p", after: 0, limit: min(limit, -1)) }
                }
            }
            expectError(.invalidArgument) { try store.check(limit: -1) }
            expectError(.invalidArgument) { try SampleStore.check(at: store.path, limit: -1) }
        }
    }

    private func expectRefusal(_ body: () throws -> Void) {
        var thrown: (any Error)?
        do { try body() } catch { thrown = error }
        #expect((thrown as? StoreError)?.code == .invalidArgument, "\(String(describing: thrown))")
    }

    @Test("Windows and numbers of points below one are refused")
    func windows() throws {
        try withStore { store in
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            for number in [0, -1] {
                expectError(.invalidArgument) { try store.read { try $0.weightTrend(window: number) } }
                expectError(.invalidArgument) {
                    try store.read {
                        try $0.series(.bodyMass, from: .day(0), to: .day(1), points: number).count
                    }
                }
            }
        }
    }

    @Test("Intervals of no unit and pages of no sample end the process with a word")
    func preconditions() async {
        let day = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = StatisticsInterval.every(0, .day)
        }
        let month = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = StatisticsInterval.every(-3, .month)
        }
        for exit in [day, month] { expectWord("an interval has at least one unit", exit) }
        let page = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let store = try SampleStore.temporary()
            _ = store.pages(SampleQuery(.stepCount), size: 0)
        }
        expectWord("a page has at least one sample", page)
    }

    /// The word must be told in an optimized build, too.
    private func expectWord(_ word: String, _ exit: ExitTest.Result?) {
        let told = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(told.contains(word), "\(told)")
    }

    @Test("A type that differs from a known one in the case of its letters alone is refused with the right name")
    func misspelledTypes() throws {
        try withStore { store in
            for name in ["stepcount", "StepCount", "STEPCOUNT", "hkquantitytypeidentifierstepcount", "step count"] {
                let type = SampleType(name)
                expectError(.unsuitableQuery) { try store.read { try $0.samples(of: type) } }
                expectError(.unsuitableQuery) { try store.read { try $0.count(of: type) } }
                expectError(.unsuitableQuery) { try store.read { try $0.changes(since: nil, of: [type]) } }
                expectError(.unsuitableQuery) { try store.read { try $0.rankedSources(of: type).count } }
                // Inside of a write it is the question that is refused, too.
                expectError(.unsuitableQuery) { try store.write { try $0.samples(of: type) } }
                expectError(.unsuitableQuery) { try store.write { try $0.delete(.range(of: type)) } }
                expectError(.invalidSample) { try store.setShadowing(of: type, true) }
                expectError(.invalidSample) { try store.save(Sample(type, 1, .count, at: .day(0))) }
                var batch = SampleBatch()
                batch.append(Sample(type, 1, .count, at: .day(0)))
                let rows = batch
                expectError(.invalidSample) { try store.write { try $0.importBatch(rows) } }
                do { try Sample(type, 1, .count, at: .day(0)).validate() } catch {
                    #expect("\(error)".contains("stepCount"), "\(error)")
                }
            }
            try store.save(Sample(SampleType("org.example.steps"), 1, .count, at: .day(0)))
            #expect(try store.read { try $0.count(of: SampleType("HKQuantityTypeIdentifierOfTheFuture")) } == 0)
        }
    }

    @Test("Options that cannot be meant are refused when a store is opened")
    func options() throws {
        let folder = TemporaryFolder()
        let changes: [(inout SampleStore.Options) -> Void] = [
            { $0.mapSize = 0 }, { $0.mapSize = -1 }, { $0.sizeLimit = 0 }, { $0.tombstoneDays = -1 },
            { $0.growthTimeout = .seconds(-1) }, { $0.readTimeLimit = .seconds(-1) }, { $0.idlePeriod = .seconds(-1) },
        ]
        for change in changes {
            var options = SampleStore.Options()
            change(&options)
            expectError(.invalidArgument) { try SampleStore.open(at: folder.path + "/s", options: options) }
        }
    }
}
