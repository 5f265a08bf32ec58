import ColumnFormat

/// A violation of the rules of a store. A finding names tables, types and places, never a health value.
public struct Finding: Sendable, Hashable {
    /// The kind of violation. Raw values are stable; kinds may be added.
    public enum Kind: String, Sendable, CaseIterable {
        /// A newer release wrote a value, which is intact: update the software that reads it. This is not damage.
        case newerFormat
        /// A value or another number of a sample, or a peer's daily total, is not finite, as older releases stored it.
        /// Statistics leave such values out. Edit or delete the sample; remove the total.
        case valueNotFinite
        /// The header cannot be read, or belongs to another transaction.
        case header
        /// A chunk's hot value cannot be read.
        case chunkUnreadable
        /// Chunks of a lane leave a gap or overlap.
        case chunkGap
        /// A chunk has no details, details have no chunk, or the two do not fit.
        case detailsMismatch
        /// Two samples have the same id.
        case duplicateID
        /// A sample's identity has no entry in the index.
        case identityMissing
        /// A part of the identity index cannot be read, or its partitions leave a gap.
        case identityUnreadable
        /// Stored counts differ from the samples.
        case countsWrong
        /// A summary differs from its samples, is unreadable, or is missing where there are many samples.
        case summaryWrong
        /// A name that rows use is missing or unreadable.
        case nameMissing
        /// The two copies of a name differ, or one is missing.
        case nameCopiesDiffer
        /// A sample has a tombstone but is live.
        case tombstoneOfLiveSample
        /// The feed does not lead to a sample.
        case changeMissing
        /// A shadow mark is missing, or set where it should not be.
        case shadowWrong
        /// An operation in a queue and the place that leads to it do not match, or two operations of one sample wait
        /// for one peer.
        case queueWrong
        /// Links by sample and links by the peer's id are not the same.
        case linksDiffer
        /// A record cannot be read.
        case recordUnreadable
        /// Records belong to an older commit than the header says.
        case recordsOutdated
        /// The data file cannot be read, or is too short for two meta pages.
        case fileUnreadable
        /// A page at the place of a meta page is not a meta page.
        case metaUnreadable
        /// The file has a version of LMDB's format that this release does not know.
        case metaVersion
        /// A field of a meta page is out of bounds.
        case metaInvalid
        /// The two meta pages do not belong to consecutive transactions.
        case metaOrder
        /// A referenced page lies outside the file or the range in use.
        case pageOutOfRange
        /// A page cannot be read.
        case pageUnreadable
        /// A page's number or kind differs from what the tree says.
        case pageKind
        /// The entries of a page leave its bounds or overlap.
        case pageEntries
        /// Keys do not ascend, or leave the bounds that their branch sets.
        case keyOrder
        /// A page is used twice.
        case pageUsedTwice
        /// A tree's depth, or its number of pages or entries, differs from what it says.
        case treeShape
        /// A table is of a kind that stores never have.
        case treeKind
        /// A long value is not where its entry says.
        case overflowPages
        /// The list of free pages is out of order or out of bounds.
        case freeList
        /// A page that is in use, or already listed, is listed as free.
        case freePageInUse
        /// Pages are neither in use nor listed as free.
        case pagesLost
    }

    /// The kind of the finding, under its stable name.
    public let kind: Kind
    /// The table of the finding; `pages` for pages that belong to no table, `<main>` and `<free>` for LMDB's own two
    /// tables.
    public let table: String
    /// The place and the problem, without any health value and without anything that reveals when something was
    /// measured.
    public let detail: String
    /// The key, id or hour in question, if there is one. It reveals when something was measured, or names a sample:
    /// show it only to people who may see that.
    public let reference: String?
    /// The page of the file; `nil` if the finding is about no page.
    public var page: UInt64?
    /// The samples that the finding is about; `nil` if it is about none, or about an unknown range. It reveals when
    /// something was measured.
    public var samples: Samples?

    /// Samples of one type in a range of starts.
    public struct Samples: Sendable, Hashable {
        /// The type.
        public var type: SampleType
        /// The range of the starts.
        public var starts: TimeRange
        /// The number of samples; `nil` if it is not known.
        public var count: Int?
    }

