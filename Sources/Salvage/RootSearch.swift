import ColumnFormat
import PageReader

/// Looks for the tree of table names where no meta page leads to one.
enum RootSearch {
    /// More snapshots than this are not surveyed.
    private static let surveys = 4

    /// Returns the snapshots that leaf pages of the whole file lead to, newest first, and what all pages say of
    /// sessions and of commits behind a known one. The transaction is that of the header to which each snapshot leads.
    static func snapshots(
        _ file: PageFile, pageSize: Int, pages: UInt64, after commit: UInt64, _ rules: SalvageRules,
        _ step: () throws -> Void
    ) throws -> (snapshots: [Meta], history: SessionHistory) {
        var (found, scratch): ([(meta: Meta, stamp: CommitStamp)], [UInt32]) = ([], [])
        var history = SessionHistory()
        var bytes = [UInt8](repeating: 0, count: pageSize)
        var next: UInt64 = 2
        while next < pages {
            try step()
            let number = next
            next += 1
            do throws(PageFileError) { try file.read(at: number * UInt64(pageSize), into: &bytes) } catch {
                if error.isOfSystem { throw error }
                continue
            }
            if file.isInHole(bytes) { next = try file.pageWithData(from: next, pageSize: pageSize) }
            var tables: [SnapshotWalk.Table] = []
            switch LoosePage(bytes, number: number, scratch: &scratch) {
            case .names(let named): tables = named
            case .leaf(let entries, _):
                for entry in entries {
                    note(Array(bytes[entry.value]), key: entry.key, after: commit, in: &history, rules)
                }
            case .branch, .long, .other: continue
            }
            guard let table = tables.first(where: { $0.name == TableCode.meta.name }), !table.record.isEmpty,
                let header = file.value(of: rules.headerKey, in: table.record, pageSize: pageSize),
                ValueCheck.isSound(header, .meta, key: rules.headerKey, rules), let facts = rules.facts(header)
            else { continue }
            let meta = Meta(
                names: number, tables: tables.count, transaction: facts.transaction, lastPage: pages - 1,
                pageSize: pageSize)
            found.append((meta, facts.stamp))
        }
        history.settle()
        // A killed transaction may have left its tree, and the next one took its number.
        if rules.asksSessions { found.removeAll { history.happened($0.stamp) == false } }
        // A page that was copied, or written again, may lead to the same header.
        let newest = found.map(\.meta).sorted { $0.transaction > $1.transaction }.prefix(surveys)
        return (Array(newest), history)
    }

    /// Notes what a value on a leaf page says of sessions.
    private static func note(
        _ bytes: [UInt8], key: [UInt8], after commit: UInt64, in history: inout SessionHistory, _ rules: SalvageRules
    ) {
        guard let (table, _) = ValueScan.outline(bytes, at: 0), ValueCheck.key(of: bytes, table) != nil else { return }
        let stamp = StoredValue.stamp(head: bytes.rawBytes)
        history.note(stamp)
        if stamp.commit > commit, ValueCheck.isSound(bytes, table, key: key, rules) { history.note(proven: stamp) }
        if table == .meta, key == rules.headerKey, ValueCheck.isSound(bytes, .meta, key: key, rules) {
            history.note(header: stamp, transaction: rules.facts(bytes)?.transaction ?? 0)
        }
        if table == .upkeep, key == rules.sessionsKey, let ended = rules.opened(bytes).flatMap(rules.ended) {
            history.note(ended, by: stamp.session)
        }
    }

    /// Returns the size under which most pages of a file bear their own number; `nil` if none does.
    static func pageSize(of file: PageFile, byteCount: UInt64) -> Int? {
        var best: (size: Int, pages: Int)?
        var head = [UInt8](repeating: 0, count: 16)
        for size in [4_096, 8_192, 16_384, 32_768] {
            var pages = 0
            for number in 0..<min(byteCount / UInt64(size), 4_096)
            where (try? file.read(at: number * UInt64(size), into: &head)) != nil
                && head.rawBytes.word(0) == number && (head[10] | head[11]) != 0
            {
                pages += 1
            }
            // The pages of a smaller size are counted under a larger one, too, but fewer of them.
            if pages > (best?.pages ?? 0) { best = (size, pages) }
        }
        return best?.size
    }
}

extension PageFile {
    /// Whether a page may be in a hole of the file: its head is zero.
    func isInHole(_ page: [UInt8]) -> Bool { page.prefix(16).allSatisfy { $0 == 0 } }

    /// Returns the first page from a number on that is not in a hole.
    func pageWithData(from number: UInt64, pageSize: Int) throws(PageFileError) -> UInt64 {
        try dataOffset(from: number * UInt64(pageSize)) / UInt64(pageSize)
    }
}
