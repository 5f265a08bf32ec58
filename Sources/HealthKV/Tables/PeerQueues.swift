import ColumnFormat
import HealthModel
import LMDB

/// Queues each change for the peers that have a queue.
enum PeerQueues {
    /// Returns `true` if a mark in the store's feed has passed all changes so far.
    static func hasPassedAll(_ mark: FeedMark?, in txn: borrowing WriteTransaction) throws -> Bool {
        guard let seen = mark?.place, seen.epoch == txn.state.header.epoch, seen.store == txn.state.header.storeID
        else { return false }
        // Changes of other closures in this commit are not in a change record yet.
        let seenHere = seen.commit == txn.commit ? seen.ordinal : 0
        if txn.state.hasChanges, seenHere < txn.state.ordinal - 1 { return false }
        let unseen = try? txn.changes(since: seen, limit: 1).changes
        return unseen?.isEmpty == true
    }

    /// Queues a saved or deleted row for the peers whose rule takes it, except the peer from which the change came. If
    /// version and content are unchanged, queues it only for peers that do not know it yet.
    static func queue(
        _ row: StoredRow, _ typeNumber: UInt32, _ kind: PendingOperation.Kind, isSameContent: Bool = false,
        in txn: inout WriteTransaction
    ) throws {
        let queues = try PeerQueues.queues(in: &txn)
        if queues.isEmpty { return }
        // A deletion concerns every peer that may hold the sample, whichever app wrote it. If the sample was never
        // sent, it has no link, and nothing is queued.
        let isOwn = try !row.flags.contains(.imported) && (kind == .delete || isOfOwnSource(row, in: txn))
        let type = try NameTable.type(typeNumber, in: txn.snapshot)
        for peer in queues where peer.id != txn.environment.sender {
            guard peer.queue?.takes(type, isOwn: isOwn) ?? false else { continue }
            if isSameContent {
                let isKnown = try txn.link(peer: peer.id, sample: row.id) != nil
                if try isKnown || txn.pending(peer: peer.id, sample: row.id) != nil { continue }
            }
            if isOwn { try doubtTotals(of: row, typeNumber, at: peer.id, in: &txn) }
            try queue(row.id, typeNumber, version: row.version, row.clock, kind, for: peer.id, in: &txn)
        }
    }

    /// Notes that a row leaves its place in time, so that the totals of peers that hold it change there as well.
    static func noteMoved(_ row: StoredRow, _ typeNumber: UInt32, in txn: inout WriteTransaction) throws {
        guard !row.flags.contains(.imported) else { return }
        for peer in try queues(in: &txn) where peer.id != txn.environment.sender {
            try doubtTotals(of: row, typeNumber, at: peer.id, in: &txn)
        }
    }

    /// Marks the totals of a row's days as incomplete if the peer counts the row: it will be changed or deleted there.
    private static func doubtTotals(
        of row: StoredRow, _ typeNumber: UInt32, at peer: PeerID, in txn: inout WriteTransaction
    ) throws {
        guard try txn.link(peer: peer, sample: row.id)?.isHeldThere == true else { return }
        try PeerTotalsTable.doubt(peer, typeNumber, from: row.start, to: row.end, in: &txn)
    }

    /// Returns `true` if this app wrote the row. If another store brought a sample of another app, that app sends it.
    private static func isOfOwnSource(_ row: StoredRow, in txn: borrowing WriteTransaction) throws -> Bool {
        let source = try NameTable.revision(row.revision, in: txn.snapshot).source.identity
        return source.isSameApp(as: txn.environment.source.identity)
    }

    /// Returns `true` if changes may have to be queued.
    static func hasQueues(in txn: inout WriteTransaction) throws -> Bool { try !queues(in: &txn).isEmpty }

    /// Returns `true` if any queue takes changes of a type.
    static func queuesTake(_ type: SampleType, isImported: Bool, in txn: inout WriteTransaction) throws -> Bool {
        let sender = txn.environment.sender
        return try queues(in: &txn).contains { $0.id != sender && $0.queue?.takes(type, isOwn: !isImported) ?? false }
    }

    /// Returns the registered peers that have a queue. They are read once per transaction.
    private static func queues(in txn: inout WriteTransaction) throws -> [RegisteredPeer] {
        if let known = txn.state.queues { return known }
        let queues = try txn.peers().filter { $0.queue != nil }
        txn.state.queues = queues
        return queues
    }

    /// Queues a change of a sample. A queue holds one operation per sample, which replaces earlier ones (SEMANTICS
    /// C20). Its number for the peer is above every number that the peer may hold, so that no number is sent twice with
    /// different content.
    static func queue(
        _ sample: SampleID, _ type: UInt32, version: Int64, _ clock: ChangeClock, _ kind: PendingOperation.Kind,
        for peer: PeerID, in txn: inout WriteTransaction
    ) throws {
        let prior = try txn.pending(peer: peer, sample: sample)
        let link = try txn.link(peer: peer, sample: sample)
        let wasTried = prior?.isSent ?? false
        // The peer has never received the sample, so there is nothing to delete.
        if kind == .delete, link == nil, !wasTried, prior?.isReceived != true {
            if let prior { try txn.removePending(prior) }
            return
        }
        if kind == .save, let prior, prior.kind == .delete, prior.isSent, var doubted = link, doubted.isHeldThere {
            // The deletion may have been carried out. When the peer reports it, it is not the end of the new version.
            doubted.isProvisional = true
            // A sample without a sync identifier has no number there.
            if doubted.version > 0 { doubted.version = max(doubted.version, prior.version) }
            try txn.setLink(doubted)
        }
        let number = try nextNumber(kind, of: sample, version: version, clock, for: peer, in: &txn)
        var operation = PendingOperation(peer: peer, kind: kind, sample: sample, version: number)
        operation.isSent = wasTried
        operation.isReceived = txn.environment.sender != nil || prior?.isReceived ?? false
        _ = try QueueTable.enqueue(operation, type: type, in: &txn)
    }

    static func nextNumber(
        _ kind: PendingOperation.Kind, of sample: SampleID, version: Int64, _ clock: ChangeClock, for peer: PeerID,
        above floor: Int64 = 0, in txn: inout WriteTransaction
    ) throws -> Int64 {
        var held = max(floor, try txn.link(peer: peer, sample: sample)?.version ?? 0)
        if let prior = try txn.pending(peer: peer, sample: sample), prior.isSent { held = max(held, prior.version) }
        return switch kind {
        case .save: PeerNumber.next(version: version, clock, above: held)
        case .delete: max(PeerNumber.last(version: version), held)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the token up to which a peer with a queue has seen the changes: before its oldest waiting operation.
    /// Permanently refused operations do not count. Returns `nil` while a mass deletion is unfinished.
    package func seenThroughQueue(of peer: PeerID) throws -> ChangeToken? {
        let (snapshot, token) = (snapshot, currentToken)
        guard !hasUnfinishedRemovals else { return nil }
        let sections = try QueueTable.directory(of: peer, in: snapshot).sections.filter { $0.state != .quarantined }
        let oldest = try QueueTable.operations(of: peer, in: sections.map(\.number), limit: 1, in: snapshot).first
        let seen = oldest.map { max(1, $0.sequence >> 32) - 1 } ?? .max
        guard seen < token.commit else { return token }
        return try ChangeLog.token(behind: seen, in: snapshot)
    }
}
