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

/// Where the operation of a sample stands in a peer's queue: there is one at most for each.
struct PendingPlace: SyncRecord {
    let peer: String
    let sample: SampleID
    let sequence: UInt64

    static var table: TableCode { .links }

    init(peer: String, sample: SampleID, sequence: UInt64) {
        self.peer = peer
        self.sample = sample
        self.sequence = sequence
    }

    func encode(into record: inout RecordWriter) {
        record.append(peer)
        record.append(sample)
        record.append(sequence)
    }

    init(from record: inout RecordReader) throws {
        peer = try record.readText()
        sample = try record.readID()
        sequence = try record.read(UInt64.self)
    }
}

extension SampleReading where Self: ~Copyable {
    /// The operation of a sample that waits for a peer.
    public func pending(peer: String, sample: SampleID) throws -> PendingOperation? {
        let snapshot = snapshot
        let hashKey = snapshot.header.hashKey
        guard let place = try snapshot.record(PeerKey.place(peer, sample, hashKey), as: PendingPlace.self) else {
            return nil
        }
        return try snapshot.record(PeerKey.pending(peer, place.sequence, hashKey), as: PendingOperation.self)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Up to where a peer with a queue has seen the changes: to before the oldest that waits for it, and before the oldest deletion that does.
    /// What was refused for good and saves needs nothing that was deleted. `nil` while a mass deletion is under way.
    public func seenThroughQueue(of peer: String) throws -> ChangeToken? {
        let (snapshot, token) = (snapshot, currentToken)
        guard !hasUnfinishedRemovals else { return nil }
        var (place, seen): (UInt64, UInt64) = (0, .max)
        while true {
            let page = try pending(for: peer, after: place, limit: 256)
            for operation in page where operation.state != .quarantined || operation.kind == .delete {
                seen = min(seen, max(1, operation.sequence >> 32) - 1)
                // It may have come into the queue long after it was made.
                guard operation.kind == .delete, let tombstone = try snapshot.tombstone(operation.sample) else {
                    continue
                }
                seen = min(seen, max(1, tombstone.commit) - 1)
            }
            guard page.count == 256, let last = page.last else { break }
            place = last.sequence
        }
        guard seen < token.commit else { return token }
        return try snapshot.token(behind: seen)
    }
}

extension WriteTransaction {
    /// Runs `body` so that what it changes counts as received from a peer: it is queued for all others, not for that one. A peer that
    /// follows the feed has seen it too, unless something that it has not seen stands before it, or a change got a greater version here.
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
        let outerNews = state.isNewsToSender
        state.isNewsToSender = false
        defer { state.isNewsToSender = outerNews }
        let result = try body(&self)
        // Without a change there is nothing to have seen, and the commit may get no mark.
        if let follower, state.ordinal > before, state.hasChanges, !state.isNewsToSender {
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

    /// Queues a saved row for the peers that want it; one whose content is as it was for those only that never heard of it. The
    /// peer that a change came from is told of it only where the store made more of it than was brought.
    mutating func queue(
        _ row: StoredRow, _ type: UInt32, _ kind: PendingOperation.Kind, isSameContent: Bool = false,
        isNewsToSender: Bool = false
    ) throws {
        let queues = try queues()
        if queues.isEmpty { return }
        // What was once sent is taken back whoever wrote it; what never was has no link, and nothing is queued for it.
        let isOwn = try !row.flags.contains(.imported) && (kind == .delete || isOfOwnSource(row))
        let type = try snapshot.type(type)
        for peer in queues where isNewsToSender || peer.name != environment.sender {
            guard peer.queue?.takes(type, isOwn: isOwn) ?? false else { continue }
            if isSameContent {
                let isKnown = try link(peer: peer.name, sample: row.id) != nil
                if try isKnown || pending(peer: peer.name, sample: row.id) != nil { continue }
            }
            try queue(row.id, version: row.version, kind, for: peer.name)
        }
    }

    /// The greatest version of a sample that any peer with a queue may hold: it can be above the store's own.
    mutating func greatestSent(_ sample: SampleID) throws -> Int64 {
        var greatest: Int64 = 0
        for peer in try queues() {
            greatest = max(greatest, try link(peer: peer.name, sample: sample)?.version ?? 0)
            if let waiting = try pending(peer: peer.name, sample: sample), waiting.isSent {
                greatest = max(greatest, waiting.version)
            }
        }
        return greatest
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

    /// One operation stands for all that happened to a sample (SEMANTICS C20). No version is sent twice with different content,
    /// so one that may have been sent already is passed by.
    mutating func queue(_ sample: SampleID, version: Int64, _ kind: PendingOperation.Kind, for peer: String) throws {
        let prior = try pending(peer: peer, sample: sample)
        let link = try link(peer: peer, sample: sample)
        if let prior { try removePending(prior) }
        let wasTried = prior?.isSent ?? false
        // The peer has never heard of it: nothing is to be taken back.
        if kind == .delete, link == nil, !wasTried { return }
        var next = max(version, link.map { $0.version + 1 } ?? 0)
        if let prior, prior.kind == .save { next = max(next, prior.isSent ? prior.version + 1 : prior.version) }
        if kind == .delete { next = max(version, prior?.version ?? 0, link?.version ?? 0) }
        var operation = PendingOperation(peer: peer, kind: kind, sample: sample, version: next)
        operation.isSent = wasTried
        try enqueue(operation)
    }
}
