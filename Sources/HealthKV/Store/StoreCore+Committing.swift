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
        let journal = try file.journal(of: lmdb.view, isWriting: true)
        let isJournaled = mayJournal(to: target, journal, room)
        if isJournaled || journal.count > 0 { lmdb.collect(over: journal.overlay) }
        let context = try makeContext(of: lmdb, file, journal, verified: nil)
        if target != .nothing { context.state.header.commit += 1 }
        context.state.mark = UInt64.random(in: 1 ... .max)
        context.state.refusal = room.refusal
        let writing = WriteEnvironment(
            now: options.clock, source: options.source, encoder: encoder, pageSize: file.environment.pageSize,
            path: path, limits: options.limits, filters: filters)
        filters.begin(lmdb.id, of: file.data)
        var isFollowed = false
        defer { if !isFollowed { filters.forget() } }
        var transaction = WriteTransaction(lmdb, context: context, environment: writing)
        if !isJournaled { try transaction.moveToTables() }
        try body(&transaction)
        try transaction.checkWhole()
        guard transaction.state.isChanged else {
            isFollowed = true
            return false
        }
        try CommitRecords.put(in: &transaction)
        if transaction.state.adds, RoomKeeping.mayFill(room, transaction.state, file, in: self) {
            try transaction.moveToTables()
            try RoomKeeping.demandReserve(&transaction, file, in: self)
        }
        let journaled = try Journal.append(in: &transaction)
        let addedRuns = transaction.state.addedRuns
        let madeStale = !context.state.stale.isEmpty
        let number = transaction.lmdb.id
        let place = transaction.state.header.token
        do {
            try transaction.commitToDisk()
        } catch {
            throw failedCommit(error, file)
        }
        filters.committed(number)
        file.note(journaled)
        if journaled.count > 0 { lastJournaled.withLock { $0 = .now } }
        if !options.limits.ignoresPlace { file.written.note(place, file.data, path) }
        isFollowed = true
        learn(context.state.names)
        if madeStale { backlog.withLock { $0.note() } }
        if addedRuns { mayHaveRuns.store(true, ordering: .relaxed) }
        if commitsSinceCheck.add(1, ordering: .relaxed).newValue >= options.limits.commitsBetweenReaderChecks {
            commitsSinceCheck.store(0, ordering: .relaxed)
            try? clearStaleReaders(file)
        }
        return true
    }

    /// Returns `true` if a transaction begins by writing to the journal.
    private func mayJournal(to target: Target, _ journal: JournaledCommits, _ room: Room) -> Bool {
        target == .journal && options.limits.journaledCommits > journal.count && !room.isSmall
            && room.refusal == nil && journal.overlay?.byteCount ?? 0 < options.limits.journaledBytes
    }

    /// Converts the error of a failed commit. LMDB writes pages, syncs them, and then writes the meta page: before
    /// that, the commit has not happened. LMDB would begin the next transaction as if nothing were wrong, whatever the
    /// disk has lost.
    func failedCommit(_ error: LMDBError, _ file: OpenFile) -> StoreError {
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
        guard let limit = FileSystem.fileSizeLimit, let size = FileSystem.size(of: path + "/data.mdb") else {
            return false
        }
        return size + slack > limit
    }

    func checkUsable() throws {
        let file = try usableFile()
        do {
            _ = try file.environment.info()
        } catch {
            throw StoreError.wrap(error, path: path)
        }
    }
}
