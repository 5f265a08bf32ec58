/// The free list: a tree with transactions as keys and lists of pages as values. A list begins with its length; the
/// page numbers follow in descending order.
extension SnapshotWalk {
    /// A list of free pages. It is read in pieces, because its length comes from the untrusted file.
    private struct FreeList {
        /// The number of page numbers per read.
        static let pieceNumbers = 8_192

        /// The page that refers to the list.
        let page: UInt64
        let byteCount: Int
        /// The list itself if it is stored on that page.
        let inline: [UInt8]?
        /// Otherwise the offset of the list in the file.
        let offset: UInt64

        /// The number of page numbers for which the list has room.
        var capacity: Int { byteCount / 8 }

        /// Reads a range of page numbers.
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
        // Only now are all pages in use known.
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

    /// - Parameter behind: the free pages after the end of the file, which were never written.
    private mutating func check(_ list: FreeList, _ behind: inout Set<UInt64>) throws(PageFileError) {
        let count = list.capacity > 0 ? try list.numbers(0..<1, in: file).u64(0) : .max
        // The record may be longer than its list, but not shorter.
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

    /// Checks the next page of a list. Returns `false` if the rest of the list is meaningless.
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
        _ = listed.insert(free)
        let isNew = free < filePages ? visited.insert(free) : behind.insert(free).inserted
        if !isNew { add(.freePageInUse, free, Tree.freeName, "a page in use, or listed before, is listed as free") }
        return !isStopped
    }
}
