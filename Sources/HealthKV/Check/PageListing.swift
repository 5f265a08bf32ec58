import ColumnFormat
import PageReader
import Salvage

/// One page of a data file, as one snapshot has it.
package struct PageInfo: Sendable {
    /// What is on the page.
    package enum Kind: String, Sendable {
        case meta
        case branch
        case leaf
        case overflow
        /// Nothing that LMDB writes: zeros, a damaged page, or a later page of a long value that nothing leads to.
        case other
    }

    package enum State: String, Sendable {
        /// The meta pages and the trees have it.
        case used
        /// The list of free pages has it.
        case free
        /// Nothing accounts for it: the page that led to it is damaged, or it was never given back.
        case lost
        /// It lies behind the last page of the snapshot.
        case stale
    }

    package let number: UInt64
    package var kind: Kind
    package let state: State
    /// The table; `nil` for pages that are in no tree.
    package var table: String?
    /// The level in its tree, 1 for the root.
    package var depth: Int?
    package var entries: Int?
    /// The share of the page that is in use.
    package var fill: Double?
    /// The greatest commit among the values that begin on the page.
    package var commit: UInt64?
}

/// The pages of one snapshot of a data file, read with ordinary reads.
package struct PageListing {
    package let pageSize: Int
    package let transaction: UInt64
    /// The meta page of the snapshot, 0 or 1.
    package let meta: Int
    /// The number of pages in the file.
    package let pages: UInt64
    /// What the walk over the trees found wrong.
    package private(set) var findings: [String]

    private let file: PageFile
    private let snapshot: Meta
    private let walk: SnapshotWalk
    private let map: PageMap

    /// A writer may use pages of the snapshot again while they are read.
    private static let attempts = 5

    /// Lists the pages of the newest snapshot, or of the one that a meta page leads to: that of the older one is the
    /// previous transaction, some of whose pages may have been used again. The file is not mapped.
    ///
    /// - Parameters:
    ///   - folder: the store's folder.
    ///   - meta: the meta page, 0 or 1; `nil` for the newest sound one.
    ///   - body: reads the listing.
    package static func read(_ folder: String, meta: Int?, _ body: (PageListing) throws -> Void) throws {
        let file = try PageFile(ofUnlinkedStore: folder)
        var attempt = 1
        while true {
            let metas = try checked(MetaPages(settled: file), file, folder)
            guard let page = meta.map({ metas.pages[$0] }) ?? metas.newest, page.isUsable else {
                let place = meta.map { "Meta page \($0) does not lead" } ?? "No meta page leads"
                throw StoreError(.damaged, path: folder, "\(place) to a snapshot")
            }
            var listing = try PageListing(file, folder, page)
            if meta == nil { listing.findings = metas.findings.map { Finding($0).text } + listing.findings }
            let hasMoved = MetaPages(file).newest?.transaction != metas.newest?.transaction
            if listing.findings.isEmpty || meta != nil || !hasMoved || attempt == attempts { return try body(listing) }
            attempt += 1
        }
    }

    /// Describes a page of a file in which no meta page leads to a snapshot; `nil` if there is no such page.
    package static func loosePage(_ number: UInt64, of folder: String) throws -> (PageInfo, PageContents)? {
        let file = try PageFile(ofUnlinkedStore: folder)
        let byteCount = try file.size()
        guard let pageSize = MetaPages(settled: file).pageSize ?? Salvage.pageSize(of: file, byteCount: byteCount),
            number < byteCount / UInt64(pageSize)
        else { return nil }
        var contents = PageContents(file, pageSize)
        contents.read(number)
        let info = PageInfo(
            number: number, kind: contents.kind, state: .lost, entries: contents.entries, fill: contents.fill,
            commit: contents.commit)
        return (info, contents)
    }

    /// The meta pages of a data file, as far as they can be read.
    package struct Metas {
        package struct Page: Sendable {
            package let transaction: UInt64
            package let version: UInt32
            package let pageSize: Int
            package let lastPage: UInt64
            package let mapSize: UInt64
            package let mainRoot: UInt64
            package let freeRoot: UInt64
            /// The number of entries in the tree of tables.
            package let tables: UInt64
        }

        package let pages: [Page?]
        /// The index of the newest sound page.
        package let newest: Int?
        package let findings: [String]
    }

    /// What the header of a store says, read without opening the store.
    package struct HeaderInfo: Sendable {
        package let storeID: SampleID
        package let replica: UInt32
        package let epoch: UInt32
        package let formatVersion: UInt32
        package let commit: UInt64
        package let transaction: UInt64
    }

    /// Returns the header of the newest snapshot in which it can be read; `nil` if it can be read in none.
    package static func header(of folder: String) throws -> HeaderInfo? {
        let file = try PageFile(ofUnlinkedStore: folder)
        let metas = try checked(MetaPages(settled: file), file, folder)
        let sound = metas.pages.compactMap(\.self).filter(\.isUsable)
        for meta in sound.sorted(by: { $0.transaction > $1.transaction }) {
            let tables = SnapshotWalk(file, meta).tables
            guard let record = tables.first(where: { $0.name == TableCode.meta.name })?.record,
                let value = file.value(of: StoreHeader.key, in: record, pageSize: meta.pageSize),
                let header = try? StoreHeader(value.rawBytes)
            else { continue }
            return HeaderInfo(
                storeID: header.storeID, replica: header.replica, epoch: header.epoch,
                formatVersion: StoreHeader.formatVersion, commit: header.commit, transaction: header.transaction)
        }
        return nil
    }

    package static func byteCount(of folder: String) throws -> Int {
        Int(clamping: try PageFile(ofUnlinkedStore: folder).size())
    }

    package static func metas(of folder: String) throws -> Metas {
        let file = try PageFile(ofUnlinkedStore: folder)
        let metas = try checked(MetaPages(settled: file), file, folder)
        let pages = metas.pages.map { page in
            page.map {
                Metas.Page(
                    transaction: $0.transaction, version: $0.version, pageSize: $0.pageSize, lastPage: $0.lastPage,
                    mapSize: $0.mapSize, mainRoot: $0.main.root, freeRoot: $0.free.root, tables: $0.main.entries)
            }
        }
        return Metas(
            pages: pages, newest: metas.newest?.index, findings: metas.findings.map { Finding($0) }.map(\.detail))
    }

    private static func checked(_ metas: MetaPages, _ file: PageFile, _ folder: String) throws -> MetaPages {
        if let failure = metas.failure { throw StoreError.unreadable(folder, failure) }
        if metas.pages == [nil, nil], file.isOfOtherKind { throw StoreError.otherFile(folder) }
        return metas
    }

    private init(_ file: PageFile, _ folder: String, _ meta: Meta) throws {
        (self.file, snapshot, pageSize, self.meta) = (file, meta, meta.pageSize, meta.index)
        transaction = meta.transaction
        pages = try file.size() / UInt64(meta.pageSize)
        // No tree leads behind the last page, and a file may be much longer than that.
        let map = PageMap(pages: Int(clamping: min(pages, meta.lastPage + 1)), pageSize: meta.pageSize)
        var options = SnapshotWalk.Options()
        options.readsOverflowHeaders = true
        walk = SnapshotWalk(file, meta, options: options, onPage: map.add, visits: { _ in false }, visit: { _ in })
        if let failure = walk.failure { throw StoreError.unreadable(folder, failure) }
        self.map = map
        findings = walk.findings.map { Finding($0).text }
    }

    /// Calls `body` with each page in the order of their numbers, until it returns `false`.
    package func forEachPage(_ body: (PageInfo) throws -> Bool) throws {
        var reader = PageContents(file, pageSize)
        for number in 0..<pages { guard try body(info(number, &reader)) else { return } }
    }

    /// Describes a page.
    package func page(_ number: UInt64) -> PageInfo {
        var reader = PageContents(file, pageSize)
        return info(number, &reader)
    }

    /// Returns what is on a page.
    package func contents(of number: UInt64) -> PageContents {
        var reader = PageContents(file, pageSize)
        reader.read(number)
        return reader
    }

    private func info(_ number: UInt64, _ reader: inout PageContents) -> PageInfo {
        if number < 2 {
            return PageInfo(
                number: number, kind: .meta, state: .used, fill: Double(Meta.byteCount) / Double(pageSize))
        }
        let state: PageInfo.State =
            number > snapshot.lastPage
            ? .stale : walk.listsAsFree(number) ? .free : walk.accounts(for: number) ? .used : .lost
        // Later pages of a long value hold nothing but its bytes.
        let use = state == .used ? map[number] : nil
        if use?.isContinuation != true { reader.read(number) } else { reader.clear() }
        var info = PageInfo(number: number, kind: reader.kind, state: state, commit: reader.commit)
        if let use {
            (info.kind, info.table, info.depth) = (use.kind, use.table, use.level)
            (info.entries, info.fill) = (use.isContinuation ? nil : use.entries, use.fill)
        } else {
            (info.entries, info.fill) = (reader.entries, reader.fill)
        }
        return info
    }
}

