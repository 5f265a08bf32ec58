import ColumnFormat
import HealthModel
import LMDB

/// What a transaction has beside its view: the tables, its state, and the caches of the process. It belongs to one
/// transaction and one thread.
final class ReadContext {
    let tables: OpenTables
    let path: String
    /// The commits that lie over the tables.
    var journal: JournaledCommits
    /// The last durable commit, also in the transaction that writes the next one.
    let lastCommit: UInt64
    /// Blocks with more samples than this must have a summary.
    var thinSamples = EngineLimits().thinSamples
    /// What the transaction knows and, in a writer, what it changes.
    var state: TransactionState
    /// The blocks that were already verified; `nil` in a writer, whose pages change in place.
    let verified: VerifiedBlocks?
    /// The sealed values that reads of this snapshot have opened; `nil` in a writer, and in a store that is not sealed.
    var opened: OpenedValues? {
        get { givenOpened }
        set { givenOpened = newValue }
    }
    /// Takes the notices of reads; `nil` where no app reads.
    var notices: NoticeBoard?
    /// The state of the read; `nil` in a writer.
    var ticket: ReadTicket? {
        get { givenTicket }
        set { givenTicket = newValue }
    }
    /// Notes what the read touches, if anybody wants to know.
    var trace: ReadTrace? {
        get { givenTrace }
        set { givenTrace = newValue }
    }
    // Private, so that the compiler sees all accesses and need not check each of them.
    private var givenTicket: ReadTicket?
    private var givenTrace: ReadTrace?
    private var givenOpened: OpenedValues?
    /// The positions of the rows of large commits; `nil` in a writer, whose changes may be undone.
    let feedIndex: FeedIndexCache?
    private var knownNames: Int
    /// The duration classes of types that have chunks, as far as a reader has looked; empty in a writer.
    var durations: [UInt32: [DurationClass]] = [:]
    /// The latest samples of types, as far as a reader has asked for them; empty in a writer.
    var latest: [UInt32: Sample] = [:]

    init(
        tables: OpenTables, path: String, journal: JournaledCommits, header: StoreHeader, names: NameBook,
        verified: VerifiedBlocks?, feedIndex: FeedIndexCache?
    ) {
        self.tables = tables
        self.path = path
        self.journal = journal
        lastCommit = header.commit
        state = TransactionState(header: header, names: names)
        self.verified = verified
        self.feedIndex = feedIndex
        knownNames = names.size
    }

    /// Whether names were looked up that were unknown when the context was made or last rested.
    var hasLearned: Bool { state.names.size > knownNames }

    /// Whether the context is worth its memory until the next read.
    var isLight: Bool { opened.map { $0.byteCount <= ReadContext.keptBytes } ?? true }

    /// A context that has opened more of a sealed store than this is not kept.
    private static let keptBytes = 4 << 20

    /// Prepares for the next read of the same snapshot.
    func rest() {
        ticket = nil
        trace = nil
        knownNames = state.names.size
        verified?.trim()
    }
}

extension ReadContext {
    var isOfWriter: Bool { verified == nil }

    /// Throws if the read has exceeded its time limit, or was cancelled.
    func checkTime() throws(StoreError) {
        guard let ticket else { return }
        if ticket.isCancelled { throw StoreError(.cancelled, path: path, "The read was stopped") }
        guard ticket.isExpired else { return }
        throw StoreError(.readerExpired, path: path, "The read has lasted longer than the store's options allow")
    }
}

extension ReadContext: DerivedIDResolver {
    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix? {
        let key = UInt64(type) << 32 | UInt64(revision)
        if let last = state.names.lastPrefix, last.key == key { return last.prefix }
        guard let prefix = state.names.prefixes[key] ?? newPrefix(key, type: type, revision: revision) else {
            return nil
        }
        state.names.lastPrefix = (key, prefix)
        return prefix
    }

    private func newPrefix(_ key: UInt64, type: UInt32, revision: UInt32) -> DerivedID.Prefix? {
        guard let type = state.names.types[type] ?? SampleType(catalogNumber: type),
            let name = state.names.revisions[revision]
        else {
            return nil
        }
        let prefix = DerivedID.Prefix(type: type, source: name.source.identity)
        state.names.prefixes[key] = prefix
        return prefix
    }

    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double {
        let key = UInt64(type) << 32 | UInt64(unit)
        if let last = state.names.lastUnit, last.key == key { return last.unit.canonical(value) }
        guard let unit = HealthUnit(number: unit) ?? state.names.units[unit],
            let type = state.names.types[type] ?? SampleType(catalogNumber: type)
        else {
            return value
        }
        let found = DerivedUnit(unit, of: type)
        state.names.lastUnit = (key, found)
        return found.canonical(value)
    }
}
