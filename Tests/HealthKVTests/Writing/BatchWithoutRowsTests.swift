import Testing
import TestSupport

@testable import HealthKV

/// A batch with kinds and no rows says in which order sources rank.
@Suite struct BatchWithoutRowsTests {
    @Test("A batch without rows makes its sources known in their order, and one without kinds changes nothing")
    func order() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path)
        let names = ["First", "Second", "Third"]
        var batch = SampleBatch()
        for name in names { _ = batch.kind(.stepCount, .count, source: Source(name: name)) }
        let kinds = batch
        #expect(try store.importBatch(kinds).inserted == 0)
        #expect(try store.importBatch(SampleBatch()).inserted == 0)
        try store.write { transaction in
            for name in names.reversed() {
                try transaction.save(
                    Sample(.stepCount, 1, .count, from: .day(1), to: .day(1), source: Source(name: name)))
            }
        }
        #expect(try store.read { try $0.sourceCounts().map(\.source.name) } == names)
        #expect(try store.check().isClean)
        try store.close()
    }
}
