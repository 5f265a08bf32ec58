import ColumnFormat
import HealthModel
import LMDB

/// What whoever syncs the store keeps in it beside the tables of sync: a note for each name, in a form of his own. It changes in the
/// same transaction as what it tells of.
extension SampleReading where Self: ~Copyable {
    /// The bytes of a note; `nil` when there is none.
    public func syncNote(_ name: String) throws -> [UInt8]? {
        let snapshot = snapshot
        let key = SyncNote.key(name)
        guard let span = try snapshot.view.get(snapshot.tables[.meta], key) else { return nil }
        var record = try RecordReader(span, table: .meta, key: key)
        return try record.readBytes()
    }

    /// The epoch of the store: it rises when a copy is restored.
    public var epoch: UInt32 { snapshot.header.epoch }

    /// Tells this copy from others of the same store.
    public var replica: UInt32 { snapshot.header.replica }

    /// The identity of the store, which copies share.
    public var storeID: SampleID { snapshot.header.storeID }

    /// The types that have live samples.
    public func typesWithSamples() throws -> Set<SampleType> {
        let snapshot = snapshot
        return Set(
            try snapshot.allCounts().filter { $0.counts.samples > 0 }.map { try snapshot.type($0.type) })
    }
}

extension WriteTransaction {
    /// Keeps a note under a name, of at most 200 bytes; `nil` removes it.
    public mutating func setSyncNote(_ name: String, _ bytes: [UInt8]?) throws {
        let key = SyncNote.key(name)
        guard let bytes else {
            try remove(.meta, key)
            return
        }
        var record = RecordWriter()
        record.append(bytes)
        try put(.meta, key, record.value(table: .meta, key: key, commit: commit))
    }
}

private enum SyncNote {
    static func key(_ name: String) -> [UInt8] { Array("sync:\(name)".utf8.prefix(205)) }
}
