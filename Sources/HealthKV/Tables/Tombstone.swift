import ColumnFormat
import HealthModel
import LMDB

/// The record of a deleted sample, which prevents peers, retries and imports from bringing the sample back.
struct Tombstone: Sendable, Equatable {
    var id: SampleID
    var type: UInt32
    var source: UInt32
    /// `nil` if the sample had none, or if the identifier lives again under another id; then the tombstone covers the
    /// id only.
    var syncIdentifier: String?
    var version: Int64
    var clockTime: Int64
    var clockReplica: UInt32
    var commit: UInt64
    var ordinal: UInt32
    /// The time of the deletion, by this store's clock.
    var time: Int64
    /// The group of the sample.
    var group: String?
    /// Where the sample was, if it was known here.
    var place: DeletedPlace?

    var clock: ChangeClock { ChangeClock(time: Instant(nanoseconds: clockTime), replica: clockReplica) }

    /// Returns the entry of the identity index that points to the row under a key.
    func entry(key: [UInt8], _ hashKey: KeyedHash) -> IdentityEntry {
        guard !TombstoneTable.isByID(key), let syncIdentifier else {
            return IdentityEntry(tombstone: IdentityHash.of(id, hashKey))
        }
        return IdentityEntry(tombstone: IdentityHash.of(syncIdentifier: syncIdentifier, hashKey))
    }

    var sync: SyncIdentity? {
        syncIdentifier.map { SyncIdentity(type: type, source: source, identifier: $0) }
    }

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(id)
        record.append(type)
        record.append(source)
        record.append(syncIdentifier)
        record.append(version)
        record.append(clockTime)
        record.append(clockReplica)
        record.append(commit)
        record.append(ordinal)
        record.append(time)
        if group != nil || place != nil { record.append(group) }
        place?.append(to: &record)
        return record.value(table: .tombstones, key: key, stamp: stamp)
    }

    init(
        of row: StoredRow, type: UInt32, source: UInt32, clock: ChangeClock, commit: UInt64, ordinal: UInt32,
        time: Int64
    ) {
        id = row.id
        self.type = type
        self.source = source
        syncIdentifier = row.flags.contains(.syncIsID) ? row.id.description : row.rare?.syncIdentifier
        version = row.version
        clockTime = clock.time.nanoseconds
        clockReplica = clock.replica
        self.commit = commit
        self.ordinal = ordinal
        self.time = time
        group = row.rare?.group
        place = DeletedPlace(of: row)
    }

    /// Creates the tombstone of a deletion that another store recorded.
    init(
        _ deletion: DeletedSample, type: UInt32, source: UInt32, place: DeletedPlace? = nil, commit: UInt64,
        ordinal: UInt32, time: Int64
    ) {
        id = deletion.id
        self.type = type
        self.source = source
        syncIdentifier = deletion.syncIdentifier
        version = deletion.version
        clockTime = deletion.modified.time.nanoseconds
        clockReplica = deletion.modified.replica
        self.commit = commit
        self.ordinal = ordinal
        self.time = time
        group = deletion.group
        self.place = place
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .tombstones, key: key)
        id = try record.readID()
        type = try record.read(UInt32.self)
        source = try record.read(UInt32.self)
        syncIdentifier = try record.readOptionalText()
        version = try record.read(Int64.self)
        clockTime = try record.read(Int64.self)
        clockReplica = try record.read(UInt32.self)
        commit = try record.read(UInt64.self)
        ordinal = try record.read(UInt32.self)
        time = try record.read(Int64.self)
        group = record.isAtEnd ? nil : try record.readOptionalText()
        place = record.isAtEnd ? nil : try DeletedPlace(&record)
        // Readers continue after the id that a tombstone names.
        guard !TombstoneTable.isByID(key) || key == TombstoneTable.key(id) else { throw FormatError(.misplaced, "id") }
    }
}

/// When a deleted sample was, and which revision of a source wrote it: by this an import recognises a sample that a
/// file gives without an id. The value is not kept: nobody wants it any more.
struct DeletedPlace: Sendable, Equatable {
    var start: Int64
    var end: Int64
    var revision: UInt32

    init(of row: StoredRow) { (start, end, revision) = (row.start, row.end, row.revision) }

    init(start: Instant, end: Instant, revision: UInt32) {
        (self.start, self.end, self.revision) = (start.nanoseconds, end.nanoseconds, revision)
    }

    init(_ record: inout RecordReader) throws(FormatError) {
        start = try record.read(Int64.self)
        end = try record.read(Int64.self)
        revision = try record.read(UInt32.self)
    }

    func append(to record: inout RecordWriter) {
        record.append(start)
        record.append(end)
        record.append(revision)
    }
}

/// The lookup key of a sync identifier. The same text under another source or type names another sample.
struct SyncIdentity: Hashable, Sendable {
    var type: UInt32
    var source: UInt32
    var identifier: String
}

extension Tombstone {
    var order: VersionOrder { VersionOrder(version, clock) }
}

/// Under what a sample was deleted.
struct DeletedIdentity {
    var source: UInt32
    /// `nil` if the deletion covers the id only.
    var syncIdentifier: String?
}