/// What the trees use each page for, in a few bytes a page.
private final class PageMap {
    struct Use {
        let kind: PageInfo.Kind
        let table: String
        let level: Int
        let entries: Int
        let fill: Double
        let isContinuation: Bool
    }

    private struct Slot {
        var kind: UInt8 = .max
        var table: UInt8 = 0
        var level: UInt8 = 0
        var isContinuation = false
        var entries: UInt16 = 0
        var bytes: UInt32 = 0
    }

    private let pageSize: Int
    private var slots: [Slot]
    private var tables: [String] = []

    init(pages: Int, pageSize: Int) {
        self.pageSize = pageSize
        slots = Array(repeating: Slot(), count: pages)
    }

    func add(_ use: SnapshotWalk.PageUse) {
        let table = tables.firstIndex(of: use.table) ?? tables.count
        if table == tables.count { tables.append(use.table) }
        var left = use.bytes
        for index in 0..<use.count {
            let page = Int(clamping: use.number + index)
            guard page < slots.count else { return }
            let bytes = max(0, min(pageSize, left))
            left -= bytes
            slots[page] = Slot(
                kind: use.kind.rawValue, table: UInt8(clamping: table), level: UInt8(clamping: use.level),
                isContinuation: index > 0, entries: UInt16(clamping: use.entries), bytes: UInt32(clamping: bytes))
        }
    }

