/// A walk over all pages of one snapshot. It checks the shape of each tree, the order of its keys, the positions of
/// long values, and the free list. Every number is bounded before use, no page is read twice as part of a tree, and no
/// tree is followed deeper than its record says. So the walk always terminates. Opening a store begins with it, before
/// LMDB may follow a pointer.
///
/// The walk reads branch and leaf pages but not long values: it only checks that their pages lie in the file and have
/// no other owner, and if asked, what their first pages say.
public struct SnapshotWalk {
    /// The options of a walk.
    public struct Options: Sendable {
        /// Stop at the first finding.
        public var stopsAtFirst = false
        /// Also read the page headers of long values.
        public var readsOverflowHeaders = false
        /// Also read the page headers of long values, but only report what is wrong in them: a value is visited in any
        /// case, and has the pages that its length needs. What this finds is of the kind `overflowPages`.
        public var reportsOverflowHeaders = false
        /// The maximum number of findings to list; further findings are only counted.
        public var limit = 1_000
        /// The maximum number of holes to list.
        public var holeLimit = 0

        public init() {}
    }

    /// A table in the file.
    public struct Table: Sendable {
        public let name: String
        public let record: TreeRecord
    }

    /// A range of keys whose records cannot be reached, because a page on the way to them is damaged.
    public struct Hole: Sendable {
        public let table: String
        /// The damaged page, or the page with the damaged entry.
        public let page: UInt64
        /// The first key of the range.
        public let lower: [UInt8]
        /// The key after the range; `nil` for all keys from `lower` on.
        public let upper: [UInt8]?

        /// Of one long value: its pages, and the key of the record that follows if that is known.
        public let value: (pages: Range<UInt64>, next: [UInt8]?)?

        /// Whether a finding about a page is about what the hole hides.
        public func holds(_ found: UInt64?) -> Bool {
            guard let found else { return false }
            return value?.pages.contains(found) ?? (found == page)
        }

        public init(
            table: String, page: UInt64, lower: [UInt8], upper: [UInt8]?,
            value: (pages: Range<UInt64>, next: [UInt8]?)? = nil
        ) {
            (self.table, self.page, self.lower, self.upper, self.value) = (table, page, lower, upper, value)
        }
    }

    /// What a tree uses a page for, or a value that has pages of its own.
    public struct PageUse: Sendable {
        public enum Kind: UInt8, Sendable {
            case branch
            case leaf
            case overflow
        }

        public let number: UInt64
        /// The number of pages: more than one only for long values.
        public let count: UInt64
        public let table: String
        public let kind: Kind
        /// The level of the page in its tree, 1 for the root; for a long value, that of its entry.
        public let level: Int
        public let entries: Int
        /// The bytes in use, with LMDB's headers.
        public let bytes: Int
    }

    /// A value on a leaf page, with access to its bytes.
    public struct Entry {
        public let table: String
        public let key: [UInt8]
        public let leaf: LeafEntry
        /// The page with the entry.
        public let number: UInt64
        fileprivate let page: [UInt8]
        fileprivate let file: PageFile
        fileprivate let pageSize: Int

        /// The offset of the value in the file.
        public var offset: UInt64 {
            switch leaf.place {
            case .inline(let offset): number * UInt64(pageSize) + UInt64(offset)
            case .overflow(let first): first * UInt64(pageSize) + UInt64(NodePage.header)
            }
        }

        /// Returns the bytes of the value, from the leaf or from its own pages, which the walk has verified to lie
        /// within the file.
        public func value() throws(PageFileError) -> [UInt8] { try head(leaf.valueSize) }

        /// Returns the first bytes of the value, or all bytes of a shorter value.
        public func head(_ count: Int) throws(PageFileError) -> [UInt8] {
            let count = max(0, min(count, leaf.valueSize))
            switch leaf.place {
            case .inline(let offset): return page.part(offset..<offset + count)
            case .overflow(let first):
                var bytes = [UInt8](repeating: 0, count: count)
                try file.read(at: first * UInt64(pageSize) + UInt64(NodePage.header), into: &bytes)
                return bytes
            }
        }
    }

