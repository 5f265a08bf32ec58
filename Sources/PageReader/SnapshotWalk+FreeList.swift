/// The list of free pages: a tree whose keys are transactions and whose values are lists of pages, the length first, then
/// the pages from the greatest to the least.
extension SnapshotWalk {
    mutating func walkFree() {
        var lists: [(list: [UInt8], page: UInt64)] = []
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
            do throws(PageFileError) {
                lists.append((try walk.freeList(entry, page), number))
            } catch {
                walk.add(error, number, Tree.freeName)
            }
        }
        // Only now is it known which pages are in use.
        var behind: Set<UInt64> = []
        for (list, page) in lists {
            if isStopped { return }
            check(list, page, &behind)
        }
    }

    private func freeList(_ entry: LeafEntry, _ page: NodePage) throws(PageFileError) -> [UInt8] {
        switch entry.place {
        case .inline(let offset): return page.bytes.part(offset..<offset + entry.valueSize)
        case .overflow(let first):
            var bytes = [UInt8](repeating: 0, count: entry.valueSize)
            try file.read(at: first * UInt64(meta.pageSize) + UInt64(NodePage.header), into: &bytes)
            return bytes
        }
    }

    /// - Parameter behind: free pages behind the end of the file, which were never written.
    private mutating func check(_ list: [UInt8], _ page: UInt64, _ behind: inout Set<UInt64>) {
        let count = list.u64(0)
        // The record may be longer than its list, never shorter.
        guard list.count >= 8, count <= UInt64(list.count / 8 - 1) else {
            add(.freeList, page, Tree.freeName, "a list is longer than its record")
            return
        }
        var last = UInt64.max
        for index in 0..<Int(count) {
            let free = list.u64(8 + 8 * index)
            guard free >= 2, free <= meta.lastPage else {
                add(.freeList, page, Tree.freeName, "a listed page is outside the range in use")
                return
            }
            guard free < last else {
                add(.freeList, page, Tree.freeName, "a list does not descend")
                return
            }
            last = free
            freePages += 1
            let isNew = free < filePages ? visited.insert(free) : behind.insert(free).inserted
            if !isNew {
                add(.freePageInUse, free, Tree.freeName, "a page in use, or listed before, is listed as free")
                if isStopped { return }
            }
        }
    }
}
