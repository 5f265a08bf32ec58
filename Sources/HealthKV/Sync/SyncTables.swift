import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    func record<Record: SyncRecord>(_ key: [UInt8], as type: Record.Type) throws -> Record? {
        let key = SyncKey(key)
        guard let stored = try StoredSync<Record>.table(tables).get(key, in: view) else { return nil }
        guard stored.key == key else { throw damaged("a record of sync stands under another's key") }
        return stored.record
    }

    /// All records of a table whose keys begin with `prefix`, in order.
    func records<Record: SyncRecord>(
        prefix: [UInt8] = [], from: [UInt8]? = nil, limit: Int = .max, as type: Record.Type
    ) throws -> [Record] {
        var records: [Record] = []
        let start = (from ?? (prefix.isEmpty ? nil : prefix)).map { SyncKey($0) }
        try StoredSync<Record>.table(tables).forEach(from: start, in: view) { key, stored in
            guard key.keyBytes.starts(with: prefix) else { return false }
            guard stored.key == key else { throw damaged("a record of sync stands under another's key") }
            records.append(stored.record)
            return records.count < limit
        }
        return records
    }
}

extension WriteTransaction {
    mutating func put<Record: SyncRecord>(_ record: Record, _ bytes: [UInt8]) throws {
        let key = SyncKey(bytes)
        state.isChanged = true
        let stored = StoredSync(record, key: key, commit: commit)
        let content = stored.recordBytes
        state.writes += 1
        state.bytes += content.count
        try account(Record.table, bytes, content)
        try StoredSync<Record>.table(context.tables).put(stored, under: key, in: &lmdb)
    }

    mutating func forget<Record: SyncRecord>(_ bytes: [UInt8], as type: Record.Type) throws {
        state.writes += 1
        try account(Record.table, bytes, nil)
        if try StoredSync<Record>.table(context.tables).delete(SyncKey(bytes), in: &lmdb) { state.isChanged = true }
    }
}

// Sync state lives beside the samples, and changes in the same transaction as what it stands for.
extension SampleReading where Self: ~Copyable {
    /// The registered peers.
    public func peers() throws -> [RegisteredPeer] {
        try snapshot.records(as: RegisteredPeer.self).sorted { $0.name < $1.name }
    }

    /// What is known of a peer; `nil` when it is not registered.
    public func peer(_ name: String) throws -> RegisteredPeer? {
        let snapshot = snapshot
        return try snapshot.record(PeerKey.peer(name, snapshot.header.hashKey), as: RegisteredPeer.self)
    }

    /// Our places in the feeds of all peers, or of one.
    public func anchors(of peer: String? = nil) throws -> [Anchor] {
        let snapshot = snapshot
        return try snapshot.records(
            prefix: peer.map { PeerKey.peer($0, snapshot.header.hashKey) } ?? [], as: Anchor.self)
    }

    /// Our place in a peer's feed of a type; `nil` when nothing was read yet.
    public func anchor(peer: String, type: SampleType, scope: String = "") throws -> Anchor? {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return nil }
        return try snapshot.record(PeerKey.anchor(peer, number, scope, snapshot.header.hashKey), as: Anchor.self)
    }

    /// What a peer calls a sample.
    public func link(peer: String, sample: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        return try snapshot.record(PeerKey.link(peer, 0, sample, snapshot.header.hashKey), as: PeerLink.self)
    }

    /// The link that a peer's own id leads to.
    public func link(peer: String, peerID: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        return try snapshot.record(PeerKey.link(peer, 1, peerID, snapshot.header.hashKey), as: PeerLink.self)
    }

    /// Operations that wait for all peers, or for one, in the order of their queues.
    public func pending(for peer: String? = nil) throws -> [PendingOperation] {
        let snapshot = snapshot
        let prefix = peer.map { PeerKey.peer($0, snapshot.header.hashKey) } ?? []
        return try snapshot.records(prefix: prefix, as: PendingOperation.self)
    }

    /// Some operations that wait for a peer, behind a place of its queue.
    public func pending(for peer: String, after sequence: UInt64, limit: Int) throws -> [PendingOperation] {
        let snapshot = snapshot
        let hashKey = snapshot.header.hashKey
        guard sequence < .max else { return [] }
        return try snapshot.records(
            prefix: PeerKey.peer(peer, hashKey), from: PeerKey.pending(peer, sequence + 1, hashKey), limit: limit,
            as: PendingOperation.self)
    }

    /// Conflicts that were resolved, the oldest first.
    public func audit() throws -> [AuditEntry] { try snapshot.records(as: AuditEntry.self) }
}

extension WriteTransaction {
    /// Registers a peer, or updates what is known of it.
    public mutating func setPeer(_ peer: RegisteredPeer) throws {
        state.queues = nil
        try put(peer, PeerKey.peer(peer.name, state.header.hashKey))
    }

    /// Forgets a peer with its anchors, links, queue and daily totals. Samples stay.
    public mutating func removePeer(_ name: String) throws {
        let hashKey = state.header.hashKey
        state.queues = nil
        try forget(PeerKey.peer(name, hashKey), as: RegisteredPeer.self)
        for anchor in try anchors(of: name) { try removeAnchor(peer: name, type: anchor.type, scope: anchor.scope) }
        for operation in try pending(for: name) { try removePending(operation) }
        // Each link stands there twice, once in each direction.
        let links = try snapshot.records(prefix: PeerKey.peer(name, hashKey) + [0], as: PeerLink.self)
        for link in links { try removeLink(link) }
        try removeTotals(peer: name)
    }