    public let meta: Meta
    public internal(set) var findings: [PageFinding] = []
    /// The number of findings beyond the limit.
    public internal(set) var omitted = 0
    /// The number of tree pages whose entries could not be checked.
    public internal(set) var unreadPages = 0
    /// Why the system could not read a page, which ended the walk. The finding for that page says nothing about the
    /// file.
    public private(set) var failure: PageFileError?
    public private(set) var tables: [Table] = []
    /// The ranges of keys that the walk did not reach, up to the limit of findings.
    public private(set) var holes: [Hole] = []
    /// The number of pages of trees and long values.
    public private(set) var pagesInUse: UInt64 = 2
    /// The number of pages that long values own but do not need, according to the trees' records.
    public private(set) var sparePages: UInt64 = 0
    public internal(set) var freePages: UInt64 = 0

    /// Wanted pages with a gap smaller than this are fetched together, with the pages between them.
    private static let gap: UInt64 = 4

    let file: PageFile
    let options: Options
    let filePages: UInt64
    var visited = PageSet()
    var listed = PageSet()
    private let onPage: ((PageUse) -> Void)?
    private var buffers: [[UInt8]] = []
    private var scratch: [UInt32] = []

    /// Walks the snapshot of a meta page. Calls `visit` with each entry of the tables that `visits` selects by name.
    ///
    /// - Parameter onPage: called with each sound page of a tree, and with the pages of each long value.
    public init(
        _ file: PageFile, _ meta: Meta, options: Options = Options(), onPage: ((PageUse) -> Void)? = nil,
        visits: (String) -> Bool, visit: (Entry) throws -> Void
    ) rethrows {
        self.file = file
        self.onPage = onPage
        self.meta = meta
        self.options = options
        var size: UInt64 = 0
        do { size = try file.size() } catch { failure = error }
        filePages = size / UInt64(max(1, meta.pageSize))
        // A meta page with violated bounds is no basis for a walk.
        if meta.version != 1 || meta.complaint != nil {
            add(.metaInvalid, UInt64(meta.index), nil, meta.complaint ?? "the version is unknown")
            return
        }
        if failure == nil { try walkMain(visits, visit) }
        if isStopped { return }
        walkFree()
    }

    /// Walks the snapshot of a meta page without visiting values.
    public init(_ file: PageFile, _ meta: Meta, options: Options = Options()) {
        self.init(file, meta, options: options, visits: { _ in false }, visit: { _ in })
    }

    public var isSound: Bool { findings.isEmpty && omitted == 0 && failure == nil }

    /// The number of pages up to the last one, and how many of them are in use or free, if these numbers differ in an
    /// otherwise sound snapshot.
    public var lostPages: (all: UInt64, owned: UInt64)? {
        // The numbers come from the file itself: their sum may overflow.
        let owned = pagesInUse &+ sparePages &+ freePages
        return isSound && owned != meta.lastPage + 1 ? (meta.lastPage + 1, owned) : nil
    }

    var isStopped: Bool { failure != nil || options.stopsAtFirst && !findings.isEmpty }

    private mutating func walkMain(_ visits: (String) -> Bool, _ visit: (Entry) throws -> Void) rethrows {
        var found: [Table] = []
        walk(Tree.mainName, meta.main) { walk, page, entry in
            guard entry.isTree else { return }
            guard case .inline(let offset) = entry.place, entry.valueSize == TreeRecord.byteCount else {
                walk.add(.treeKind, page.bytes.u64(0), Tree.mainName, "the record of a table has a wrong length")
                return
            }
            found.append(
                Table(
                    name: String(decoding: page.bytes[entry.key], as: UTF8.self),
                    record: TreeRecord(page.bytes, at: offset)))
        }
        tables = found
        for table in found {
            if isStopped { return }
            if table.record.flags != 0 {
                addHole(table.name, meta.main.root, from: [], to: nil)
                add(.treeKind, nil, table.name, "the table is of a kind that stores never have")
            } else if let complaint = table.record.complaint(lastPage: meta.lastPage) {
                // Without a root there is nothing to reach, whatever the other numbers say.
                if !table.record.isEmpty { addHole(table.name, meta.main.root, from: [], to: nil) }
                add(.treeShape, nil, table.name, complaint)
            } else if visits(table.name) {
                try walk(table.name, table.record) { walk, page, entry in
                    try visit(
                        Entry(
                            table: table.name, key: Array(page.bytes[entry.key]), leaf: entry,
                            number: page.bytes.u64(0), page: page.bytes, file: walk.file,
                            pageSize: walk.meta.pageSize))
                }
            } else {
                walk(table.name, table.record) { _, _, _ in }
            }
        }
    }

