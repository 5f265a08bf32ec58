import ColumnFormat
import HealthModel
import LMDB
import Synchronization

/// A store of health samples in a folder: compact, exact, safe against crashes.
///
/// ```swift
/// let store = try SampleStore.open(at: folder)
/// try store.write { txn in
///     try txn.save(Sample(.bodyMass, 72.4, .kilogram, at: now))
/// }
/// let weights = try store.read { try $0.samples(of: .bodyMass) }
/// ```
///
/// A store may be used from any thread and task. Opening a folder twice in one process shares one store beneath.
public final class SampleStore: Sendable {
    let core: StoreCore
    private let isClosed = Atomic<Bool>(false)

    private let isReadOnly: Bool
    /// Each handle has its own: a second opening may stand for another source.
    let source: Source

    init(core: StoreCore, options: Options) {
        self.core = core
        isReadOnly = options.readOnly
        source = options.source
    }

    deinit { if !isClosed.load(ordering: .acquiring) { try? core.registry.release(core) } }

    /// What a store is opened with. Every field has a usable default.
    public struct Options: Sendable {
        /// The source of samples that are saved with ``Source/thisApp``. An app gives its bundle and name. What is opened without,
        /// such as an extension of the app, writes under the source of the app that keeps the store.
        public var source = Source.thisApp
        /// Opens for reading only; no byte of the data file is ever changed. Where a process was killed while it replaced the file
        /// (``SampleStore/compactInPlace()``) and the folder may be written to, opening gives the compacted file its name, as any
        /// opening does: the content is the same, and without that the store could not be read.
        public var readOnly = false
        /// Makes the folder and the store when there is none.
        public var createIfMissing = true
        /// Address space to reserve for the file, which stays as small as its data. It is halved where the system has not
        /// as much to give, and grows when it is needed.
        public var mapSize = 32 << 30
        /// The greatest size that the file may grow to; `nil` for ``mapSize``. Saving stops a little below, so that
        /// deleting still works.
        public var sizeLimit: Int?
        /// How long a write waits for readers of this process when the map must grow, before it gives up.
        public var growthTimeout: Duration = .seconds(5)
        /// How long one read may last; `nil` for as long as it likes. A longer one throws at the next chunk it looks at.
        public var readTimeLimit: Duration?
        /// What is otherwise refused and shall be tolerated.
        public var tolerated: Tolerance = []
        /// Called with each notice, on the thread that came upon it.
        public var onNotice: (@Sendable (StoreNotice) -> Void)?
        /// The wall clock.
        public var clock: @Sendable () -> Instant = SystemClock.now
        /// How long tombstones are kept at least, and conflicts that were resolved at most.
        public var tombstoneDays = 400
        /// How long the writing thread waits for work before it ends.
        public var idlePeriod: Duration = .seconds(2)
        /// Whether unfinished work goes on by itself when the writer is idle. Without it, call ``SampleStore/maintain(budget:)``.
        public var maintainsWhenIdle = true
        /// The class of data protection of the store's folder, of all files in it and of copies that are made of it, on Apple's systems;
        /// `nil` leaves it to the app's entitlement. Set by each opening for writing; what cannot be set is told by a notice.
        public var fileProtection: FileProtection?
        /// Whether backups of the device leave the store's folder out, on Apple's systems; `nil` leaves it as it is. Set by each
        /// opening for writing. Copies are not left out with it.
        public var isExcludedFromBackup: Bool?

        package var limits = EngineLimits()

        /// The defaults; change what is to differ.
        public init() {}
    }

    /// What a store's keeper may tolerate, at his own risk.
    public struct Tolerance: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A folder or file of another user.
        public static let foreignOwner = Tolerance(rawValue: 1)
        /// NFS, SMB, 9p, FUSE: only where one process at a time uses the store, and mapped files are what they seem.
        public static let remoteFileSystem = Tolerance(rawValue: 2)
    }

    /// Opens the store in a folder, making it when there is none and the options allow it.
    public static func open(at folder: String, options: Options = Options()) throws -> SampleStore {
        try options.check(folder)
        return SampleStore(core: try StoreRegistry.shared.open(folder, options), options: options)
    }

    /// A store in a fresh temporary folder that is removed when the store is closed: for tests and previews.
    public static func temporary(options: Options = Options()) throws -> SampleStore {
        let folder = FileSystem.temporaryFolder + "/healthkv-" + SampleID().description
        let store = try open(at: folder, options: options)
        store.core.removesFolder.store(true, ordering: .relaxed)
        return store
    }

    /// The folder of the store.
    public var path: String { core.path }

    /// Closes the store: waits for writes under way and for readers, then gives the file back. Further calls throw.
    public func close() throws {
        guard !core.isInsideTransaction else {
            throw StoreError(.nested, path: path, "close() was called inside read or write")
        }
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Whoever waits for changes through this handle looks again, and finds it closed.
        core.observers.notify()
        try core.registry.release(core)
    }

    func checkOpen() throws(StoreError) {
        // Before any lock: in a forked child nobody may be there to give it back.
        if core.fork.isForked {
            throw StoreError(.forked, path: path, "The process was forked after it opened the store")
        }
        if isClosed.load(ordering: .acquiring) { throw StoreError(.closed, path: path, "The store is closed") }
    }

    /// Refuses to write through a handle for reading, even when another handle of this process may write.
    func checkWritable() throws(StoreError) {
        try checkOpen()
        if isReadOnly { throw StoreError(.readOnly, path: path, "The store was opened for reading only") }
    }

    /// Runs `body` over one snapshot. Readers never wait for the writer.
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
    /// Calls of several threads share a commit. When `body` throws, its changes are undone and only they.
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
    /// The system's time; a clock that was set back makes it go back.
    @Sendable public static func now() -> Instant {
        Instant(
            nanoseconds: FileSystem.nanosecondsSince1970
                - Instant.secondsFrom1970To2001 * Instant.nanosecondsPerSecond)
    }
}

extension SampleStore.Options {
    /// Refuses what cannot be meant.
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
