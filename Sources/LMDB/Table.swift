import LMDBInC

/// A table of an environment: keys in the order of their bytes, one value a key.
///
/// A handle stays valid as long as its environment is open, except when the transaction that opened it is given up. It
/// is checked at each use, so a handle of another environment is an error and never another table.
public struct Table: Sendable, Hashable {
    public let name: String
    @usableFromInline let dbi: MDB_dbi
    /// Unlike `dbi`, unique in this process: LMDB reuses the numbers of tables whose transaction was given up.
    @usableFromInline let stamp: UInt64

    init(name: String, dbi: MDB_dbi, stamp: UInt64) {
        self.name = name
        self.dbi = dbi
        self.stamp = stamp
    }
}

/// The size and shape of a table's tree.
public struct TableStatistics: Sendable, Hashable {
    public var depth: Int
    public var branchPages: Int
    public var leafPages: Int
    public var overflowPages: Int
    public var entries: Int
}
