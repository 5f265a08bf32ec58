import ColumnFormat
import HealthModel
import LMDB
import Synchronization

/// One open data file: shared by all ``SampleStore``s that were opened on it.
final class StoreCore: Sendable {
    let path: String
    let options: SampleStore.Options
    let registry: StoreRegistry
    let environment: Environment
    let tables: Tables
    let encoder: ChunkEncoder
    let identity = Monitor<FileIdentity?>(nil)
    let removesFolder = Atomic<Bool>(false)
    /// Committed names that transactions learned.
    let names = Monitor(NameBook())
    /// Threads that are inside a read closure, with how deep.
    let readers = Monitor<[ThreadIdentity: Int]>([:])
    let queue = Monitor(WriteQueue())
    let observers = Observers()
    let writer: Monitor<WriterThread?> = Monitor(nil)
    let isPoisoned = Atomic<Bool>(false)
    /// Whether the identity index may have runs to merge: nothing is known of what earlier processes left.
    let mayHaveRuns = Atomic<Bool>(true)
    /// Where the pruning of tombstones goes on; `nil` when it is not under way.
    let pruning = Monitor<[UInt8]?>(nil)

    init(folder: String, options: SampleStore.Options, registry: StoreRegistry) throws {
        path = folder
        self.options = options
        self.registry = registry
        if FileSystem.size(of: folder + "/data.mdb") == nil {
            guard options.createIfMissing, !options.readOnly else {
                throw StoreError(.noStore, path: folder, "There is no store in this folder")
            }
            guard FileSystem.makeFolder(folder) else {
                throw StoreError(.noStore, path: folder, "The folder cannot be made")
            }
        }
        var lmdb = Environment.Options()
        lmdb.mapSize = options.mapSize
        lmdb.readOnly = options.readOnly
        lmdb.scratch = options.limits.skipsSync
        do {
            if FileSystem.size(of: folder + "/data.mdb") == nil { try StoreCore.create(in: folder, options) }
            if !options.readOnly { StoreCore.removeLeftovers(in: folder) }
            environment = try Environment(folder: folder, options: lmdb)
            encoder = options.limits.encoder(pageSize: environment.pageSize)
            if let tables = try StoreCore.openExisting(environment, folder, readOnly: options.readOnly) {
                self.tables = tables
            } else {
                tables = try StoreCore.create(environment, options)
            }
        } catch {
            throw StoreError.wrap(error, path: folder)
        }
    }

    /// The tables of a store that exists; `nil` for an LMDB file without any, which others may have made.
    private static func openExisting(_ environment: Environment, _ path: String, readOnly: Bool) throws -> Tables? {
        let transaction = try environment.beginRead()
        let names = try transaction.view.tableNames()
        if names.isEmpty {
            guard readOnly else { return nil }
            throw StoreError(.notAStore, path: path, "The file holds no store yet")
        }
        guard let tables = try Tables(in: transaction, environment) else {
            throw StoreError(.notAStore, path: path, "The file is an LMDB file, but no store")
        }
        let header: StoreHeader
        do {
            header = try StoreHeader.read(transaction.view, tables)
        } catch let error as FormatError where error.code == .unknown {
            throw StoreError(
                .newerFormat, path: path, "The store has a format that this release does not know", underlying: error)
        }
        guard header.transaction == UInt64(transaction.id) else {
            throw StoreError(
                .damaged, path: path, "The store's header belongs to another transaction than the file's meta page")
        }
        return tables
    }

    /// Whether the caller is inside a read or write closure of this store.
    var isInsideTransaction: Bool { isWriting || readers.withLock { $0[ThreadIdentity.current] != nil } }

    var isWriting: Bool { writer.withLock { $0?.isCurrent ?? false } }

    func shutDown() {
        // In a forked child there is no writing thread to wait for, and the file is the parent's.
        guard (try? environment.info()) != nil else { return }
        queue.withLock { $0.isClosed = true }
        writer.withLock { $0 }?.stop()
        writer.withLock { $0 = nil }
        observers.finish()
        // Readers end by themselves; none can begin, since every handle is closed.
        while !environment.close() { yieldThread() }
        if removesFolder.load(ordering: .relaxed) {
            FileSystem.remove(path + "/data.mdb")
            FileSystem.remove(path + "/lock.mdb")
            FileSystem.removeFolder(path)
        }
    }
}

extension StoreCore {
    func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        let thread = ThreadIdentity.current
        readers.withLock { $0[thread, default: 0] += 1 }
        defer {
            readers.withLock { readers in
                let depth = readers[thread]! - 1
                readers[thread] = depth == 0 ? nil : depth
            }
        }
        do {
            let lmdb = try environment.beginRead()
            let context = try makeContext(of: lmdb, verified: VerifiedBlocks())
            let transaction = ReadTransaction(lmdb, context: context)
            defer { learn(context.names) }
            return try body(transaction)
        } catch {
            throw StoreError.wrap(error, path: path)
        }
    }

    /// What a transaction that begins knows.
    func makeContext<Owner: Transaction & ~Copyable>(
        of transaction: borrowing Owner, verified: VerifiedBlocks?
    ) throws -> ReadContext {
        let view = transaction.view
        let header = try StoreHeader.read(view, tables)
        let context = ReadContext(
            tables: tables, path: path, header: header, names: names.withLock { $0 }, intents: [],
            verified: verified)
        if header.intents > 0 { context.intents = try Snapshot(view: view, context: context).loadIntents() }
        return context
    }

    /// Keeps committed names that a transaction learned.
    func learn(_ learned: NameBook) {
        names.withLock { known in if learned.size > known.size { known = learned } }
    }
}
