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
        let start = from ?? prefix
        var cursor = try view.cursor(tables[Record.table])
        var found = start.isEmpty ? try cursor.first() : try cursor.seek(start)
        // What stands behind them in the table may be of another kind.
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
        try removeLinks(of: name)
        try removeTotals(peer: name)
        // The next reader of that name is not taken for another.
        try setSyncNote("reader:\(name)", nil)
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

    /// Adds a resolved conflict to the audit record.
    ///
    /// - Parameter time: when it was resolved; now unless it is given.
    public mutating func appendAudit(
        event: String, sample: SampleID, displaced: [UInt8] = [], time: Instant? = nil
    ) throws {
        let entry = AuditEntry(
            commit: commit, ordinal: state.takeOrdinal(), time: time ?? environment.now(), event: event, sample: sample,
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
