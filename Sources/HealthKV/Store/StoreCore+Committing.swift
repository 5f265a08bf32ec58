import ColumnFormat
import HealthModel
import LMDB

extension StoreCore {
    /// Where a transaction writes to.
    enum Target {
        /// To the tables, after what is in the journal.
        case tables
        /// To the journal, unless it writes much.
        case journal
        /// Moves the journal into the tables. It changes nothing of what the store holds, so it is no commit of the
        /// store.
        case nothing
    }

    /// Runs `body` in a transaction of the writing thread and commits. Returns `true` if anything was committed.
    @discardableResult
    func transact(to target: Target = .tables, _ body: (inout WriteTransaction) throws -> Void) throws -> Bool {
        var file = try usableFile()
        reportLongReaders()
        while true {
            let room = try RoomKeeping.prepareRoom(file, in: self)
            let lmdb = try beginWrite(file)
            // A process that replaces the file holds its lock meanwhile. With the lock held here, it is certain whether
            // the file was replaced.
            let isRetired = try file.isRetired(in: lmdb)
            if !isRetired, file.isInPlace(path, beforeWriting: true) {
                defer { file.noteOwnWrite() }
                return try commit(lmdb, file, room, target, body)
            }
            file = try Following.follow(file, in: self)
        }
    }

    func beginWrite(_ file: OpenFile) throws -> LMDB.WriteTransaction {
        for attempt in 0... {
            var failure: LMDBError?
            if let begun = file.environment.beginWrite(failure: &failure) { return begun }
            try remedy(failure!, file, attempt)
        }
        fatalError("the loop ends by returning or throwing")
    }

    private func commit(
        _ lmdb: consuming LMDB.WriteTransaction, _ file: OpenFile, _ room: Room, _ target: Target,
        _ body: (inout WriteTransaction) throws -> Void
    ) throws -> Bool {
        let journal = try file.journal(of: lmdb.view, transaction: lmdb.id - 1, isWriting: true)
        // Commits to a file that nobody finds would be lost: what it holds goes into the tables, and the file is left.
        let isInPlace = file.isJournalInPlace
        let isJournaled = try isInPlace && mayJournal(to: target, journal, room, file, lmdb.view)
        if isJournaled || journal.count > 0 { lmdb.collect(over: journal.layer) }
        let context = try makeContext(of: lmdb, file, journal, verified: nil)
        filters.begin(after: context.state.header.commit, of: file.data)
        if target != .nothing {
            let before = context.state.header.stamp
            context.state.header.commit += 1
            context.state.header.session = session.load(ordering: .relaxed)
            // Also where another process has written in between.
            if before.session != context.state.header.session { context.state.endedSession = before }
        }
        context.state.mark = UInt64.random(in: 1 ... .max)
        context.state.refusal = room.refusal
        let writing = WriteEnvironment(
            now: options.clock, source: options.source, encoder: encoder, pageSize: file.usablePage,
            path: path, limits: options.limits, filters: filters, writtenChunks: writtenChunks)
        var isFollowed = false
        defer { if !isFollowed { filters.forget() } }
        var transaction = WriteTransaction(lmdb, context: context, environment: writing)
        if !isJournaled { try transaction.moveToTables() }
        do {
            try body(&transaction)
            try transaction.checkWhole()
        } catch {
            // LMDB writes pages before the commit when a transaction has too many of them.
            if StoreCore.mayHaveWritten(transaction.state) { beginSession() }
            throw error
        }
        guard transaction.state.isChanged else {
            isFollowed = true
            return false
        }
        if !isJournaled, isInPlace, target == .journal, let journalFile = file.journalFile, room.refusal == nil {
            let isNamed = try Journal.isNamed(journalFile, in: transaction.lmdb.view, file.tables)
            if !isNamed { try Journal.name(journalFile, in: &transaction) }
        }
        let isNearTheEnd = transaction.state.adds && RoomKeeping.mayFill(room, transaction.state, file, in: self)
        if isNearTheEnd { try transaction.moveToTables() }
        do {
            try CommitRecords.put(in: &transaction)
            if isNearTheEnd { try RoomKeeping.demandReserve(&transaction, file, in: self) }
        } catch {
            if StoreCore.mayHaveWritten(transaction.state) { beginSession() }
            throw error
        }
        let (addedRuns, madeStale) = (transaction.state.addedRuns, !context.state.stale.isEmpty)
        let place = transaction.state.header.token
        let bytes = transaction.state.bytes
        let frame = try makeFrame(of: &transaction, file)
        do {
            if let frame {
                try writeFrame(frame, of: transaction, file)
            } else {
                let moved = journal.count > 0 ? file.journalFile : nil
                // Before the next writer begins a new journal.
                try transaction.commitToDisk { try? moved?.write(Journal.nothing, at: 0, flushes: false) }
                if target == .journal, bytes < WriteTransaction.journalLimit { file.noteSmallCommit() }
                file.forgetJournal()
                if !isInPlace { file.closeJournal() }
            }
        } catch {
            throw failedCommit(error, file)
        }
        filters.committed(place.commit)
        file.proveJournal()
        if !options.limits.ignoresPlace { file.written.note(place, file.data, path) }
        isFollowed = true
        learn(context.state.names)
        if madeStale { backlog.withLock { $0.note() } }
        if addedRuns { mayHaveRuns.store(true, ordering: .relaxed) }
        checkReaders(file)
        return true
    }

