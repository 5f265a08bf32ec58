import ColumnFormat
import LMDB
import PageReader

/// Opens a data file whose pages were walked before LMDB maps them.
enum CheckedOpening {
    /// Opens the data file as LMDB's environment after its pages were walked, or after a stamp proved that they are
    /// unchanged since the last process closed it.
    static func open(_ folder: String, _ lmdb: Environment.Options, _ limits: EngineLimits) throws -> Environment {
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
        // No process writes to this file, and yet the lock file names a transaction that the file does not have.
        if try walk.transactions() == before {
            throw StoreError(
                .replaced, path: walk.path,
                "lock.mdb belongs to another data.mdb that a process still has open: close the store in that process")
        }
        throw StoreError(.storage, path: walk.path, "Other processes write too fast for the file to be looked at")
    }
}