    /// Returns `true` if a tree, a long value or the free list accounts for a page.
    public func accounts(for page: UInt64) -> Bool { page < 2 || visited.contains(page) }

    /// Returns `true` if a page is listed as free.
    public func listsAsFree(_ page: UInt64) -> Bool { listed.contains(page) }

    /// Returns `true` if a tree, or a value in it, has a page. Holes belong to their trees.
    public func usesInTree(_ page: UInt64) -> Bool { accounts(for: page) && !listed.contains(page) }

    mutating func addHole(_ table: String, _ page: UInt64, from lower: [UInt8], to upper: [UInt8]?) {
        if holes.count < options.holeLimit { holes.append(Hole(table: table, page: page, lower: lower, upper: upper)) }
    }

    /// Adds a finding for an unreadable page.
    mutating func add(_ error: PageFileError, _ page: UInt64, _ table: String) {
        if error.isOfSystem { failure = failure ?? error }
        add(.pageUnreadable, page, table, "\(error)")
    }

    mutating func add(_ kind: PageFinding.Kind, _ page: UInt64?, _ table: String?, _ detail: String) {
        if findings.count < options.limit {
            findings.append(PageFinding(kind: kind, page: page, table: table, detail: detail))
        } else {
            omitted += 1
        }
    }
}

/// The counts of a tree, for comparison with its record.
private struct TreeCount {
    var branchPages: UInt64 = 0
    var leafPages: UInt64 = 0
    var overflowPages: UInt64 = 0
    /// The overflow pages by the headers of long values, where these are only reported.
    var headerPages: UInt64 = 0
    var entries: UInt64 = 0
}

/// A page of a tree to read, and the bounds of its keys: at least `lower`, less than `upper`.
private struct TreePlace {
    let number: UInt64
    let level: Int
    let lower: [UInt8]
    let upper: [UInt8]?
}

extension SnapshotWalk {
    /// Walks a tree and calls `body` with each entry of each sound leaf page, in key order.
    mutating func walk(
        _ name: String, _ record: TreeRecord, _ body: (inout SnapshotWalk, NodePage, LeafEntry) throws -> Void
    ) rethrows {
        if record.isEmpty { return }
        let before = findings.count + omitted
        var count = TreeCount()
        let root = TreePlace(number: record.root, level: 1, lower: [], upper: nil)
        try descend(root, name, record, &count, body)
        guard findings.count + omitted == before else { return }
        let pagesAgree = count.branchPages == record.branchPages && count.leafPages == record.leafPages
        // A value that became shorter may keep more pages than it needs; only the page headers show this.
        let longAgree =
            readsHeaders(of: name)
            ? count.overflowPages == record.overflowPages : count.overflowPages <= record.overflowPages
        guard pagesAgree, longAgree, count.entries == record.entries else {
            return add(.treeShape, nil, name, "the tree has other numbers of pages or entries than its record says")
        }
        if reportsHeaders(of: name), count.headerPages != record.overflowPages {
            add(.overflowPages, nil, name, "the values have other numbers of pages than the record of the tree says")
        }
        sparePages &+= record.overflowPages - count.overflowPages
    }

    private func readsHeaders(of name: String) -> Bool { options.readsOverflowHeaders || name == Tree.freeName }

    private func reportsHeaders(of name: String) -> Bool { options.reportsOverflowHeaders && !readsHeaders(of: name) }

