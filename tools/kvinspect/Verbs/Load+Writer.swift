import AppleHealthExport
import HealthKV
import Synchronization

/// Stores batches in order, one at a time, while the caller goes on.
final class BatchWriter: Sendable {
    private struct State {
        var report = ImportReport()
        var lines = 0
        var states = 0
        var refused: [BadLine] = []
    }

    /// Ends the transaction of a trial.
    private struct Trial: Error {}

    private let sampleStore: SampleStore
    private let work = WorkInOrder(label: "load")
    private let state = Mutex(State())

    init(_ store: SampleStore) { sampleStore = store }

    /// The last line that was stored.
    var storedLines: Int { state.withLock { $0.lines } }

    /// The records of sync state that were stored.
    var storedStates: Int { state.withLock { $0.states } }

    /// The lines whose samples the store refuses, beside what it holds or what came before.
    var refused: [BadLine] { state.withLock { $0.refused } }

    /// Waits for the batch before this one, and throws its error if it had one.
    ///
    /// - Parameter skipBad: whether to leave out samples that the store refuses.
    func store(_ batch: LoadedBatch, skipBad: Bool) throws {
        try work.perform { [self] in
            var batch = batch
            let report = try store(&batch, skipBad: skipBad)
            state.withLock { state in
                state.report += report
                state.lines = batch.lastLine
                state.states += batch.states.count
            }
        }
    }

    private func store(_ batch: inout LoadedBatch, skipBad: Bool) throws -> ImportReport {
        while true {
            do { return try store(batch) } catch let error as StoreError where BatchWriter.isOfSample(error) {
                guard let row = try firstRefused(batch) else { throw error }
                let line = BadLine(line: batch.lineOfRow[row], reason: error.detail)
                guard skipBad else { throw line }
                state.withLock { $0.refused.append(line) }
                batch.remove(row: row)
            }
        }
    }

    private static func isOfSample(_ error: StoreError) -> Bool {
        error.code == .identityChanged || error.code == .invalidSample
    }

    /// Returns the row with which the first refusal comes, by halves; `nil` if no row is refused.
    private func firstRefused(_ batch: LoadedBatch) throws -> Int? {
        func isRefused(_ count: Int) throws -> Bool {
            let part = batch.samples(of: 0..<count)
            do {
                try sampleStore.write { transaction in
                    _ = try transaction.importBatch(part)
                    throw Trial()
                }
                return false
            } catch is Trial {
                return false
            } catch let error as StoreError where BatchWriter.isOfSample(error) {
                return true
            }
        }
        var (sound, refused) = (0, batch.samples.count)
        guard refused > 0, try isRefused(refused) else { return nil }
        while refused - sound > 1 {
            let middle = (sound + refused) / 2
            if try isRefused(middle) { refused = middle } else { sound = middle }
        }
        return refused - 1
    }

    /// All lines of a batch together: a line that is said to be stored must not be loaded again.
    private func store(_ batch: LoadedBatch) throws -> ImportReport {
        try sampleStore.write { transaction in
            for source in batch.sources { try transaction.meet(source) }
            let report = try transaction.importBatch(batch.samples)
            for rank in 0..<3 {
                for state in batch.states where state.rank == rank { try BatchWriter.take(state, &transaction) }
            }
            return report
        }
    }

    private static func take(_ state: StateEntry, _ transaction: inout WriteTransaction) throws {
        switch state {
        case .deleted(let deletion): try transaction.merge(deletion)
        case .peer(let peer):
            // A store that knows the peer itself knows better.
            if try transaction.peer(peer.id) == nil { try transaction.setPeer(peer) }
        case .purged(let type, let source): try transaction.notePurged(type, of: source)
        case .anchor(let anchor):
            if try transaction.anchor(peer: anchor.peer, type: anchor.type, scope: anchor.scope) == nil {
                try transaction.setAnchor(anchor)
            }
        case .pending(let operation):
            if try transaction.pending(peer: operation.peer, sample: operation.sample) == nil {
                try transaction.enqueue(operation)
            }
        case .link(let link):
            if try transaction.link(peer: link.peer, sample: link.sample) == nil { try transaction.setLink(link) }
        case .total(let total): try transaction.setTotal(total)
        case .audit(let event, let sample, let displaced, let time):
            try transaction.appendAudit(event: event, sample: sample, displaced: displaced, time: time)
        case .note(let name, let bytes):
            guard StateLines.isOfCopies(name), try transaction.syncNote(name) == nil else { return }
            try transaction.setSyncNote(name, bytes)
            // What an engine remembered of its peers, it remembered as another copy of the store.
            try transaction.beginEpoch(keepingAnchors: true)
        }
    }

    /// Waits until nothing is under way. What all batches came to.
    func finish() throws -> ImportReport {
        try work.finish()
        return state.withLock { $0.report }
    }
}
