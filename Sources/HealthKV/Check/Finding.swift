import ColumnFormat

/// Something in a store that is not as it must be. It names tables, types and places, never a health value.
public struct Finding: Sendable, Hashable {
    /// What is wrong. Raw values are stable; kinds may be added.
    public enum Kind: String, Sendable, CaseIterable {
        /// A newer release wrote a value, which is whole: update the software that reads it. It is no damage.
        case newerFormat
        /// A value or another number of a sample is not finite, as older releases stored it. Statistics leave such values out; edit or
        /// delete the sample.
        case valueNotFinite
        /// The header cannot be read, or belongs to another transaction.
        case header
        /// A chunk's hot value cannot be read.
        case chunkUnreadable
        /// Chunks of a lane leave a gap or overlap.
        case chunkGap
        /// A chunk has no details, details have no chunk, or the two do not fit.
        case detailsMismatch
        /// Two samples have one id.
        case duplicateID
        /// A sample's identity has no entry in the index.
        case identityMissing
        /// A part of the identity index cannot be read, or its partitions leave a gap.
        case identityUnreadable
        /// Kept counts differ from what is there.
        case countsWrong
        /// A summary differs from its samples, cannot be read, or is missing where samples are many.
        case summaryWrong
        /// A name that rows use is gone or cannot be read.
        case nameMissing
        /// The two copies of a name differ, or one is gone.
        case nameCopiesDiffer
        /// A deleted sample lives.
        case tombstoneOfLiveSample
        /// The feed does not lead to a sample.
        case changeMissing
        /// A shadow mark is missing, or stands where it should not.
        case shadowWrong
        /// An operation in a queue and the place that leads to it do not fit, or two of one sample wait for one peer.
        case queueWrong
        /// Links by sample and links by a peer's id are not the same.
        case linksDiffer
        /// A record cannot be read.
        case recordUnreadable
        /// Records are of an older commit than the header says.
        case recordsOutdated
        /// The data file cannot be read, or is too short for two meta pages.
        case fileUnreadable
        /// A meta page is none.
        case metaUnreadable
        /// The file has a version of LMDB's format that this release does not know.
        case metaVersion
        /// A field of a meta page is out of bounds.
        case metaInvalid
        /// The two meta pages are not of transactions that follow each other.
        case metaOrder
        /// A page that is needed lies outside the file or the range in use.
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
        /// A table of a kind that stores never have.
        case treeKind
        /// A long value does not lie where its entry says.
        case overflowPages
        /// The list of free pages is out of order or bounds.
        case freeList
        /// A page that is in use, or listed already, is listed as free.
        case freePageInUse
        /// Pages that nobody uses and that are not listed as free either.
        case pagesLost
    }

    /// What was found, under its stable name.
    public let kind: Kind
    /// The table it was found in; `pages` for what belongs to none, `<main>` and `<free>` for LMDB's own two.
    public let table: String
    /// Where and what, without any health value and without what tells when something was measured.
    public let detail: String
    /// The key, id or hour in question, where there is one. It tells when something was measured, or names a sample: to be shown
    /// only to whom it is meant for.
    public let reference: String?

    init(kind: Kind, table: String, detail: String, reference: String? = nil) {
        self.kind = kind
        self.table = table
        self.detail = detail
        self.reference = reference
    }
}

extension Finding.Kind {
    /// What an error of a value is found as: a value of a newer release is none of the kinds of damage.
    init(_ error: any Error, else kind: Finding.Kind) {
        self = (error as? FormatError)?.isOfNewerRelease ?? false ? .newerFormat : kind
    }
}

/// What a check found.
public struct CheckReport: Sendable {
    /// What was found, up to the limit that was given, in the order of the check.
    public internal(set) var findings: [Finding] = []
    /// Findings beyond the limit that were counted only.
    public internal(set) var omitted = 0
    /// How many chunks were read.
    public internal(set) var chunks = 0
    /// How many samples were read, hidden ones included.
    public internal(set) var samples = 0
    /// How many records of other tables were read.
    public internal(set) var records = 0
    /// Blocks of summaries that were summed up anew.
    public internal(set) var summaries = 0
    /// Entries of the identity index that lead nowhere. They cost a look and are no damage.
    public internal(set) var surplusHints = 0

    /// What could not be looked at because of what was found. Empty when all was.
    public internal(set) var unexamined: [String] = []

    /// Whether all that was found are values of a newer release: then nothing is known to be damaged.
    public var isOfNewerRelease: Bool {
        omitted == 0 && !findings.isEmpty && findings.allSatisfy { $0.kind == .newerFormat }
    }

    /// Whether nothing was found.
    public var isClean: Bool { findings.isEmpty && omitted == 0 }
}
