import LMDB

/// How a new data file takes the place of a store's.
///
/// The new file is made whole and gets a name of its own. Then the old one says, in a commit, that it is retired: from that on
/// nobody writes to it, under whatever locks, so its readers keep what they see. Only then the new file gets the name of
/// the old one, whose locks go. A process that ends in between leaves a retired file and its successor: whoever finds
/// them finishes the work, also who only reads: it renames, and changes no byte. The successor cannot be read under the name
/// under which it waits, since whoever renames it may write to it, and would not see such a reader.
struct FileReplacement {
    static let nextName = "data.next"

    let folder: String

    private var data: String { folder + "/data.mdb" }
    private var next: String { folder + "/" + FileReplacement.nextName }

    /// Gives a file that is whole and on the disk the name under which it waits. The caller holds the old file's write lock.
    func prepare(_ made: String) throws(StoreError) {
        guard FileSystem.rename(made, to: next) else {
            throw StoreError(.storage, path: folder, "The compacted file cannot be given its name")
        }
        guard FileSystem.flush(folder: folder) else {
            giveUp()
            throw StoreError(.storage, path: folder, "The name of the compacted file cannot be made durable")
        }
    }

    /// Takes away what was prepared for a file that was not retired. The caller holds that file's write lock.
    func giveUp() { FileSystem.remove(next) }

    /// Whether there is a file that was prepared.
    var isPrepared: Bool { FileSystem.size(of: next) != nil }

    /// Lets the prepared file take the place of a retired one, unless that has happened. The caller must not hold the folder's
    /// lock, and does not have the retired file open with the lock file that lies there now.
    func finish(_ retired: FileIdentity, atStep: (ReplacementStep) -> Void = { _ in }) throws(StoreError) {
        try FolderLock.held(folder) { () throws(StoreError) in try takePlace(of: retired, atStep) }
    }

    private func takePlace(of retired: FileIdentity, _ atStep: (ReplacementStep) -> Void) throws(StoreError) {
        guard FileSystem.identity(of: data) == retired else { return }
        guard isPrepared else {
            throw StoreError(
                .replaced, path: folder,
                "data.mdb was retired for a compacted file, and that file, \(FileReplacement.nextName), is not in the folder; put it "
                    + "back or restore a backup")
        }
        // The locks must go: the new file with them would make LMDB initialize locks that others hold.
        guard FileSystem.remove(folder + "/lock.mdb") || FileSystem.identity(of: folder + "/lock.mdb") == nil else {
            throw StoreError(.storage, path: folder, "The lock file of the old file cannot be removed")
        }
        atStep(.unlocked)
        guard FileSystem.rename(next, to: data) else {
            throw StoreError(
                .storage, path: folder,
                "\(FileReplacement.nextName) cannot take the place of data.mdb; the next opening tries again")
        }
        // After a power cut the old name may be back, and with it a retired file and its successor.
        _ = FileSystem.flush(folder: folder)
    }

    /// Removes what a process that was killed before its commit has prepared.
    func removeLeftover(_ environment: Environment, _ tables: Tables) throws {
        guard isPrepared else { return }
        // Whoever is about to retire the file holds its write lock.
        let transaction = try environment.beginWrite()
        let isRetired = try StoreHeader.isRetired(transaction.view, tables)
        if !isRetired, FileSystem.identity(of: data) == (try environment.dataFile()) { giveUp() }
    }
}

/// Found where a file is opened: it says that another is to take its place, or another has just taken it.
struct RetiredFile: Error {
    /// The one that was opened; `nil` when its place is taken already.
    let file: FileIdentity?
}
