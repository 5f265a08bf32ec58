import ColumnFormat
import HealthModel
import LMDB
import Synchronization

/// One open store, shared by all ``SampleStore`` handles of its file.
final class StoreCore: Sendable {
    /// The state of a store between opening and closing.
    enum Phase {
        case open
        /// Accepts no calls, and waits for readers before it closes the file.
        case suspending
        case suspended
    }

    struct State {
        var file: OpenFile
        var phase = Phase.open
        /// The header of the file when it was closed by suspending.
        var suspendedAt: StoreHeader?
        /// Why the file can no longer be used, if another took its place.
        var replaced: StoreError?
    }

    let path: String
    /// The last commit when the file was opened; the greatest number if it could not be read then.
    let firstCommit: UInt64
    let options: StoreOptions
    let registry: StoreRegistry
    let notices: NoticeBoard
    let encoder: ChunkEncoder
    let state: Monitor<State>
    /// Held while the store switches to another file, so that only one thread does it.
    let following = Monitor<Void>(())
    let identity = Monitor<FileIdentity?>(nil)
    let removesFolder = Atomic<Bool>(false)
    /// Committed names that transactions learned.
    let names = Monitor(NameBook())
    /// The definitions of types that were read last.
    let definitions = Monitor(KnownDefinitions())
    let pool = ContextPool()
    /// The current readers.
    let readers = Monitor(ReaderTable())
    let feedIndex = FeedIndexCache()
    let queue = Monitor(WriteQueue())
    let observers = Observers()
    let leadership = Leadership()
    let writer: Monitor<WriterThread?> = Monitor(nil)
    let watcher = CommitWatcher()
    let isPoisoned = Atomic<Bool>(false)
    /// Whether any part of the file was found damaged since it was opened.
    let sawDamage = Atomic<Bool>(false)
    let fork = ForkMark()
    /// The session of the commits that are made here.
    let session = Atomic<UInt32>(CommitStamp.drawSession())
    /// Whether a transaction has failed because the map was full.
    let ranOut = Atomic<Bool>(false)
    /// Commits of this process since the last search for reader slots of ended processes.
    let commitsSinceCheck = Atomic<Int>(0)
    /// Whether the identity index may have runs to merge. Initially `true`: what earlier processes left is unknown.
    let mayHaveRuns = Atomic<Bool>(true)
    /// Whether packing links met damage. Packing is not tried again before the links are rebuilt.
    let hasDamagedLinks = Atomic<Bool>(false)
    let filters = IdentityFilters()
    let writtenChunks: WrittenChunks
    /// Hours that wait to be summarized.
    let backlog = Monitor(SummaryBacklog())
    let upkeepTurn = Monitor(UpkeepTurn())
    /// Why upkeep last failed; `nil` if it did not.
    let upkeepFailure = Monitor<String?>(nil)
    /// Where the pruning of tombstones continues; `nil` when none is under way.
    let pruning = Monitor<[UInt8]?>(nil)
    /// The condensing of change records that is under way.
    let condensing = Monitor<CondensingPass?>(nil)

    init(folder: String, options: StoreOptions, registry: StoreRegistry, notices: NoticeBoard) throws {
        path = folder
        self.options = options
        self.registry = registry
        self.notices = notices
        writtenChunks = WrittenChunks(isCompared: options.limits.comparesWrittenChunks)
        do {
            let file = try FileOpener(folder: folder, options: options, notices: notices).open()
            // Another process may just have put a compacted file in the place of this one.
            firstCommit = (try? file.header().commit) ?? .max
            encoder = options.limits.encoder(pageSize: file.usablePage)
            state = Monitor(State(file: file))
        } catch {
            throw StoreError.wrap(error, path: folder)
        }
    }

    /// The file that is open now. A transaction keeps the file that it began with.
    var file: OpenFile { state.withLock { $0.file } }

    var environment: Environment { file.environment }

    /// Whether the store is sealed and was opened without its key.
    var lacksKey: Bool { options.sealer == nil && file.seal != nil }

    /// Returns the open file. Throws if the store cannot be used now.
    func usableFile() throws(StoreError) -> OpenFile {
        if isPoisoned.load(ordering: .acquiring) {
            throw StoreError(
                .poisoned, path: path, "An earlier commit failed, and nothing is certain until the store is reopened")
        }
        return try state.withLock { (state) throws(StoreError) in
            if let replaced = state.replaced { throw replaced }
            if state.phase != .open { throw StoreError(.suspended, path: path, "The store is suspended") }
            return state.file
        }
    }

