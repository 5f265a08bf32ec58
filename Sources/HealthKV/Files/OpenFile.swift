import ColumnFormat
import HealthModel
import LMDB
import PageReader
import Synchronization

/// The data file of a store as this process has it open. A store replaces the whole object when the file is compacted
/// and replaced, and when the store is suspended and resumed. Readers that began earlier keep the old object alive.
final class OpenFile: Sendable {
    /// How the file is read.
    enum Access: Sendable {
        case locked
        /// A private copy, because the lock file cannot be used and another process may write.
        case copy
        /// The file itself, without locks, because its medium is read-only.
        case immutable
    }

    private static let opened = Atomic<UInt64>(0)

    /// Distinguishes this object from all others of the process, also from those that are gone.
    let number = OpenFile.opened.add(1, ordering: .relaxed).newValue
    let environment: Environment
    let tables: OpenTables
    let access: Access
    /// The identities of `data.mdb` and `lock.mdb` when the file was opened.
    let data: FileIdentity
    let lock: FileIdentity?
    let storeID: SampleID
    /// What a sealed store says of its key; `nil` for any other.
    let seal: SealRecord?
    /// How far this process has written the file.
    let written = WrittenPlace()
    /// When the names were last checked, so that short reads need not check each time.
    private let looked = Atomic<Int64>(0)
    /// The end of the disk space that is reserved for the file.
    private let reserved = Atomic<Int>(0)
    private let journal = Monitor(SeenJournal())
    private static let lookInterval: Int64 = 10_000_000
    /// The file as this process last knew who had written to it: it walked the file, or the last write was its own.
    private let knownState = Monitor<FileState?>(nil)
    /// Whether another process has written to the file since.
    private let isForeign = Atomic<Bool>(false)

    /// The journal as this process last saw it.
    private struct SeenJournal {
        var known: JournaledCommits?
        var file: JournalFile?
        var grewAt = ContinuousClock.now
        /// Whether a frame is being written.
        var isHeld = false
        /// Whether there was a commit for a journal.
        var isWanted = false
        /// When making the file failed.
        var failedAt: ContinuousClock.Instant?
        /// Whether this process has committed since it opened the file. The system may have failed to write the frames
        /// that were there before, and then show them until they leave its memory: the first commit moves them.
        var isProved = false
        /// Whether the file was searched for commits behind the last one.
        var isSearched = false

        mutating func open(_ environment: Environment) throws {
            let isReadOnly = environment.options.readOnly || environment.options.immutable
            let path = StoreFiles.journalPath(in: environment.path)
            (isProved, isSearched) = (false, false)
            do {
                file = try JournalFile.open(path, readOnly: isReadOnly)
            } catch {
                throw StoreError(
                    error.isRefusal ? .accessDenied : error.isOfOtherKind ? .damaged : .storage,
                    path: environment.path,
                    "The journal, which holds the last commits, cannot be read", underlying: error)
            }
        }
    }

    init(
        environment: Environment, tables: OpenTables, access: Access, data: FileIdentity, lock: FileIdentity?,
        storeID: SampleID, seal: SealRecord?
    ) {
        self.environment = environment
        self.tables = tables
        self.access = access
        self.data = data
        self.lock = lock
        self.storeID = storeID
        self.seal = seal
        noteOwnWrite()
    }

    /// The bytes of a page that the values of the store may fill.
    var usablePage: Int { environment.pageSize - (seal?.overhead ?? 0) }

    /// Returns `true` if the names in the folder still lead to this file and its lock file. A process that replaces the
    /// file takes its locks first, so a writer asks while it holds them.
    func isInPlace(_ folder: String, beforeWriting: Bool = false) -> Bool {
        if access != .locked { return true }
        guard let state = FileSystem.state(of: StoreFiles.dataPath(in: folder)) else { return false }
        if beforeWriting { noteForeign(state) }
        return state.identity == data && FileSystem.identity(of: StoreFiles.lockPath(in: folder)) == lock
    }

    /// Returns `true` if the name of the journal still leads to the file that this process has open, or if it has none.
    var isJournalInPlace: Bool { journalFile.map { isInPlace($0) } ?? true }

    private func isInPlace(_ file: JournalFile) -> Bool {
        access != .locked
            || FileSystem.identity(of: StoreFiles.journalPath(in: environment.path))?.inode == file.inode
    }

