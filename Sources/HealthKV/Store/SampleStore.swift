import ColumnFormat
import HealthModel
import LMDB
import Synchronization

/// A store of health samples in a folder: compact, exact, crash-safe.
///
/// ```swift
/// let store = try SampleStore.open(at: folder)
/// try store.write { txn in
///     try txn.save(Sample(.bodyMass, 72.4, .kilogram, at: now))
/// }
/// let weights = try store.read { try $0.samples(of: .bodyMass) }
/// ```
///
/// A store may be used from any thread and task. Opening a folder twice in one process shares one underlying store.
public final class SampleStore: Sendable {
    let core: StoreCore
    private let isClosed = Atomic<Bool>(false)

    private let isReadOnly: Bool
    /// Each handle has its own source: a second opening may act for another source.
    let source: Source

    init(core: StoreCore, options: Options) {
        self.core = core
        isReadOnly = options.readOnly
        source = options.source
    }

    deinit { if !isClosed.load(ordering: .acquiring) { try? core.registry.release(core) } }

    /// The options for opening a store. Every field has a usable default.
    public struct Options: Sendable {
        /// The source of samples that are saved with `Source.thisApp`. An app passes its bundle and name. A process
        /// that opens the store without a source, such as an extension of the app, writes under the source of the app
        /// that keeps the store.
        public var source = Source.thisApp
        /// Opens for reading only; no byte of the data file is ever changed. If a process was killed while it replaced
        /// the file (``SampleStore/compactInPlace()``) and the folder is writable, opening gives the compacted file its
        /// name, as any opening does: the content is the same, and without that the store could not be read.
        public var readOnly = false
        /// Creates the folder and the store if there is none.
        public var createIfMissing = true
        /// Address space to reserve for the file, which stays as small as its data. It is halved if the system cannot
        /// provide as much, and grows when needed.
        public var mapSize = 32 << 30
        /// The largest size that the file may grow to; `nil` for ``mapSize``. Saving stops a little below, so that
        /// deleting still works.
        public var sizeLimit: Int?
        /// How long a write waits for readers of this process when the map must grow, before it gives up.
        public var growthTimeout: Duration = .seconds(5)
        /// How long one read may last; `nil` for no limit. A longer read throws at the next chunk that it reads.
        public var readTimeLimit: Duration?
        /// Hazards to tolerate that are otherwise refused.
        public var tolerated: Tolerance = []
        /// Called with each notice, on the thread that posts it.
        public var onNotice: (@Sendable (StoreNotice) -> Void)?
        /// The wall clock.
        public var clock: @Sendable () -> Instant = SystemClock.now
        /// How many days tombstones are kept at least, and resolved conflicts at most.
        public var tombstoneDays = 400
        /// How long the writing thread waits for work before it ends.
        public var idlePeriod: Duration = .seconds(2)
        /// Whether unfinished work continues by itself when the writer is idle. Otherwise, call
        /// ``SampleStore/maintain(budget:)``.
        public var maintainsWhenIdle = true
        /// The data protection class of the store's folder, of all files in it and of copies made of it, on Apple's
        /// systems; `nil` leaves it to the app's entitlement. Each opening for writing sets it; a notice reports what
        /// cannot be set.
        public var fileProtection: FileProtection?
        /// Whether device backups exclude the store's folder, on Apple's systems; `nil` leaves it unchanged. Each
        /// opening for writing sets it. Copies of the store are not excluded with it.
        public var isExcludedFromBackup: Bool?

        package var limits = EngineLimits()

        /// Creates the default options; change those that should differ.
        public init() {}
    }

    /// Hazards that an app may tolerate at its own risk.
    public struct Tolerance: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A folder or file that belongs to another user.
        public static let foreignOwner = Tolerance(rawValue: 1)
        /// NFS, SMB, 9p, FUSE: safe only if one process at a time uses the store and the file system maps files
        /// faithfully.
        public static let remoteFileSystem = Tolerance(rawValue: 2)
    }

    /// Opens the store in a folder. Creates it if there is none and the options allow it.
    public static func open(at folder: String, options: Options = Options()) throws -> SampleStore {
        try options.check(folder)
        return SampleStore(core: try StoreRegistry.shared.open(folder, options), options: options)
    }

    /// Creates a store in a new temporary folder that is removed when the store is closed: for tests and previews.
    public static func temporary(options: Options = Options()) throws -> SampleStore {
        let folder = FileSystem.temporaryFolder + "/healthkv-" + SampleID().description
        let store = try open(at: folder, options: options)
        store.core.removesFolder.store(true, ordering: .relaxed)
        return store
    }

    /// The folder of the store.
    public var path: String { core.path }

    /// Closes the store: waits for running writes and readers, then closes the file. Further calls throw.
    public func close() throws {
        guard !core.isInsideTransaction else {
            throw StoreError(.nested, path: path, "close() was called inside read or write")
        }
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Callers that wait for changes through this handle check again, and find it closed.
        core.observers.notify()
        try core.registry.release(core)
    }

    func checkOpen() throws(StoreError) {
        // Before taking any lock: in a forked child no thread may be left to release it.
        if core.fork.isForked {
            throw StoreError(.forked, path: path, "The process was forked after it opened the store")
        }
        if isClosed.load(ordering: .acquiring) { throw StoreError(.closed, path: path, "The store is closed") }
    }

    /// Throws if the handle is read-only, even if another handle of this process may write.
    func checkWritable() throws(StoreError) {
        try checkOpen()
        if isReadOnly { throw StoreError(.readOnly, path: path, "The store was opened for reading only") }
    }

    /// Runs `body` on one snapshot. Readers never wait for the writer.
    ///
    /// ```swift
    /// let (count, newest) = try store.read { txn in
    ///     (try txn.count(of: .stepCount), try txn.latest(of: .bodyMass))
    /// }
    /// ```
    public func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        try checkOpen()
        return try core.read(body)
    }

    /// Runs `body` on the writing thread and returns once its changes are durable. Blocks the calling thread.
    ///
    /// Calls from several threads share a commit. When `body` throws, only its own changes are undone.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) throws -> Result {
        try checkWritable()
        return try core.write(as: source, body)
    }

    /// Runs `body` on the writing thread and resumes once its changes are durable. Blocks no thread.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        try checkWritable()
        return try await core.write(as: source, body)
    }
}

/// The system's clock as an instant.
public enum SystemClock {
    /// The system's time. It goes backwards if the clock is set back.
    @Sendable public static func now() -> Instant {
        Instant(
            nanoseconds: FileSystem.nanosecondsSince1970
                - Instant.secondsFrom1970To2001 * Instant.nanosecondsPerSecond)
    }
}

extension SampleStore.Options {
    /// Throws if an option has a value that makes no sense.
    fileprivate func check(_ path: String) throws(StoreError) {
        try StoreError.require(mapSize, 1, "option mapSize", path: path)
        if let sizeLimit { try StoreError.require(sizeLimit, 1, "option sizeLimit", path: path) }
        try StoreError.require(tombstoneDays, 0, "option tombstoneDays", path: path)
        let periods = [
            (growthTimeout, "growthTimeout"), (readTimeLimit ?? .zero, "readTimeLimit"), (idlePeriod, "idlePeriod"),
        ]
        for (period, name) in periods where period < .zero {
            throw StoreError(.invalidArgument, path: path, "The option \(name) is below zero")
        }
    }
}
