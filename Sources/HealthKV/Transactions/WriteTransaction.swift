import ColumnFormat
import HealthModel
import LMDB

/// A transaction that changes the store. All its changes become durable together, or none does.
///
/// ```swift
/// try store.write { txn in
///     try txn.save(Sample(.bodyMass, 72.4, .kilogram, at: now))
/// }
/// ```
///
/// It exists only inside `SampleStore.write(_:)`: it cannot be copied, kept or committed by hand.
public struct WriteTransaction: ~Copyable, SampleReading {
    var lmdb: LMDB.WriteTransaction
    let context: ReadContext
    var environment: WriteEnvironment

    init(_ lmdb: consuming LMDB.WriteTransaction, context: ReadContext, environment: WriteEnvironment) {
        self.lmdb = lmdb
        self.context = context
        self.environment = environment
    }

    /// The state, which the snapshot sees as it is.
    var state: TransactionState {
        _read { yield context.state }
        _modify { yield &context.state }
    }

    /// The snapshot that the transaction sees. It includes its own changes and those of closures that share its commit.
    public var snapshot: Snapshot {
        @_lifetime(borrow self)
        get { Snapshot(view: lmdb.view, context: context) }
    }

    /// The number of this commit.
    var commit: UInt64 { state.header.commit }

    /// What the values of this commit bear.
    var stamp: CommitStamp { state.header.stamp }

    mutating func put(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        state.isChanged = true
        state.writes += 1
        try account(table, key, value)
        state.bytes += value.count
        if let collected = lmdb.collectedBytes, collected > WriteTransaction.journalLimit, lmdb.mayFold {
            try moveToTables()
        }
        try lmdb.put(context.tables[table], key, value)
    }

    /// A transaction that writes more bytes than this writes to the tables.
    static let journalLimit = 64 << 10

    /// Moves what the journal and this transaction have written into the tables. Further changes go to the tables.
    mutating func moveToTables() throws(LMDBError) { try lmdb.fold() }

    /// Moves everything into the tables if it is much.
    mutating func moveToTablesIfLarge() throws(LMDBError) {
        if let collected = lmdb.collectedBytes, collected > WriteTransaction.journalLimit { try moveToTables() }
    }

    /// Whether the transaction writes to the journal, as far as is known.
    var isJournaled: Bool { lmdb.collectedBytes != nil }

    /// Decides for good where the transaction writes to, before its last record.
    mutating func settleTarget() throws(LMDBError) {
        try moveToTablesIfLarge()
        // A commit to the journal leaves LMDB's last transaction as it is.
        state.header.transaction = UInt64(isJournaled ? lmdb.id - 1 : lmdb.id)
    }

    /// The header as the last record: it does not change the target any more.
    mutating func putHeader() throws(LMDBError) {
        try lmdb.put(context.tables[.meta], StoreHeader.key, state.header.value)
    }

    @discardableResult
    mutating func remove(_ table: TableCode, _ key: [UInt8]) throws(LMDBError) -> Bool {
        state.isChanged = true
        state.writes += 1
        try account(table, key, nil)
        return try lmdb.delete(context.tables[table], key)
    }

    /// Runs an operation that must be atomic. If it fails after it changed something, the transaction can no longer be
    /// committed.
    mutating func whole<Result>(_ operation: (inout WriteTransaction) throws -> Result) throws -> Result {
        let before = state.writes
        do {
            return try operation(&self)
        } catch {
            if state.writes != before { state.isBroken = true }
            throw error
        }
    }

    /// Refuses to add anything if the remaining room is reserved for deletions.
    mutating func checkRoom() throws {
        state.adds = true
        if let refusal = state.refusal { throw refusal }
    }

    /// Refuses to continue a transaction in which an operation failed after it had changed something.
    func checkWhole() throws {
        if state.isBroken {
            throw StoreError(
                .unfinished, path: environment.path,
                "An operation failed half way and its error was not passed on; all of the transaction is undone")
        }
    }

    /// Advances the hybrid logical clock and returns its new value.
    mutating func tick() -> ChangeClock {
        let now = environment.now()
        state.header.clock = max(now.nanoseconds, state.header.clock &+ 1)
        return ChangeClock(time: Instant(nanoseconds: state.header.clock), replica: state.header.replica)
    }

    /// Returns the clock of a deletion made here. To cover the deleted version it may lie ahead of the local clock,
    /// which then advances past it, so that the next deletion gets a later one.
    mutating func tick(over deleted: ChangeClock) -> ChangeClock {
        let clock = tick().covering(deleted)
        witness(clock)
        return clock
    }

    /// Advances the clock past one that was read, so that later local changes win. A clock more than a day ahead does
    /// not advance the local clock; the record keeps it as received.
    mutating func witness(_ clock: ChangeClock) {
        // Most clocks of a history were seen before, and asking for the time would cost more than the rest of this
        // function.
        guard clock.time.nanoseconds > state.header.clock else { return }
        let limit = environment.now() + DurationClass.day.longest
        if clock.time <= limit { state.header.clock = max(state.header.clock, clock.time.nanoseconds) }
    }

    /// Updates the sum for a record that is put or removed: subtracts the old record and adds the new one.
    mutating func account(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]?) throws(LMDBError) {
        guard let sum = state.header.recordSum, RecordSum.covers(table, key) else { return }
        var changed = sum
        if let old = try lmdb.view.getStored(context.tables[table], key.rawBytes) {
            changed &-= RecordSum.term(table, key, head: old)
        }
        if let value { changed &+= RecordSum.term(table, key, head: value.rawBytes) }
        state.header.recordSum = changed
    }

    /// Empties a derived table that is rebuilt. The sum is recomputed at the end, too.
    mutating func clear(_ table: TableCode) throws(LMDBError) {
        state.isChanged = true
        state.header.recordSum = nil
        state.recountsRecords = true
        if lmdb.mayFold { try moveToTables() }
        try lmdb.clear(context.tables[table])
    }

    /// Runs `body` in a nested transaction, so that its changes are undone if it throws.
    mutating func nested<Result>(_ body: (inout WriteTransaction) throws -> Result) throws -> Result {
        let before = state
        let (context, environment) = (context, environment)
        do {
            return try lmdb.nested { inner in
                var transaction = WriteTransaction(inner, context: context, environment: environment)
                do {
                    let result = try body(&transaction)
                    try transaction.checkWhole()
                    inner = transaction.release()
                    return result
                } catch {
                    inner = transaction.release()
                    throw error
                }
            }
        } catch {
            // The filters also learned of index entries that are undone now.
            if state.addedRuns { environment.filters.forget() }
            state = before
            throw error
        }
    }

    consuming func release() -> LMDB.WriteTransaction { lmdb }

    /// - Parameter then: called after the commit, while other writers still wait.
    consuming func commitToDisk(then: () -> Void) throws(LMDBError) { try lmdb.commit(then: then) }
}

/// The external inputs of a write: the time, the source of own samples, the sizes of chunks, and what the process
/// remembers of earlier writes.
struct WriteEnvironment: Sendable {
    var now: @Sendable () -> Instant
    var source: Source
    var encoder: ChunkEncoder
    var pageSize: Int
    var path: String
    var limits: EngineLimits
    var filters: IdentityFilters
    var writtenChunks: WrittenChunks
    /// The peer from which changes are received; they are not queued for it.
    var sender: PeerID?
}
