import ColumnFormat
import LMDB

/// Sizes at which the engine divides, joins and defers work. A user never sets them; tests and harnesses do, so that a
/// small history meets what otherwise only a large one does.
package struct EngineLimits: Sendable {
    /// Bytes of a full chunk's hot value; `nil` for what fills a page.
    package var chunkBytes: Int?
    /// Bytes of a block of the identity index or of links; `nil` for a page.
    package var identityBlockBytes: Int?
    /// More entries than this split a partition of the identity index: about 1 MB, the most that one merge moves.
    package var partitionEntries: UInt64 = 200_000
    /// Recent identity entries beyond this are folded into runs.
    package var recentEntries: UInt32 = 4_096
    /// Links beyond this, and beyond a share of those that are packed, are packed too.
    package var recentLinks = 32
    /// So many packed links to one that waits: that one takes as many bytes as some twenty-five of them.
    package var linksPerRecentLink: UInt64 = 1_024
    /// Packed levels of links that are no more than so many times as large as what joins them are written anew with it.
    package var linkLevelRatio: UInt64 = 8
    /// A mass operation on more samples than this is carried out in steps.
    package var removedAtOnce = 2_000
    /// Chunks that one step of a mass operation looks at: about 5 ms.
    package var chunksPerStep = 32
    /// Samples that one step of summing up looks at: about 5 ms.
    package var summaryRowsPerStep = 50_000
    /// The same where nobody waits behind it: fewer commits.
    package var summaryRowsAtOnce = 500_000
    /// Blocks with no more samples than this have no summary: reading the samples is as fast, and a summary would be larger.
    package var thinSamples: Int64 = 256
    /// Blocks with no more samples than this have no quarters of hours: what lies between a border and an hour is read.
    package var coarseSamples: Int64 = 2_048
    /// Entries of the identity index that one step merges where nobody waits behind it.
    package var mergedEntriesAtOnce: UInt64 = 400_000
    /// Partitions of the identity index that imports keep a filter for: 250 kB each.
    package var identityFilters = 128
    /// Tombstones that one step of pruning looks at.
    package var tombstonesPerStep = 2_000
    /// Change records beyond twice those that the last condensing left, from which on they are condensed again.
    package var changeRecords = 512
    /// Change records that one step of condensing looks at.
    package var changeRecordsPerStep = 256
    /// Resolved conflicts that are kept, the latest of them: at some hundred bytes each a few MB.
    package var auditEntries = 10_000
    /// Rows that an import brings into a lane at a time: enough to fill many chunks, few enough to bound memory.
    package var importWindow = 32_768
    /// A batch with fewer identities than this is looked up; a larger one is compared with the index in one pass.
    package var importLookups = 512
    /// Draws what tells stores, replicas and epochs apart; a simulation takes it from its seed.
    package var draw: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
    /// Leaves syncing out. Nothing is durable then.
    package var skipsSync = false
    /// Leaves out the walk over the pages at opening: a fault for harnesses that must find it.
    package var skipsWalk = false
    /// Lets processes open a store at the same moment: a fault for harnesses that must find it.
    package var opensTogether = false
    /// Files from this size on get a stamp when they are closed. A smaller one is walked in a millisecond.
    package var stampedBytes: Int64 = 8 << 20
    /// Does not ask whether the file is a copy: for harnesses that make thousands of copies.
    package var ignoresPlace = false
    /// Told of each step of putting a compacted file in place, so that tests can end the process there.
    package var atReplacement: (@Sendable (ReplacementStep) -> Void)?
    /// Told of the folder of a copy before it is looked at, so that tests can damage it.
    package var atCopy: (@Sendable (String) -> Void)?
    /// How often a copy to read from is made anew because a writer was at work.
    package var copyAttempts = 8
    /// The file system that the folder is taken to lie on; `nil` to ask.
    package var fileSystem: FileSystemKind?
    /// The folder whose changes wake observers; `nil` for the store's. In another one nothing happens, as where events are lost.
    package var watchedFolder: String?
    /// Takes the place of the system's calls that set attributes of files, and returns why one could not be set.
    package var setAttribute: (@Sendable (StoreAttribute, String) -> String?)?
    /// A read that lasts longer is reported.
    package var longReader: Duration = .seconds(5)
    /// Commits after which readers of ended processes are looked for again.
    package var commitsBetweenReaderChecks = 256
    /// What a store that is made begins with; `nil` for identity and keys of its own.
    var header: StoreHeader?

    package init() {}

    func encoder(pageSize: Int) -> ChunkEncoder {
        chunkBytes.map { ChunkEncoder(hotBudget: $0) } ?? ChunkEncoder(pageSize: pageSize)
    }
}

/// What is done so far of putting a compacted file in place.
package enum ReplacementStep: Int, CaseIterable, Sendable {
    case copied, prepared, retired, unlocked
}
