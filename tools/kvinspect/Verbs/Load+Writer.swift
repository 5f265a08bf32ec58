import AppleHealthExport
import HealthKV
import Synchronization

/// Stores batches in order, one at a time, while the caller goes on.
final class BatchWriter: Sendable {
    private struct State {
        var report = ImportReport()
        var lines = 0
        var states = 0
        var refused = 0
        var refusedNamed: [BadLine] = []
    }

    /// Lines that are named one by one.
    static let named = 20

    private let sampleStore: SampleStore
    private let work = WorkInOrder(label: "load")
    private let state = Mutex(State())

    /// Whether the store was empty. Only then does it lack what an import brought up to its place.
    private let wasEmpty: Bool

    init(_ store: SampleStore) {
        sampleStore = store
        wasEmpty = (try? store.read { try $0.count() }) == 0
    }

    /// The last line that was stored.
    var storedLines: Int { state.withLock { $0.lines } }

    /// The records of sync state that were stored.
    var storedStates: Int { state.withLock { $0.states } }

    /// How many samples the store refused beside what it holds or what came before, and the lines of the first.
    var refused: (count: Int, named: [BadLine]) { state.withLock { ($0.refused, $0.refusedNamed) } }

    /// Waits for the batch before this one, and throws its error if it had one.
    ///
    /// - Parameter skipBad: whether to leave out samples that the store refuses.
    func store(_ batch: LoadedBatch, skipBad: Bool) throws {
        try work.perform { [self] in
            let report = try stored(batch, skipBad: skipBad)
            state.withLock { state in
                state.report += report
                state.lines = batch.lastLine
                state.states += batch.states.count
            }
        }
    }

    private func stored(_ batch: LoadedBatch, skipBad: Bool) throws -> ImportReport {
        do { return try store(batch) } catch let error as StoreError where BatchWriter.isOfSample(error) {
            let (report, refused) = try storeSingly(batch, skipBad: skipBad)
            state.withLock { state in
                state.refused += refused.count
                state.refusedNamed += refused.prefix(
                    BatchWriter.named - min(BatchWriter.named, state.refusedNamed.count))
            }
            return report
        }
    }

    private static func isOfSample(_ error: StoreError) -> Bool {
        error.code == .identityChanged || error.code == .invalidSample
    }

    /// Stores a batch of which the store refuses some rows: row by row, so that each of these is known.
    private func storeSingly(
        _ batch: LoadedBatch, skipBad: Bool
    ) throws -> (report: ImportReport, refused: [BadLine]) {
        try sampleStore.write { transaction in
            var (report, refused): (ImportReport, [BadLine]) = (ImportReport(), [])
            for source in batch.sources { try transaction.meet(source) }
            for row in 0..<batch.samples.count {
                if row % 1_024 == 0 { try Interruption.check() }
                do { report += try transaction.importBatch(batch.sample(row)) } catch let error as StoreError
                    where BatchWriter.isOfSample(error)
                {
                    let line = BadLine(line: batch.lineOfRow[row], reason: error.detail)
                    guard skipBad else { throw line }
                    refused.append(line)
                }
            }
            try self.take(batch.states, &transaction)
            return (report, refused)
        }
    }

    /// All lines of a batch together: a line that is said to be stored must not be loaded again.
    private func store(_ batch: LoadedBatch) throws -> ImportReport {
        try sampleStore.write { transaction in
            for source in batch.sources { try transaction.meet(source) }
            let report = try transaction.importBatch(batch.samples)
            try self.take(batch.states, &transaction)
            return report
        }
    }

    private func take(_ states: [StateEntry], _ transaction: inout WriteTransaction) throws {
        for rank in 0..<3 { for state in states where state.rank == rank { try take(state, &transaction) } }
    }

    private func take(_ state: StateEntry, _ transaction: inout WriteTransaction) throws {
        switch state {
        case .deleted(let deletion): try transaction.merge(deletion)
        case .peer(let peer):
            // A store that knows the peer itself knows better.
            if try transaction.peer(peer.id) == nil { try transaction.setPeer(peer) }
        case .purged(let type, let source, let latest): try transaction.notePurged(type, of: source, latest: latest)
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
        case .content(let sample, let time): try transaction.keepDeletedContent(sample, deletedAt: time)
        case .importPosition(let job, let batches):
            // In another store the import may have ended long ago, or may have brought other samples.
            if wasEmpty { try transaction.advanceImport(of: job, to: batches) }
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
