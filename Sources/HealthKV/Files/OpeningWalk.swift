import ColumnFormat
import LMDB
import PageReader

/// Verifies a data file before LMDB, which trusts every byte, may follow its pointers.
///
/// LMDB maps the file: in a truncated file, a read ends the process, and in a damaged file, LMDB returns wrong results
/// or aborts. So opening takes these steps: it reads and checks both meta pages; LMDB opens the file and begins a read
/// transaction, which touches only the meta pages and pins the snapshot; ordinary reads walk that snapshot; and only
/// then is a page read through the map.
struct OpeningWalk {
    let path: String
    private let file: PageFile

    /// Reads the meta pages of the data file in a folder. Throws if one of them is damaged.
    init(folder: String) throws {
        path = folder
        do {
            file = try PageFile(path: StoreFiles.dataPath(in: folder))
            if try file.size() == 0 { throw OpeningWalk.damaged(folder, "data.mdb is empty") }
        } catch let error as PageFileError {
            throw StoreError.unopened(folder, error)
        }
        _ = try soundMetas()
    }

    /// Walks the snapshot of a transaction that has touched only the meta pages. Returns `false` if the meta page of
    /// the transaction was overwritten meanwhile: then the caller must begin a newer transaction.
    func walk(_ transaction: borrowing LMDB.ReadTransaction) throws -> Bool {
        guard let meta = try soundMetas().page(of: UInt64(transaction.id)) else { return false }
        var options = SnapshotWalk.Options()
        options.stopsAtFirst = true
        var freshness = RecordFreshness()
        let walk = try SnapshotWalk(file, meta, options: options, visits: { TableCode(name: $0) != nil }) { entry in
            guard let stored = try StoredEntry(entry) else { return }
            guard stored.isUnderItsKey else {
                throw OpeningWalk.damaged(
                    path, "data.mdb is damaged: a value of \(entry.table) is stored under a wrong key")
            }
            try freshness.note(stored)
        }
        if let failure = walk.failure { throw StoreError.unreadable(path, failure) }
        if let finding = walk.findings.first { throw OpeningWalk.damaged(path, "data.mdb is damaged: \(finding)") }
        if !freshness.isSound {
            throw OpeningWalk.damaged(
                path, "data.mdb is damaged: a page of an older commit is in the place of a newer one")
        }
        return true
    }

    /// Returns `true` if this is the file that LMDB has opened.
    func isSame(as other: FileIdentity) -> Bool {
        guard let identity = try? file.identity() else { return false }
        return identity.device == other.device && identity.inode == other.inode
    }

    /// Returns the transaction of the newest meta page; `nil` if the meta pages are damaged.
    static func lastTransaction(folder: String) -> UInt64? {
        guard let file = try? PageFile(path: StoreFiles.dataPath(in: folder)) else { return nil }
        let metas = MetaPages(file)
        return metas.findings.isEmpty && metas.failure == nil ? metas.newest?.transaction : nil
    }

    /// Returns the transactions of the meta pages. They change with every commit.
    func transactions() throws -> [UInt64?] { try soundMetas().pages.map { $0?.transaction } }

    private func soundMetas() throws -> MetaPages {
        let metas = MetaPages(settled: file)
        if let failure = metas.failure { throw StoreError.unreadable(path, failure) }
        guard let finding = metas.findings.first else { return metas }
        if metas.findings.count == 2, metas.findings.allSatisfy({ $0.kind == .metaVersion }) {
            throw StoreError(.newerFormat, path: path, "data.mdb was written by a newer release of LMDB: \(finding)")
        }
        if metas.pages == [nil, nil], file.isOfOtherKind { throw StoreError.otherFile(path) }
        let other = metas.newest == nil ? "" : "; the other meta page is sound"
        throw OpeningWalk.damaged(path, "data.mdb is damaged: \(finding)\(other)")
    }

    static func damaged(_ path: String, _ detail: String, _ underlying: (any Error)? = nil) -> StoreError {
        StoreError(.damaged, path: path, detail, underlying: underlying)
    }
}

extension StoreError {
    static func otherFile(_ folder: String) -> StoreError {
        StoreError(
            .notAStore, path: StoreFiles.dataPath(in: folder),
            "LMDB has not written this file, so the folder holds no store")
    }

    /// Throws if LMDB has certainly not written the data file.
    static func refuseOtherFile(_ folder: String) throws(StoreError) {
        guard let file = try? PageFile(path: StoreFiles.dataPath(in: folder)), file.isOfOtherKind else { return }
        throw otherFile(folder)
    }

    /// Creates the error for a folder that could not be created, from the system's error code.
    static func unmade(_ folder: String, _ code: Int32) -> StoreError {
        let cause = LMDBError(.init(rawValue: code), operation: "mkdir", path: folder)
        let kind: Code = cause.isRefusal ? .accessDenied : cause.meansNoRoom ? .full : .storage
        return StoreError(kind, path: folder, "The folder cannot be made", underlying: cause)
    }

    /// Creates the error for a data file that could not be opened for reading.
    static func unopened(_ folder: String, _ error: PageFileError) -> StoreError {
        if error == .noFile {
            return StoreError(
                .notAStore, path: StoreFiles.dataPath(in: folder), "This is no file, so the folder holds no store")
        }
        return StoreError(
            error.isOfPermission ? .accessDenied : .storage, path: folder, "data.mdb cannot be opened",
            underlying: error)
    }
}

extension MetaPages {
    /// Reads the meta pages again before it calls them damaged: a page that is being written at this moment may look
    /// torn, and commits between the reads of the two pages make sound pages look wrong.
    init(settled file: PageFile) {
        self.init(file)
        for _ in 0..<200 where !findings.isEmpty && failure == nil {
            yieldThread()
            self.init(file)
        }
    }
}
