import ColumnFormat
import HealthModel
import LMDB

/// What of the store's changes is put into a peer's queue, in the transaction that makes them.
public struct QueueRule: Sendable, Hashable {
    /// Changes of these types; `nil` for all.
    public var types: Set<SampleType>?
    /// Changes of imported samples and of other apps' entries too. A peer such as HealthKit gets only what this app wrote
    /// (SEMANTICS C25).
    public var takesImports: Bool

    /// A rule for some types.
    public init(types: Set<SampleType>?, takesImports: Bool = false) {
        self.types = types
        self.takesImports = takesImports
    }

    func takes(_ type: SampleType, isOwn: Bool) -> Bool {
        (takesImports || isOwn) && types?.contains(type) ?? true
    }
}

extension SampleReading where Self: ~Copyable {
    /// Up to where a peer with a queue has seen the changes: to before the oldest that waits for it. What was refused for good is not
    /// waited for. `nil` while a mass deletion is under way.
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
    /// Runs `body` so that what it changes counts as received from a peer: it is queued for all others, not for that one. A peer that
    /// follows the feed has seen it too, unless something that it has not seen stands before it.
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
        // Without a change there is nothing to have seen, and the commit may get no mark.
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
        // What others have changed in this commit stands in no record yet.
        let seenHere = seen.commit == commit ? seen.ordinal : 0
        if state.hasChanges, seenHere < state.ordinal - 1 { return nil }
        let unseen = try? changes(since: seen, limit: 1).changes
        let isBehind = unseen?.isEmpty != true
        return isBehind ? nil : name
    }

    /// Queues a saved row for the peers that want it, but not for the one that the change came from; a row whose version and content are
    /// as they were only for those that never heard of it.
    mutating func queue(
        _ row: StoredRow, _ typeNumber: UInt32, _ kind: PendingOperation.Kind, isSameContent: Bool = false
    ) throws {
        let queues = try queues()
        if queues.isEmpty { return }
        // What was once sent is taken back whoever wrote it; what never was has no link, and nothing is queued for it.
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

    /// What another app wrote, and another store brought, is that app's to send.
    private func isOfOwnSource(_ row: StoredRow) throws -> Bool {
        let source = try snapshot.revision(row.revision).source.identity
        return source.isSameApp(as: environment.source.identity)
    }

    /// Whether any change may have to be queued.
    mutating func hasQueues() throws -> Bool { try !queues().isEmpty }

    /// Whether any queue takes changes of a type.
    mutating func queuesTake(_ type: SampleType, isImported: Bool) throws -> Bool {
        let sender = environment.sender
        return try queues().contains { $0.name != sender && $0.queue?.takes(type, isOwn: !isImported) ?? false }
    }

    /// The registered peers that have a queue, read once a transaction.
    private mutating func queues() throws -> [RegisteredPeer] {
        if let known = state.queues { return known }
        let queues = try peers().filter { $0.queue != nil }
        state.queues = queues
        return queues
    }

    /// One operation stands for all that happened to a sample (SEMANTICS C20). It carries a number for the peer, above every one that
    /// the peer may hold, so that no number is sent twice with different content.
    mutating func queue(
        _ sample: SampleID, _ type: UInt32, version: Int64, _ clock: ChangeClock, _ kind: PendingOperation.Kind,
        for peer: String
    ) throws {
        let prior = try pending(peer: peer, sample: sample)
        let link = try link(peer: peer, sample: sample)
        let wasTried = prior?.isSent ?? false
        // The peer has never heard of it: nothing is to be taken back.
        if kind == .delete, link == nil, !wasTried {
            if let prior { try removePending(prior) }
            return
        }
        let number = try nextNumber(kind, of: sample, version: version, clock, for: peer)
        var operation = PendingOperation(peer: peer, kind: kind, sample: sample, version: number)
        operation.isSent = wasTried
        _ = try enqueue(operation, type: type)
    }

    /// Puts an operation for a database of health at the end of its queue, in place of any that waits for the same sample. `version` and
    /// `clock` are those of the sample or of its deletion; the operation's number is above what the peer is known to hold, what was
    /// sent already, and `floor`.
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
