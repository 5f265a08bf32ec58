import Testing
import TestSupport

@testable import HealthKV

/// A long import goes on where it was interrupted.
@Suite struct ImportJobTests {
    private static let source = Source(name: "Export")

    private static let batches: [SampleBatch] = (0..<8).map { part in
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: source)
        for number in 0..<100 {
            let start = Instant.day(part, number * 60)
            batch.append(kind: kind, start: start, end: start + 60_000_000_000, value: Double(number), id: SampleID())
        }
        return batch
    }

    /// Batches that count how often they are asked for, and fail when told.
    private struct Failing: Sequence, IteratorProtocol {
        var number = 0
        let failsAt: Int
        let store: SampleStore

        mutating func next() -> SampleBatch? {
            guard number < batches.count else { return nil }
            defer { number += 1 }
            if number == failsAt {
                // A row that the model refuses, as a damaged export has it.
                var bad = SampleBatch()
                let kind = bad.kind(.stepCount, .count, source: source)
                bad.append(kind: kind, start: .day(1), end: .day(0), value: 1, id: SampleID())
                return bad
            }
            return batches[number]
        }
    }

    @Test("Interrupted anywhere, an import goes on behind its last durable batch", arguments: 0..<8)
    func resuming(failsAt: Int) throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: tightOptions())
        expectError(.invalidSample) { try store.importAll(Failing(failsAt: failsAt, store: store), job: "export") }
        #expect(try store.importPosition(of: "export") == failsAt)
        #expect(try store.read { try $0.count() } == failsAt * 100)
        try store.expectClean()
        try store.close()
        let again = try SampleStore.open(at: folder.path, options: tightOptions())
        #expect(try again.importPosition(of: "export") == failsAt)
        let report = try again.importAll(Self.batches, job: "export")
        #expect(report.inserted == (8 - failsAt) * 100)
        #expect(report.total == report.inserted, "what was done is not looked at again")
        #expect(try again.read { try $0.count() } == 800)
        #expect(try again.importPosition(of: "export") == 0, "a job that is done is forgotten")
        #expect(try again.importAll(Self.batches, job: "export").unchanged == 800)
        try again.expectClean()
        try again.close()
    }

    @Test("Jobs of different names do not know each other") func names() throws {
        try withStore { store throws in
            try store.importBatch(Self.batches[0], job: "a")
            try store.importBatch(Self.batches[1], job: "a")
            try store.importBatch(Self.batches[2], job: "b")
            try store.importBatch(Self.batches[3])
            #expect(try store.importPosition(of: "a") == 2)
            #expect(try store.importPosition(of: "b") == 1)
            #expect(try store.importPosition(of: "c") == 0)
            try store.finishImport(of: "a")
            #expect(try store.importPosition(of: "a") == 0)
            #expect(try store.importPosition(of: "b") == 1)
        }
    }

    @Test("A batch that is refused leaves neither samples nor its position") func refused() throws {
        try withStore { store throws in
            let bad = try SampleBatch(
                .stepCount, .kilogram, source: Self.source, starts: [.day(1)], values: [1], ids: [SampleID()])
            expectError(.invalidSample) { try store.importBatch(bad, job: "a") }
            #expect(try store.importPosition(of: "a") == 0)
            #expect(try store.read { try $0.count() } == 0)
        }
    }
}
