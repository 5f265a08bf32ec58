import ColumnFormat
import PageReader

/// Looks for the tree of table names where no meta page leads to one.
enum RootSearch {
    /// More snapshots than this are not surveyed.
    private static let surveys = 4

    /// Returns the snapshots that leaf pages of the whole file lead to, newest first. The transaction is that of the
    /// header to which each leads.
    static func snapshots(
        _ file: PageFile, pageSize: Int, pages: UInt64, _ rules: SalvageRules, _ step: () throws -> Void
    ) throws -> [Meta] {
        var (found, scratch): ([Meta], [UInt32]) = ([], [])
        var bytes = [UInt8](repeating: 0, count: pageSize)
        for number in 2..<max(2, pages) {
            try step()
            do throws(PageFileError) { try file.read(at: number * UInt64(pageSize), into: &bytes) } catch {
                if error.isOfSystem { throw error }
                continue
            }
            guard case .names(let tables) = LoosePage(bytes, number: number, scratch: &scratch) else { continue }
            guard let table = tables.first(where: { $0.name == TableCode.meta.name }), !table.record.isEmpty,
                let header = file.value(of: rules.headerKey, in: table.record, pageSize: pageSize),
                ValueCheck.isSound(header, .meta, key: rules.headerKey), let facts = rules.facts(header)
            else { continue }
            found.append(
                Meta(
                    names: number, tables: tables.count, transaction: facts.transaction, lastPage: pages - 1,
                    pageSize: pageSize))
        }
        // A page that was copied, or written again, may lead to the same header.
        return Array(found.sorted { $0.transaction > $1.transaction }.prefix(surveys))
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