    /// Returns `true` if only this process has written to the file since the file was walked, as far as the file's
    /// size and times tell. The writes of others may be just as sound, but nothing has verified them.
    func vouches(for state: FileState) -> Bool {
        guard state.identity == data, !isForeign.load(ordering: .relaxed) else { return false }
        // Not whether it is older: a program that copies over the file may set the time that the original had. Marks
        // beside the content, such as attributes, change the other time.
        return knownState.withLock { $0.map { $0.modified == state.modified && $0.size == state.size } ?? false }
    }

    /// Returns `true` if the file contains the whole history of an earlier header. The epoch may differ: another
    /// process may have found meanwhile that the store had been restored before.
    func goesOn(from before: StoreHeader) throws -> Bool {
        let transaction = try beginRead()
        var after = try StoreHeader.read(transaction.view, tables)
        after.epoch = before.epoch
        return try ChangeLog.fit(of: before.token, after, transaction.view, tables) == .fits
    }

    private func noteForeign(_ state: FileState) {
        if !vouches(for: state) { isForeign.store(true, ordering: .relaxed) }
    }

    /// Call this after each write of this process; otherwise the write passes for another process's.
    func noteOwnWrite() {
        let state = FileSystem.state(of: StoreFiles.dataPath(in: environment.path))
        knownState.withLock { $0 = state }
    }

    /// Reserves disk space beyond the file's last page, so that a commit that only deletes does not depend on the free
    /// space that others leave on the disk. Returns `false` if the disk has too little.
    func keepsDiskReserve(_ bytes: Int) -> Bool {
        guard let info = try? environment.info() else { return true }
        let used = (info.lastPage + 1) * environment.pageSize
        if used + bytes <= reserved.load(ordering: .relaxed) { return true }
        let wanted = used + 2 * bytes
        // Some systems count the reservation as a write.
        if let state = FileSystem.state(of: StoreFiles.dataPath(in: environment.path)) { noteForeign(state) }
        defer { noteOwnWrite() }
        guard environment.reserveDisk(from: used, to: wanted) else { return false }
        reserved.store(wanted, ordering: .relaxed)
        return true
    }

    /// Like ``isInPlace(_:beforeWriting:)``, for readers, which call often: a changed name is noticed within ten
    /// milliseconds.
    func seemsInPlace(_ folder: String) -> Bool {
        let now = FileSystem.monotonicNanoseconds
        if now &- looked.load(ordering: .relaxed) < OpenFile.lookInterval { return true }
        guard isInPlace(folder) else { return false }
        looked.store(now, ordering: .relaxed)
        return true
    }

    /// Begins to read the store, with the journal laid over the tables.
    func beginRead() throws -> LMDB.ReadTransaction {
        for attempt in 0... {
            var transaction = try environment.beginRead()
            let found = Result { try journal(of: transaction.view, transaction: transaction.id) }
            // Another process may have moved the journal into the tables since the snapshot was taken.
            let last = try environment.lastTransaction
            if last != transaction.id, attempt < OpenFile.attempts { continue }
            transaction.layer = try found.get().layer
            return transaction
        }
        fatalError("the loop ends by returning or throwing")
    }

    /// A process that is killed at the end of a commit may leave LMDB between two numbers until the next one writes.
    static let attempts = 64

    /// Returns the commits in the journal. Reads only those that this process does not know.
    ///
    /// - Parameters:
    ///   - view: a view of the tables, without anything that lies over them.
    ///   - transaction: the number of its snapshot.
    ///   - isWriting: whether the caller holds the lock of writers, and must know every commit.
    func journal(of view: View, transaction: Int, isWriting: Bool = false) throws -> JournaledCommits {
        let (known, file, isHeld, isSearched) = try journal.withLock { journal in
            let seen = journal.known?.transaction
            if let file = journal.file {
                // Another process may have left a file that somebody removed, and have made another one. Only for a
                // newer snapshot: a writer of this process may be about to use the file. And only if the tables do not
                // name it: only a file that they name holds commits over them.
                if seen.map({ $0 < transaction }) ?? true, !isInPlace(file),
                    try !Journal.isNamed(file, in: view, tables)
                {
                    try journal.open(environment)
                }
            } else if isWriting || seen != transaction {
                try journal.open(environment)
            }
            // A private copy may have been made while commits were written: what it lacks is no damage.
            return (journal.known, journal.file, journal.isHeld, journal.isSearched || access == .copy)
        }
        if let known, known.transaction == transaction {
            guard let file, !isHeld, Journal.goesOn(known, in: file) else { return known }
        }
        let found = try Journal.commits(
            in: view, tables, file, transaction: transaction, known: known, searches: !isSearched)
        note(found)
        if !isSearched { journal.withLock { if $0.file === file { $0.isSearched = true } } }
        return found
    }

