import ColumnFormat
import HealthModel
import LMDB

extension SampleReading where Self: ~Copyable {
    /// Returns the token up to which a peer with a queue has seen the changes: before its oldest waiting operation.
    /// Permanently refused operations do not count. Returns `nil` while a mass deletion is unfinished.
    public func seenThroughQueue(of peer: String) throws -> ChangeToken? {
        let (snapshot, token) = (snapshot, currentToken)
        guard !hasUnfinishedRemovals else { return nil }
        let sections = try snapshot.directory(of: peer).sections.filter { $0.state != .quarantined }
        let oldest = try snapshot.operations(of: peer, in: sections.map(\.number), limit: 1).first
        let seen = oldest.map { max(1, $0.sequence >> 32) - 1 } ?? .max
        guard seen < token.commit else { return token }
        return try snapshot.token(behind: seen)
    }
}

extension WriteTransaction {
    /// Runs `body` so that its changes count as received from a peer: they are queued for all other peers, but not for
    /// that one. A peer that follows the feed counts as having seen them, unless there are earlier changes that it has
    /// not seen.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.receiving(from: "tablet") { try $0.merge(sample) }
    /// }
    /// ```
    public mutating func receiving<Result>(
        from peer: String, _ body: (inout WriteTransaction) throws -> Result
    ) throws -> Result {
        let outer = environment.sender
        environment.sender = peer
        defer { environment.sender = outer }
        let follower = try followerThatHasSeenAll(peer)
        let before = state.ordinal
        let result = try body(&self)
        // Without a change there is nothing to acknowledge, and the commit may get no mark.
        if let follower, state.ordinal > before, state.hasChanges {
            try acknowledge(
                peer: follower,
                ChangeToken(
                    store: state.header.storeID, epoch: state.header.epoch, commit: commit,
                    ordinal: state.ordinal - 1, mark: state.mark))
        }
        return result
    }

    private func followerThatHasSeenAll(_ name: String) throws -> String? {
        guard let peer = try peer(name), peer.queue == nil, let seen = peer.acknowledged,
            seen.epoch == state.header.epoch, seen.store == state.header.storeID
        else { return nil }
        // Changes of other closures in this commit are not in a change record yet.
        let seenHere = seen.commit == commit ? seen.ordinal : 0
        if state.hasChanges, seenHere < state.ordinal - 1 { return nil }
        let unseen = try? changes(since: seen, limit: 1).changes
        let isBehind = unseen?.isEmpty != true
        return isBehind ? nil : name
    }

    /// Queues a saved or deleted row for the peers whose rule takes it, except the peer from which the change came. If
    /// version and content are unchanged, queues it only for peers that do not know it yet.
    mutating func queue(
        _ row: StoredRow, _ typeNumber: UInt32, _ kind: PendingOperation.Kind, isSameContent: Bool = false
    ) throws {
        let queues = try queues()
        if queues.isEmpty { return }
        // A deletion concerns every peer that may hold the sample, whichever app wrote it. If the sample was never
        // sent, it has no link, and nothing is queued.
        let isOwn = try !row.flags.contains(.imported) && (kind == .delete || isOfOwnSource(row))
        let type = try snapshot.type(typeNumber)
        for peer in queues where peer.name != environment.sender {
            guard peer.queue?.takes(type, isOwn: isOwn) ?? false else { continue }
            if isSameContent {
                let isKnown = try link(peer: peer.name, sample: row.id) != nil
                if try isKnown || pending(peer: peer.name, sample: row.id) != nil { continue }
            }
            try queue(row.id, typeNumber, version: row.version, row.clock, kind, for: peer.name)
        }
    }

    /// Returns `true` if this app wrote the row. If another store brought a sample of another app, that app sends it.
    private func isOfOwnSource(_ row: StoredRow) throws -> Bool {
        let source = try snapshot.revision(row.revision).source.identity
        return source.isSameApp(as: environment.source.identity)
    }

    /// Returns `true` if changes may have to be queued.
    mutating func hasQueues() throws -> Bool { try !queues().isEmpty }

    /// Returns `true` if any queue takes changes of a type.
    mutating func queuesTake(_ type: SampleType, isImported: Bool) throws -> Bool {
        let sender = environment.sender
        return try queues().contains { $0.name != sender && $0.queue?.takes(type, isOwn: !isImported) ?? false }
    }

    /// Returns the registered peers that have a queue. They are read once per transaction.
    private mutating func queues() throws -> [RegisteredPeer] {
        if let known = state.queues { return known }
        let queues = try peers().filter { $0.queue != nil }
        state.queues = queues
        return queues
    }

    /// Queues a change of a sample. A queue holds one operation per sample, which replaces earlier ones (SEMANTICS
    /// C20). Its number for the peer is above every number that the peer may hold, so that no number is sent twice with
    /// different content.
    mutating func queue(
        _ sample: SampleID, _ type: UInt32, version: Int64, _ clock: ChangeClock, _ kind: PendingOperation.Kind,
        for peer: String
    ) throws {
        let prior = try pending(peer: peer, sample: sample)
        let link = try link(peer: peer, sample: sample)
        let wasTried = prior?.isSent ?? false
        // The peer has never received the sample, so there is nothing to delete.
        if kind == .delete, link == nil, !wasTried {
            if let prior { try removePending(prior) }
            return
        }
        let number = try nextNumber(kind, of: sample, version: version, clock, for: peer)
        var operation = PendingOperation(peer: peer, kind: kind, sample: sample, version: number)
        operation.isSent = wasTried
        _ = try enqueue(operation, type: type)
    }

    /// Appends an operation for a health database to its queue, replacing any operation of the same sample. `version`
    /// and `clock` are those of the sample or of its deletion. The number of the operation is above `floor`, above the
    /// number that the peer is known to hold, and above any number already sent.
    @discardableResult
    package mutating func enqueue(
        _ kind: PendingOperation.Kind, of sample: SampleID, version: Int64, _ clock: ChangeClock, for peer: String,
        above floor: Int64 = 0
    ) throws -> PendingOperation {
        let number = try nextNumber(kind, of: sample, version: version, clock, for: peer, above: floor)
        return try enqueue(PendingOperation(peer: peer, kind: kind, sample: sample, version: number))
    }

    private mutating func nextNumber(
        _ kind: PendingOperation.Kind, of sample: SampleID, version: Int64, _ clock: ChangeClock, for peer: String,
        above floor: Int64 = 0
    ) throws -> Int64 {
        var held = max(floor, try link(peer: peer, sample: sample)?.version ?? 0)
        if let prior = try pending(peer: peer, sample: sample), prior.isSent { held = max(held, prior.version) }
        return switch kind {
        case .save: PeerNumber.next(version: version, clock, above: held)
        case .delete: max(PeerNumber.last(version: version), held)
        }
    }
}
