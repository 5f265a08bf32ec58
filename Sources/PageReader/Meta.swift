/// The record of a tree: of a table, of the table names, or of the free list.
///
/// ```
///  offset  size  field
///       0     4  page size (record of the free pages only)
///       4     2  flags
///       6     2  depth
///       8     8  branch pages
///      16     8  leaf pages
///      24     8  overflow pages
///      32     8  entries
///      40     8  root; all ones for none
/// ```
public struct TreeRecord: Sendable, Hashable {
    static let byteCount = 48
    static let noRoot = UInt64.max
    /// The maximum depth of a tree that LMDB's cursors support.
    static let depthLimit = 32

    public let flags: UInt16
    public let depth: Int
    public let branchPages: UInt64
    public let leafPages: UInt64
    public let overflowPages: UInt64
    public let entries: UInt64
    public let root: UInt64

    init(_ bytes: [UInt8], at offset: Int) {
        flags = bytes.u16(offset + 4)
        depth = Int(bytes.u16(offset + 6))
        branchPages = bytes.u64(offset + 8)
        leafPages = bytes.u64(offset + 16)
        overflowPages = bytes.u64(offset + 24)
        entries = bytes.u64(offset + 32)
        root = bytes.u64(offset + 40)
    }

    public var isEmpty: Bool { root == TreeRecord.noRoot }

    /// The violated bound, or `nil`.
    func complaint(lastPage: UInt64) -> String? {
        if isEmpty {
            let isBare = depth == 0 && entries == 0 && branchPages == 0 && leafPages == 0 && overflowPages == 0
            return isBare ? nil : "a tree without a root has a depth or entries"
        }
        if root < 2 || root > lastPage { return "the root of a tree is out of range" }
        if depth < 1 || depth > TreeRecord.depthLimit { return "the depth of a tree is out of range" }
        return nil
    }
}

/// One of the two meta pages: the state of the file after one transaction.
///
/// ```
///  offset  size  field
///       0     8  page number: 0 or 1
///      10     2  kind of page: 8
///      16     4  mark: BEEFC0DE
///      20     4  version: 1
///      24     8  address (unused)
///      32     8  size of the map
///      40    48  record of the free pages, which holds the page size
///      88    48  record of the tree of names
///     136     8  last page in use
///     144     8  transaction
/// ```
public struct Meta: Sendable, Hashable {
    public static let byteCount = 152
    static let mark: UInt32 = 0xBEEF_C0DE
    static let pageKind: UInt16 = 8
    static let pageSizes = [4_096, 8_192, 16_384, 32_768]
    /// No address space is larger than this.
    private static let byteLimit = UInt64(1) << 47

    /// 0 or 1.
    public let index: Int
    public let version: UInt32
    public let pageSize: Int
    public let mapSize: UInt64
    public let lastPage: UInt64
    public let transaction: UInt64
    public let free: TreeRecord
    public let main: TreeRecord

    /// Reads a meta page; `nil` if the bytes are not a meta page. The numbers in it are as the file has them, within
    /// bounds or not.
    public init?(_ bytes: [UInt8], index: Int) {
        guard bytes.count >= Meta.byteCount, bytes.u64(0) == UInt64(index), bytes.u16(10) == Meta.pageKind,
            bytes.u32(16) == Meta.mark
        else { return nil }
        self.index = index
        version = bytes.u32(20)
        mapSize = bytes.u64(32)
        pageSize = Int(bytes.u32(40))
        free = TreeRecord(bytes, at: 40)
        main = TreeRecord(bytes, at: 88)
        lastPage = bytes.u64(136)
        transaction = bytes.u64(144)
    }

    /// Whether the page leads to a snapshot, as far as the page itself tells.
    public var isUsable: Bool { version == 1 && complaint == nil }

    /// The violated bound, or `nil`. A sound file may be shorter than its last page number implies: free pages at the
    /// end are possibly never written.
    var complaint: String? {
        guard Meta.pageSizes.contains(pageSize) else { return "the page size is none that LMDB uses" }
        guard mapSize <= Meta.byteLimit else { return "the size of the map is out of range" }
        guard lastPage >= 1, lastPage < Meta.byteLimit / UInt64(pageSize) else {
            return "the last page is out of range"
        }
        // LMDB notes the greatest map that it used. A snapshot that was searched for names none.
        guard mapSize == 0 || lastPage < mapSize / UInt64(pageSize) else { return "the last page is outside the map" }
        // LMDB selects the meta page of a transaction by the transaction's lowest bit.
        guard transaction == 0 || transaction & 1 == UInt64(index), transaction < 1 << 62 else {
            return "the transaction does not belong on this page"
        }
        guard free.flags & ~Tree.environmentFlags == Tree.integerKeys, main.flags == 0 else {
            return "the flags of a tree are unknown"
        }
        return treeComplaint
    }

    /// The violated bound in the records of the trees, or `nil`.
    private var treeComplaint: String? {
        free.complaint(lastPage: lastPage) ?? main.complaint(lastPage: lastPage)
    }

    /// Returns `true` if LMDB left the page in this state after a failed write: it reverts the transaction and the last
    /// page number, so that no reader follows the new roots, which may lie behind that last page. The next commit
    /// overwrites the page.
    func isTakenBack(before other: Meta) -> Bool {
        treeComplaint != nil && complaint == treeComplaint && other.complaint == nil && other.version == version
            && transaction + 1 == other.transaction
    }
}

/// Constants of LMDB's format.
enum Tree {
    static let integerKeys: UInt16 = 0x08
    /// MDB_FIXEDMAP and MDB_NOSUBDIR, which LMDB stores with the flags of the free list's tree.
    static let environmentFlags: UInt16 = 0x4001
    static let freeName = "<free>"
    static let mainName = "<main>"
}
