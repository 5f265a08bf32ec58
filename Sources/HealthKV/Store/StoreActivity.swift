import ColumnFormat
import HealthModel
import LMDB

/// What a live view shows of an open store: counts and sizes that are known without a walk through the tables.
package struct StoreActivity: Sendable {
    /// The end of the feed, after which the next changes come.
    package let token: ChangeToken
    /// How many times the store was changed.
    package let commit: UInt64
    /// LMDB's number of the last transaction. Commits in the journal do not raise it, and a compaction restarts it.
    package let transaction: Int
    /// Live samples of all types.
    package let samples: Int
    /// How many operations wait for each peer, ordered by the peers' names.
    package let pending: [(peer: PeerID, count: Int)]
    /// The snapshots that are being read, in all processes.
    package let readers: [StoreInfo.ReaderInfo]
    /// The size of the data file.
    package let fileBytes: Int
    /// The bytes of pages in use.
    package let liveBytes: Int
    /// The number of free pages.
    package let freePages: Int
    /// The bytes of the commits that are in the journal only.
    package let journalBytes: Int
    /// The number of these commits.
    package let journaledCommits: Int
    /// Whether readers register with locks. Without locks, the store appears as it was when it was opened.
    package let usesLocks: Bool

    /// Looks at an open store. Keeps no snapshot.
    init(of core: StoreCore) throws {
        try core.checkUsable()
        // Listed before this look reads, and so without it.
        let readers = try core.environment.readers().filter { $0.transaction != nil }.map {
            StoreInfo.ReaderInfo(process: $0.pid, transaction: $0.transaction)
        }
        self = try core.read { transaction in
            let snapshot = transaction.snapshot
            let environment = core.environment
            let (info, free) = (try environment.info(), try snapshot.view.freeStatistics())
            let journal = snapshot.context.journal
            return StoreActivity(
                token: ChangeLog.currentToken(in: snapshot), commit: snapshot.context.lastCommit,
                transaction: info.lastTransaction,
                samples: try SummaryTable.allCounts(in: snapshot).reduce(0) { $0 + $1.counts.samples },
                pending: try QueueTable.directories(in: snapshot).map { directory in
                    (directory.peer, directory.sections.reduce(0) { $0 + Int(clamping: $1.count) })
                }, readers: readers, fileBytes: FileSystem.size(of: StoreFiles.dataPath(in: core.path)) ?? 0,
                liveBytes: (info.lastPage + 1 - free.freePages) * environment.pageSize, freePages: free.freePages,
                journalBytes: journal.count > 0 ? journal.offset : 0, journaledCommits: journal.count,
                usesLocks: core.file.access == .locked)
        }
    }

    private init(
        token: ChangeToken, commit: UInt64, transaction: Int, samples: Int, pending: [(peer: PeerID, count: Int)],
        readers: [StoreInfo.ReaderInfo], fileBytes: Int, liveBytes: Int, freePages: Int, journalBytes: Int,
        journaledCommits: Int, usesLocks: Bool
    ) {
        self.token = token
        self.commit = commit
        self.transaction = transaction
        self.samples = samples
        self.pending = pending
        self.readers = readers
        self.fileBytes = fileBytes
        self.liveBytes = liveBytes
        self.freePages = freePages
        self.journalBytes = journalBytes
        self.journaledCommits = journaledCommits
        self.usesLocks = usesLocks
    }
}
