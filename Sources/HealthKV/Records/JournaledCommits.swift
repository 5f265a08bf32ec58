import LMDB

/// The commits in the journal that a transaction sees: what they wrote lies over the tables.
struct JournaledCommits: Sendable {
    /// LMDB's transaction id of the snapshot of the tables.
    var transaction: Int
    /// The checksum of the header in the tables, after which the first frame of the journal comes.
    var base: UInt64 = 0
    /// The last commit whose records are in the tables.
    var folded: UInt64 = 0
    /// The last commit in the journal; equal to `folded` if there is none.
    var last: UInt64 = 0
    /// The checksum of the last frame; equal to `base` if there is none.
    var chain: UInt64 = 0
    /// Where the next frame goes.
    var offset = 0
    /// What the commits wrote; `nil` if there are none.
    var layer: RecordLayer?

    /// The number of commits in the journal.
    var count: Int { layer == nil ? 0 : Int(truncatingIfNeeded: last - folded) }
}
