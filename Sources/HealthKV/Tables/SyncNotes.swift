import ColumnFormat
import HealthModel
import LMDB

/// The keys of notes.
enum SyncNote {
    /// The beginning of the keys of all notes.
    static let prefix = Array("sync:".utf8)

    /// Returns the key of a note: a name may be long, and tell of a peer or a type. The record holds the name itself.
    static func key(_ name: String, _ hashKey: KeyedHash) -> [UInt8] { prefix + PeerKey.text(name, hashKey) }

    static func value(_ name: String, _ bytes: [UInt8], key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(name)
        record.append(bytes)
        return record.value(table: .meta, key: key, stamp: stamp)
    }

    static func read(_ span: RawSpan, key: [UInt8]) throws(FormatError) -> (name: String, bytes: [UInt8]) {
        var record = try RecordReader(span, table: .meta, key: key)
        let first = try record.readBytes()
        let text = String(decoding: first, as: UTF8.self)
        if record.isAtEnd { return (String(decoding: key.dropFirst(prefix.count), as: UTF8.self), first) }
        return (text, try record.readBytes())
    }

    /// A former key that would be longer was cut, and ended in a hash of the whole.
    private static let longestFormer = 205

    /// Returns the key that a note had before names were hashed: then the record held the bytes alone.
    static func formerKey(_ name: String) -> [UInt8] {
        let whole = prefix + Array(name.utf8)
        guard whole.count > longestFormer else { return whole }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in whole { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        var writer = ByteWriter(reserving: longestFormer)
        writer.bytes = Array(whole.prefix(longestFormer - 9)) + [0]
        writer.appendBigEndian(hash)
        return writer.bytes
    }
}

/// Notes: named records that sync code keeps in the store beside the tables of sync, in a format of its own. A note
/// changes in the same transaction as the data that it describes.
extension SampleReading where Self: ~Copyable {
    /// Returns the bytes of a note; `nil` if there is none.
    package func syncNote(_ name: String) throws -> [UInt8]? {
        let snapshot = snapshot
        let key = SyncNote.key(name, snapshot.header.hashKey)
        if let span = try snapshot.view.get(snapshot.tables[.meta], key) {
            let note = try SyncNote.read(span, key: key)
            guard note.name == name else { throw FormatError(.misplaced, "name of a note") }
            return note.bytes
        }
        let former = SyncNote.formerKey(name)
        guard let span = try snapshot.view.get(snapshot.tables[.meta], former) else { return nil }
        return try SyncNote.read(span, key: former).bytes
    }

    /// Calls `body` with the name and the bytes of each note, by name.
    package func forEachSyncNote(_ body: (String, [UInt8]) throws -> Void) throws {
        let snapshot = snapshot
        var notes: [(name: String, bytes: [UInt8])] = []
        do {
            var cursor = try snapshot.view.cursor(snapshot.tables[.meta])
            var isFound = try cursor.seek(SyncNote.prefix)
            while isFound, cursor.key.hasPrefix(SyncNote.prefix, count: SyncNote.prefix.count) {
                notes.append(try SyncNote.read(cursor.value, key: cursor.key.copied()))
                isFound = try cursor.next()
            }
        }
        for note in notes.sorted(by: { $0.name < $1.name }) { try body(note.name, note.bytes) }
    }

    /// The epoch of the store; it increases when a copy is restored.
    public var epoch: UInt32 { snapshot.header.epoch }

    /// Distinguishes this copy from others of the same store.
    public var replica: UInt32 { snapshot.header.replica }

    /// The identity of the store, which copies share.
    public var storeID: SampleID { snapshot.header.storeID }

    /// Whether a mass deletion is unfinished: not all of its tombstones are written yet.
    public var hasUnfinishedRemovals: Bool { snapshot.header.intents > 0 }

    /// Returns the types that have live samples.
    public func typesWithSamples() throws -> Set<SampleType> {
        let snapshot = snapshot
        return Set(
            try SummaryTable.allCounts(in: snapshot).filter { $0.counts.samples > 0 }.map {
                try NameTable.type($0.type, in: snapshot)
            })
    }
}
