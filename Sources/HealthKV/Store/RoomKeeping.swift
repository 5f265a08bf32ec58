import ColumnFormat
import LMDB

/// How much may still be written to the file.
struct Room {
    /// Why nothing may be added, while deletions are still allowed; `nil` when there is room.
    var refusal: StoreError?
    /// Whether the end is so near that a commit must prove that it leaves room for deletions.
    var isNear = false
    /// A lower bound of the bytes left up to the end.
    var left = Int.max
    /// Whether the map should grow, if it may.
    var isSmall = false
}

/// Manages the size of the map. Growing replaces the map, so it waits for the readers of this process; new readers
/// wait meanwhile.
enum RoomKeeping {
    private static let greatestReserve = 64 << 20

    /// Measures how much room is left before a transaction, and enlarges the map if there is little.
    static func prepareRoom(_ file: OpenFile, in core: StoreCore) throws -> Room {
        var room = try mappedRoom(file, in: core)
        // The last transaction needed more room than there was, so the next one gets more.
        if core.ranOut.load(ordering: .relaxed) {
            room.isSmall = true
            room.refusal =
                room.refusal
                ?? StoreError(
                    .full, path: core.path, "The last transaction needed more room than the map has")
        }
        if room.isSmall, try grow(file, &room, in: core) { room = try mappedRoom(file, in: core) }
        // If the map cannot grow any more, a transaction that was too large remains too large, but smaller ones fit.
        core.ranOut.store(room.refusal?.code == .growthBlocked, ordering: .relaxed)
        if room.refusal?.code == .full, !room.isNear { room.refusal = nil }
        let reserve = core.options.limits.diskReserve
        if room.refusal == nil, !file.keepsDiskReserve(reserve), try freeBytes(file, in: core) < reserve {
            room.refusal = StoreError(
                .full, path: core.path, "The disk is full, and what the file has is kept for deletions")
        }
        return room
    }

    private static func mappedRoom(_ file: OpenFile, in core: StoreCore) throws -> Room {
        let info = try file.environment.info()
        let limit = min(info.mapSize, FileSystem.fileSizeLimit ?? .max)
        let reserve = RoomKeeping.reserve(limit)
        let used = (info.lastPage + 1) * file.environment.pageSize
        let comfort = min(RoomKeeping.greatestReserve, limit / 2)
        if used + comfort <= limit { return Room(left: limit - used) }
        // The file never shrinks, so pages that were freed inside it count as room. But readers of other processes may
        // hold them, so the map grows as if they did not count.
        let free = try freeBytes(file, in: core)
        // Beginning the read may have adopted a map that another process let grow.
        guard try file.environment.info().mapSize == info.mapSize else { return try mappedRoom(file, in: core) }
        let left = limit - used + free
        var room = Room(isNear: 2 * reserve > left, left: left, isSmall: true)
        if used - free + reserve > limit {
            room.refusal = StoreError(
                .full, path: core.path,
                "The store has reached its greatest size of \(limit) bytes; only deleting goes on")
        }
        return room
    }

    private static func reserve(_ limit: Int) -> Int {
        // At least the pages of a few commits: the pages that one commit frees become free only for the next but one.
        max(min(greatestReserve, limit / 8), min(1 << 20, limit / 4))
    }

    private static func freeBytes(_ file: OpenFile, in core: StoreCore) throws -> Int {
        let reader = try core.begin(file)
        return try reader.view.freeStatistics().freePages * file.environment.pageSize
    }

    private static func greatestSize(in core: StoreCore) -> Int {
        min(core.options.sizeLimit ?? core.options.mapSize, FileSystem.fileSizeLimit ?? .max)
    }

    /// Enlarges the map if it may grow. Returns `true` if it grew. If it did not, only deletions continue.
    private static func grow(_ file: OpenFile, _ room: inout Room, in core: StoreCore) throws -> Bool {
        let size = try file.environment.info().mapSize
        let greatest = greatestSize(in: core)
        guard size < greatest else { return false }
        do {
            try holdingReaders(in: core) {
                // While there is still room, do not wait for readers; nor for a read of this thread, which waits for
                // the write.
                let waits = room.refusal != nil && !isReading(besides: 0, in: core)
                let patience = waits ? core.options.growthTimeout : .zero
                try file.environment.resize(
                    to: min(greatest, size * 2), waitingUntil: ContinuousClock.now + patience)
            }
        } catch let error as LMDBError where error.code == .busy || error.code == .noMemory {
            if room.refusal != nil {
                room.refusal =
                    error.code == .busy
                    ? StoreError(
                        .growthBlocked, path: core.path,
                        "The map must grow, and readers of this process have not ended within "
                            + "\(core.options.growthTimeout)"
                    )
                    : StoreError(.full, path: core.path, "The system has no address space for a larger map")
            }
            return false
        }
        core.notices.post(
            .grown, core.path, "The map has grown from \(size) bytes to \(try file.environment.info().mapSize)")
        return true
    }