    /// Notes that a peer has seen our changes up to a token. One that is retired stays so: what it missed is forgotten, and
    /// whoever syncs with it brings it in line before ``endRetirement(of:)``.
    public mutating func acknowledge(peer name: String, _ token: ChangeToken) throws {
        guard try snapshot.fit(of: token) == .fits else {
            throw StoreError(
                .tokenExpired, path: environment.path, "The acknowledged token is none that this store has given")
        }
        let now = environment.now()
        var peer = try peer(name) ?? RegisteredPeer(name: name, registered: now, lastSeen: now)
        peer.lastSeen = now
        peer.acknowledged = token.greatest(with: peer.acknowledged)
        try setPeer(peer)
    }

    /// Notes that a peer is there, and keeps tombstones for it again if it was retired. Answers false when it is not registered.
    @discardableResult
    public mutating func endRetirement(of name: String) throws -> Bool {
        guard var peer = try peer(name) else { return false }
        peer.lastSeen = environment.now()
        peer.isRetired = false
        try setPeer(peer)
        return true
    }

    /// Keeps our place in a peer's feed. Call it in the transaction that stores what the place stands for.
    public mutating func setAnchor(_ anchor: Anchor) throws {
        let type = try number(of: anchor.type)
        try put(anchor, PeerKey.anchor(anchor.peer, type, anchor.scope, state.header.hashKey))
    }

    /// Forgets our place in a feed, so that the next pull begins at its beginning.
    public mutating func removeAnchor(peer: String, type: SampleType, scope: String = "") throws {
        guard let number = try snapshot.number(of: type) else { return }
        try forget(PeerKey.anchor(peer, number, scope, state.header.hashKey), as: Anchor.self)
    }

    /// Keeps what a peer calls a sample, in place of any earlier link of that sample or of that id of the peer.
    public mutating func setLink(_ link: PeerLink) throws {
        let hashKey = state.header.hashKey
        if let older = try self.link(peer: link.peer, sample: link.sample) { try removeLink(older) }
        if let older = try self.link(peer: link.peer, peerID: link.peerID) { try removeLink(older) }
        try put(link, PeerKey.link(link.peer, 0, link.sample, hashKey))
        try put(link, PeerKey.link(link.peer, 1, link.peerID, hashKey))
    }

    /// Forgets what a peer calls a sample, in both directions.
    public mutating func removeLink(_ link: PeerLink) throws {
        let hashKey = state.header.hashKey
        try forget(PeerKey.link(link.peer, 0, link.sample, hashKey), as: PeerLink.self)
        try forget(PeerKey.link(link.peer, 1, link.peerID, hashKey), as: PeerLink.self)
    }

    /// Puts an operation at the end of its peer's queue, in place of any that waits for the same sample, and gives it its
    /// place. A place is never given twice, so that what is known of an operation that is done cannot meet another one.
    @discardableResult
    public mutating func enqueue(_ operation: PendingOperation) throws -> PendingOperation {
        var operation = operation
        if let prior = try pending(peer: operation.peer, sample: operation.sample) { try removePending(prior) }
        operation.sequence = commit << 32 | UInt64(state.takeOrdinal())
        try updatePending(operation)
        let place = PendingPlace(peer: operation.peer, sample: operation.sample, sequence: operation.sequence)
        try put(place, PeerKey.place(place.peer, place.sample, state.header.hashKey))
        return operation
    }

    /// Stores attempts, next try, state and reason of a queued operation.
    public mutating func updatePending(_ operation: PendingOperation) throws {
        try put(operation, PeerKey.pending(operation.peer, operation.sequence, state.header.hashKey))
    }

    /// Takes an operation out of its queue, because it is done or given up.
    public mutating func removePending(_ operation: PendingOperation) throws {
        let hashKey = state.header.hashKey
        try forget(PeerKey.pending(operation.peer, operation.sequence, hashKey), as: PendingOperation.self)
        let place = PeerKey.place(operation.peer, operation.sample, hashKey)
        if try snapshot.record(place, as: PendingPlace.self)?.sequence == operation.sequence {
            try forget(place, as: PendingPlace.self)
        }
    }

    /// Adds a resolved conflict to the audit record.
    public mutating func appendAudit(event: String, sample: SampleID, displaced: [UInt8] = []) throws {
        let entry = AuditEntry(
            commit: commit, ordinal: state.takeOrdinal(), time: environment.now(), event: event, sample: sample,
            displaced: displaced)
        try put(entry, PeerKey.audit(entry.commit, entry.ordinal))
    }

    /// Takes a conflict out of the audit record, once it was looked at or restored from.
    public mutating func removeAudit(_ entry: AuditEntry) throws {
        try forget(PeerKey.audit(entry.commit, entry.ordinal), as: AuditEntry.self)
    }
}

extension SampleStore {
    /// What time it is by the clock of the store, which stamps what is known of peers.
    package var now: Instant { core.options.clock() }
}