    private mutating func descend(
        _ place: TreePlace, _ name: String, _ record: TreeRecord, _ count: inout TreeCount,
        _ body: (inout SnapshotWalk, NodePage, LeafEntry) throws -> Void
    ) rethrows {
        guard let page = read(place, name) else {
            return addHole(name, place.number, from: place.lower, to: place.upper)
        }
        if page.isLeaf != (place.level == record.depth) {
            unreadPages += 1
            addHole(name, place.number, from: place.lower, to: place.upper)
            add(.treeShape, place.number, name, "the tree is not as deep as it says")
            return
        }
        guard checkKeys(page, place, name, isFree: name == Tree.freeName) else {
            return addHole(name, place.number, from: place.lower, to: place.upper)
        }
        onPage?(
            PageUse(
                number: place.number, count: 1, table: name, kind: page.isLeaf ? .leaf : .branch, level: place.level,
                entries: page.count, bytes: page.filledBytes))
        if page.isLeaf {
            count.leafPages += 1
            count.entries += UInt64(page.count)
            for index in 0..<page.count {
                let entry = page.entry(index)
                guard claimValue(of: entry, place, name, &count) else {
                    addHole(of: entry, index, page, place, name)
                    continue
                }
                try body(&self, page, entry)
                if isStopped { return }
            }
            return
        }
        count.branchPages += 1
        if place.level + 1 == record.depth { prefetchChildren(of: page) }
        for index in 0..<page.count {
            let child = TreePlace(
                number: page.child(index), level: place.level + 1,
                lower: index == 0 ? place.lower : Array(page.bytes[page.key(index)]),
                upper: index + 1 < page.count ? Array(page.bytes[page.key(index + 1)]) : place.upper)
            try descend(child, name, record, &count, body)
            if isStopped { return }
        }
    }

    /// Adds the hole that a record leaves whose value cannot be reached.
    private mutating func addHole(
        of entry: LeafEntry, _ index: Int, _ page: NodePage, _ place: TreePlace, _ name: String
    ) {
        guard holes.count < options.holeLimit else { return }
        let key = Array(page.bytes[entry.key])
        let next = index + 1 < page.count ? Array(page.bytes[page.key(index + 1)]) : place.upper
        var value: (pages: Range<UInt64>, next: [UInt8]?)?
        if case .overflow(let first) = entry.place, case let count = pages(for: entry.valueSize), first < .max - count {
            value = (first..<first + count, next)
        }
        holes.append(Hole(table: name, page: place.number, lower: key, upper: key + [0], value: value))
    }

    /// Reads a page of a tree into the buffer of its level. For an invalid page, adds a finding and returns `nil`.
    private mutating func read(_ place: TreePlace, _ name: String) -> NodePage? {
        guard claim(place.number, count: 1, name) else {
            unreadPages += 1
            return nil
        }
        while buffers.count <= place.level { buffers.append([UInt8](repeating: 0, count: meta.pageSize)) }
        do {
            try file.read(at: place.number * UInt64(meta.pageSize), into: &buffers[place.level])
        } catch {
            unreadPages += 1
            add(error, place.number, name)
            return nil
        }
        do throws(NodePage.Refusal) {
            return try NodePage(buffers[place.level], number: place.number, scratch: &scratch)
        } catch {
            unreadPages += 1
            add(error.kind, place.number, name, error.detail)
            return nil
        }
    }

    /// Prefetches the leaf pages below a branch: on a cold disk, reading them one by one takes long. One call covers
    /// adjacent or nearly adjacent pages.
    private func prefetchChildren(of branch: NodePage) {
        let pages = (0..<branch.count).map(branch.child).filter { $0 < filePages }.sorted()
        guard var run = pages.first.map({ $0..<$0 + 1 }) else { return }
        for page in pages.dropFirst() {
            if page >= run.upperBound + SnapshotWalk.gap {
                prefetch(run)
                run = page..<page
            }
            run = run.lowerBound..<page + 1
        }
        prefetch(run)
    }

    private func prefetch(_ run: Range<UInt64>) {
        let size = UInt64(meta.pageSize)
        file.prefetch(run.lowerBound * size..<run.upperBound * size)
    }

    /// Claims pages for a tree or value. If they are out of range or already claimed, adds a finding and returns
    /// `false`.
    private mutating func claim(_ first: UInt64, count: UInt64, _ name: String) -> Bool {
        guard first >= 2, first <= meta.lastPage, count <= meta.lastPage - first + 1 else {
            add(.pageOutOfRange, first, name, "the page is outside the range in use")
            return false
        }
        guard first < filePages, count <= filePages - first else {
            add(.pageOutOfRange, first, name, "the page is behind the end of the file")
            return false
        }
        for page in first..<first + count where !visited.insert(page) {
            add(.pageUsedTwice, page, name, "the page is used twice")
            return false
        }
        pagesInUse += count
        return true
    }

