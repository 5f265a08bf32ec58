/// Something in the pages of a file that is not as LMDB leaves it. It names pages and trees, never what they hold.
public struct PageFinding: Error, Sendable, Hashable {
    /// What is wrong. Raw values are stable; kinds may be added.
    public enum Kind: String, Sendable, CaseIterable {
        /// The file cannot be read, or is too short for two meta pages.
        case fileUnreadable
        /// A meta page is none: its mark, page number or kind is wrong.
        case metaUnreadable
        /// The file has a version of LMDB's format that this reader does not know.
        case metaVersion
        /// A field of a meta page is out of bounds.
        case metaInvalid
        /// The two meta pages are not of transactions that follow each other.
        case metaOrder
        /// A page lies outside the file or the range in use.
        case pageOutOfRange
        /// A page cannot be read.
        case pageUnreadable
        /// A page has another number or kind than the tree says.
        case pageKind
        /// The entries of a page leave its bounds or overlap.
        case pageEntries
        /// Keys do not ascend, or leave the bounds that their branch gives.
        case keyOrder
        /// A page is used twice.
        case pageUsedTwice
        /// A tree is deeper or flatter than it says, or has other numbers of pages or entries.
        case treeShape
        /// A tree of a kind that stores never have.
        case treeKind
        /// A long value does not lie where its entry says.
        case overflowPages
        /// The list of free pages is out of order or bounds.
        case freeList
        /// A page that is in use, or listed already, is listed as free.
        case freePageInUse
    }

    public let kind: Kind
    public let page: UInt64?
    /// The tree it was found in: a table's name, or `main` or `free` in angle brackets.
    public let table: String?
    /// What exactly, without anything that the file holds.
    public let detail: String
}

extension PageFinding: CustomStringConvertible {
    public var description: String {
        var text = page.map { "page \($0)" } ?? "the file"
        if let table { text += " of \(table)" }
        return "\(text): \(detail) (\(kind.rawValue))"
    }
}
