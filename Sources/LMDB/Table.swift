import LMDBInC

/// A table of an environment: keys in byte order, with one value per key.
///
/// A handle stays valid while its environment is open, unless the transaction that opened it is aborted. Each use
/// checks the handle, so a handle of another environment is an error and never refers to a wrong table.
public struct Table: Sendable, Hashable {
    public let name: String
    @usableFromInline let dbi: MDB_dbi
    /// Unique in this process, unlike `dbi`: LMDB reuses the numbers of tables whose transaction was aborted.
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
