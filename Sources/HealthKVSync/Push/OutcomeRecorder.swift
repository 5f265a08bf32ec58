import HealthKV

/// Records the outcomes of operations, in the transaction that removes the operations from the queue.
struct OutcomeRecorder: Sendable {
    let peer: PeerID
    let now: Instant
    let options: SyncOptions
    /// Whether the push was cancelled: then an operation that it did not carry out does not count as an attempt.
    let isCancelled: Bool
    /// Whether the call was abandoned: it may still carry out its operations at any time.
    let isLeftBehind: Bool
    var report = PushReport()

    mutating func record(
        _ outcome: PushOutcome, of queued: PendingOperation, _ sent: PushOperation,
        in txn: inout WriteTransaction, _ state: inout PeerState
    ) throws {
        // An edit made meanwhile replaces the operation in the queue, and records that this one may have been sent.
        let waiting = try txn.pending(peer: peer, sample: queued.sample)
        let current = waiting?.sequence == queued.sequence ? waiting : nil
        switch outcome {
        case .done(let idAtPeer):
            report.done += 1
            // While it is in doubt which database this is, the id would prove that it is the old one once it is shown.
            try settle(state.isDoubted ? nil : idAtPeer, queued, sent, in: &txn)
            if let current { try txn.removePending(current) }
        case .superseded:
            report.done += 1
            state[sent.type].isOvertaken = true
            if let current { try txn.removePending(current) }
        case .refused(let reason):
            report.quarantined += 1
            state.note(.quarantined, reason, at: now)
            try keep(current, queued, in: &txn) { $0.quarantine(reason) }
        case .parked(let reason):
            report.parked += 1
            try keep(current, queued, in: &txn) { $0.park(reason, of: sent.type, until: now + options.slowDelay) }
        case .busy(let time):
            report.parked += 1
            try keep(current, queued, in: &txn) { $0.comeAgain(at: now + options.delay(asked: time)) }
        case .failed(let reason):
            report.failed += 1
            try keep(current, queued, in: &txn) { if !isCancelled { $0.fail(reason, at: now, options) } }
        case .unknown(let reason):
            report.failed += 1
            guard var operation = current else { return }
            if isLeftBehind { try raise(&operation, in: &txn) }
            if !isCancelled { operation.fail(reason, at: now, options) }
            if operation != current { try txn.updatePending(operation) }
        }
    }

    /// Links the sample: the peer holds the sent version. The peer's id is provisional until the sample was pulled back
    /// (SEMANTICS C25).
    private func settle(
        _ idAtPeer: SampleID?, _ queued: PendingOperation, _ sent: PushOperation, in txn: inout WriteTransaction
    ) throws {
        let known = try txn.link(peer: peer, sample: queued.sample)
        switch sent.kind {
        case .delete:
            if let known { try txn.removeLink(known) }
            return
        case .save(let sample): try txn.doubtTotals(of: sample, peer: peer)
        }
        try txn.setLink(
            PeerLink(
                peer: peer, sample: queued.sample, idAtPeer: idAtPeer ?? known?.idAtPeer ?? queued.sample,
                version: sent.version, isProvisional: true))
    }

    /// Raises the number under which a sample is next sent. The abandoned call may still save the sample after the user
    /// has deleted the version that was sent later; the lower number then shows that this is no new version.
    private func raise(_ operation: inout PendingOperation, in txn: inout WriteTransaction) throws {
        guard operation.kind == .save, try txn.peer(peer)?.queue != nil,
            let sample = try txn.sample(id: operation.sample)
        else { return }
        operation.version = PeerNumber.next(version: sample.version, sample.clock, above: operation.version)
    }

    /// An operation that did not happen was not sent either.
    private func keep(
        _ current: PendingOperation?, _ queued: PendingOperation, in txn: inout WriteTransaction,
        _ change: (inout PendingOperation) -> Void
    ) throws {
        guard var operation = current else { return }
        operation.isSent = queued.isSent
        change(&operation)
        try txn.updatePending(operation)
    }
}
