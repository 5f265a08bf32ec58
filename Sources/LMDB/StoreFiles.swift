/// The names of the files in a store's folder. They are on the disks of users: do not change them.
///
/// LMDB chooses the first two names. The journal belongs to this layer, and the stamp to the store; it is named here so
/// that all names are in one place.
package enum StoreFiles {
    /// The data file: `MDB_DATANAME` of LMDB.
    package static let data = "data.mdb"
    /// The lock file with the table of readers: `MDB_LOCKNAME` of LMDB.
    package static let lock = "lock.mdb"
    /// The journal of small commits.
    package static let journal = "data.journal"
    /// The stamp of the last clean close.
    package static let stamp = "closed.stamp"

    /// Returns the path of the data file of a store.
    package static func dataPath(in folder: String) -> String { folder + "/" + data }

    /// Returns the path of the lock file of a store.
    package static func lockPath(in folder: String) -> String { folder + "/" + lock }

    /// Returns the path of the journal of a store.
    package static func journalPath(in folder: String) -> String { folder + "/" + journal }

    /// Returns the path of the stamp of a store.
    package static func stampPath(in folder: String) -> String { folder + "/" + stamp }
}
