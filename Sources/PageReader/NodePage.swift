/// An entry of a leaf page. Its offsets are relative to the page and lie within it.
public struct LeafEntry: Sendable {
    /// The location of the value's bytes.
    enum Place: Sendable {
        case inline(Int)
        case overflow(UInt64)
    }

    let key: Range<Int>
    public let valueSize: Int
    let place: Place
    let isTree: Bool

    public var isInline: Bool { if case .inline = place { true } else { false } }
}

/// A branch or leaf page. All its offsets are verified to lie within it.
///
/// ```
///  offset  size  field
///       0     8  page number
///       8     2  unused
///      10     2  kind: 1 branch, 2 leaf
///      12     2  end of the entries' offsets
///      14     2  begin of the entries
///      16   2*n  offset of each entry
/// ```
///
/// An entry of a leaf is: size of the value (4), flags (2), size of the key (2), key, and the value or the number of
/// its first page (8). Flag 1 means that the value has pages of its own, flag 2 that it is a tree's record. An entry of
/// a branch is: page number (6), size of the key (2), key.
struct NodePage {
    static let header = 16
    static let nodeHeader = 8
    static let keyLimit = 511
    private static let branchKind: UInt16 = 1
    private static let leafKind: UInt16 = 2
    private static let overflowFlag: UInt16 = 1
    private static let treeFlag: UInt16 = 2

    let bytes: [UInt8]
    let isLeaf: Bool
    let count: Int

    struct Refusal: Error {
        let kind: PageFinding.Kind
        let detail: String
    }

    /// - Parameter scratch: reused memory for the positions of the entries.
    init(_ bytes: [UInt8], number: UInt64, scratch: inout [UInt32]) throws(Refusal) {
        guard bytes.u64(0) == number else { throw Refusal(kind: .pageKind, detail: "the page has another number") }
        let kind = bytes.u16(10)
        guard kind == NodePage.branchKind || kind == NodePage.leafKind else {
            throw Refusal(kind: .pageKind, detail: "the page is neither branch nor leaf")
        }
        let (lower, upper) = (Int(bytes.u16(12)), Int(bytes.u16(14)))
        guard lower > NodePage.header, lower & 1 == 0, lower <= upper, upper <= bytes.count else {
            throw Refusal(kind: .pageEntries, detail: "the bounds of the entries are wrong")
        }
        self.bytes = bytes
        isLeaf = kind == NodePage.leafKind
        count = (lower - NodePage.header) / 2
        try checkEntries(from: upper, &scratch)
    }

    /// Checks that each entry lies completely between `upper` and the end, and that the entries fill that range without
    /// overlap.
    private func checkEntries(from upper: Int, _ scratch: inout [UInt32]) throws(Refusal) {
        scratch.removeAll(keepingCapacity: true)
        var total = 0
        for index in 0..<count {
            let offset = self.offset(index)
            guard offset >= upper, offset & 1 == 0, offset + NodePage.nodeHeader <= bytes.count else {
                throw Refusal(kind: .pageEntries, detail: "an entry leaves the page")
            }
            let key = Int(bytes.u16(offset + 6))
            guard key <= NodePage.keyLimit, key > 0 || !isLeaf else {
                throw Refusal(kind: .pageEntries, detail: "a key has a length that none has")
            }
            var size = NodePage.nodeHeader + key
            if isLeaf {
                let flags = bytes.u16(offset + 4)
                switch flags {
                case NodePage.overflowFlag: size += 8
                case 0, NodePage.treeFlag: size += Int(bytes.u32(offset))
                default: throw Refusal(kind: .pageEntries, detail: "an entry is of an unknown kind")
                }
            }
            size += size & 1
            guard offset + size <= bytes.count else {
                throw Refusal(kind: .pageEntries, detail: "an entry leaves the page")
            }
            total += size
            // Offsets and sizes are at most 32,768.
            scratch.append(UInt32(offset) << 16 | UInt32(size))
        }
        guard total == bytes.count - upper else {
            throw Refusal(kind: .pageEntries, detail: "the entries do not fill their part of the page")
        }
        scratch.sort()
        var end = upper
        for entry in scratch {
            guard Int(entry >> 16) == end else { throw Refusal(kind: .pageEntries, detail: "entries overlap") }
            end += Int(entry & 0xFFFF)
        }
    }

    /// The bytes in use, with all headers.
    var filledBytes: Int { bytes.count - Int(bytes.u16(14)) + Int(bytes.u16(12)) }

    private func offset(_ index: Int) -> Int { Int(bytes.u16(NodePage.header + 2 * index)) }

    func key(_ index: Int) -> Range<Int> {
        let offset = offset(index)
        return offset + NodePage.nodeHeader..<offset + NodePage.nodeHeader + Int(bytes.u16(offset + 6))
    }

    /// Returns the page to which an entry of a branch points.
    func child(_ index: Int) -> UInt64 {
        let offset = offset(index)
        return UInt64(bytes.u32(offset)) | UInt64(bytes.u16(offset + 4)) << 32
    }

    func entry(_ index: Int) -> LeafEntry {
        let offset = offset(index)
        let key = key(index)
        let flags = bytes.u16(offset + 4)
        let place: LeafEntry.Place =
            flags == NodePage.overflowFlag ? .overflow(bytes.u64(key.upperBound)) : .inline(key.upperBound)
        return LeafEntry(
            key: key, valueSize: Int(bytes.u32(offset)), place: place, isTree: flags == NodePage.treeFlag)
    }
}
