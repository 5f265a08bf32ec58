import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    func tombstone(_ id: SampleID) throws -> Tombstone? { try tombstone(at: Tombstone.key(id)) }

    func tombstone(_ sync: SyncIdentity) throws -> Tombstone? {
        if let found = try tombstone(at: Tombstone.key(sync: sync, header.hashKey)), found.sync == sync { return found }
        guard let id = SampleID(canonical: sync.identifier), let found = try tombstone(id) else { return nil }
        return found.sync == sync ? found : nil
    }

    private func tombstone(at key: [UInt8]) throws -> Tombstone? {
        guard let span = try view.get(tables[.tombstones], key) else { return nil }
        return try Tombstone(span, key: key)
    }
}
