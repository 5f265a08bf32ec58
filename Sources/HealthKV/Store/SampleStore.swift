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
    private let source: Source

    init(core: StoreCore, options: Options) {
        self.core = core
        isReadOnly = options.readOnly
        source = options.source
    }

    deinit { if !isClosed.load(ordering: .acquiring) { try? core.registry.release(core) } }

    /// What a store is opened with. Every field has a usable default.
    public struct Options: Sendable {
        /// The source of samples that are saved with ``Source/thisApp``.
        public var source = Source(bundle: "", name: "HealthKV")
        /// Opens for reading only; the data file is never changed.
        public var readOnly = false
        /// Makes the folder and the store when there is none.
        public var createIfMissing = true
        /// Address space to reserve: the greatest size the file can grow to. It costs nothing until it is used.
        public var mapSize = 32 << 30
        /// The wall clock.
        public var clock: @Sendable () -> Instant = SystemClock.now
        /// How long tombstones are kept at least.
        public var tombstoneDays = 400
        /// How long the writing thread waits for work before it ends.
        public var idlePeriod: Duration = .seconds(2)
        /// Whether unfinished work goes on by itself when the writer is idle. Without it, call ``SampleStore/maintain(budget:)``.
        public var maintainsWhenIdle = true

        package var limits = EngineLimits()

        public init() {}
    }

    /// Opens the store in a folder, making it when there is none and the options allow it.
    public static func open(at folder: String, options: Options = Options()) throws -> SampleStore {
        SampleStore(core: try StoreRegistry.shared.open(folder, options), options: options)
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
    @Sendable public static func now() -> Instant {
        Instant(
            nanoseconds: FileSystem.nanosecondsSince1970
                - Instant.secondsFrom1970To2001 * Instant.nanosecondsPerSecond)
    }
}
