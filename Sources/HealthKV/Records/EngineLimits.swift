import ColumnFormat
import LMDB

/// Sizes at which the engine splits, merges and defers work. Users never set them; tests and harnesses do, so that a
/// small history reaches code that otherwise only a large one reaches.
package struct EngineLimits: Sendable {
    /// Bytes of a full chunk's hot value; `nil` for the size that fills a page.
    package var chunkBytes: Int?
    /// Bytes of a block of the identity index or of links; `nil` for a page.
    package var identityBlockBytes: Int?
    /// A partition of the identity index with more entries than this is split: about 1 MB, the most that one merge
    /// moves.
    package var partitionEntries: UInt64 = 200_000
    /// A journal with this many commits is moved into the tables by the next commit; 0 to write to the tables at once.
    package var journaledCommits = 512
    /// The size of the journal's file. A journal that it cannot hold any more is moved into the tables, too.
    package var journalFileBytes = 2 << 20
    /// Recent entries of the identity index beyond this number are folded into runs.
    package var recentEntries: UInt32 = 4_096
    /// Recent links are packed once there are more than this number, and more than a share of the packed ones.
    package var recentLinks = 32
    /// The share: this many packed links per recent link. One recent link takes as many bytes as about 25 packed ones.
    package var linksPerRecentLink: UInt64 = 1_024
    /// A packed level of links is rewritten together with the links that join it if it is at most this many times as
    /// large.
    package var linkLevelRatio: UInt64 = 8
    /// A mass operation on more samples than this is carried out in steps.
    package var removedAtOnce = 2_000
    /// Chunks that one step of a mass operation examines: about 5 ms.
    package var chunksPerStep = 32
    /// Samples that one step of summarizing reads: about 5 ms.
    package var summaryRowsPerStep = 50_000
    /// The same limit for `maintain` and after imports, where no writer waits behind the step: larger steps mean fewer
    /// commits.
    package var summaryRowsAtOnce = 500_000
    /// Blocks with at most this many samples have no summary: reading the samples is as fast, and a summary would be
    /// larger.
    package var thinSamples: Int64 = 256
    /// Blocks with at most this many samples have no quarter-hour cells: samples between a border and a full hour are
    /// read.
    package var coarseSamples: Int64 = 2_048
    /// Entries of the identity index that one step of `maintain` merges, where no writer waits behind it.
    package var mergedEntriesAtOnce: UInt64 = 400_000
    /// Partitions of the identity index for which imports keep a filter: 250 kB each.
    package var identityFilters = 128
    /// Tombstones that one step of pruning examines.
    package var tombstonesPerStep = 2_000
    /// Change records are condensed again once there are this many more than twice the number that the last condensing
    /// left.
    package var changeRecords = 512
    /// Change records that one step of condensing examines, unless many wait, and how many of the newest it leaves
    /// alone.
    package var changeRecordsPerStep = 256
    /// How many of the latest resolved conflicts are kept: at some hundred bytes each, a few MB.
    package var auditEntries = 10_000
    /// Bytes that a copy under another key writes in one transaction, which holds its pages in memory.
    package var copiedBytesAtOnce = 16 << 20
    /// Rows that an import brings into a lane at a time: enough to fill many chunks, few enough to bound memory.
    package var importWindow = 32_768
    /// A batch with fewer identities than this looks each one up; a larger batch is compared with the index in one
    /// pass.
    package var importLookups = 512
    /// Disk space that the file reserves beyond its pages, for deletions. Without the reserve, nothing may be added.
    package var diskReserve = 1 << 20
    /// Draws the random numbers that distinguish stores, replicas and epochs. A simulation derives them from its seed.
    package var draw: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
    /// Decodes also the chunks whose rows are remembered from writing, and refuses a write if they differ: for tests.
    package var comparesWrittenChunks = false
    /// Skips `fsync`. Nothing is durable then.
    package var skipsSync = false
    /// Skips the page walk at opening: a fault that harnesses must detect.
    package var skipsWalk = false
    /// Lets several processes open a store at the same moment: a fault that harnesses must detect.
    package var opensTogether = false
    /// Files of at least this size get a stamp when they are closed. A smaller file is walked in a millisecond.
    package var stampedBytes: Int64 = 8 << 20
    /// Opens a sealed store without its key: what is sealed cannot be read, and is only copied.
    package var ignoresSeal = false
    /// Skips the check whether the file is a copy: for harnesses that make thousands of copies.
    package var ignoresPlace = false
    /// Called at each step of putting a compacted file in place, so that tests can kill the process there.
    package var atReplacement: (@Sendable (ReplacementStep) -> Void)?
    /// Called with the folder of a copy before the copy is verified, so that tests can damage it.
    package var atCopy: (@Sendable (String) -> Void)?
    /// How many times a private copy to read from is attempted while a writer keeps changing the file.
    package var copyAttempts = 8
    /// The file system that the folder is assumed to lie on; `nil` to ask the system.
    package var fileSystem: FileSystemKind?
    /// The folder whose changes wake observers; `nil` for the store's own. Watching another folder simulates lost
    /// events.
    package var watchedFolder: String?
    /// Replaces the system calls that set attributes of files. Returns why an attribute could not be set.
    package var setAttribute: (@Sendable (StoreAttribute, String) -> String?)?
    /// A read that lasts longer than this is reported.
    package var longReader: Duration = .seconds(5)
    /// How long opening waits for the lock of the folder.
    package var folderPatience = FolderLock.patience
    /// Commits between two searches for reader slots of ended processes.
    package var commitsBetweenReaderChecks = 256
    /// The header of a newly created store; `nil` to draw its identity and keys.
    var header: StoreHeader?

    package init() {}

    func encoder(pageSize: Int) -> ChunkEncoder {
        chunkBytes.map { ChunkEncoder(hotBudget: $0) } ?? ChunkEncoder(pageSize: pageSize)
    }
}

/// The last completed step of putting a compacted file in place.
package enum ReplacementStep: Int, CaseIterable, Sendable {
    case copied, prepared, retired, unlocked
}