    /// Converts an error of any layer for the caller. If it reports damage, the file gets no stamp at closing.
    func wrapped(_ error: any Error, ofRead isRead: Bool = false) -> any Error {
        // The store was suspended between a look at it and the beginning of a transaction.
        if (error as? LMDBError)?.code == .closed, !queue.withLock({ $0.isClosed }) {
            return StoreError(.suspended, path: path, "The store is suspended")
        }
        if (error as? FormatError)?.code == .sealed, lacksKey {
            return StoreError(.wrongKey, path: path, "The store is sealed, and no sealer was given", underlying: error)
        }
        let error = isRead ? StoreError.wrapRead(error, path: path) : StoreError.wrap(error, path: path)
        if StoreError.isDamage(error) { sawDamage.store(true, ordering: .relaxed) }
        return error
    }

    /// Whether the file is as sound at closing as it was at opening.
    private var mayStamp: Bool {
        !options.readOnly && !isPoisoned.load(ordering: .acquiring) && !removesFolder.load(ordering: .relaxed)
            && !sawDamage.load(ordering: .relaxed) && !options.limits.skipsWalk && !options.limits.skipsSync
            && identity.withLock { $0 } == FileSystem.identity(of: StoreFiles.dataPath(in: path))
    }

    /// Whether the caller is inside a `read` or `write` closure of this store.
    var isInsideTransaction: Bool { isWriting || readers.withLock { $0.isInside(ThreadIdentity.current) } }

    var isWriting: Bool { leadership.isMine }

    func shutDown() {
        // In a forked child there is no writing thread to wait for, and the file belongs to the parent.
        if environment.isForked { return }
        queue.withLock { $0.isClosed = true }
        // The last handle may go while its own write is being finished, on the thread that does so.
        let isMine = leadership.isMine
        moveJournalBeforeClosing(isMine: isMine)
        writer.withLock { $0 }?.stop()
        writer.withLock { $0 = nil }
        // A caller may still lead.
        if !isMine { leadership.lead {} }
        observers.finish()
        watcher.stop()
        // Readers end by themselves, and no new one can begin, since every handle is closed.
        readers.wait { $0.isEmpty }
        while !environment.close() { pause(milliseconds: 1) }
        file.closeJournal()
        // Before the stamp, which records when the file's attributes last changed.
        file.written.write(file.data, path)
        if mayStamp { CloseStamp.write(folder: path, file, options.limits) }
        if removesFolder.load(ordering: .relaxed) {
            FileSystem.remove(StoreFiles.dataPath(in: path))
            FileSystem.remove(StoreFiles.lockPath(in: path))
            FileSystem.remove(StoreFiles.journalPath(in: path))
            CloseStamp.remove(folder: path)
            FileSystem.removeFolder(path)
        }
    }

    /// How long closing waits for another process that writes.
    private static let patienceAtClosing = Duration.milliseconds(500)

    /// Moves the journal into the tables, so that a closed file needs none. If it fails, or if another process writes
    /// for long, the next writer does it.
    private func moveJournalBeforeClosing(isMine: Bool) {
        guard !options.readOnly, !isPoisoned.load(ordering: .acquiring), file.journaledCommits > 0,
            !removesFolder.load(ordering: .relaxed)
        else { return }
        let move: @Sendable () -> Void = { [self] in
            guard environment.isFreeToWrite(within: StoreCore.patienceAtClosing) else { return }
            try? Upkeep.moveJournal(in: self)
        }
        if isMine { move() } else { thread().perform { [self] in leadership.lead { move() } } }
    }

    /// Keeps the committed names that a transaction learned.
    func learn(_ learned: NameBook) {
        names.withLock { known in if learned.size > known.size { known = learned } }
    }
}

extension StoreCore {
    /// Whether the file is open. A suspended store has closed it.
    var holdsFile: Bool { state.withLock { $0.phase != .suspended } }

    /// Returns `true` if a file in the folder is the store's own data or lock file.
    func hasFile(of folder: String) -> Bool {
        if let data = FileSystem.identity(of: StoreFiles.dataPath(in: folder)), identity.withLock({ $0 }) == data {
            return true
        }
        guard let lock = FileSystem.identity(of: StoreFiles.lockPath(in: folder)) else { return false }
        return file.lock == lock
    }
}
