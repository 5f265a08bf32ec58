import ColumnFormat
import LMDB
import PageReader

/// What is done with a data file before LMDB, which trusts every byte, may follow it.
///
/// LMDB maps the file: where it is cut, a read ends the process, and where it is damaged, LMDB answers wrongly or aborts.
/// So both meta pages are read and checked; then LMDB opens the file and begins a reading transaction, which touches
/// nothing but the metas and keeps the snapshot as it is; then that snapshot is walked by ordinary reads; and only then
/// is a page read through the map.
struct OpeningWalk {
    let path: String
    private let file: PageFile

    /// Reads the meta pages of the data file in a folder; throws when one of them is damaged.
    init(folder: String) throws {
        path = folder
        do {
            file = try PageFile(path: folder + "/data.mdb")
            if try file.size() == 0 { throw OpeningWalk.damaged(folder, "data.mdb is empty") }
        } catch let error as PageFileError {
            throw StoreError.unopened(folder, error)
        }
        _ = try soundMetas()
    }

    /// Walks the snapshot of a transaction that has touched nothing but the metas; answers false when the meta page of
    /// the transaction was overwritten meanwhile, so that a newer transaction must be taken.
    func walk(_ transaction: borrowing LMDB.ReadTransaction) throws -> Bool {
        guard let meta = try soundMetas().page(of: UInt64(transaction.id)) else { return false }
        var options = SnapshotWalk.Options()
        options.stopsAtFirst = true
        var freshness = RecordFreshness()
        let walk = try SnapshotWalk(file, meta, options: options, visits: { TableCode(name: $0) != nil }) { entry in
            guard let stored = try StoredEntry(entry) else { return }
            guard stored.isUnderItsKey else {
                throw OpeningWalk.damaged(
                    path, "data.mdb is damaged: a value of \(entry.table) stands under a wrong key")
            }
            try freshness.note(stored)
        }
        if let failure = walk.failure { throw StoreError.unreadable(path, failure) }
        if let finding = walk.findings.first { throw OpeningWalk.damaged(path, "data.mdb is damaged: \(finding)") }
        if !freshness.isSound {
            throw OpeningWalk.damaged(
                path, "data.mdb is damaged: a page of an older commit stands where a newer one should")
        }
        return true
    }

    /// Whether this is the file that LMDB has opened.
    func isSame(as other: FileIdentity) -> Bool {
        guard let identity = try? file.identity() else { return false }
        return identity.device == other.device && identity.inode == other.inode
    }

    /// The transaction of the newest meta page; `nil` when the metas are damaged.
    static func lastTransaction(folder: String) -> UInt64? {
        guard let file = try? PageFile(path: folder + "/data.mdb") else { return nil }
        let metas = MetaPages(file)
        return metas.findings.isEmpty && metas.failure == nil ? metas.newest?.transaction : nil
    }

    /// The transactions of the meta pages; they change with every commit.
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
            .notAStore, path: folder + "/data.mdb", "LMDB has not written this file, so the folder holds no store")
    }

    /// Refuses a data file that is surely none of LMDB's.
    static func refuseOtherFile(_ folder: String) throws(StoreError) {
        guard let file = try? PageFile(path: folder + "/data.mdb"), file.isOfOtherKind else { return }
        throw otherFile(folder)
    }

    /// Why a folder could not be made, by the code of the system.
    static func unmade(_ folder: String, _ code: Int32) -> StoreError {
        let cause = LMDBError(.init(rawValue: code), operation: "mkdir", path: folder)
        let kind: Code = cause.isRefusal ? .accessDenied : cause.meansNoRoom ? .full : .storage
        return StoreError(kind, path: folder, "The folder cannot be made", underlying: cause)
    }

    /// Why the data file of a folder could not be opened for reading.
    static func unopened(_ folder: String, _ error: PageFileError) -> StoreError {
        if error == .noFile {
            return StoreError(.notAStore, path: folder + "/data.mdb", "This is no file, so the folder holds no store")
        }
        return StoreError(
            error.isOfPermission ? .accessDenied : .storage, path: folder, "data.mdb cannot be opened",
            underlying: error)
    }
}

extension MetaPages {
    /// A page that somebody writes at this moment may look torn, and commits between the reading of the one and of the other make sound ones
    /// look wrong, so they are read again before they are called damaged.
    init(settled file: PageFile) {
        self.init(file)
        for _ in 0..<200 where !findings.isEmpty && failure == nil {
            yieldThread()
            self.init(file)
        }
    }
}

extension StoreCore {
    /// Opens the data file as LMDB's environment once its pages have been looked at, or a stamp tells that they are as
    /// they were when the last process closed it.
    static func openChecked(_ folder: String, _ lmdb: Environment.Options, _ limits: EngineLimits) throws -> Environment
    {
        if limits.skipsWalk { return try Environment(folder: folder, options: lmdb) }
        let walk = try OpeningWalk(folder: folder)
        let environment = try Environment(folder: folder, options: lmdb)
        do {
            guard walk.isSame(as: try environment.dataFile()) else { throw RetiredFile(file: nil) }
            try look(at: environment, with: walk, limits)
            return environment
        } catch {
            environment.close()
            throw error
        }
    }

    private static func look(at environment: Environment, with walk: OpeningWalk, _ limits: EngineLimits) throws {
        let mayTrust = CloseStamp.isMatching(folder: walk.path, limits)
        if !environment.options.readOnly { CloseStamp.remove(folder: walk.path) }
        if mayTrust { return }
        let before = try walk.transactions()
        for _ in 0..<1_000 {
            var failure: LMDBError?
            if let transaction = environment.beginRead(failure: &failure) {
                if try walk.walk(transaction) { return }
            } else if let failure, failure.code == .mapResized {
                // Another process let the file grow just now.
                try environment.adoptSize()
            } else if let failure {
                throw failure
            }
        }
        // Nobody writes to this file, and yet the lock file tells of a transaction that it has not.
        if try walk.transactions() == before {
            throw StoreError(
                .replaced, path: walk.path,
                "lock.mdb belongs to another data.mdb that a process still has open: close the store in that process")
        }
        throw StoreError(.storage, path: walk.path, "Other processes write too fast for the file to be looked at")
    }
}
