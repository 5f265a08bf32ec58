import ColumnFormat
import HealthModel
import LMDB

/// The tables about peers: `peers`, `anchors`, `pending`, `audit`, `links`, `totals`. Their records are all stored in
/// the same form, under keys of ``PeerKey`` and ``LinkKey``.
enum PeerTables {
    static func record<Record: SyncRecord>(_ key: [UInt8], as type: Record.Type, in snapshot: Snapshot) throws
        -> Record?
    {
        let key = SyncKey(key)
        guard let stored = try StoredSync<Record>.table(snapshot.tables).get(key, in: snapshot.view) else { return nil }
        guard stored.key == key else { throw snapshot.damaged(.syncRecordMisplaced) }
        return stored.record
    }

    /// Returns all records of a table whose keys begin with `prefix`, in order.
    static func records<Record: SyncRecord>(
        prefix: [UInt8] = [], from: [UInt8]? = nil, limit: Int = .max, as type: Record.Type, in snapshot: Snapshot
    ) throws -> [Record] {
        var records: [Record] = []
        let start = from ?? prefix
        var cursor = try snapshot.view.cursor(snapshot.tables[Record.table])
        var found = start.isEmpty ? try cursor.first() : try cursor.seek(start)
        // Later records of the table may be of another kind.
        while found, records.count < limit, cursor.key.hasPrefix(prefix, count: prefix.count) {
            let stored = try StoredSync<Record>(recordBytes: cursor.value)
            guard stored.key == SyncKey(keyBytes: cursor.key) else {
                throw snapshot.damaged(.syncRecordMisplaced)
            }
            records.append(stored.record)
            found = try cursor.next()
        }
        return records
    }

    static func put<Record: SyncRecord>(_ record: Record, _ bytes: [UInt8], in txn: inout WriteTransaction) throws {
        let key = SyncKey(bytes)
        txn.state.isChanged = true
        let stored = StoredSync(record, key: key, stamp: txn.stamp)
        let content = stored.recordBytes
        txn.state.writes += 1
        txn.state.bytes += content.count
        try txn.account(Record.table, bytes, content)
        try StoredSync<Record>.table(txn.context.tables).put(stored, under: key, in: &txn.lmdb)
    }

    static func forget<Record: SyncRecord>(_ bytes: [UInt8], as type: Record.Type, in txn: inout WriteTransaction)
        throws
    {
        txn.state.writes += 1
        try txn.account(Record.table, bytes, nil)
        if try StoredSync<Record>.table(txn.context.tables).delete(SyncKey(bytes), in: &txn.lmdb) {
            txn.state.isChanged = true
        }
    }

    static func forEachRecord<Record: SyncRecord>(
        of type: Record.Type, in snapshot: Snapshot, _ body: (Record) throws -> Void
    ) throws {
        try StoredSync<Record>.table(snapshot.tables).forEach(in: snapshot.view) { key, stored in
            guard stored.key == key else { throw snapshot.damaged(.syncRecordMisplaced) }
            try body(stored.record)
            return true
        }
    }
}

// The forms in which the records of peers are stored.

extension RegisteredPeer: SyncRecord {
    static var table: TableCode { .peers }

    func encode(into record: inout RecordWriter) {
        record.append(id.rawValue)
        record.append(registered.nanoseconds)
        record.append(lastSeen.nanoseconds)
        record.append(read?.place.description)
        record.append(isRetired ? 1 : 0 as UInt8)
        RegisteredPeer.append(queue, to: &record)
        record.append((read?.time ?? .earliest).nanoseconds)
        record.append(sent?.place.description)
        record.append((sent?.time ?? .earliest).nanoseconds)
    }

    init(from record: inout RecordReader) throws {
        id = try PeerID(record.readText())
        registered = Instant(nanoseconds: try record.read(Int64.self))
        lastSeen = Instant(nanoseconds: try record.read(Int64.self))
        let place = try record.readOptionalText().flatMap { ChangeToken($0) }
        isRetired = try record.read(UInt8.self) != 0
        queue = try RegisteredPeer.queue(from: &record)
        read = FeedMark(place: place, time: try record.read(Int64.self))
        let placeSent = try record.readOptionalText().flatMap { ChangeToken($0) }
        sent = FeedMark(place: placeSent, time: try record.read(Int64.self))
    }

