import HealthKV
import Synchronization

/// Stores batches in order, one at a time, while the caller reads on.
final class HistoryWriter: Sendable {
    private struct State {
        var report = ImportReport()
        /// How many daily totals were new or newer.
        var totals = 0
        /// The samples that were refused, since the store holds what has their ids under another identity.
        var refused: [SampleID] = []
        /// How many batches to pass over: an import that was interrupted stored them.
        var left: Int
    }

    /// Ends the transaction of a dry run.
    private struct DryRun<Outcome: Sendable>: Error { let outcome: Outcome }

    private let store: SampleStore
    private let job: String?
    private let isDryRun: Bool
    private let run: HistoryRun
    private let work = WorkInOrder(label: "import")
    private let state: Mutex<State>

    /// - Parameter job: the name under which the store counts the batches; `nil` for an import that starts over each
    ///   time.
    init(_ store: SampleStore, job: String?, isDryRun: Bool) throws {
        self.store = store
        self.job = isDryRun ? nil : job
        self.isDryRun = isDryRun
        run = try HistoryRun(in: store, job: isDryRun ? nil : job)
        let left = try job.map { try store.importPosition(of: $0) } ?? 0
        state = Mutex(State(left: isDryRun ? 0 : left))
    }

    /// Waits until few batches are left, and throws the error of one that failed.
    ///
    /// - Parameter isCounted: whether the next run may pass over the batch. It must not if the batch was cut short.
    func store(_ batch: SampleBatch, isExact: Bool = false, isCounted: Bool = true) throws {
        try work.perform { [self] in
            try state.withLock { state in state.report += try stored(batch, isExact, isCounted, &state) }
        }
    }

    private func stored(
        _ batch: SampleBatch, _ isExact: Bool, _ isCounted: Bool, _ state: inout State
    ) throws -> ImportReport {
        if state.left > 0 {
            state.left -= 1
            var report = ImportReport()
            report.unchanged = batch.count
            return report
        }
        do {
            let hasRefused = !state.refused.isEmpty
            return try store.write { [run, job, isDryRun] transaction in
                let report =
                    try isExact ? transaction.importBatch(batch) : transaction.importHistory(batch, run)
                if isDryRun { throw DryRun(outcome: report) }
                // What was refused is told by the run that reaches the end, so that run must meet it.
                if isCounted, !hasRefused, let job { try transaction.countBatch(of: job) }
                return report
            }
        } catch let dry as DryRun<ImportReport> {
            return dry.outcome
        } catch let error as StoreError where error.code == .identityChanged {
            return try storedInParts(batch, isExact, &state)
        }
    }

    /// Stores a batch of which a row has the id of another sample: without that row.
    private func storedInParts(_ batch: SampleBatch, _ isExact: Bool, _ state: inout State) throws -> ImportReport {
        if batch.count == 1 {
            state.refused.append(batch.ids[0])
            return ImportReport()
        }
        var report = ImportReport()
        for rows in [0..<batch.count / 2, batch.count / 2..<batch.count] {
            var part = SampleBatch()
            for row in rows { part.append(batch.sample(at: row)) }
            report += try stored(part, isExact, false, &state)
        }
        return report
    }

    /// The samples that were refused, once all work is done.
    var refused: [SampleID] { state.withLock { $0.refused } }

    /// How many daily totals were new or newer, once all work is done.
    var totals: Int { state.withLock { $0.totals } }

    /// Stores daily totals that tell something new. They are not counted as a batch: to store them again changes
    /// nothing.
    func store(_ totals: [DailyTotal]) throws {
        try work.perform { [self] in
            let count = try stored(totals)
            state.withLock { $0.totals += count }
        }
    }

    private func stored(_ totals: [DailyTotal]) throws -> Int {
        do {
            return try store.write { [isDryRun] transaction in
                var count = 0
                for total in totals {
                    let held = try transaction.total(of: total.type, peer: total.peer, day: total.day)
                    // The same file in other units tells nothing new.
                    if let held, held.isPrinted(as: total) { continue }
                    if try transaction.setTotal(total) { count += 1 }
                }
                if isDryRun { throw DryRun(outcome: count) }
                return count
            }
        } catch let dry as DryRun<Int> {
            return dry.outcome
        }
    }

    /// Waits until nothing is under way. What all batches came to.
    ///
    /// - Parameter isWhole: whether the file was read to its end.
    func finish(isWhole: Bool) throws -> ImportReport {
        try work.finish()
        let report = state.withLock { $0.report }
        if isWhole, let job { try store.finishImport(of: job) }
        return report
    }
}
