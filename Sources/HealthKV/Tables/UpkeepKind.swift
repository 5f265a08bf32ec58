import ColumnFormat
import LMDB

/// The kinds of records in the table `upkeep`: the first byte of their keys. The numbers are embedded on disk: never
/// change or reuse one.
enum UpkeepKind {
    /// An unfinished mass operation (``IntentTable``).
    static let intent: UInt8 = 1
    /// Hours whose summaries are invalid (``StaleTable``).
    static let staleHours: UInt8 = 2
    /// How far an import has come (``ImportJob``).
    static let importJob: UInt8 = 3
    /// The number of change records that the last condensing left (``FeedCondensing``).
    static let condensedFeed: UInt8 = 4
    /// The content of a deleted sample (``ContentTable``).
    static let deletedContent: UInt8 = 5
    /// Which sessions wrote which commits (``SessionTable``).
    static let sessions: UInt8 = 6
    /// A second copy of the header and the ranking of sources (``HeaderCopy``).
    static let headerCopy: UInt8 = 7

    /// Calls `body` with the key and the value of each record of a kind, from `key` on if it is given, in the order of
    /// the keys, until it returns `false`.
    static func forEach(
        _ kind: UInt8, from key: [UInt8]? = nil, in snapshot: Snapshot, _ body: ([UInt8], RawSpan) throws -> Bool
    ) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        var found = try cursor.seek(key ?? [kind])
        while found {
            let key = cursor.key.copied()
            guard key.first == kind, try body(key, cursor.value) else { return }
            found = try cursor.next()
        }
    }
}