    private static func append(_ queue: QueueRule?, to record: inout RecordWriter) {
        guard let queue else { return record.append(0 as UInt8) }
        record.append(queue.takesImports ? 2 : 1 as UInt8)
        guard let types = queue.types else { return record.append(UInt32.max) }
        record.append(UInt32(types.count))
        for type in types.sorted() { record.append(type.identifier) }
    }

    private static func queue(from record: inout RecordReader) throws -> QueueRule? {
        let flag = try record.read(UInt8.self)
        if flag == 0 { return nil }
        var rule = QueueRule(types: nil, takesImports: flag == 2)
        let count = try record.read(UInt32.self)
        if count != .max {
            var types: Set<SampleType> = []
            for _ in 0..<count { types.insert(SampleType(try record.readText())) }
            rule.types = types
        }
        return rule
    }
}

extension FeedMark {
    /// The mark at a stored place and time; `nil` without a place.
    fileprivate init?(place: ChangeToken?, time: Int64) {
        guard let place else { return nil }
        self.init(place: place, time: Instant(nanoseconds: time))
    }
}

extension Anchor: SyncRecord {
    static var table: TableCode { .anchors }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
        record.append(type.identifier)
        record.append(scope)
        record.append(token)
        record.append(time.nanoseconds)
        record.append(outcome)
    }

    init(from record: inout RecordReader) throws {
        peer = try PeerID(record.readText())
        type = SampleType(try record.readText())
        scope = try record.readText()
        token = try record.readBytes()
        time = Instant(nanoseconds: try record.read(Int64.self))
        outcome = try record.readText()
    }
}

extension PendingOperation: SyncRecord {
    static var table: TableCode { .pending }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
        record.append(sequence)
        record.append(kind.rawValue)
        record.append(sample)
        record.append(version)
        record.append(Int64(attempts))
        record.append(nextTry.nanoseconds)
        record.append(state.rawValue)
        record.append(reason)
        record.append((isSent ? 1 : 0) | (isReceived ? 2 : 0 as UInt8))
        if let accessType { record.append(accessType.identifier) }
    }

    init(from record: inout RecordReader) throws {
        let peer = try PeerID(record.readText())
        let sequence = try record.read(UInt64.self)
        guard let kind = Kind(rawValue: try record.read(UInt8.self)) else { throw FormatError(.unknown, "operation") }
        let sample = try record.readID()
        let version = try record.read(Int64.self)
        let attempts = Int(truncatingIfNeeded: try record.read(Int64.self))
        let nextTry = Instant(nanoseconds: try record.read(Int64.self))
        guard let state = State(rawValue: try record.read(UInt8.self)) else { throw FormatError(.unknown, "state") }
        self.init(
            peer: peer, kind: kind, sample: sample, version: version, attempts: attempts, nextTry: nextTry,
            state: state,
            reason: try record.readText())
        self.sequence = sequence
        let flags = try record.read(UInt8.self)
        (isSent, isReceived) = (flags & 1 != 0, flags & 2 != 0)
        accessType = record.isAtEnd ? nil : SampleType(try record.readText())
    }

    func belongs(under key: [UInt8]) -> Bool {
        PeerKey.isOperation(key) && key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } == sequence
    }
}

extension AuditEntry: SyncRecord {
    static var table: TableCode { .audit }

    func encode(into record: inout RecordWriter) {
        record.append(commit)
        record.append(ordinal)
        record.append(time.nanoseconds)
        record.append(event)
        record.append(sample)
        record.append(displaced)
    }

    init(from record: inout RecordReader) throws {
        commit = try record.read(UInt64.self)
        ordinal = try record.read(UInt32.self)
        time = Instant(nanoseconds: try record.read(Int64.self))
        event = try record.readText()
        sample = try record.readID()
        displaced = try record.readBytes()
    }

    func belongs(under key: [UInt8]) -> Bool { key == PeerKey.audit(commit, ordinal) }
}
