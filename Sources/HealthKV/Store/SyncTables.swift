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

    /// Returns all records of a table whose keys begin with `prefix`, in order.
    func records<Record: SyncRecord>(
        prefix: [UInt8] = [], from: [UInt8]? = nil, limit: Int = .max, as type: Record.Type
    ) throws -> [Record] {
        var records: [Record] = []
        let start = from ?? prefix
        var cursor = try view.cursor(tables[Record.table])
        var found = start.isEmpty ? try cursor.first() : try cursor.seek(start)
        // Later records of the table may be of another kind.
        while found, records.count < limit, cursor.key.hasPrefix(prefix, count: prefix.count) {
            let stored = try StoredSync<Record>(recordBytes: cursor.value)
            guard stored.key == SyncKey(keyBytes: cursor.key) else {
                throw damaged("a record of sync stands under another's key")
            }
            records.append(stored.record)
            found = try cursor.next()
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

// Sync state is stored beside the samples, and changes in the same transaction as the data that it describes.
extension SampleReading where Self: ~Copyable {
    /// Returns the registered peers.
    public func peers() throws -> [RegisteredPeer] {
        try snapshot.records(as: RegisteredPeer.self).sorted { $0.name < $1.name }
    }

    /// Returns a peer; `nil` if it is not registered.
    public func peer(_ name: String) throws -> RegisteredPeer? {
        let snapshot = snapshot
        return try snapshot.record(PeerKey.peer(name, snapshot.header.hashKey), as: RegisteredPeer.self)
    }

    /// Returns the anchors of all peers, or of one.
    public func anchors(of peer: String? = nil) throws -> [Anchor] {
        let snapshot = snapshot
        return try snapshot.records(
            prefix: peer.map { PeerKey.peer($0, snapshot.header.hashKey) } ?? [], as: Anchor.self)
    }

    /// Returns the anchor of a peer's feed of a type; `nil` if nothing was read yet.
    public func anchor(peer: String, type: SampleType, scope: String = "") throws -> Anchor? {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return nil }
        return try snapshot.record(PeerKey.anchor(peer, number, scope, snapshot.header.hashKey), as: Anchor.self)
    }

    /// Returns the resolved conflicts, oldest first.
    public func audit() throws -> [AuditEntry] { try snapshot.records(as: AuditEntry.self) }
}

extension WriteTransaction {
    /// Registers a peer, or updates its registration.
    public mutating func setPeer(_ peer: RegisteredPeer) throws {
        state.queues = nil
        try put(peer, PeerKey.peer(peer.name, state.header.hashKey))
    }

    /// Removes a peer with its anchors, links, queue and daily totals. Samples stay.
    public mutating func removePeer(_ name: String) throws {
        let hashKey = state.header.hashKey
        state.queues = nil
        try forget(PeerKey.peer(name, hashKey), as: RegisteredPeer.self)
        for anchor in try anchors(of: name) { try removeAnchor(peer: name, type: anchor.type, scope: anchor.scope) }
        for operation in try pending(for: name) { try removePending(operation) }
        try removeLinks(of: name)
        try removeTotals(peer: name)
        // Otherwise the next reader of that name would be mistaken for this one.
        try setSyncNote("reader:\(name)", nil)
    }

    /// Records that a peer has seen the changes of this store up to a token. A retired peer stays retired: the store no
    /// longer has all changes that the peer missed, so the sync engine first brings it up to date and then calls
    /// ``endRetirement(of:)``.
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

    /// Records that a peer is present, and keeps tombstones for it again if it was retired. Returns `false` if it is
    /// not registered.
    @discardableResult
    public mutating func endRetirement(of name: String) throws -> Bool {
        guard var peer = try peer(name) else { return false }
        peer.lastSeen = environment.now()
        peer.isRetired = false
        try setPeer(peer)
        return true
    }

    /// Sets the anchor of a peer's feed. Call it in the transaction that stores the data up to that place.
    public mutating func setAnchor(_ anchor: Anchor) throws {
        let type = try number(of: anchor.type)
        try put(anchor, PeerKey.anchor(anchor.peer, type, anchor.scope, state.header.hashKey))
    }

    /// Removes the anchor of a feed, so that the next pull starts at the beginning.
    public mutating func removeAnchor(peer: String, type: SampleType, scope: String = "") throws {
        guard let number = try snapshot.number(of: type) else { return }
        try forget(PeerKey.anchor(peer, number, scope, state.header.hashKey), as: Anchor.self)
    }

    /// Adds a resolved conflict to the audit record.
    ///
    /// - Parameters:
    ///   - event: the event, as a stable name.
    ///   - sample: the id of the sample of the conflict.
    ///   - displaced: the displaced sample, in a form that the caller chooses.
    ///   - time: the time at which it was resolved; by default now.
    public mutating func appendAudit(
        event: String, sample: SampleID, displaced: [UInt8] = [], time: Instant? = nil
    ) throws {
        let entry = AuditEntry(
            commit: commit, ordinal: state.takeOrdinal(), time: time ?? environment.now(), event: event, sample: sample,
            displaced: displaced)
        try put(entry, PeerKey.audit(entry.commit, entry.ordinal))
    }

    /// Removes a conflict from the audit record, after it was reviewed or restored.
    public mutating func removeAudit(_ entry: AuditEntry) throws {
        try forget(PeerKey.audit(entry.commit, entry.ordinal), as: AuditEntry.self)
    }
}

extension SampleStore {
    /// The current time by the clock of the store, which timestamps the data about peers.
    package var now: Instant { core.options.clock() }
}
