import ColumnFormat
import LMDB

extension StoreCore {
    func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        try read(cancelledBy: nil, body)
    }

    /// - Parameter cancellation: tells the read to end early.
    func read<Result>(
        cancelledBy cancellation: ReadCancellation?, _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        let ticket = enterRead(cancellation)
        defer { leaveRead(ticket) }
        do {
            return try readInside(ticket, body)
        } catch {
            throw wrapped(error, ofRead: true)
        }
    }

    private func readInside<Result>(
        _ ticket: ReadTicket, _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        var file = try usableFile()
        var attempts = 0
        while true {
            if file.seemsInPlace(path) {
                var lmdb = try begin(file, besides: 1)
                var seen = file.seenJournal(of: lmdb.id)
                var failure: (any Error)?
                if seen == nil { do { seen = try journal(of: lmdb, file) } catch { failure = error } }
                if seen != nil || failure != nil {
                    // Another process may have moved the journal into the tables since the snapshot was taken, and LMDB
                    // may give a snapshot the number of an earlier one.
                    attempts += 1
                    if attempts < OpenFile.attempts, try isBehind(lmdb, file) { continue }
                }
                if let failure { throw failure }
                if let journal = seen {
                    let place = SnapshotPlace(
                        file: file.number, map: file.environment.mapNumber, transaction: lmdb.id, commit: journal.last)
                    lmdb.layer = journal.layer
                    let context =
                        try pool.take(place) ?? makeContext(of: lmdb, file, journal, verified: VerifiedBlocks())
                    // The blocks that a context has verified lie in the memory of its own layer.
                    lmdb.layer = context.journal.layer
                    // So do the sealed values that it has opened.
                    if let opened = context.opened {
                        lmdb.opened = opened
                    } else if lmdb.opened != nil {
                        context.opened = lmdb.opened
                    }
                    return try run(body, lmdb, context, place, ticket)
                }
            }
            file = try Following.follow(file, in: self)
        }
    }

    private func isBehind(_ lmdb: borrowing LMDB.ReadTransaction, _ file: OpenFile) throws -> Bool {
        guard file.access == .locked else { return false }
        let last = try file.environment.lastTransaction
        return last != lmdb.id
    }

    /// Reads the journal that a reader sees; `nil` if another file has taken the place of this one.
    private func journal(of lmdb: borrowing LMDB.ReadTransaction, _ file: OpenFile) throws -> JournaledCommits? {
        let isRetired = try file.isRetired(in: lmdb)
        return isRetired ? nil : try file.journal(of: lmdb.view, transaction: lmdb.id)
    }

    private func run<Result>(
        _ body: (borrowing ReadTransaction) throws -> Result, _ lmdb: consuming LMDB.ReadTransaction,
        _ context: ReadContext, _ place: SnapshotPlace, _ ticket: ReadTicket
    ) throws -> Result {
        context.ticket = ticket
        defer {
            if context.hasLearned { learn(context.state.names) }
            pool.give(context, place)
        }
        return try body(ReadTransaction(lmdb, context: context))
    }

    private func enterRead(_ cancellation: ReadCancellation?) -> ReadTicket {
        let thread = ThreadIdentity.current
        let limit = options.readTimeLimit
        while true {
            let ticket: ReadTicket? = readers.withLock { table in
                table.isHeld && !table.isInside(thread) ? nil : table.enter(thread, limit, cancellation)
            }
            if let ticket { return ticket }
            // The thread that holds readers back may wait for this thread to finish its write.
            if isWriting { return readers.withLock { $0.enter(thread, limit, cancellation) } }
            readers.wait { !$0.isHeld }
        }
    }

    private func leaveRead(_ ticket: ReadTicket) {
        readers.update { $0.leave(ThreadIdentity.current) }
        report(ticket)
    }

    /// Begins a read transaction. If another process let the file grow, adopts the larger map first; if all reader
    /// slots are taken, clears those of ended processes.
    ///
    /// - Parameter own: how many of the reads that the calling thread has entered are only beginning.
    func begin(_ file: OpenFile, besides own: Int = 0) throws -> LMDB.ReadTransaction {
        for attempt in 0... {
            var failure: LMDBError?
            if let begun = file.environment.beginRead(failure: &failure) { return begun }
            try remedy(failure!, file, attempt, besides: own)
        }
        fatalError("the loop ends by returning or throwing")
    }

    /// Removes the obstacle that keeps a transaction from beginning, or throws the error.
    func remedy(_ failure: LMDBError, _ file: OpenFile, _ attempt: Int, besides own: Int = 0) throws {
        switch failure.code {
        case .mapResized where attempt < 8: try RoomKeeping.adoptMap(of: file, besides: own, in: self)
        case .readersFull where attempt == 0: try clearStaleReaders(file)
        default: throw failure
        }
    }

    /// Creates the context of a new transaction.
    func makeContext<Owner: Transaction & ~Copyable>(
        of transaction: borrowing Owner, _ file: OpenFile, _ journal: JournaledCommits, verified: VerifiedBlocks?
    ) throws -> ReadContext {
        let view = transaction.view
        let header = try StoreHeader.read(view, file.tables)
        let context = ReadContext(
            tables: file.tables, path: path, journal: journal, header: header, names: names.withLock { $0 },
            verified: verified, feedIndex: verified == nil ? nil : feedIndex)
        context.notices = notices
        context.thinSamples = options.limits.thinSamples
        // Without the key of a sealed store neither can be read, nor what they are about.
        if lacksKey { return context }
        context.state.definitions = try knownDefinitions(header, view, file.tables)
        if header.intents > 0 {
            context.state.intents = try IntentTable.loadIntents(in: Snapshot(view: view, context: context))
        }
        return context
    }

    /// Returns the definitions that a header marks. Those that this process does not know yet become known to it.
    private func knownDefinitions(
        _ header: StoreHeader, _ view: View, _ tables: OpenTables
    ) throws -> [String: TypeDefinition] {
        if header.definitions == 0 { return [:] }
        if let known = definitions.withLock({ $0.mark == header.definitions ? $0.types : nil }) { return known }
        let types = try DefinitionTable.load(header, view, tables)
        DefinedTypes.learn(types.values)
        definitions.withLock { $0 = KnownDefinitions(mark: header.definitions, types: types) }
        return types
    }

    func clearStaleReaders(_ file: OpenFile) throws(LMDBError) {
        let stale = try file.environment.clearStaleReaders()
        if stale > 0 { notices.post(.staleReaders, path, "Cleared \(stale) stale reader slots of ended processes") }
    }

    /// Reports readers that keep their snapshot for long: the file cannot reuse the pages that they see.
    func reportLongReaders() {
        for ticket in readers.withLock({ $0.entries.map(\.ticket) }) { report(ticket) }
    }

    private func report(_ ticket: ReadTicket) {
        let age = ticket.age
        guard age > options.limits.longReader, ticket.takeReport() else { return }
        notices.post(
            .longReader, path,
            "A reader has kept its snapshot for \(age.components.seconds) seconds; "
                + "meanwhile the file cannot reuse its pages"
        )
    }
}
