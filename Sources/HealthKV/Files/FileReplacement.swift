import LMDB

/// Puts a new data file in the place of a store's file.
///
/// The new file is completed and gets the name `data.next`. Then a commit marks the old file as retired: from then on
/// no process writes to it, whatever locks it holds, so its readers keep what they see. Only then is the new file
/// renamed to `data.mdb`, and the old file's lock file removed. A process that ends in between leaves a retired file
/// and its successor. The next process that opens the store finishes the replacement, even if it only reads: it renames
/// the file and changes no byte of it. The successor cannot be read under the name `data.next`: a process that renames
/// it may write to it, and would not see a reader that opened it under the other name.
struct FileReplacement {
    static let nextName = "data.next"

    let folder: String
    /// How long to wait while another program holds the folder's lock.
    let patience: Duration

    private var data: String { StoreFiles.dataPath(in: folder) }
    private var next: String { folder + "/" + FileReplacement.nextName }

    /// Renames a complete and durable file to `data.next`. The caller holds the old file's write lock.
    func prepare(_ made: String) throws(StoreError) {
        guard FileSystem.rename(made, to: next) else {
            throw StoreError(.storage, path: folder, "The compacted file cannot be given its name")
        }
        guard FileSystem.flush(folder: folder) else {
            giveUp()
            throw StoreError(.storage, path: folder, "The name of the compacted file cannot be made durable")
        }
    }

    /// Removes the prepared file of a replacement whose old file was not retired. The caller holds that file's write
    /// lock.
    func giveUp() { FileSystem.remove(next) }

    /// Whether a prepared file exists. A pipe or a folder of its name is none, and must not replace the retired file.
    var isPrepared: Bool { FileSystem.isFile(next) }

    /// Renames the prepared file over the retired one, unless that has already happened. The caller must not hold the
    /// folder's lock, and must not have the retired file open with the lock file that lies there now.
    func finish(_ retired: FileIdentity, atStep: (ReplacementStep) -> Void = { _ in }) throws(StoreError) {
        let isDone: Void? = try FolderLock.held(folder, patience: patience) { () throws(StoreError) in
            try takePlace(of: retired, atStep)
        }
        if isDone == nil { throw StoreError(.busy, path: folder, "Another program locks the folder") }
    }

    private func takePlace(of retired: FileIdentity, _ atStep: (ReplacementStep) -> Void) throws(StoreError) {
        guard FileSystem.identity(of: data) == retired else { return }
        guard isPrepared else {
            throw StoreError(
                .replaced, path: folder,
                "data.mdb was retired for a compacted file, and that file, \(FileReplacement.nextName), "
                    + "is not in the folder; put it back or restore a backup")
        }
        // The lock file must go first: opening the new file with it would make LMDB initialize locks that other
        // processes hold.
        guard
            FileSystem.remove(StoreFiles.lockPath(in: folder))
                || FileSystem.identity(of: StoreFiles.lockPath(in: folder)) == nil
        else {
            throw StoreError(.storage, path: folder, "The lock file of the old file cannot be removed")
        }
        atStep(.unlocked)
        guard FileSystem.rename(next, to: data) else {
            throw StoreError(
                .storage, path: folder,
                "\(FileReplacement.nextName) cannot take the place of data.mdb; the next opening tries again")
        }
        // A failed flush is harmless: after a power cut the old name may be back, and with it a retired file and its
        // successor.
        _ = FileSystem.flush(folder: folder)
    }

    /// Removes a file that was prepared by a process that was killed before its commit.
    func removeLeftover(_ environment: Environment, _ tables: OpenTables) throws {
        guard FileSystem.size(of: next) != nil else { return }
        // A process that is about to retire the file holds its write lock.
        let transaction = try environment.beginWrite()
        let isRetired = try StoreHeader.isRetired(transaction.view, tables)
        if !isRetired, FileSystem.identity(of: data) == (try environment.dataFile()) { giveUp() }
    }
}

/// Thrown when a file that is being opened turns out to be retired, or to have just been replaced.
struct RetiredFile: Error {
    /// The file that was opened; `nil` if another file has already taken its place.
    let file: FileIdentity?
}
