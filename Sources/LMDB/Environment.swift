import LMDBInC
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An LMDB environment: one folder with `data.mdb` and `lock.mdb`, its tables and transactions.
///
/// ```swift
/// let environment = try Environment(folder: "/tmp/example")
/// var transaction = try environment.beginWrite()
/// let table = try environment.openTable(named: "names", in: &transaction)
/// try transaction.put(table, [1], [42])
/// try transaction.commit()
/// ```
///
/// A process must not open the same folder twice at a time: closing one environment would release the locks of the
/// other. Processes open and close a folder one at a time; see ``FolderLock``.
@safe
public final class Environment: @unchecked Sendable {
    // @unchecked Sendable: `raw` and `stamps` are set once. LMDB's own functions are thread-safe with MDB_NOTLS, except
    // closing, resizing and opening tables, which `openCount` and `tables` make exclusive. The rest is atomic or
    // locked.
    // unsafe: `raw` is alive until close has gained exclusive access; `stamps` until deinit.

    /// The folder.
    public let path: String
    public let options: Options
    public let pageSize: Int
    public let maxKeySize: Int

    @usableFromInline let raw: OpaquePointer
    /// The stamp of each open table by its C number; zero for none.
    @usableFromInline let stamps: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline let stampCount: Int

    let openCount = Atomic<Int>(0)
    let idleReaders = Monitor<[IdleReader]>([])
    let tables = Monitor(TableRegistry())
    /// The address of the transaction that has opened tables unknown to others; zero for none.
    let openingTransaction = Atomic<UInt>(0)
    /// The thread that holds the write transaction; zero if none of this process does.
    let writingThread = Atomic<UInt>(0)
    /// How often the map was replaced.
    let remaps = Atomic<Int>(0)
    /// Set when the map is lost. After that no call may touch the map.
    let isMapLost = Atomic<Bool>(false)
    /// `nil` if nobody writes, or if no other writer is possible.
    let gate: WriteGate?
    private let forkGeneration = ForkWatch.generation

    /// Opens or creates the environment in an existing folder.
    public init(folder: String, options: Options = Options()) throws(LMDBError) {
        stampCount = Int(options.maxTables) + 2
        var mapSize = options.mapSize
        var opened = Self.open(folder, options, mapSize: mapSize)
        while opened.code == ENOMEM, mapSize / 2 >= Options.leastMapSize {
            mapSize /= 2
            opened = Self.open(folder, options, mapSize: mapSize)
        }
        guard let raw = unsafe opened.raw else {
            throw LMDBError(opened.code, opened.operation, folder)
        }
        do throws(LMDBError) {
            let isShared = !options.readOnly && !options.immutable && !options.scratch
            gate = isShared ? try WriteGate(file: StoreFiles.dataPath(in: folder)) : nil
        } catch {
            unsafe mdb_env_close(raw)
            throw error
        }
        path = folder
        self.options = options
        unsafe self.raw = raw
        var statistics = MDB_stat()
        unsafe mdb_env_stat(raw, &statistics)
        pageSize = Int(statistics.ms_psize)
        maxKeySize = unsafe Int(mdb_env_get_maxkeysize(raw))
        unsafe stamps = .allocate(capacity: stampCount)
        for slot in 0..<stampCount {
            unsafe (stamps + slot).initialize(to: Atomic(0))
        }
    }

    @safe
    private struct Opened {
        var raw: OpaquePointer?
        var code: Int32
        var operation: StaticString
    }

    private static func open(_ folder: String, _ options: Options, mapSize: Int) -> Opened {
        StandardDescriptors.reserve()
        var raw: OpaquePointer?
        let code = unsafe mdb_env_create(&raw)
        guard code == MDB_SUCCESS, let raw = unsafe raw else {
            return unsafe Opened(raw: nil, code: code, operation: "mdb_env_create")
        }
        // These three calls cannot fail before the environment is open.
        _ = unsafe mdb_env_set_mapsize(raw, mapSize)
        _ = unsafe mdb_env_set_maxdbs(raw, options.maxTables)
        _ = unsafe mdb_env_set_maxreaders(raw, options.maxReaders)
        guard options.takesTurns else { return unsafe openFiles(raw, folder, options) }
        let opened = FolderLock.held(folder, patience: options.patience) {
            PostponedClosing.finish(in: folder)
            return unsafe openFiles(raw, folder, options)
        }
        if let opened { return opened }
        unsafe mdb_env_close(raw)
        return unsafe Opened(raw: nil, code: LMDBError.Code.folderHeld.rawValue, operation: "flock")
    }

