import ColumnFormat
import PageReader

/// What can be saved of a data file, however damaged, found by ordinary reads: LMDB neither opens nor maps the file.
///
/// The search follows the newest snapshot as far as its pages are sound. What it does not reach, it looks for on the
/// pages that no tree accounts for: every value names its table, its key and its commit. It says where each value was
/// found and leaves to its caller what that proves.
public struct Salvage {
    /// Why nothing can be found.
    package enum Refusal: Error, Sendable {
        /// No page of the file is one of LMDB's.
        case noPages
        /// No page leads to the header of a store, and no value of a store is there.
        case noStore
    }

    private let file: PageFile
    private let survey: TreeSurvey
    private let rules: SalvageRules
    private let step: () throws -> Void
    private let history: SessionHistory
    /// Whether a meta page leads to the snapshot. Otherwise its tree of names was searched for.
    public let hasMeta: Bool
    /// Whether another program wrote the file, as mdb_load does: the newest meta page leads to the snapshot, and only
    /// the number of its transaction is not the one in the header.
    public let isReloaded: Bool
    /// The page of table names in which one wrong bit was set right; `nil` if it needed none.
    public let mendedPage: UInt64?
    /// The findings about the meta pages and the other pages.
    public let findings: [PageFinding]
    /// The number of transactions that are newer than the snapshot, of which traces are in the file.
    public let transactionsLost: UInt64
    /// The values that the trees do not lead to, or lead to damaged, and what is left of older states: only of tables
    /// with holes.
    public private(set) var pieces: [FoundValue] = []
    /// Whether some of the values that no tree explains may be of commits that never happened: several sessions wrote
    /// commits of their numbers, and nothing tells which of them happened.
    public private(set) var isOfDoubtfulSessions = false
    /// Whether chunks that no tree leads to are taken for current although nothing proves it. That is so where pages
    /// are cut off and the list of free pages with them, and where no root is taken: the chunks may be older states,
    /// and deletions may be among what is lost.
    public let presumes: Bool
    /// Whether nothing is lost but the page of table names: all pages that are in use are sound and the sum over their
    /// values is right, so all that the tables held was found, although nothing tells how many values there were.
    public private(set) var isComplete = false

    public var meta: Meta { survey.meta }
    /// What the header of the store says, if it is sound.
    public var facts: HeaderFacts? { survey.facts }
    /// The ranges of keys that the trees do not lead to.
    public var holes: [TableCode: [SnapshotWalk.Hole]] { survey.holes }
    /// The values in the trees that are damaged.
    public var damaged: [FoundValue] { survey.damaged }
    /// The number of whole values in the trees, by table.
    public var found: [TableCode: Int] { survey.found }
    /// The greatest commit of a whole value. If the header is lost, it may be one that never happened.
    public var lastCommit: CommitStamp {
        pieces.filter { $0.isWhole && (facts == nil || $0.origin >= .current) && $0.commit < 1 << 62 }
            .reduce(survey.lastCommit) { $1.commit > $0.commit ? $1.stamp : $0 }
    }

    /// Returns the size under which most pages of a file bear their own number; `nil` if none does.
    package static func pageSize(of file: PageFile, byteCount: UInt64) -> Int? {
        RootSearch.pageSize(of: file, byteCount: byteCount)
    }

    /// Calls `body` with each value of a file that is whole, as it stands there, wherever that is.
    public static func forEachValue(
        in file: PageFile, _ metas: MetaPages, _ rules: SalvageRules, step: () throws -> Void,
        _ body: (FoundValue, [UInt8]) throws -> Void
    ) throws {
        let byteCount = try file.size()
        guard let size = metas.pageSize ?? pageSize(of: file, byteCount: byteCount) else { return }
        var scan = PageScan(file, pageSize: size, byteCount: byteCount, rules)
        try scan.forEachWhole(on: { _ in true }, step, body)
    }

