import HealthKV

/// Takes batches where importers are fuzzed.
final class HistoryWriter: Sendable {
    let totals = 0

    func store(_ batch: SampleBatch, isExact: Bool = false, isCounted: Bool = true) throws {}
    func store(_ totals: [DailyTotal]) throws {}
    func finish(isWhole: Bool) throws -> ImportReport { ImportReport() }
}

/// What an exact export says of types; nothing takes it here.
struct ExactSettings {
    init?(_ text: String) { if text.isEmpty { return nil } }
}
