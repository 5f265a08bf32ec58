import ColumnFormat
import PageReader

/// A value of one of the store's tables, as a walk over the pages meets it.
struct StoredEntry {
    let code: TableCode
    let entry: SnapshotWalk.Entry
    /// The value's header with the key that it repeats. `nil` for long values of the large tables: reading them would
    /// read their pages, chunks verify their neighbours when they are read, and blocks of the identity index verify
    /// their own keys.
    let head: [UInt8]?

    /// Returns `nil` for a table that does not belong to the store.
    init?(_ entry: SnapshotWalk.Entry) throws {
        guard let code = TableCode(name: entry.table) else { return nil }
        (self.code, self.entry) = (code, entry)
        let isBulk = code == .chunks || code == .details || code == .identity
        head = try isBulk && !entry.leaf.isInline ? nil : entry.head(StoredValue.keyOffsetLimit + entry.key.count)
    }

    /// Whether the key that the value repeats in its header is the key that it is stored under. A record whose key was
    /// changed is not found by a look-up, and nothing else would detect that.
    ///
    /// Readers of the value verify its checksums: a damaged value costs only itself, not the opening.
    var isUnderItsKey: Bool {
        guard let head else { return true }
        let key = StoredValue.keyOffset(head: head.rawBytes)
        guard head.count >= key + entry.key.count else { return false }
        return head[StoredValue.keyLengthOffset] == UInt8(truncatingIfNeeded: entry.key.count)
            && head[key..<key + entry.key.count].elementsEqual(entry.key)
    }

    /// Returns the commit that wrote the value, according to its header.
    func commit() throws -> UInt64 {
        let head = try head ?? entry.head(StoredValue.keyOffsetLimit)
        return StoredValue.commit(head: head.rawBytes)
    }
}
