/// A page that is read without the tree to which it belongs.
public enum LoosePage {
    /// A leaf page. The entries are those of its records that the page itself holds; long values have pages of their
    /// own, and the page holds the number of the first.
    case leaf(entries: [(key: [UInt8], value: Range<Int>)], long: [(key: [UInt8], count: Int, page: UInt64)])
    /// A leaf of the tree of table names.
    case names([SnapshotWalk.Table])
    /// A branch page, with the first key of each child; that of the first child means nothing.
    case branch(children: [(key: [UInt8], page: UInt64)])
    /// The first page of a long value, which has this many pages.
    case long(pages: UInt64)
    /// Anything else: a later page of a long value, or a damaged page.
    case other

    private static let longKind: UInt16 = 4

    /// - Parameter scratch: reused memory.
    public init(_ bytes: [UInt8], number: UInt64, scratch: inout [UInt32]) {
        if bytes.u64(0) == number, bytes.u16(10) == LoosePage.longKind, bytes.u32(12) > 0 {
            self = .long(pages: UInt64(bytes.u32(12)))
            return
        }
        guard let page = try? NodePage(bytes, number: number, scratch: &scratch) else {
            self = .other
            return
        }
        guard page.isLeaf else {
            self = .branch(children: (0..<page.count).map { (Array(bytes[page.key($0)]), page.child($0)) })
            return
        }
        var (entries, tables): ([(key: [UInt8], value: Range<Int>)], [SnapshotWalk.Table]) = ([], [])
        var long: [(key: [UInt8], count: Int, page: UInt64)] = []
        // A wrong bit may mark a value as the record of a table.
        var marked: [(key: [UInt8], value: Range<Int>)] = []
        for index in 0..<page.count {
            let entry = page.entry(index)
            guard case .inline(let offset) = entry.place else {
                if case .overflow(let first) = entry.place {
                    long.append((Array(bytes[entry.key]), entry.valueSize, first))
                }
                continue
            }
            if entry.isTree, entry.valueSize == TreeRecord.byteCount {
                tables.append(
                    SnapshotWalk.Table(
                        name: String(decoding: bytes[entry.key], as: UTF8.self), record: TreeRecord(bytes, at: offset)))
            }
            let found = (key: Array(bytes[entry.key]), value: offset..<offset + entry.valueSize)
            if entry.isTree { marked.append(found) } else { entries.append(found) }
        }
        let areNames = !tables.isEmpty && entries.isEmpty && tables.count == marked.count
        self = areNames ? .names(tables) : .leaf(entries: entries + marked, long: long)
    }
}

extension Meta {
    /// Creates the meta page of a snapshot whose own meta page is lost or wrong: the tree of names is a single leaf.
    ///
    /// - Parameters:
    ///   - names: the number of that leaf.
    ///   - other: a meta page of the same transaction that knows the free pages; without it, nothing is known of them.
    public init(
        names: UInt64, tables: Int, transaction: UInt64, lastPage: UInt64, pageSize: Int, like other: Meta? = nil
    ) {
        index = Int(transaction & 1)
        version = 1
        mapSize = 0
        self.pageSize = pageSize
        self.lastPage = other?.lastPage ?? lastPage
        self.transaction = transaction
        free =
            other?.free
            ?? TreeRecord(flags: Tree.integerKeys, depth: 0, leafPages: 0, entries: 0, root: TreeRecord.noRoot)
        main = TreeRecord(flags: 0, depth: 1, leafPages: 1, entries: UInt64(tables), root: names)
    }
}

extension TreeRecord {
    fileprivate init(flags: UInt16, depth: Int, leafPages: UInt64, entries: UInt64, root: UInt64) {
        self.flags = flags
        self.depth = depth
        branchPages = 0
        self.leafPages = leafPages
        overflowPages = 0
        self.entries = entries
        self.root = root
    }
}

extension PageFile {
    /// Returns the value of a key in a tree; `nil` if there is none, or if a page on the way is damaged.
    public func value(of key: [UInt8], in record: TreeRecord, pageSize: Int) -> [UInt8]? {
        guard let place = place(of: key, in: record, pageSize: pageSize), let size = try? size(),
            UInt64(place.count) <= size
        else { return nil }
        var value = [UInt8](repeating: 0, count: place.count)
        return (try? read(at: place.offset, into: &value)) == nil ? nil : value
    }

    /// Returns where in the file the value of a key begins, and its length; `nil` if there is no such key, or if a page
    /// on the way to it is damaged.
    public func place(
        of key: [UInt8], in record: TreeRecord, pageSize: Int
    ) -> (offset: UInt64, count: Int)? {
        var (number, scratch): (UInt64, [UInt32]) = (record.root, [])
        var bytes = [UInt8](repeating: 0, count: pageSize)
        for level in 1...max(1, min(record.depth, TreeRecord.depthLimit)) {
            guard number < .max / UInt64(pageSize), (try? read(at: number * UInt64(pageSize), into: &bytes)) != nil,
                let page = try? NodePage(bytes, number: number, scratch: &scratch),
                page.isLeaf == (level == record.depth)
            else { return nil }
            // The first key of a branch covers everything below the second.
            let first = page.isLeaf ? 0 : 1
            let behind = (first..<max(first, page.count)).first {
                compareKeys(bytes, page.key($0), key, key.indices) > 0
            }
            let index = (behind ?? page.count) - 1
            guard index >= 0 else { return nil }
            if !page.isLeaf {
                number = page.child(index)
                continue
            }
            let entry = page.entry(index)
            guard compareKeys(bytes, entry.key, key, key.indices) == 0, !entry.isTree else { return nil }
            switch entry.place {
            case .inline(let offset): return (number * UInt64(pageSize) + UInt64(offset), entry.valueSize)
            case .overflow(let first):
                guard first < .max / UInt64(pageSize) else { return nil }
                return (first * UInt64(pageSize) + UInt64(NodePage.header), entry.valueSize)
            }
        }
        return nil
    }
}
