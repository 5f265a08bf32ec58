import ColumnFormat
import PageReader

/// Values of the store's tables as a walk over the pages meets them.
enum StoredEntry {
    static func code(_ name: String) -> TableCode? { TableCode.allCases.first { $0.name == name } }

    /// Chunks verify their neighbours when they are read, and blocks of the identity index their own keys.
    private static func isBulk(_ code: TableCode) -> Bool { [.chunks, .details, .identity].contains(code) }

    /// Whether the key that a value repeats in its header is the one that it stands under. One whose key was changed is
    /// not found by a look-up, and nothing else would miss it.
    ///
    /// Checksums are left to those who read the value: one damaged value costs itself, and no opening. Long values of
    /// the large tables are left alone too, since their pages would have to be read.
    static func isUnderItsKey(_ entry: SnapshotWalk.Entry) throws -> Bool {
        guard let code = code(entry.table), entry.leaf.isInline || !isBulk(code) else { return true }
        let head = try entry.head(StoredValue.keyOffset + entry.key.count)
        guard head.count == StoredValue.keyOffset + entry.key.count else { return false }
        return head[StoredValue.keyLengthOffset] == UInt8(truncatingIfNeeded: entry.key.count)
            && head[StoredValue.keyOffset...].elementsEqual(entry.key)
    }
}
