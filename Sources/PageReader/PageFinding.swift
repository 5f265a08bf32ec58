/// A deviation of a file's pages from LMDB's format. It names pages and trees, never their content.
public struct PageFinding: Error, Sendable, Hashable {
    /// The kind of deviation. Raw values are stable; kinds may be added.
    public enum Kind: String, Sendable, CaseIterable {
        /// The file cannot be read, or is too short for two meta pages.
        case fileUnreadable
        /// A page is not a valid meta page: its mark, page number or kind is wrong.
        case metaUnreadable
        /// The file has a version of LMDB's format that this reader does not know.
        case metaVersion
        /// A field of a meta page is out of bounds.
        case metaInvalid
        /// The transactions of the two meta pages are not consecutive.
        case metaOrder
        /// A page is outside the file or the range in use.
        case pageOutOfRange
        /// A page cannot be read.
        case pageUnreadable
        /// A page has another number or kind than its tree requires.
        case pageKind
        /// The entries of a page exceed its bounds or overlap.
        case pageEntries
        /// Keys do not ascend, or violate the bounds of their branch.
        case keyOrder
        /// A page is used twice.
        case pageUsedTwice
        /// The depth of a tree, or its number of pages or entries, differs from its record.
        case treeShape
        /// A tree of a kind that a store never has.
        case treeKind
        /// A long value is not where its entry points.
        case overflowPages
        /// The free list is out of order or bounds.
        case freeList
        /// The free list contains a page that is in use, or contains a page twice.
        case freePageInUse
    }

    public let kind: Kind
    public let page: UInt64?
    /// The tree of the finding: a table's name, or `main` or `free` in angle brackets.
    public let table: String?
    /// The details, without any content of the file.
    public let detail: String
}

extension PageFinding: CustomStringConvertible {
    public var description: String {
        var text = page.map { "page \($0)" } ?? "the file"
        if let table { text += " of \(table)" }
        return "\(text): \(detail) (\(kind.rawValue))"
    }
}