    /// Adopts the size to which another process let the map grow.
    ///
    /// - Parameter own: how many of the reads that the calling thread has entered are only beginning.
    static func adoptMap(of file: OpenFile, besides own: Int, in core: StoreCore) throws {
        // A snapshot that this thread holds would be unmapped with the map.
        let isInside = core.isWriting && core.environment.isWritingThread || isReading(besides: own, in: core)
        let deadline = ContinuousClock.now + (isInside ? .zero : core.options.growthTimeout)
        do {
            try holdingReaders(in: core) { try file.environment.adoptSize(waitingUntil: deadline) }
        } catch let error as LMDBError where error.code == .busy {
            throw StoreError(
                .growthBlocked, path: core.path,
                "Another process has let the file grow, and transactions of this process have not ended in time")
        }
    }

    /// Whether the calling thread has begun more reads than this.
    private static func isReading(besides own: Int, in core: StoreCore) -> Bool {
        core.readers.withLock { $0.depth(ThreadIdentity.current) > own }
    }

    private static func holdingReaders(in core: StoreCore, _ body: () throws -> Void) rethrows {
        while true {
            let isMine = core.readers.withLock { table in
                defer { table.isHeld = true }
                return !table.isHeld
            }
            if isMine { break }
            core.readers.wait { !$0.isHeld }
        }
        defer { core.readers.update { $0.isHeld = false } }
        try body()
    }

    /// Returns `true` if the writes of a transaction may take the file near its end.
    static func mayFill(_ room: Room, _ state: TransactionState, _ file: OpenFile, in core: StoreCore) -> Bool {
        if room.isNear { return true }
        // A record may cost one page per level of its tree.
        return room.left / 4 < state.bytes + state.writes * 4 * file.environment.pageSize
    }

    /// How many runs of adjacent pages, each as long as a full chunk's value, must be available: the pages that one
    /// deletion frees become free only for the next but one.
    private static let reservedRuns = 4

    /// Proves that a commit near the end leaves room for deletions: allocates a number of pages, some of them adjacent,
    /// and releases them again.
    static func demandReserve(_ transaction: inout WriteTransaction, _ file: OpenFile, in core: StoreCore) throws {
        struct Enough: Error {}
        let info = try file.environment.info()
        let pageSize = file.environment.pageSize
        let pages =
            min(RoomKeeping.reserve(min(info.mapSize, FileSystem.fileSizeLimit ?? .max)) / 4 * 3, 4 << 20) / pageSize
        let table = file.tables[.upkeep]
        let details = try transaction.lmdb.view.statistics(file.tables[.details])
        let usual = details.entries > 0 ? details.overflowPages / details.entries : 0
        let long = max(ChunkEncoder.rowLimit * 16 / pageSize + 2, usual * 3 / 2)
        let run = max(1, min(long, pages / (2 * RoomKeeping.reservedRuns)))
        let isRun = { (number: UInt32) in number < RoomKeeping.reservedRuns }
        let single = [UInt8](repeating: 0, count: pageSize - 64)
        let several = [UInt8](repeating: 0, count: run * pageSize - 64)
        do {
            try transaction.lmdb.nested { inner in
                for number in 0..<UInt32(pages - RoomKeeping.reservedRuns * (run - 1)) {
                    var key = ByteWriter(reserving: 5)
                    key.append(0xFF as UInt8)
                    key.appendBigEndian(number)
                    try inner.put(table, key.bytes, isRun(number) ? several : single)
                }
                throw Enough()
            }
        } catch is Enough {
            return
        } catch let error as LMDBError where error.code == .mapFull {
            // A map that may still grow does so before the next transaction.
            if info.mapSize < greatestSize(in: core) {
                core.ranOut.store(true, ordering: .relaxed)
                return
            }
            throw StoreError(
                .full, path: core.path, "What was to be stored would leave no room for deletions", underlying: error)
        }
    }
}
