import ColumnFormat
import HealthModel
import LMDB

/// Keys of the tables of sync. A peer's name is hashed to sixteen bytes, so that all keys have one length whatever the
/// name; the name itself is in the record.
enum PeerKey {
    static func peer(_ peer: PeerID, _ hashKey: KeyedHash) -> [UInt8] { text(peer.rawValue, hashKey) }

    /// The sixteen bytes that stand for a text in a key.
    static func text(_ text: String, _ hashKey: KeyedHash) -> [UInt8] {
        let words = IdentityHash.words(of: Array(text.utf8), hashKey)
        var writer = ByteWriter(reserving: 16)
        writer.appendBigEndian(words.0)
        writer.appendBigEndian(words.1)
        return writer.bytes
    }

    static func anchor(_ peer: PeerID, _ type: UInt32, _ scope: String, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(type)
        writer.bytes += PeerKey.text(scope, hashKey)
        return writer.bytes
    }

    /// The key of a queue's directory sorts before its operations; the keys of the places of samples sort after them.
    static func directory(_ peer: PeerID, _ hashKey: KeyedHash) -> [UInt8] { section(peer, 0, hashKey) }

    static func section(_ peer: PeerID, _ number: UInt32, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(number)
        return writer.bytes
    }

    static func pending(_ peer: PeerID, _ number: UInt32, _ sequence: UInt64, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 28)
        writer.bytes = section(peer, number, hashKey)
        writer.appendBigEndian(sequence)
        return writer.bytes
    }

    static func place(_ peer: PeerID, _ id: SampleID, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = section(peer, .max, hashKey)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    static func isDirectory(_ key: [UInt8]) -> Bool { key.count == 20 }

    static func isOperation(_ key: [UInt8]) -> Bool { key.count == 28 }

    /// Returns a key after all keys of the peer to which the given key belongs.
    static func behind(peerOf key: [UInt8]) -> [UInt8] { key.prefix(16) + [UInt8](repeating: .max, count: 24) }

    static func audit(_ commit: UInt64, _ ordinal: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 12)
        writer.appendBigEndian(commit)
        writer.appendBigEndian(ordinal)
        return writer.bytes
    }
}

/// A record of a table of sync.
protocol SyncRecord {
    static var table: TableCode { get }
    func encode(into record: inout RecordWriter)
    init(from record: inout RecordReader) throws
    /// Returns `true` if the fields in a key match the record. Readers continue after the position that a record
    /// states, and writers remove records by it.
    func belongs(under key: [UInt8]) -> Bool
}

extension SyncRecord {
    func belongs(under key: [UInt8]) -> Bool { true }
}

extension [UInt8] {
    /// Returns `true` if the last sixteen bytes are an id.
    func ends(with id: SampleID) -> Bool { count >= 16 && suffix(16).elementsEqual(id.keyBytes) }
}

extension SampleID {
    fileprivate var keyBytes: [UInt8] {
        var writer = ByteWriter(reserving: 16)
        writer.appendBigEndian(high)
        writer.appendBigEndian(low)
        return writer.bytes
    }
}

/// A key of one of the tables of sync.
struct SyncKey: KeyCodec, Hashable {
    let keyBytes: [UInt8]

    init(_ bytes: [UInt8]) { keyBytes = bytes }
    init(keyBytes span: RawSpan) { keyBytes = span.copied() }
}

/// A record of sync with the header that every primary value has.
struct StoredSync<Record: SyncRecord>: RecordCodec {
    let record: Record
    let key: SyncKey
    let commit: UInt64

    init(_ record: Record, key: SyncKey, commit: UInt64) {
        self.record = record
        self.key = key
        self.commit = commit
    }

    var recordBytes: [UInt8] {
        var writer = RecordWriter()
        record.encode(into: &writer)
        return writer.value(table: Record.table, key: key.keyBytes, commit: commit)
    }

    init(recordBytes span: RawSpan) throws {
        let value = try StoredValue(span, table: Record.table)
        (key, commit) = (SyncKey(keyBytes: value.key), value.commit)
        var reader = try RecordReader(span, table: Record.table, key: key.keyBytes)
        record = try Record(from: &reader)
        guard record.belongs(under: key.keyBytes) else { throw FormatError(.misplaced, "key") }
    }

    static func table(_ tables: Tables) -> TypedTable<SyncKey, StoredSync<Record>> { TypedTable(tables[Record.table]) }
}

extension RegisteredPeer: SyncRecord {
    static var table: TableCode { .peers }

    func encode(into record: inout RecordWriter) {
        record.append(id.rawValue)
        record.append(registered.nanoseconds)
        record.append(lastSeen.nanoseconds)
        record.append(acknowledged?.description)
        record.append(isRetired ? 1 : 0 as UInt8)
        guard let queue else { return record.append(0 as UInt8) }
        record.append(queue.takesImports ? 2 : 1 as UInt8)
        guard let types = queue.types else { return record.append(UInt32.max) }
        record.append(UInt32(types.count))
        for type in types.sorted() { record.append(type.identifier) }
    }

    init(from record: inout RecordReader) throws {
        id = try PeerID(record.readText())
        registered = Instant(nanoseconds: try record.read(Int64.self))
        lastSeen = Instant(nanoseconds: try record.read(Int64.self))
        acknowledged = try record.readOptionalText().flatMap { ChangeToken($0) }
        // A record written before queues existed ends here.
        if record.isAtEnd { return }
        isRetired = try record.read(UInt8.self) != 0
        let flag = try record.read(UInt8.self)
        if flag == 0 { return }
        var rule = QueueRule(types: nil, takesImports: flag == 2)
        let count = try record.read(UInt32.self)
        if count != .max {
            var types: Set<SampleType> = []
            for _ in 0..<count { types.insert(SampleType(try record.readText())) }
            rule.types = types
        }
        queue = rule
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
        record.append(isSent ? 1 : 0 as UInt8)
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
        isSent = record.isAtEnd ? attempts > 0 : try record.read(UInt8.self) != 0
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
