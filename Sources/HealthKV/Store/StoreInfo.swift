import ColumnFormat
import HealthModel
import LMDB

/// What a store is and how its file is used.
public struct StoreInfo: Sendable, Hashable {
    public struct TableInfo: Sendable, Hashable {
        public let name: String
        public let entries: Int
        public let branchPages: Int
        public let leafPages: Int
        public let overflowPages: Int
        public let depth: Int
        /// Bytes of keys and values.
        public let payloadBytes: Int
        public var pages: Int { branchPages + leafPages + overflowPages }
    }

    public struct ReaderInfo: Sendable, Hashable {
        public let process: Int32
        /// The transaction it sees; `nil` for a slot that is kept for the next reader.
        public let transaction: Int?
    }

    public let path: String
    public let storeID: SampleID
    public let replica: UInt32
    public let epoch: UInt32
    public let formatVersion: Int
    public let commit: UInt64
    public let samples: Int
    public let types: Int
    public let sources: Int
    public let tombstones: Int
    public let pending: Int
    /// Mass operations that are not finished.
    public let unfinished: Int
    public let fileBytes: Int
    public let liveBytes: Int
    public let freePages: Int
    public let pageSize: Int
    public let mapSize: Int
    /// How many readers the lock file has room for.
    public let maxReaders: Int
    public let lastTransaction: Int
    public let readers: [ReaderInfo]
    public let tables: [TableInfo]
}

extension SampleStore {
    /// What the store is and how its file is used. It walks every table's leaves for their fill.
    public func info() throws -> StoreInfo {
        try checkOpen()
        let readers = try core.environment.readers().map {
            StoreInfo.ReaderInfo(process: $0.pid, transaction: $0.transaction)
        }
        let environment = try core.environment.info()
        let fileBytes = FileSystem.size(of: path + "/data.mdb") ?? 0
        return try read { transaction in
            let snapshot = transaction.snapshot
            let free = try snapshot.view.freeStatistics()
            let pageSize = core.environment.pageSize
            let counts = try snapshot.allCounts()
            let tables = try TableCode.allCases.map { try snapshot.tableInfo($0) }
            func entries(_ code: TableCode) -> Int { tables[Int(code.rawValue) - 1].entries }
            let header = snapshot.header
            return StoreInfo(
                path: path, storeID: header.storeID, replica: header.replica, epoch: header.epoch,
                formatVersion: Int(StoreHeader.formatVersion), commit: header.commit,
                samples: counts.reduce(0) { $0 + $1.counts.samples }, types: counts.count { $0.counts.samples > 0 },
                sources: try NameLookup.numbers(.source, snapshot.view, snapshot.tables).count,
                tombstones: entries(.tombstones), pending: entries(.pending), unfinished: Int(header.intents),
                fileBytes: fileBytes, liveBytes: (environment.lastPage + 1 - free.freePages) * pageSize,
                freePages: free.freePages, pageSize: pageSize, mapSize: environment.mapSize,
                maxReaders: environment.maxReaders,
                lastTransaction: environment.lastTransaction, readers: readers, tables: tables)
        }
    }
}

extension Snapshot {
    fileprivate func tableInfo(_ code: TableCode) throws -> StoreInfo.TableInfo {
        let statistics = try view.statistics(tables[code])
        var payload = 0
        var cursor = try view.cursor(tables[code])
        while try cursor.next() { payload += cursor.key.byteCount + cursor.value.byteCount }
        return StoreInfo.TableInfo(
            name: code.name, entries: statistics.entries, branchPages: statistics.branchPages,
            leafPages: statistics.leafPages, overflowPages: statistics.overflowPages, depth: statistics.depth,
            payloadBytes: payload)
    }
}