    private mutating func checkKeys(_ page: NodePage, _ place: TreePlace, _ name: String, isFree: Bool) -> Bool {
        // LMDB lets a branch of the free list's tree shrink to one child; other branches have at least two.
        guard page.isLeaf || page.count >= (isFree ? 1 : 2) else {
            unreadPages += 1
            add(.treeShape, place.number, name, "a branch has one child only")
            return false
        }
        // The first key of a branch covers everything below the second key and is never compared.
        let first = page.isLeaf ? 0 : 1
        var isInOrder = true
        for index in first..<max(first, page.count) {
            let key = page.key(index)
            if isFree, key.count != 8 { isInOrder = false }
            if index > first, compare(page.bytes, page.key(index - 1), page.bytes, key, isFree) >= 0 {
                isInOrder = false
            }
        }
        if page.count > first {
            let (least, greatest) = (page.key(first), page.key(page.count - 1))
            if !place.lower.isEmpty,
                compare(page.bytes, least, place.lower, place.lower.indices, isFree) < 0
            {
                isInOrder = false
            }
            if let upper = place.upper, compare(page.bytes, greatest, upper, upper.indices, isFree) >= 0 {
                isInOrder = false
            }
        }
        if !isInOrder { add(.keyOrder, place.number, name, "the keys are out of order or bounds") }
        return true
    }

    private func compare(
        _ left: [UInt8], _ leftKey: Range<Int>, _ right: [UInt8], _ rightKey: Range<Int>, _ isFree: Bool
    ) -> Int {
        if !isFree { return compareKeys(left, leftKey, right, rightKey) }
        let (one, other) = (left.u64(leftKey.lowerBound), right.u64(rightKey.lowerBound))
        return one < other ? -1 : one == other ? 0 : 1
    }

    /// Claims the pages of a long value.
    private mutating func claimValue(
        of entry: LeafEntry, _ place: TreePlace, _ name: String, _ count: inout TreeCount
    ) -> Bool {
        if entry.isTree, name != Tree.mainName {
            add(.treeKind, place.number, name, "a table is inside another")
            return false
        }
        guard case .overflow(let first) = entry.place else { return true }
        let needed = pages(for: entry.valueSize)
        var run = needed
        if readsHeaders(of: name), first >= 2, first < filePages {
            guard let pages = overflowRun(at: first, needed, name) else { return false }
            run = pages
        }
        guard claim(first, count: run, name) else { return false }
        if reportsHeaders(of: name) { count.headerPages += overflowRun(at: first, needed, name) ?? needed }
        onPage?(
            PageUse(
                number: first, count: run, table: name, kind: .overflow, level: place.level, entries: 1,
                bytes: NodePage.header + entry.valueSize))
        count.overflowPages += run
        return true
    }

    private func pages(for valueSize: Int) -> UInt64 {
        UInt64((NodePage.header + max(1, valueSize) - 1) / meta.pageSize + 1)
    }

    /// Returns the page count in the header of a long value's first page. If that header is wrong, adds a finding and
    /// returns `nil`.
    private mutating func overflowRun(at first: UInt64, _ needed: UInt64, _ name: String) -> UInt64? {
        var header = [UInt8](repeating: 0, count: NodePage.header)
        do {
            try file.read(at: first * UInt64(meta.pageSize), into: &header)
        } catch {
            add(error, first, name)
            return nil
        }
        guard header.u64(0) == first, header.u16(10) == 4, header.u32(12) > 0 else {
            add(.overflowPages, first, name, "the page does not begin a long value")
            return nil
        }
        let pages = UInt64(header.u32(12))
        guard pages >= needed, pages <= self.pages(for: Int(UInt32.max)) else {
            let complaint = pages < needed ? "too few" : "more than any value needs"
            add(.overflowPages, first, name, "the pages of a value are \(complaint)")
            return nil
        }
        return pages
    }
}
