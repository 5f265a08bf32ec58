import AppleHealthExport
import HealthKV
import Synchronization

/// Stores batches in order, one at a time, while the caller goes on.
final class BatchWriter: Sendable {
    private struct State {
        var report = ImportReport()
        var lines = 0
        var states = 0
    }

    private let sampleStore: SampleStore
    private let work = WorkInOrder(label: "load")
    private let state = Mutex(State())

    init(_ store: SampleStore) { sampleStore = store }

    /// The last line that was stored.
    var storedLines: Int { state.withLock { $0.lines } }

    /// The records of sync state that were stored.
    var storedStates: Int { state.withLock { $0.states } }

    /// Waits for the batch before this one, and throws its error if it had one.
    func store(_ batch: SampleBatch, _ states: [StateEntry], lastLine: Int) throws {
        try work.perform { [self] in
            let report = try store(batch, states)
            state.withLock { state in
                state.report += report
                state.lines = lastLine
                state.states += states.count
            }
        }
    }

    /// All lines of a batch together: a line that is said to be stored must not be loaded again.
    private func store(_ batch: SampleBatch, _ states: [StateEntry]) throws -> ImportReport {
        try sampleStore.write { transaction in
            let report = try transaction.importBatch(batch)
            for rank in 0..<3 {
                for state in states where state.rank == rank { try BatchWriter.take(state, &transaction) }
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
