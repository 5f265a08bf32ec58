import HealthKV

/// Takes batches where importers are fuzzed.
final class HistoryWriter: Sendable {
    func store(_ batch: SampleBatch, isExact: Bool = false) throws {}
    func finish(isWhole: Bool) throws -> ImportReport { ImportReport() }
}
