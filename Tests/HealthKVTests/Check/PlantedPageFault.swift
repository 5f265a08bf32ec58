import PageReader
import Testing

@testable import HealthKV

/// A change to the bytes of a good store's closed file, and the one kind of finding that it must give.
struct PlantedPageFault: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: Finding.Kind
    let plant: @Sendable (inout PageBytes) throws -> Void

    var testDescription: String { "\(kind): \(name)" }

    init(_ kind: Finding.Kind, _ name: String, _ plant: @escaping @Sendable (inout PageBytes) throws -> Void) {
        (self.kind, self.name, self.plant) = (kind, name, plant)
    }

    static let all = ofMetas + ofTrees + ofFreePages

    static let ofMetas = [
        PlantedPageFault(.fileUnreadable, "the file is cut within its first page") {
            $0.bytes.removeLast($0.bytes.count - 10)
        },
        PlantedPageFault(.metaUnreadable, "the mark of the older meta page is turned") { $0.bytes[$0.older + 16] ^= 1 },
        PlantedPageFault(.metaVersion, "the older meta page has another version") { $0.bytes[$0.older + 20] = 9 },
        PlantedPageFault(.metaInvalid, "the flags of the older meta page are unknown") { $0.bytes[$0.older + 92] ^= 1 },
        PlantedPageFault(.metaOrder, "the older meta page is two transactions older than it should be") {
            $0.add(-2, at: $0.older + 144)
        },
        PlantedPageFault(.pagesLost, "one page more is in use than anybody has") { $0.add(1, at: $0.newest + 136) },
    ]

    static let ofTrees = [
        PlantedPageFault(.pageOutOfRange, "a branch leads behind the end") { pages in
            pages.setChild(1, of: try pages.root("details"), to: 60_000)
        },
        PlantedPageFault(.pageUsedTwice, "a branch leads twice to one page") { pages in
            let root = try pages.root("details")
            pages.setChild(1, of: root, to: pages.child(0, of: root))
        },
        PlantedPageFault(.pageKind, "a leaf says it is a long value") { pages in
            pages.bytes[try pages.leaf("details") * PageBytes.size + 10] = 4
        },
        PlantedPageFault(.pageEntries, "the entries of a leaf begin elsewhere") { pages in
            pages.bytes[try pages.leaf("details") * PageBytes.size + 14] ^= 0x12
        },
        PlantedPageFault(.keyOrder, "two entries of a leaf have changed places") { pages in
            let at = try pages.leaf("details") * PageBytes.size + 16
            pages.bytes.swapAt(at, at + 2)
            pages.bytes.swapAt(at + 1, at + 3)
        },
        PlantedPageFault(.treeShape, "a table has one entry less than its record says") { pages in
            pages.add(1, at: try pages.record("details") + 32)
        },
        PlantedPageFault(.treeKind, "a table may have several values under a key") { pages in
            pages.bytes[try pages.record("details") + 4] |= 4
        },
        PlantedPageFault(.overflowPages, "the first page of a long value is none") { pages in
            let leaf = try pages.root("anchors")
            pages.bytes[pages.longValue(pages.node(0, of: leaf)) * PageBytes.size + 10] = 2
        },
    ]

    static let ofFreePages = [
        PlantedPageFault(.freeList, "a list is longer than its record") { pages in
            pages.bytes[try pages.freeList().at + 2] = 1
        },
        PlantedPageFault(.freePageInUse, "a list holds a page that is not free") { pages in
            let list = try pages.freeList()
            // Between two that follow each other, so that the list still descends.
            let index = try #require(list.pages.indices.dropLast().first { list.pages[$0] - 1 > list.pages[$0 + 1] })
            pages.add(-1, at: list.at + 8 + 8 * index)
        },
    ]
}

/// The bytes of a data file, and where in them the pages of its newest snapshot are.
struct PageBytes {
    static let size = DamagedFile.page

    var bytes: [UInt8]
    private let meta: Meta
    private let roots: [String: Int]

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        let file = PageFile(bytes: bytes)
        meta = try #require(MetaPages(file).newest)
        let tables = SnapshotWalk(file, meta).tables
        roots = Dictionary(uniqueKeysWithValues: tables.map { ($0.name, Int(truncatingIfNeeded: $0.record.root)) })
    }

    var newest: Int { meta.index * PageBytes.size }
    var older: Int { (1 - meta.index) * PageBytes.size }

    private func number(_ offset: Int, bytes count: Int) -> Int {
        bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Adds to a number of eight bytes.
    mutating func add(_ change: Int, at offset: Int) {
        let sum = number(offset, bytes: 8) + change
        for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
    }

    /// The page of a table's root.
    func root(_ table: String) throws -> Int { try #require(roots[table]) }

    /// The second leaf of a table whose root is a branch.
    func leaf(_ table: String) throws -> Int {
        let root = try root(table)
        try #require(bytes[root * PageBytes.size + 10] == 1, "\(table) has several leaves")
        let leaf = child(1, of: root)
        try #require(bytes[leaf * PageBytes.size + 10] == 2, "\(table) has two levels")
        return leaf
    }

    /// Where an entry of a page begins.
    func node(_ index: Int, of page: Int) -> Int {
        page * PageBytes.size + number(page * PageBytes.size + 16 + 2 * index, bytes: 2)
    }

    private func count(_ page: Int) -> Int { (number(page * PageBytes.size + 12, bytes: 2) - 16) / 2 }

    func child(_ index: Int, of page: Int) -> Int { number(node(index, of: page), bytes: 6) }

    mutating func setChild(_ index: Int, of page: Int, to child: Int) {
        let at = node(index, of: page)
        for byte in 0..<4 { bytes[at + byte] = UInt8(truncatingIfNeeded: child >> (8 * byte)) }
    }

    /// Where the value of an entry of a leaf stands.
    private func value(_ node: Int) -> Int { node + 8 + number(node + 6, bytes: 2) }

    /// The first page of a long value.
    func longValue(_ node: Int) -> Int { number(value(node), bytes: 8) }

    /// Where the record of a table stands.
    func record(_ table: String) throws -> Int {
        let page = Int(meta.main.root)
        let name = Array(table.utf8)
        let nodes = (0..<count(page)).map { node($0, of: page) }
        return value(
            try #require(nodes.first { bytes[($0 + 8)...].starts(with: name) && value($0) == $0 + 8 + name.count }))
    }

    /// The longest list of free pages on the first leaf of lists, and where it stands.
    func freeList() throws -> (at: Int, pages: [Int]) {
        let page = Int(meta.free.root)
        try #require(bytes[page * PageBytes.size + 10] == 2, "one leaf of lists")
        let lists = (0..<count(page)).map { index in
            let at = value(node(index, of: page))
            return (at: at, pages: (0..<number(at, bytes: 8)).map { number(at + 8 + 8 * $0, bytes: 8) })
        }
        return try #require(lists.max { $0.pages.count < $1.pages.count })
    }
}
