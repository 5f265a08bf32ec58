import ColumnFormat
import HealthModel
import LMDB

/// Describes a store and how its file is used.
public struct StoreInfo: Sendable, Hashable {
    /// The space that one table of the file takes.
    public struct TableInfo: Sendable, Hashable {
        /// The name of the LMDB database.
        public let name: String
        /// The number of records.
        public let entries: Int
        /// Inner pages of the tree.
        public let branchPages: Int
        /// Pages that hold keys and short values.
        public let leafPages: Int
        /// Pages of values too long for a leaf.
        public let overflowPages: Int
        /// Levels from the root to the leaves.
        public let depth: Int
        /// Bytes of keys and values.
        public let payloadBytes: Int
        /// All pages of the table.
        public var pages: Int { branchPages + leafPages + overflowPages }
    }

    /// A snapshot that a reader holds. While it lives, no page that it sees can be reused.
    public struct ReaderInfo: Sendable, Hashable {
        /// The process that reads.
        public let process: Int32
        /// The transaction that the reader sees; `nil` for a slot that is kept for the next reader.
        public let transaction: Int?
    }

    /// The folder of the store.
    public let path: String
    /// The identity of the store. Copies share it.
    public let storeID: SampleID
    /// Distinguishes this copy from other copies of the same store. It is part of every clock that this copy ticks.
    public let replica: UInt32
    /// Rises when a copy is restored. Change tokens of earlier epochs are refused.
    public let epoch: UInt32
    /// The version of the format on disk.
    public let formatVersion: Int
    /// How many times the store was changed.
    public let commit: UInt64
    /// Live samples of all types, shadowed ones included.
    public let samples: Int
    /// The number of types with live samples.
    public let types: Int
    /// The number of sources that the store has met, including those that have no samples now.
    public let sources: Int
    /// The number of remembered deletions. A sample may have two, under its id and its sync identifier.
    public let tombstones: Int
    /// The number of operations that wait for peers.
    public let pending: Int
    /// The number of unfinished mass operations.
    public let unfinished: Int
    /// The size of the data file.
    public let fileBytes: Int
    /// The bytes of pages in use: about the size of a compacted copy.
    public let liveBytes: Int
    /// The number of free pages, which the next writes use before the file grows.
    public let freePages: Int
    /// The size of a page in bytes.
    public let pageSize: Int
    /// The largest size to which the file can grow as it is opened now.
    public let mapSize: Int
    /// How many readers the lock file has room for.
    public let maxReaders: Int
    /// LMDB's number of the last transaction. A compacted copy restarts it.
    public let lastTransaction: Int
    /// The snapshots that are being read, in all processes.
    public let readers: [ReaderInfo]
    /// The readers of other processes. A process that looks at a store is a reader of it for that moment.
    public var otherReaders: [ReaderInfo] { readers.filter { $0.process != FileSystem.processID } }
    /// How long the oldest reader of this process has kept its snapshot; `nil` when there is no reader.
    public let oldestReader: Duration?
    /// Whether readers register with locks. Without locks, the store appears as it was when it was opened.
    public let usesLocks: Bool
    /// Whether the store is sealed.
    public let isSealed: Bool
    /// Whether the key of a sealed store is missing. Then samples, types, sources and what is pending are not known,
    /// and zero here.
    public let lacksKey: Bool
    /// The latest notices about the store, oldest first.
    public let notices: [StoreNotice]
    /// The space that each table takes, in the order of their codes.
    public let tables: [TableInfo]
}

extension StoreInfo {
    private static func tableInfo(_ code: TableCode, in snapshot: Snapshot) throws -> StoreInfo.TableInfo {
        let statistics = try snapshot.view.statistics(snapshot.tables[code])
        var (entries, payload) = (0, 0)
        var cursor = try snapshot.view.cursor(snapshot.tables[code])
        while try cursor.next() {
            entries += 1
            payload += cursor.key.byteCount + cursor.stored.byteCount
        }
        return StoreInfo.TableInfo(
            name: code.name, entries: entries, branchPages: statistics.branchPages,
            leafPages: statistics.leafPages, overflowPages: statistics.overflowPages, depth: statistics.depth,
            payloadBytes: payload)
    }

    /// Describes an open store. Walks the leaves of every table to measure their fill.
    init(of core: StoreCore) throws {
        try core.checkUsable()
        let readers = try core.environment.readers().map {
            StoreInfo.ReaderInfo(process: $0.pid, transaction: $0.transaction)
        }
        let oldest = core.readers.withLock { $0.entries.map(\.ticket.age).max() }
        let environment = try core.environment.info()
        let fileBytes = FileSystem.size(of: StoreFiles.dataPath(in: core.path)) ?? 0
        self = try core.read { transaction in
            let snapshot = transaction.snapshot
            let free = try snapshot.view.freeStatistics()
            let pageSize = core.environment.pageSize
            let lacksKey = core.lacksKey
            let counts = lacksKey ? [] : try SummaryTable.allCounts(in: snapshot)
            let tables = try TableCode.allCases.map { try StoreInfo.tableInfo($0, in: snapshot) }
            func entries(_ code: TableCode) -> Int { tables[Int(code.rawValue) - 1].entries }
            let directories = lacksKey ? [] : try QueueTable.directories(in: snapshot)
            let pending = directories.flatMap(\.sections).reduce(0) {
                $0 + Int(clamping: $1.count)
            }
            let header = snapshot.header
            return StoreInfo(
                path: core.path, storeID: header.storeID, replica: header.replica, epoch: header.epoch,
                formatVersion: Int(StoreHeader.formatVersion), commit: header.commit,
                samples: counts.reduce(0) { $0 + $1.counts.samples }, types: counts.count { $0.counts.samples > 0 },
                sources: lacksKey ? 0 : try NameTable.numbers(.source, snapshot.view, snapshot.tables).count,
                tombstones: entries(.tombstones), pending: pending, unfinished: Int(header.intents),
                fileBytes: fileBytes, liveBytes: (environment.lastPage + 1 - free.freePages) * pageSize,
                freePages: free.freePages, pageSize: pageSize, mapSize: environment.mapSize,
                maxReaders: environment.maxReaders,
                lastTransaction: environment.lastTransaction, readers: readers, oldestReader: oldest,
                usesLocks: core.file.access == .locked,
                isSealed: core.file.seal != nil, lacksKey: lacksKey,
                notices: core.notices.all, tables: tables)
        }
    }
}
