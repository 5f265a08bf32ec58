import HealthKV

/// Operations of a queue that go to the peer together.
struct PushBatch: Sendable {
    /// As they stand in the queue, beside what is sent.
    var items: [(queued: PendingOperation, sent: PushOperation)] = []
    /// Operations that are about nothing any more, or about a type that the plan no longer sends.
    var idle: [PendingOperation] = []
    /// The last place of the queue that was looked at.
    var last: UInt64
    /// Whether the end of the queue was reached.
    var isAtEnd = false
    private var taken: Set<UInt64> = []

    init(after sequence: UInt64) { last = sequence }

    /// What decides which operations may go.
    struct Conditions: Sendable {
        var now: Instant
        var isUrgent: Bool
        var plan: SyncPlan
        /// Whether only types go that are sent as soon as they change.
        var isOfCommit: Bool
        /// Types of which nothing may be sent yet.
        var held: Set<SampleType>
        /// Whether the peer shows nothing: what may have been sent before is not sent again then. The user may have deleted it there, which
        /// the feed will tell.
        var isBlind: Bool
        var limit: Int
        /// An operation that is put off for longer was so by a wrong clock.
        var longestDelay: Duration
    }

    /// Collects what is due behind ``last``.
    mutating func collect(
        _ peer: String, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws {
        while items.count + idle.count < conditions.limit {
            let page = try txn.pending(for: peer, after: last, limit: 256)
            for operation in page {
                last = operation.sequence
                guard conditions.isDue(operation), !taken.contains(operation.sequence) else { continue }
                try add(operation, peer, conditions, in: txn)
                if items.count + idle.count >= conditions.limit { return }
            }
            if page.count < 256 {
                isAtEnd = true
                return
            }
        }
    }

    private mutating func add(
        _ operation: PendingOperation, _ peer: String, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws {
        taken.insert(operation.sequence)
        let link = try txn.link(peer: peer, sample: operation.sample)
        guard var sample = try txn.sample(id: operation.sample) else {
            guard let deleted = try txn.deletedSample(id: operation.sample), !deleted.isHidden,
                conditions.pushes(deleted.type)
            else {
                idle.append(operation)
                return
            }
            guard conditions.allows(deleted.type) else { return }
            // What was sent may have had a greater version than what was deleted.
            let version = max(deleted.version, operation.version, link?.version ?? 0)
            let sent = PushOperation(
                sequence: operation.sequence, kind: .delete(deleted.raised(to: version)), peerID: link?.peerID)
            items.append((operation, sent))
            return
        }
        guard conditions.pushes(sample.type) else { return idle.append(operation) }
        guard conditions.allows(sample.type), !(conditions.isBlind && operation.isSent) else { return }
        let group = try sample.group.map { try txn.samples(group: $0, source: sample.source.identity) } ?? []
        sample.version = max(sample.version, operation.version)
        if sample.syncIdentifier == nil { sample.syncIdentifier = sample.id.description }
        let sent = PushOperation(
            sequence: operation.sequence, kind: .save(sample), peerID: link?.peerID,
            replacesUnnamed: link?.version == PeerLink.unnamed, group: group)
        items.append((operation, sent))
        // The members of a group go together.
        for mate in group where mate.id != sample.id {
            guard let other = try txn.pending(peer: peer, sample: mate.id), !taken.contains(other.sequence),
                conditions.isDue(other)
            else { continue }
            try add(other, peer, conditions, in: txn)
        }
    }
}

extension DeletedSample {
    fileprivate func raised(to version: Int64) -> DeletedSample {
        DeletedSample(
            id: id, type: type, source: source, syncIdentifier: syncIdentifier, version: version, modified: modified)
    }
}

extension PushBatch.Conditions {
    fileprivate func isDue(_ operation: PendingOperation) -> Bool {
        operation.state != .quarantined && (isUrgent || operation.nextTry.isDue(at: now, longest: longestDelay))
    }

    fileprivate func pushes(_ type: SampleType) -> Bool { plan.plan(of: type)?.pushes ?? false }

    fileprivate func allows(_ type: SampleType) -> Bool {
        guard !held.holds(type), let item = plan.plan(of: type) else { return false }
        return !isOfCommit || item.triggers.contains(.onChange)
    }
}
