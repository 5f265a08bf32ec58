import ColumnFormat
import HealthModel
import LMDB

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
    let stamp: CommitStamp

    init(_ record: Record, key: SyncKey, stamp: CommitStamp) {
        self.record = record
        self.key = key
        self.stamp = stamp
    }

    var recordBytes: [UInt8] {
        var writer = RecordWriter()
        record.encode(into: &writer)
        return writer.value(table: Record.table, key: key.keyBytes, stamp: stamp)
    }

    init(recordBytes span: RawSpan) throws {
        let value = try StoredValue(span, table: Record.table)
        (key, stamp) = (SyncKey(keyBytes: value.key), value.stamp)
        var reader = try RecordReader(span, table: Record.table, key: key.keyBytes)
        record = try Record(from: &reader)
        guard record.belongs(under: key.keyBytes) else { throw FormatError(.misplaced, "key") }
    }

    static func table(_ tables: OpenTables) -> TypedTable<SyncKey, StoredSync<Record>> {
        TypedTable(tables[Record.table])
    }
}