    /// Returns how many entries a table has, as its record says; `nil` if the record is lost.
    public func entries(of table: TableCode) -> Int? {
        survey.walk.tables.first { $0.name == table.name }.flatMap { Int(exactly: $0.record.entries) }
    }

    /// The number of pages up to the last one, and how many of them are in use or free, if these differ.
    public var lostPages: (all: UInt64, owned: UInt64)? { hasMeta ? survey.walk.lostPages : nil }
    /// Whether all records together are of one state.
    public var isOfOneState: Bool { survey.isOfOneState }
    /// Whether the file has all that its newest snapshot held.
    public var isWhole: Bool { survey.isWhole }

    /// - Parameter step: called often; an error that it throws ends the search.
    public init(_ file: PageFile, _ metas: MetaPages, _ rules: SalvageRules, step: @escaping () throws -> Void) throws {
        let (file, mendedPage) = rules.mends ? Mending.mendingNames(of: file, metas) : (file, nil)
        (self.file, self.rules, self.step, self.mendedPage) = (file, rules, step, mendedPage)
        let byteCount = try file.size()
        guard let pageSize = metas.pageSize ?? RootSearch.pageSize(of: file, byteCount: byteCount) else {
            throw Refusal.noPages
        }
        let pages = byteCount / UInt64(pageSize)
        let choice = try SnapshotChoice(file, metas, rules, pageSize: pageSize, pages: pages, step)
        // Without a page that leads to the tables, all values are looked for by their own headers.
        let rootless = Meta(names: pages, tables: 0, transaction: 0, lastPage: pages, pageSize: pageSize)
        let found = try choice.survey ?? TreeSurvey(file, rootless, rules, step)
        presumes =
            !found.knowsFreePages && (found.holes[.chunks] != nil || found.holes[.details] != nil)
            && (found.walk.tables.isEmpty || found.walk.findings.contains { $0.kind == .pageOutOfRange })
        (survey, hasMeta, isReloaded) = (found, choice.hasMeta, choice.isReloaded)
        (transactionsLost, history) = (choice.transactionsLost, choice.history)
        // Without a page that leads to the tables, there is no walk to speak of.
        findings = metas.findings + (choice.survey == nil ? [] : found.walk.findings)
        if !found.holes.isEmpty { try searchPages(byteCount) }
        if choice.survey == nil, !pieces.contains(where: { $0.table == .chunks && $0.isWhole }) {
            throw Refusal.noStore
        }
    }

    /// Collects the values of tables with holes from pages that the trees do not account for.
    private mutating func searchPages(_ byteCount: UInt64) throws {
        let pageSize = meta.pageSize
        var scan = PageScan(file, pageSize: pageSize, byteCount: byteCount, rules)
        var number: UInt64 = 2
        let pages = byteCount / UInt64(pageSize)
        var isExplained = survey.lacksNamesOnly
        while number < pages {
            try step()
            let isSuspect = survey.suspects.contains(number)
            guard isSuspect || !survey.walk.usesInTree(number) else {
                number += 1
                continue
            }
            // Nothing behind the last page ever became part of the store.
            let origin: ValueOrigin =
                survey.walk.listsAsFree(number) || number > meta.lastPage
                ? .stale : isSuspect || survey.knowsFreePages ? .current : .unsure
            let found = try scan.values(on: number, origin)
            if origin == .current, number != meta.main.root, !scan.isExplained { isExplained = false }
            for value in found.values where isWanted(value) { note(value) }
            number += max(1, found.pages)
            if found.values.isEmpty, scan.isInHole { number = try file.pageWithData(from: number, pageSize: pageSize) }
        }
        // Of pages behind the end of a file that is cut, only free ones are no loss.
        while isExplained, number <= meta.lastPage {
            isExplained = survey.walk.listsAsFree(number)
            number += 1
        }
        isComplete = try isExplained && sumAgrees()
    }

