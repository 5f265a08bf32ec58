import Testing

@testable import HealthKV

/// An import meets samples that a mass operation took away and that bounded steps have not removed yet.
@Suite struct ImportDuringMassOperationTests {
    private let source = Source(bundle: "org.example.export", name: "Export")

    private func withUnfinished(_ body: (SampleStore, SampleBatch) throws -> Void) throws {
        var options = SampleStore.Options()
        options.limits.removedAtOnce = 10
        options.maintainsWhenIdle = false
        let starts = (0..<500).map { Instant.day(0, $0 * 60) }
        let batch = try SampleBatch(
            .stepCount, .count, source: source, origin: .imported, starts: starts,
            values: (0..<500).map { Double($0) })
        try withStore(options: options) { store in
            try store.importBatch(batch)
            try body(store, batch)
            while try store.maintain() {}
        }
    }

    @Test("Importing rows without ids again does not bring back what was just deleted") func deleted() throws {
        try withUnfinished { store, batch in
            #expect(
                try store.write { try $0.delete(.range(of: .stepCount, from: .day(0), to: .day(0, 300 * 60))) } == 300)
            #expect(try store.info().unfinished == 1)
            let report = try store.importBatch(batch)
            #expect(report.vetoed == 300)
            #expect(report.unchanged == 200)
            while try store.maintain() {}
            #expect(try store.read { try $0.count() } == 200)
        }
    }

    @Test("Importing rows without ids again brings back what was purged without a trace") func purged() throws {
        try withUnfinished { store, batch in
            let identity = source.identity
            #expect(try store.write { try $0.purge(.source(identity)) } == 500)
            #expect(try store.info().unfinished == 1)
            #expect(try store.importBatch(batch).inserted == 500)
            while try store.maintain() {}
            #expect(try store.read { try $0.count() } == 500)
        }
    }
}
