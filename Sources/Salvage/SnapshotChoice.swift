import ColumnFormat
import PageReader

/// Which snapshot of a file is saved: the one that the newest sound meta page leads to, if it is whole; else the one
/// that loses least, of those that the pages of table names lead to. If all of these lack much that is newer, it is
/// none: then all values are looked for by their own headers.
struct SnapshotChoice {
    /// What the trees of the snapshot lead to; `nil` if no page leads to the tables.
    private(set) var survey: TreeSurvey?
    /// Whether a meta page leads to the snapshot.
    private(set) var hasMeta: Bool
    /// Whether another program wrote the file (``Salvage/isReloaded``).
    private(set) var isReloaded = false
    /// The number of newer transactions of which traces are in the file.
    private(set) var transactionsLost: UInt64 = 0
    /// What the records of sessions tell; known only if pages were searched.
    private(set) var history = SessionHistory()

    init(
        _ file: PageFile, _ metas: MetaPages, _ rules: SalvageRules, pageSize: Int, pages: UInt64,
        _ step: @escaping () throws -> Void
    ) throws {
        survey = try metas.newest.map { try TreeSurvey(file, $0, rules, step) }
        if let other = survey?.otherFormat { throw other }
        hasMeta = survey != nil
        // A meta page that cannot be read may have been the newer one.
        guard survey?.isWhole != true || SnapshotChoice.mayMissNewer(metas) else { return }
        let ofMeta = survey
        let search = try RootSearch.snapshots(
            file, pageSize: pageSize, pages: pages, after: survey?.facts?.commit ?? 0, rules, step)
        history = search.history
        let known = SnapshotChoice.newestTransaction(metas, survey)
        for candidate in search.snapshots where SnapshotChoice.isOpen(candidate, known, survey, metas) {
            let other = try TreeSurvey(
                file, SnapshotChoice.knowingFreePages(candidate, metas, pageSize: pageSize), rules, step)
            if let present = survey, !isBetter(other, than: present) { continue }
            // The meta page of this very snapshot also knows the free pages.
            (survey, hasMeta) = (other, false)
            if other.isWhole { break }
        }
        if SnapshotChoice.mayMissNewer(metas), let present = survey, let facts = present.facts {
            transactionsLost = history.transactionsLost(after: facts.commit, transaction: facts.transaction)
            if transactionsLost > 0,
                try NewerChunks(file, present, pages: pages, after: facts.commit, history, rules, step).areMany
            {
                (survey, hasMeta, transactionsLost) = (nil, false, 0)
                return
            }
        }
        guard !hasMeta, let found = survey?.meta else { return }
        isReloaded =
            ofMeta.map { $0.meta.main.root == found.main.root && $0.hasSoundTrees } ?? false
            && search.snapshots.allSatisfy { $0.transaction <= found.transaction }
        let newest = max(search.snapshots.first?.transaction ?? 0, known)
        if isReloaded {
            transactionsLost = 0
        } else if newest > found.transaction {
            transactionsLost = max(transactionsLost, newest - found.transaction)
        }
    }

    /// Returns a snapshot that was searched for with the list of free pages of its own meta page, if only the root on
    /// that page is wrong.
    private static func knowingFreePages(_ candidate: Meta, _ metas: MetaPages, pageSize: Int) -> Meta {
        guard let own = metas.newest, own.transaction == candidate.transaction else { return candidate }
        return Meta(
            names: candidate.main.root, tables: Int(candidate.main.entries), transaction: candidate.transaction,
            lastPage: candidate.lastPage, pageSize: pageSize, like: own)
    }

    /// Returns `true` if another snapshot is worth more than a present one that is not whole.
    ///
    /// What the trees of a snapshot do not lead to is looked for on all pages, but the transactions behind it are lost,
    /// even if an older one is whole: a store that was just created is. So an older one is better only if it is of the
    /// transaction before, and the present one may never have happened: then pages of it may be missing.
    private func isBetter(_ other: TreeSurvey, than present: TreeSurvey) -> Bool {
        // What a readable list of free pages leaves over is exact. A page of table names of an older state may lead to
        // the present header, because its page was used again, and to older pages beside it.
        if present.knowsFreePages, !present.holes.isEmpty, !other.isWhole,
            present.walk.listsAsFree(other.meta.main.root)
        {
            return false
        }
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
        return !metas.findings.isEmpty && other.map { $0.transaction &+ 1 != newest.transaction } ?? true
    }

    /// Returns `true` if a snapshot that no meta page leads to is worth a look. Beside a sound meta page only a newer
    /// snapshot is, or any if that meta page leads to a snapshot that its header does not belong to.
    private static func isOpen(_ candidate: Meta, _ known: UInt64, _ best: TreeSurvey?, _ metas: MetaPages) -> Bool {
        guard let best else { return true }
        // The page of names of this very transaction, where the meta page leads elsewhere.
        if candidate.transaction == best.meta.transaction, best.facts?.transaction != best.meta.transaction {
            return true
        }
        // What a readable list of free pages leaves over is exact; an older snapshot is not.
        if !best.holes.isEmpty, best.knowsFreePages { return false }
        guard let facts = best.facts else { return candidate.transaction >= known || !best.holes.isEmpty }
        if facts.transaction != best.meta.transaction { return true }
        return candidate.transaction > known && mayMissNewer(metas)
    }
}
