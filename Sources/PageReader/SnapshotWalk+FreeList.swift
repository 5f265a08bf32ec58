/// The list of free pages: a tree whose keys are transactions and whose values are lists of pages, the length first, then
/// the pages from the greatest to the least.
extension SnapshotWalk {
    /// A list of free pages, which is read piece by piece: its length is the file's own word.
    private struct FreeList {
        /// Numbers read at a time.
        static let pieceNumbers = 8_192

        /// The page that leads to it.
        let page: UInt64
        let byteCount: Int
        /// The list itself where it stands on that page.
        let inline: [UInt8]?
        /// Where it begins in the file otherwise.
        let offset: UInt64

        /// How many numbers it has room for.
        var capacity: Int { byteCount / 8 }

        /// So many numbers from an index on.
        func numbers(_ range: Range<Int>, in file: PageFile) throws(PageFileError) -> [UInt8] {
            let bytes = range.lowerBound * 8..<range.upperBound * 8
            if let inline { return inline.part(bytes) }
            var piece = [UInt8](repeating: 0, count: bytes.count)
            try file.read(at: offset + UInt64(bytes.lowerBound), into: &piece)
            return piece
        }
    }

    mutating func walkFree() {
        var lists: [FreeList] = []
        walk(Tree.freeName, meta.free) { walk, page, entry in
            let number = page.bytes.u64(0)
            let transaction = page.bytes.u64(entry.key.lowerBound)
            if transaction == 0 || transaction > walk.meta.transaction {
                walk.add(.freeList, number, Tree.freeName, "a transaction of the list is not over")
            }
            if entry.isTree {
                walk.add(.freeList, number, Tree.freeName, "a list is a table")
                return
            }
            lists.append(walk.freeList(entry, page))
        }
        // Only now is it known which pages are in use.
        var behind: Set<UInt64> = []
        for list in lists {
            if isStopped { return }
            do throws(PageFileError) {
                try check(list, &behind)
            } catch {
                add(error, list.page, Tree.freeName)
            }
        }
    }

    private func freeList(_ entry: LeafEntry, _ page: NodePage) -> FreeList {
        let number = page.bytes.u64(0)
        switch entry.place {
        case .inline(let offset):
            let bytes = page.bytes.part(offset..<offset + entry.valueSize)
            return FreeList(page: number, byteCount: bytes.count, inline: bytes, offset: 0)
        case .overflow(let first):
            let offset = first * UInt64(meta.pageSize) + UInt64(NodePage.header)
            return FreeList(page: number, byteCount: entry.valueSize, inline: nil, offset: offset)
        }
    }

    /// - Parameter behind: free pages behind the end of the file, which were never written.
    private mutating func check(_ list: FreeList, _ behind: inout Set<UInt64>) throws(PageFileError) {
        let count = list.capacity > 0 ? try list.numbers(0..<1, in: file).u64(0) : .max
        // The record may be longer than its list, never shorter.
        guard list.capacity > 0, count < UInt64(list.capacity) else {
            add(.freeList, list.page, Tree.freeName, "a list is longer than its record")
            return
        }
        var last = UInt64.max
        for begin in stride(from: 1, to: Int(count) + 1, by: FreeList.pieceNumbers) {
            let end = min(Int(count) + 1, begin + FreeList.pieceNumbers)
            let piece = try list.numbers(begin..<end, in: file)
            for index in 0..<end - begin {
                guard check(piece.u64(8 * index), after: &last, of: list, &behind) else { return }
            }
        }
    }

    /// Takes the next page of a list; answers false when the rest of the list means nothing.
    private mutating func check(
        _ free: UInt64, after last: inout UInt64, of list: FreeList, _ behind: inout Set<UInt64>
    ) -> Bool {
        guard free >= 2, free <= meta.lastPage else {
            add(.freeList, list.page, Tree.freeName, "a listed page is outside the range in use")
            return false
        }
        guard free < last else {
            add(.freeList, list.page, Tree.freeName, "a list does not descend")
            return false
        }
        last = free
        freePages += 1
        let isNew = free < filePages ? visited.insert(free) : behind.insert(free).inserted
        if !isNew { add(.freePageInUse, free, Tree.freeName, "a page in use, or listed before, is listed as free") }
        return !isStopped
    }
}
