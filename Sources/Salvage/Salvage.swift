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
    /// are cut off and the list of free pages with them: the chunks may be older states, and deletions may be among
    /// what is lost.
    public let presumes: Bool

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

    /// Returns how many entries a table has, as its record says; `nil` if the record is lost.
    public func entries(of table: TableCode) -> Int? {
        survey.walk.tables.first { $0.name == table.name }.flatMap { Int(exactly: $0.record.entries) }
    }

    /// Whether all records together are of one state.
    public var isOfOneState: Bool { survey.isOfOneState }
    /// Whether the file has all that its newest snapshot held.
    public var isWhole: Bool { survey.isWhole }

    /// - Parameter step: called often; an error that it throws ends the search.
    public init(_ file: PageFile, _ metas: MetaPages, _ rules: SalvageRules, step: @escaping () throws -> Void) throws {
        let (file, mendedPage) = rules.mends ? Salvage.mendingNames(file, metas) : (file, nil)
        (self.file, self.step, self.mendedPage) = (file, step, mendedPage)
        let byteCount = try file.size()
        guard let pageSize = metas.pageSize ?? RootSearch.pageSize(of: file, byteCount: byteCount) else {
            throw Refusal.noPages
        }
        var best = try metas.newest.map { try TreeSurvey(file, $0, rules, step) }
        if let other = best?.otherFormat { throw other }
        let ofMeta = best
        var hasMeta = best != nil
        var isReloaded = false
        var (lost, history): (UInt64, SessionHistory) = (0, SessionHistory())
        // A meta page that cannot be read may have been the newer one.
        if best?.isWhole != true || Salvage.mayMissNewer(metas) {
            let search = try RootSearch.snapshots(
                file, pageSize: pageSize, pages: byteCount / UInt64(pageSize), rules, step)
            let candidates = search.snapshots
            history = search.history
            let known = Salvage.newestTransaction(metas, best)
            for candidate in candidates where Salvage.isOpen(candidate, known, best, metas) {
                let other = try TreeSurvey(file, candidate, rules, step)
                if let present = best, !Salvage.isBetter(other, than: present, hasMeta, history) { continue }
                // The meta page of this very snapshot also knows the free pages.
                (best, hasMeta) = (other, false)
                if other.isWhole { break }
            }
            let newest = max(candidates.first?.transaction ?? 0, known)
            if !hasMeta, let found = best?.meta {
                isReloaded =
                    ofMeta.map { $0.meta.main.root == found.main.root && $0.walk.findings.isEmpty } ?? false
                    && candidates.allSatisfy { $0.transaction <= found.transaction }
                lost = !isReloaded && newest > found.transaction ? newest - found.transaction : 0
            }
        }
        // Without a page that leads to the tables, all values are looked for by their own headers.
        let rootless = Meta(
            names: byteCount / UInt64(pageSize), tables: 0, transaction: 0, lastPage: byteCount / UInt64(pageSize),
            pageSize: pageSize)
        let found = try best ?? TreeSurvey(file, rootless, rules, step)
        presumes =
            !found.knowsFreePages
            && (found.walk.tables.isEmpty || found.walk.findings.contains { $0.kind == .pageOutOfRange })
        (survey, self.hasMeta, transactionsLost, self.history) = (found, hasMeta, lost, history)
        self.isReloaded = isReloaded
        findings = metas.findings + found.walk.findings
        if !found.holes.isEmpty { try searchPages(byteCount, rules) }
        if best == nil, !pieces.contains(where: { $0.table == .chunks && $0.isWhole }) { throw Refusal.noStore }
    }

    /// Returns `true` if another snapshot is worth more than a present one that is not whole.
    ///
    /// What the trees of a snapshot do not lead to is looked for on all pages, but the transactions behind it are lost,
    /// even if an older one is whole: a store that was just created is. So an older one is better only if it is of the
    /// transaction before, and the present one may never have happened: then pages of it may be missing.
    private static func isBetter(
        _ other: TreeSurvey, than present: TreeSurvey, _ hasMeta: Bool, _ history: SessionHistory
    ) -> Bool {
        // The state of a sound meta page has happened, even if not one of its trees can be read.
        if hasMeta, present.facts == nil, other.meta.transaction < present.meta.transaction { return false }
        if let facts = present.facts, facts.transaction == present.meta.transaction,
            other.meta.transaction < facts.transaction
        {
            let mayBeKilled = history.happened(facts.stamp) != true && !history.happened(commit: facts.commit)
            guard mayBeKilled, other.meta.transaction + 1 == facts.transaction else { return false }
        }
        return other.isWhole || other.losses < present.losses
    }

    /// Sets one wrong bit right in the page that leads to all tables, if exactly one bit makes it such a page again.
    private static func mendingNames(_ file: PageFile, _ metas: MetaPages) -> (PageFile, UInt64?) {
        guard let meta = metas.newest, !meta.main.isEmpty, meta.main.depth == 1 else { return (file, nil) }
        let offset = meta.main.root * UInt64(meta.pageSize)
        var (bytes, scratch): ([UInt8], [UInt32]) = ([UInt8](repeating: 0, count: meta.pageSize), [])
        guard (try? file.read(at: offset, into: &bytes)) != nil else { return (file, nil) }
        func isWhole() -> Bool {
            guard case .names(let tables) = LoosePage(bytes, number: meta.main.root, scratch: &scratch) else {
                return false
            }
            return tables.count == Int(clamping: meta.main.entries)
                && tables.allSatisfy { TableCode(name: $0.name) != nil }
        }
        if isWhole() { return (file, nil) }
        var hit: Int?
        for bit in 0..<8 * bytes.count {
            bytes[bit / 8] ^= 1 << (bit % 8)
            let isHit = isWhole()
            bytes[bit / 8] ^= 1 << (bit % 8)
            guard isHit else { continue }
            if hit != nil { return (file, nil) }
            hit = bit
        }
        guard let hit else { return (file, nil) }
        bytes[hit / 8] ^= 1 << (hit % 8)
        return (PageFile(file, replacing: bytes, at: offset), meta.main.root)
    }

    /// Returns the number of the transaction that the newest meta page is of. If it and that of the other meta page are
    /// not consecutive, but the header's number and that of the other page are, the number on the page is wrong.
    private static func newestTransaction(_ metas: MetaPages, _ survey: TreeSurvey?) -> UInt64 {
        guard let newest = metas.newest else { return 0 }
        guard let facts = survey?.facts, let other = metas.pages[1 - newest.index],
            max(facts.transaction, other.transaction) - min(facts.transaction, other.transaction) == 1
        else { return newest.transaction }
        return facts.transaction
    }

    /// Returns `true` if a newer meta page than the sound one may be lost.
    private static func mayMissNewer(_ metas: MetaPages) -> Bool {
        guard let newest = metas.newest else { return true }
        let other = metas.pages[1 - newest.index]
        // The other page is of the transaction before, if it says so.
        return !metas.findings.isEmpty && other.map { $0.transaction + 1 != newest.transaction } ?? true
    }

    /// Returns `true` if a snapshot that no meta page leads to is worth a look. Beside a sound meta page only a newer
    /// snapshot is, or any if that meta page leads to a snapshot that its header does not belong to.
    private static func isOpen(_ candidate: Meta, _ known: UInt64, _ best: TreeSurvey?, _ metas: MetaPages) -> Bool {
        guard let best else { return true }
        // What a readable list of free pages leaves over is exact; an older snapshot is not.
        if !best.holes.isEmpty, best.knowsFreePages { return false }
        guard let facts = best.facts else { return candidate.transaction >= known || !best.holes.isEmpty }
        if facts.transaction != best.meta.transaction { return true }
        return candidate.transaction > known && mayMissNewer(metas)
    }

    /// Collects the values of tables with holes from pages that the trees do not account for.
    private mutating func searchPages(_ byteCount: UInt64, _ rules: SalvageRules) throws {
        let pageSize = meta.pageSize
        var scan = PageScan(file, pageSize: pageSize, byteCount: byteCount)
        var number: UInt64 = 2
        let pages = byteCount / UInt64(pageSize)
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
            for value in found.values where isWanted(value) { note(value, rules) }
            number += max(1, found.pages)
            if found.values.isEmpty, scan.isInHole { number = try file.pageWithData(from: number, pageSize: pageSize) }
        }
    }

    /// Keeps a value, unless its commit never happened or was never part of the snapshot.
    private mutating func note(_ value: FoundValue, _ rules: SalvageRules) {
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

    /// Calls `body` with each whole value in the trees, table by table in the order of keys.
    public func forEachInTrees(_ body: (FoundValue, [UInt8]) throws -> Void) throws {
        var exceptions: [TableCode: [[UInt8]: FoundValue]] = [:]
        for value in survey.damaged { exceptions[value.table, default: [:]][value.key] = value }
        let walk = try SnapshotWalk(file, meta, visits: { TableCode(name: $0) != nil }) { entry in
            try step()
            let table = TableCode(name: entry.table)!
            if let value = exceptions[table]?[entry.key] {
                if let mended = value.mended { try body(value, mended) }
                return
            }
            let bytes = try entry.value()
            try body(
                FoundValue(
                    table: table, key: entry.key, stamp: StoredValue.stamp(head: bytes.rawBytes),
                    offset: entry.offset, count: bytes.count, origin: .tree), bytes)
        }
        if let failure = walk.failure { throw failure }
    }

    /// Returns the bytes of a value, with the bit that was mended.
    public func bytes(of value: FoundValue) throws(PageFileError) -> [UInt8] {
        if let mended = value.mended { return mended }
        var bytes = [UInt8](repeating: 0, count: value.count)
        try file.read(at: value.offset, into: &bytes)
        return bytes
    }
}