    /// Clears the slots of ended readers now and then.
    private func checkReaders(_ file: OpenFile) {
        guard commitsSinceCheck.add(1, ordering: .relaxed).newValue >= options.limits.commitsBetweenReaderChecks
        else { return }
        commitsSinceCheck.store(0, ordering: .relaxed)
        try? clearStaleReaders(file)
    }

    /// Room kept beyond what the journal may need.
    private static let journalMargin = 256 << 10

    /// Whether LMDB may have written pages of a transaction that is not committed. It keeps 2^17 pages in memory, and a
    /// short record may change a page of its own at each level of a tree.
    private static func mayHaveWritten(_ state: TransactionState) -> Bool {
        state.bytes > 64 << 20 || state.writes > 1 << 15
    }

    /// Begins a new session, because the next commit takes the number of one that failed.
    private func beginSession() { session.store(CommitStamp.drawSession(), ordering: .relaxed) }

    /// Returns `true` if a transaction begins by writing to the journal.
    private func mayJournal(
        to target: Target, _ journal: JournaledCommits, _ room: Room, _ file: OpenFile, _ view: View
    ) throws -> Bool {
        guard target == .journal, options.limits.journaledCommits > journal.count, !room.isSmall, room.refusal == nil,
            StoreCore.room(for: journal, file.environment.pageSize)
                < min(room.left, FileSystem.freeBytes(at: path) ?? .max)
        else { return false }
        // A process without a journal file looks for one again after the tables change. A new file may have the number
        // of an old one.
        if file.journalFile == nil, try file.makeJournalFile(byteCount: options.limits.journalFileBytes) {
            return false
        }
        guard let journalFile = file.journalFile else { return false }
        if !file.isJournalProved, journal.count > 0 || Journal.hasLeftovers(behind: journal, in: journalFile) {
            return false
        }
        return try Journal.isNamed(journalFile, in: view, file.tables)
    }

    /// Returns the room that the tables must have for what is in the journal, at any time: each record may take a page.
    private static func room(for journal: JournaledCommits, _ pageSize: Int) -> Int {
        let layer = journal.layer.map { 4 * $0.byteCount + 2 * $0.count * pageSize } ?? 0
        return layer + journalMargin
    }

    /// Returns the frame of a commit to the journal; `nil` if the commit is one to the tables, or does not fit.
    private func makeFrame(of transaction: inout WriteTransaction, _ file: OpenFile) throws -> [UInt8]? {
        guard let layer = transaction.lmdb.sharedLayer() else { return nil }
        let journal = transaction.context.journal
        if let journalFile = file.journalFile {
            let frame = Journal.frame(of: transaction.commit, layer, after: journal, file.tables)
            if Journal.hasRoom(frame.count, behind: journal, in: journalFile) { return frame }
        }
        try transaction.moveToTables()
        try transaction.settleTarget()
        try transaction.putHeader()
        return nil
    }

    /// Makes a commit durable in the journal. LMDB's transaction, which has changed nothing, holds off other writers
    /// until then.
    private func writeFrame(
        _ frame: [UInt8], of transaction: borrowing WriteTransaction, _ file: OpenFile
    ) throws(LMDBError) {
        guard let layer = transaction.lmdb.sharedLayer(), let journalFile = file.journalFile else {
            preconditionFailure("a frame without a journal")
        }
        let journal = transaction.context.journal
        // Readers of this process see the commit once it is durable.
        file.holdJournal(true)
        defer { file.holdJournal(false) }
        try journalFile.write(frame, at: journal.offset, flushes: !options.limits.skipsSync)
        file.note(Journal.journal(after: journal, frame, layer))
    }

    /// Converts the error of a failed commit. LMDB writes pages, syncs them, and then writes the meta page: before
    /// that, the commit has not happened. LMDB would begin the next transaction as if nothing were wrong, whatever the
    /// disk has lost.
    func failedCommit(_ error: LMDBError, _ file: OpenFile) -> StoreError {
        beginSession()
        if error.leavesOutcomeUnknown {
            isPoisoned.store(true, ordering: .releasing)
            return StoreError(
                .outcomeUnknown, path: path, "The last step of a commit failed: it may have happened or not",
                underlying: error)
        }
        if error.code == .mapFull {
            return StoreError(.full, path: path, "The store has reached its greatest size", underlying: error)
        }
        // LMDB reports a short write as an I/O failure, even if the disk is only full.
        if error.meansNoRoom || error.code == .io && hasNoRoom(file) {
            return StoreError(
                .full, path: path, "The disk or what this process may use of it is full", underlying: error)
        }
        isPoisoned.store(true, ordering: .releasing)
        return StoreError(
            .poisoned, path: path, "The disk refused a commit, which did not happen, and may have lost more",
            underlying: error)
    }

    private func hasNoRoom(_ file: OpenFile) -> Bool {
        let slack = 1 << 18
        if let free = FileSystem.freeBytes(at: path), free < slack { return true }
        guard let limit = FileSystem.fileSizeLimit, let size = FileSystem.size(of: StoreFiles.dataPath(in: path)) else {
            return false
        }
        return size + slack > limit
    }

    func checkUsable() throws {
        let file = try usableFile()
        do {
            _ = try file.environment.info()
        } catch {
            throw wrapped(error)
        }
    }
}