    private static func openFiles(_ raw: OpaquePointer, _ folder: String, _ options: Options) -> Opened {
        var operation: StaticString = "fallocate"
        var code = options.immutable ? MDB_SUCCESS : LockFile.reserve(in: folder, options)
        if code == MDB_SUCCESS {
            operation = "mdb_env_open"
            code = unsafe mdb_env_open(raw, folder, options.flags, options.fileMode)
        }
        guard code == MDB_SUCCESS else {
            unsafe mdb_env_close(raw)
            return unsafe Opened(raw: nil, code: code, operation: operation)
        }
        return unsafe Opened(raw: raw, code: code, operation: operation)
    }

    /// Closes the environment. Returns `false`, and does nothing, while transactions are open. Returns `true` if the
    /// environment is now closed, or was closed already. In a forked child it does nothing, because everything belongs
    /// to the parent.
    ///
    /// If another program holds the folder's lock for too long, this process gives the environment up all the same, but
    /// its file stays mapped until this process has the lock; see ``PostponedClosing``.
    @discardableResult
    public func close() -> Bool { close(postpones: true, within: options.patience) != .inUse }

    /// Closes the environment now or not at all. Unless the result is `.closed`, the environment stays open.
    public func closeNow(within patience: Duration) -> Closing { close(postpones: false, within: patience) }

    private func close(postpones: Bool, within patience: Duration) -> Closing {
        guard !isForked else { return .closed }
        let (closes, count) = openCount.compareExchange(
            expected: 0, desired: Self.closedMark, ordering: .acquiringAndReleasing)
        guard closes else { return count & Self.closedMark != 0 ? .closed : .inUse }
        for reader in idleReaders.withLock({ exchange(&$0, with: []) }) {
            unsafe mdb_txn_abort(reader.raw)
        }
        if !options.takesTurns {
            unsafe mdb_env_close(raw)
        } else if FolderLock.held(path, patience: patience, { unsafe mdb_env_close(raw) }) != nil {
            PostponedClosing.finishAll()
        } else if postpones {
            unsafe PostponedClosing.add(raw, path)
        } else {
            openCount.subtract(Self.closedMark, ordering: .acquiringAndReleasing)
            return .folderHeld
        }
        gate?.close()
        return .closed
    }

    deinit {
        // Transactions keep the environment alive, so none is open.
        close()
        unsafe stamps.deinitialize(count: stampCount)
        unsafe stamps.deallocate()
    }
}

extension Environment {
    /// The outcome of closing.
    public enum Closing: Sendable {
        case closed
        /// Transactions are open.
        case inUse
        /// Another program holds the folder's lock.
        case folderHeld
    }
}

/// Access control: `openCount` counts the current users, and its mark bits record closing and exclusive access.
extension Environment {
    private static let closedMark = 1 << 62
    private static let exclusiveMark = 1 << 61

    /// Whether this process is a fork of the process that opened the environment.
    public var isForked: Bool { forkGeneration != ForkWatch.generation }

    /// Counts a user in, or throws. Each successful call must be paired with `leave`.
    func enter(_ operation: StaticString) throws(LMDBError) {
        if isForked { throw error(.forked, operation) }
        while true {
            let count = openCount.add(1, ordering: .acquiringAndReleasing).oldValue
            if count & (Self.closedMark | Self.exclusiveMark) == 0 { break }
            leave()
            if count & Self.closedMark != 0 { throw error(.closed, operation) }
            // The exclusive user replaces the map, which takes some microseconds.
            yieldThread()
        }
        if isMapLost.load(ordering: .relaxed) {
            leave()
            throw error(.panic, operation)
        }
    }

    func leave() {
        openCount.subtract(1, ordering: .acquiringAndReleasing)
    }

    /// Runs `body` as a counted user of the environment.
    func using<Result>(
        _ operation: StaticString, _ body: () throws(LMDBError) -> Result
    ) throws(LMDBError) -> Result {
        try enter(operation)
        defer { leave() }
        return try body()
    }

    /// Runs `body` with exclusive access to the environment; throws `.busy` if it is in use.
    func alone(_ operation: StaticString, _ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        if isForked { throw error(.forked, operation) }
        let (enters, count) = openCount.compareExchange(
            expected: 0, desired: Self.exclusiveMark, ordering: .acquiringAndReleasing)
        guard enters else { throw error(count & Self.closedMark != 0 ? .closed : .busy, operation) }
        defer { openCount.subtract(Self.exclusiveMark, ordering: .acquiringAndReleasing) }
        if isMapLost.load(ordering: .relaxed) { throw error(.panic, operation) }
        try body()
    }

    @usableFromInline
    func error(_ code: Int32, _ operation: StaticString) -> LMDBError {
        LMDBError(code, operation, path)
    }

    func error(_ code: LMDBError.Code, _ operation: StaticString) -> LMDBError {
        LMDBError(code.rawValue, operation, path)
    }
}