    /// Notes the journal of a snapshot, for the transactions that follow.
    func note(_ found: JournaledCommits) {
        journal.withLock { journal in
            if let known = journal.known, (known.transaction, known.last) > (found.transaction, found.last) { return }
            let count = journal.known?.count ?? 0
            if found.count > count { journal.grewAt = .now }
            journal.known = found
        }
    }

    /// While a frame is being written, readers of this process see the journal without it.
    func holdJournal(_ isHeld: Bool) { journal.withLock { $0.isHeld = isHeld } }

    /// When the journal last grew, as far as this process has seen; `nil` if it is empty.
    var journalGrew: ContinuousClock.Instant? { journal.withLock { $0.known?.layer == nil ? nil : $0.grewAt } }

    /// Forgets the journal that a commit has moved into the tables.
    func forgetJournal() { journal.withLock { $0.known = nil } }

    /// The number of commits in the journal, as far as this process has seen.
    var journaledCommits: Int { journal.withLock { $0.known?.count ?? 0 } }

    /// Returns the journal of a snapshot if this process knows it and nothing follows.
    func seenJournal(of transaction: Int) -> JournaledCommits? {
        journal.withLock { journal in
            guard let known = journal.known, known.transaction == transaction else { return nil }
            if let file = journal.file, !journal.isHeld, Journal.goesOn(known, in: file) { return nil }
            return known
        }
    }

    /// The file of the journal; `nil` if there is none yet.
    var journalFile: JournalFile? { journal.withLock { $0.file } }

    /// Returns the file of the journal as it is in the folder now.
    func presentJournalFile() throws -> JournalFile? {
        try journal.withLock { journal in
            if journal.file == nil { try journal.open(environment) }
            return journal.file
        }
    }

    /// Closes the file of the journal.
    func closeJournal() { journal.withLock { $0.file = nil } }

    /// Notes a commit to the tables that a journal would have taken. Most stores are written to in bulk, or read only:
    /// the file is made for the second small commit of a process.
    func noteSmallCommit() { journal.withLock { $0.isWanted = true } }

    /// How long no file is made after that has failed: each attempt writes it whole.
    private static let pauseAfterFailure = Duration.seconds(60)

    /// Makes the file of the journal, if it is wanted. A process that has found none looks for it again with the next
    /// snapshot of the tables, so the commit that follows must write to the tables. Returns `true` if there is a file
    /// now.
    func makeJournalFile(byteCount: Int) throws -> Bool {
        try journal.withLock { journal in
            guard journal.file == nil, journal.isWanted else { return false }
            if let failed = journal.failedAt, failed + OpenFile.pauseAfterFailure > .now { return false }
            let path = StoreFiles.journalPath(in: environment.path)
            // Without the file commits go to the tables. A name that is not durable is taken with the next commit.
            guard JournalFile.make(path, byteCount: byteCount, mode: environment.options.fileMode) else {
                journal.failedAt = .now
                return false
            }
            try journal.open(environment)
            return true
        }
    }

    /// Whether this process knows that what the journal holds is on the disk.
    var isJournalProved: Bool { journal.withLock { $0.isProved } }

    /// Notes a commit of this process: it has made durable or moved what the journal held.
    func proveJournal() { journal.withLock { $0.isProved = $0.file != nil } }

    /// Returns `true` if the file is marked as retired: another file takes its place.
    func isRetired() throws -> Bool {
        let transaction = try environment.beginRead()
        return try isRetired(in: transaction)
    }

    /// Returns `true` if another file has taken the place of this one, as a transaction sees it.
    func isRetired<Owner: Transaction & ~Copyable>(in transaction: borrowing Owner) throws -> Bool {
        let view = transaction.view
        return try StoreHeader.isRetired(view, tables)
    }

    /// Returns the current header. Throws if the file is retired.
    func header() throws -> StoreHeader {
        let transaction = try beginRead()
        return try StoreHeader.read(transaction.view, tables)
    }
}
