import ColumnFormat
import LMDB

/// The commits of the journal that a transaction sees: what they wrote lies over the tables.
struct JournaledCommits: Sendable {
    /// The first byte of the keys of the journal's records; a kind of the table `upkeep`.
    static let kind: UInt8 = 6

    /// LMDB's transaction id of the snapshot.
    var transaction: Int
    /// The last commit whose records are in the tables.
    var folded: UInt64 = 0
    /// The last commit in the journal; equal to `folded` if there is none.
    var last: UInt64 = 0
    /// The checksum of the record of the last commit.
    var chain: UInt64 = 0
    /// What the commits wrote; `nil` if the journal is empty.
    var overlay: Overlay?

    init(transaction: Int) { self.transaction = transaction }

    /// The number of commits in the journal.
    var count: Int { overlay == nil ? 0 : Int(truncatingIfNeeded: last - folded) }

    /// Returns the key of a commit's record.
    static func key(_ commit: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: 9)
        writer.append(kind)
        writer.appendBigEndian(commit)
        return writer.bytes
    }
}
