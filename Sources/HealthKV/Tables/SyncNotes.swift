import ColumnFormat
import HealthModel
import LMDB

/// The keys of notes.
enum SyncNote {
    private static let longest = 205
    /// The beginning of the keys of all notes.
    static let prefix = Array("sync:".utf8)

    /// Returns the key of a note. The length of a key is limited: a longer name is cut and ends in a hash of the whole
    /// name, so that no two names share a note.
    static func key(_ name: String) -> [UInt8] {
        let whole = Array("sync:\(name)".utf8)
        guard whole.count > longest else { return whole }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in whole { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        var writer = ByteWriter(reserving: longest)
        writer.bytes = Array(whole.prefix(longest - 9)) + [0]
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
        let key = SyncNote.key(name)
        guard let span = try snapshot.view.get(snapshot.tables[.meta], key) else { return nil }
        var record = try RecordReader(span, table: .meta, key: key)
        return try record.readBytes()
    }

    /// Calls `body` with the name and the bytes of each note. Leaves out notes whose name is too long for a key.
    package func forEachSyncNote(_ body: (String, [UInt8]) throws -> Void) throws {
        let snapshot = snapshot
        var cursor = try snapshot.view.cursor(snapshot.tables[.meta])
        var isFound = try cursor.seek(SyncNote.prefix)
        while isFound, cursor.key.hasPrefix(SyncNote.prefix, count: SyncNote.prefix.count) {
            let key = cursor.key.copied()
            if !key.contains(0) {
                var record = try RecordReader(cursor.value, table: .meta, key: key)
                try body(String(decoding: key.dropFirst(SyncNote.prefix.count), as: UTF8.self), record.readBytes())
            }
            isFound = try cursor.next()
        }
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