    /// Whether the values that were found are those of the header, by the sum over the records. The list of free pages
    /// has no checksum, and a wrong bit in it may take an older value for the present one.
    private func sumAgrees() throws -> Bool {
        let headers = pieces.filter { $0.table == .meta && $0.key == rules.headerKey && $0.isWhole }
        guard let header = headers.max(by: { $0.commit < $1.commit }), header.origin == .current,
            let sum = rules.facts(try bytes(of: header))?.recordSum
        else { return false }
        return pieces.reduce(0 as UInt64) { sum, value in
            guard value.origin == .current, value.isWhole else { return sum }
            return sum &+ (rules.term(value.table, value.key, value.commit) ?? 0)
        } == sum
    }

    /// Keeps a value, unless its commit never happened or was never part of the snapshot.
    private mutating func note(_ value: FoundValue) {
        guard rules.asksSessions else { return keep(value) }
        if value.origin < .current, let known = facts?.stamp {
            // No commit that happened is behind the header, and the commit of the header is that of its session.
            if value.commit > known.commit { return }
            if value.commit == known.commit, value.stamp.session != known.session { return }
        }
        let happened = history.happened(value.stamp)
        if happened == false { return }
        if happened == nil, value.origin == .unsure, history.isShared(value.commit), value.commit != facts?.commit {
            isOfDoubtfulSessions = true
        }
        keep(value)
    }

    private mutating func keep(_ value: FoundValue) {
        var value = value
        let isOfChunk = value.table == .chunks || value.table == .details
        if presumes, isOfChunk, value.origin == .unsure { value.origin = .current }
        pieces.append(value)
    }

    private func isWanted(_ value: FoundValue) -> Bool {
        // Chunks are looked for by their spans, which may begin before a hole.
        if value.table == .chunks || value.table == .details { return holes[.chunks] != nil || holes[.details] != nil }
        return holes[value.table]?.contains { Salvage.holds($0, value.key) } ?? false
    }

    private static func holds(_ hole: SnapshotWalk.Hole, _ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(hole.lower) && hole.upper.map { key.lexicographicallyPrecedes($0) } ?? true
    }

    /// Calls `body` with each whole value in the trees as it was before it was sealed, table by table in the order of
    /// keys. What cannot be opened without a key is handed over sealed.
    public func forEachInTrees(_ body: (FoundValue, [UInt8]) throws -> Void) throws {
        var exceptions: [TableCode: [[UInt8]: FoundValue]] = [:]
        for value in survey.damaged { exceptions[value.table, default: [:]][value.key] = value }
        let walk = try SnapshotWalk(file, meta, visits: { TableCode(name: $0) != nil }) { entry in
            try step()
            let table = TableCode(name: entry.table)!
            if let value = exceptions[table]?[entry.key] {
                if let mended = value.mended { try body(value, content(of: mended, value)) }
                return
            }
            let bytes = try entry.value()
            let value = FoundValue(
                table: table, key: entry.key, stamp: StoredValue.stamp(head: bytes.rawBytes), offset: entry.offset,
                count: bytes.count, origin: .tree)
            try body(value, content(of: bytes, value))
        }
        if let failure = walk.failure { throw failure }
    }

    /// Returns a value with the bit that was mended, as it was before it was sealed; nothing for remains of one that
    /// cannot be opened, which may be anybody's.
    public func bytes(of value: FoundValue) throws -> [UInt8] {
        if let mended = value.mended { return try content(of: mended, value) }
        var bytes = [UInt8](repeating: 0, count: value.count)
        try file.read(at: value.offset, into: &bytes)
        return try content(of: bytes, value)
    }

    private func content(of bytes: [UInt8], _ value: FoundValue) throws(FormatError) -> [UInt8] {
        if let content = rules.opened(bytes) { return content }
        if value.isWhole { throw FormatError(.sealed, "body in \(value.table.name)") }
        return []
    }
}