    init(kind: Kind, table: String, detail: String, reference: String? = nil, page: UInt64? = nil) {
        self.kind = kind
        self.table = table
        self.detail = detail
        self.reference = reference
        self.page = page
    }
}

extension Finding {
    /// The names that the tables of findings have: those of the store, the trees of LMDB itself, and the pages.
    package static let tableNames = TableCode.allCases.map(\.name) + ["pages", "<main>", "<free>"]
}

extension Finding.Kind {
    /// How much is at stake, the worst first: pages and what they lead to, samples, what belongs to them, what can be
    /// rebuilt, and what is no damage.
    package var severity: Int {
        switch self {
        case .fileUnreadable, .metaUnreadable, .metaVersion, .metaInvalid, .metaOrder: 0
        case .pageOutOfRange, .pageUnreadable, .pageKind, .pageEntries, .keyOrder, .pageUsedTwice, .treeShape,
            .treeKind, .overflowPages, .freeList, .freePageInUse:
            1
        case .header, .recordsOutdated: 2
        case .chunkUnreadable, .chunkGap, .detailsMismatch: 3
        case .recordUnreadable, .nameMissing, .nameCopiesDiffer, .duplicateID, .tombstoneOfLiveSample, .queueWrong,
            .linksDiffer, .changeMissing, .shadowWrong:
            4
        case .identityMissing, .identityUnreadable, .countsWrong, .summaryWrong, .pagesLost: 5
        case .valueNotFinite, .newerFormat: 6
        }
    }
}

extension Finding.Kind {
    /// Maps an error of a value to a kind: a value of a newer release is not damage.
    init(_ error: any Error, else kind: Finding.Kind) {
        self = (error as? FormatError)?.isOfNewerRelease ?? false ? .newerFormat : kind
    }
}

/// A part of a check, in the order in which they run.
public enum CheckPart: String, Sendable, CaseIterable {
    /// The meta pages and the trees.
    case pages
    /// Short records.
    case records
    /// Samples and all that belongs to them.
    case chunks
    /// The identity index.
    case identity
    /// Summaries.
    case summaries
    /// What waits for peers.
    case queue
    /// Links to the samples of peers.
    case links
    /// Peers, anchors and totals.
    case peers
}

/// The result of a check.
public struct CheckReport: Sendable {
    /// The findings, up to the given limit, in the order of the check.
    public internal(set) var findings: [Finding] = []
    /// The number of findings beyond the limit, which are only counted.
    public internal(set) var omitted = 0
    /// The number of chunks that were read.
    public internal(set) var chunks = 0
    /// The number of samples that were read, including hidden ones.
    public internal(set) var samples = 0
    /// The number of records of other tables that were read.
    public internal(set) var records = 0
    /// The number of blocks of summaries that were recomputed.
    public internal(set) var summaries = 0
    /// Entries of the identity index that lead nowhere. They cost a look-up and are not damage.
    public internal(set) var surplusHints = 0

    /// The part at which the check was stopped; `nil` if it came to its end. `kvinspect check --resume` goes on there.
    public internal(set) var stoppedAt: CheckPart?
    /// The parts that could not be examined because of the findings. Empty if everything was examined.
    public internal(set) var unexamined: [String] = []

    /// Whether all findings are values of a newer release: then no damage is known.
    public var isOfNewerRelease: Bool {
        omitted == 0 && !findings.isEmpty && findings.allSatisfy { $0.kind == .newerFormat }
    }

    /// Whether there are no findings.
    public var isClean: Bool { findings.isEmpty && omitted == 0 }
}

extension CheckReport {
    /// Adds a finding. Once there are `limit`, it takes the place of the last of the least severe ones if it is worse
    /// than that; otherwise it is only counted. Returns its place, and whether it took the place of another.
    @discardableResult
    mutating func add(_ finding: Finding, limit: Int) -> (index: Int, replaces: Bool)? {
        if findings.count < limit {
            findings.append(finding)
            return (findings.count - 1, false)
        }
        omitted += 1
        let severity = finding.kind.severity
        guard let least = findings.lazy.map(\.kind.severity).max(), severity < least,
            let index = findings.lastIndex(where: { $0.kind.severity == least })
        else { return nil }
        findings[index] = finding
        return (index, true)
    }
}