    subscript(number: UInt64) -> Use? {
        guard number < UInt64(slots.count) else { return nil }
        let slot = slots[Int(number)]
        guard let kind = SnapshotWalk.PageUse.Kind(rawValue: slot.kind) else { return nil }
        let name: PageInfo.Kind =
            switch kind {
            case .branch: .branch
            case .leaf: .leaf
            case .overflow: .overflow
            }
        return Use(
            kind: name, table: tables[Int(slot.table)], level: Int(slot.level), entries: Int(slot.entries),
            fill: Double(slot.bytes) / Double(pageSize), isContinuation: slot.isContinuation)
    }
}

/// What stands on a page, read without the tree that it belongs to.
package struct PageContents {
    /// A value that begins on the page.
    package struct Value: Sendable {
        package let key: [UInt8]
        package let table: String?
        package let commit: UInt64?
        /// The length of the value, which may go beyond the page.
        package let count: Int
        /// The bytes that are on this page.
        package let bytes: [UInt8]
        /// The first page of a value that has pages of its own, if the page leads to one.
        package var overflowPage: UInt64?
    }

    package struct Child: Sendable {
        package let page: UInt64
        package let key: [UInt8]
    }

    private let file: PageFile
    private var page: [UInt8]
    private var scratch: [UInt32] = []
    package private(set) var kind = PageInfo.Kind.other
    /// The values that begin on the page, or that it leads to.
    package private(set) var values: [Value] = []
    package private(set) var children: [Child] = []
    /// The tables whose records the page holds, with the numbers of their roots.
    package private(set) var tables: [(name: String, root: UInt64, entries: UInt64)] = []
    package private(set) var entries: Int?
    package private(set) var fill: Double?

    init(_ file: PageFile, _ pageSize: Int) {
        self.file = file
        page = [UInt8](repeating: 0, count: pageSize)
    }

    package var commit: UInt64? { values.compactMap(\.commit).max() }

    mutating func clear() { (kind, values, children, tables, entries, fill) = (.other, [], [], [], nil, nil) }

    mutating func read(_ number: UInt64) {
        clear()
        guard (try? file.read(at: number * UInt64(page.count), into: &page)) != nil else { return }
        switch LoosePage(page, number: number, scratch: &scratch) {
        case .leaf(let found, let long):
            kind = .leaf
            values = found.map { value($0.key, at: $0.value) }
            values += long.map {
                Value(key: $0.key, table: nil, commit: nil, count: $0.count, bytes: [], overflowPage: $0.page)
            }
            setShape()
        case .names(let found):
            kind = .leaf
            tables = found.map { ($0.name, $0.record.root, $0.record.entries) }
            setShape()
        case .branch(let found):
            kind = .branch
            children = found.map { Child(page: $0.page, key: $0.key) }
            setShape()
        case .long:
            kind = .overflow
            values = [value([], at: PageContents.header..<page.count)]
        case .other: kind = .other
        }
    }

    /// LMDB's header of a page.
    private static let header = 16

    /// The bounds of the entries stand in the header of a branch or leaf.
    private mutating func setShape() {
        let (lower, upper) = (Int(page[12]) | Int(page[13]) << 8, Int(page[14]) | Int(page[15]) << 8)
        entries = (lower - PageContents.header) / 2
        fill = Double(page.count - upper + lower) / Double(page.count)
    }

    private func value(_ key: [UInt8], at range: Range<Int>) -> Value {
        let bytes = Array(page[range])
        guard let (table, count) = ValueScan.outline(page, at: range.lowerBound) else {
            return Value(key: key, table: nil, commit: nil, count: bytes.count, bytes: bytes)
        }
        return Value(
            key: key, table: table.name, commit: StoredValue.commit(head: bytes.rawBytes), count: count, bytes: bytes)
    }
}
