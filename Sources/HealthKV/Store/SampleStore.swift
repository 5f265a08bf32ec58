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

    /// The options for opening a store.
    public typealias Options = StoreOptions

    /// Hazards that an app may tolerate at its own risk.
    public typealias Tolerance = StoreOptions.Tolerance

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

    /// The source of samples that are saved with `Source.thisApp` through this handle: the source that the handle was
    /// opened with, otherwise the one that the app last wrote under.
    public var ownSource: Source {
        guard source == .thisApp else { return source }
        let known = try? core.read { try OwnSource.read($0.snapshot.view, $0.snapshot.tables) }
        return (known ?? nil) ?? OwnSource.unnamed
    }

    /// The current time by the clock of the store, which timestamps the data about peers.
    package var now: Instant { core.options.clock() }

    /// The last commit when this process opened the store. What was committed since cannot be in an older state of the
    /// file that was put in its place before.
    package var commitAtOpening: UInt64 { core.firstCommit }

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
    ///
    /// Blocks the calling thread while `body` runs. In asynchronous code the compiler takes the asynchronous form of
    /// this call, which needs `await`; ``blockingRead(_:)`` is this one everywhere.
    public func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        try blockingRead(body)
    }

    /// Runs `body` on one snapshot, on the calling thread, also in asynchronous code: for short reads where a change of
    /// thread would cost more, and for a `body` that changes local variables.
    public func blockingRead<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        try checkOpen()
        return try core.read(body)
    }

    /// Runs `body` on one snapshot, on a thread for reading, and resumes with its answer. Blocks no thread of the
    /// caller, and not the main actor.
    ///
    /// ```swift
    /// let weights = try await store.read { try $0.samples(of: .bodyMass) }
    /// ```
    ///
    /// If the task is cancelled, the read ends early with `CancellationError`; a `body` that reads nothing is not
    /// interrupted.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await readAside(body)
    }

    /// Runs `body` alone among all writers and returns once its changes are durable. Blocks the calling thread. If
    /// nobody else writes, `body` runs on it, and otherwise on the thread of another writer.
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
