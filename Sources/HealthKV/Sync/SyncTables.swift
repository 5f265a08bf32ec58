import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    func record<Record: SyncRecord>(_ key: [UInt8], as type: Record.Type) throws -> Record? {
        guard let span = try view.get(tables[Record.table], key) else { return nil }
        var reader = try RecordReader(span, table: Record.table, key: key)
        return try Record(from: &reader, key: key, self)
    }

    /// All records of a table whose keys begin with `prefix`, in order.
    func records<Record: SyncRecord>(prefix: [UInt8] = [], as type: Record.Type) throws -> [Record] {
        var records: [Record] = []
        var cursor = try view.cursor(tables[Record.table])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: prefix.count) {
            let key = cursor.key.copied()
            var reader = try RecordReader(cursor.value, table: Record.table, key: key)
            records.append(try Record(from: &reader, key: key, self))
            found = try cursor.next()
        }
        return records
    }
}

extension WriteTransaction {
    fileprivate mutating func put<Record: SyncRecord>(_ record: Record, _ key: [UInt8]) throws {
        var writer = RecordWriter()
        record.encode(into: &writer)
        try put(Record.table, key, writer.value(table: Record.table, key: key, commit: commit))
    }
}

// Sync state lives beside the samples, and changes in the same transaction as what it stands for.
extension SampleReading where Self: ~Copyable {
    /// The registered peers.
    public func peers() throws -> [Peer] { try snapshot.records(as: Peer.self).sorted { $0.name < $1.name } }

    public func peer(_ name: String) throws -> Peer? {
        let snapshot = snapshot
        return try snapshot.record(PeerKey.peer(name, snapshot.header.hashKey), as: Peer.self)
    }

    /// Our places in the feeds of all peers, or of one.
    public func anchors(of peer: String? = nil) throws -> [Anchor] {
        let snapshot = snapshot
        return try snapshot.records(prefix: peer.map { PeerKey.peer($0, snapshot.header.hashKey) } ?? [], as: Anchor.self)
    }

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

    /// Conflicts that were resolved, the oldest first.
    public func audit() throws -> [AuditEntry] { try snapshot.records(as: AuditEntry.self) }
}

extension WriteTransaction {
    /// Registers a peer, or updates what is known of it.
    public mutating func setPeer(_ peer: Peer) throws {
        try put(peer, PeerKey.peer(peer.name, state.header.hashKey))
    }

    /// Forgets a peer with its anchors, links and queue. Samples stay.
    public mutating func removePeer(_ name: String) throws {
        let hashKey = state.header.hashKey
        try remove(.peers, PeerKey.peer(name, hashKey))
        for anchor in try anchors(of: name) { try removeAnchor(peer: name, type: anchor.type, scope: anchor.scope) }
        for operation in try pending(for: name) { try removePending(operation) }
        for link in try snapshot.records(prefix: PeerKey.peer(name, hashKey), as: PeerLink.self) { try removeLink(link) }
    }

    /// Notes that a peer has seen our changes up to a token.
    public mutating func acknowledge(peer name: String, _ token: ChangeToken) throws {
        let now = environment.now()
        var peer = try peer(name) ?? Peer(name: name, registered: now, lastSeen: now)
        peer.lastSeen = now
        peer.acknowledged = peer.acknowledged.map { max($0, token) } ?? token
        try setPeer(peer)
    }

    /// Keeps our place in a peer's feed. Call it in the transaction that stores what the place stands for.
    public mutating func setAnchor(_ anchor: Anchor) throws {
        let type = try number(of: anchor.type)
        try put(anchor, PeerKey.anchor(anchor.peer, type, anchor.scope, state.header.hashKey))
    }

    public mutating func removeAnchor(peer: String, type: SampleType, scope: String = "") throws {
        let number = try number(of: type)
        try remove(.anchors, PeerKey.anchor(peer, number, scope, state.header.hashKey))
    }

    /// Keeps what a peer calls a sample, in place of any earlier link of that sample.
    public mutating func setLink(_ link: PeerLink) throws {
        let hashKey = state.header.hashKey
        if let older = try self.link(peer: link.peer, sample: link.sample) { try removeLink(older) }
        try put(link, PeerKey.link(link.peer, 0, link.sample, hashKey))
        try put(link, PeerKey.link(link.peer, 1, link.peerID, hashKey))
    }

    public mutating func removeLink(_ link: PeerLink) throws {
        let hashKey = state.header.hashKey
        try remove(.links, PeerKey.link(link.peer, 0, link.sample, hashKey))
        try remove(.links, PeerKey.link(link.peer, 1, link.peerID, hashKey))
    }

    /// Puts an operation at the end of its peer's queue and gives it its place.
    @discardableResult
    public mutating func enqueue(_ operation: PendingOperation) throws -> PendingOperation {
        var operation = operation
        operation.sequence = try snapshot.nextSequence(of: operation.peer)
        try updatePending(operation)
        return operation
    }

    /// Stores attempts, next try, state and reason of a queued operation.
    public mutating func updatePending(_ operation: PendingOperation) throws {
        try put(operation, PeerKey.pending(operation.peer, operation.sequence, state.header.hashKey))
    }

    public mutating func removePending(_ operation: PendingOperation) throws {
        try remove(.pending, PeerKey.pending(operation.peer, operation.sequence, state.header.hashKey))
    }

    /// Adds a resolved conflict to the audit record.
    public mutating func appendAudit(event: String, sample: SampleID, displaced: [UInt8]) throws {
        let entry = AuditEntry(
            commit: commit, ordinal: state.takeOrdinal(), time: environment.now(), event: event, sample: sample,
            displaced: displaced)
        try put(entry, PeerKey.audit(entry.commit, entry.ordinal))
    }
}

extension Snapshot {
    fileprivate func nextSequence(of peer: String) throws -> UInt64 {
        var cursor = try view.cursor(tables[.pending])
        let prefix = PeerKey.peer(peer, header.hashKey)
        guard try cursor.seekAtOrBefore(PeerKey.pending(peer, .max, header.hashKey)),
            cursor.key.hasPrefix(prefix, count: prefix.count)
        else { return 1 }
        return cursor.key.loadHash(prefix.count) + 1
    }
}
