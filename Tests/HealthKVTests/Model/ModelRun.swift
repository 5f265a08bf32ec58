import ColumnFormat
import class LMDB.Monitor
import TestSupport

@testable import HealthKV

/// Where the store and the model differ.
struct Mismatch: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// One random sequence of operations on a store and on the model, compared all along. The same seed gives the same
/// sequence, down to the layout of the store.
final class ModelRun: @unchecked Sendable {
    // @unchecked Sendable: one thread runs the sequence, closures of writes included.
    let seed: UInt64
    var random: SeededGenerator
    var model: ReferenceModel
    var store: SampleStore
    var replicas: [Replica] = []
    /// What was done, for the report of a failure.
    private(set) var log: [String] = []
    /// Derived samples as they were imported, to be imported again.
    var exports: [SampleBatch] = []
    var faults: Set<Fault> = []
    let clock = TestClock()
    let pool: SamplePool
    private let folder = TemporaryFolder()
    private let copyFolder = TemporaryFolder()
    private let options: SampleStore.Options
    private var copies = 0
    private var hasMismatch = false

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        pool = SamplePool(&random)
        var header = StoreHeader()
        header.storeID = SampleID(using: &random)
        header.replica = UInt32.random(in: 1 ... .max, using: &random)
        header.hashKey = KeyedHash(key0: random.next(), key1: random.next())
        var options = SampleStore.Options()
        options.source = pool.sources[0]
        options.maintainsWhenIdle = false
        options.tombstoneDays = 3
        options.mapSize = 1 << 30
        options.clock = { [clock] in clock.now }
        options.limits = ModelRun.smallLimits(&random)
        // A sealed store does all the same.
        if options.limits.partitionEntries % 4 == 0 { options.sealer = TestCipher(key: seed) }
        options.limits.header = header
        self.options = options
        model = ReferenceModel(ownSource: options.source, replica: header.replica)
        store = try SampleStore.open(at: folder.path, options: options)
        replicas = [Replica(types: nil), Replica(types: [.bodyMass, pool.types[4]])]
    }

    /// Small enough that a few dozen samples fill many chunks, blocks, runs and partitions.
    private static func smallLimits(_ random: inout SeededGenerator) -> EngineLimits {
        var limits = EngineLimits()
        limits.chunkBytes = random.number(380..<1_500)
        limits.identityBlockBytes = random.number(220..<600)
        limits.partitionEntries = UInt64(random.number(16..<200))
        limits.recentEntries = UInt32(random.number(2..<60))
        limits.removedAtOnce = random.number(0..<12)
        limits.chunksPerStep = random.number(1..<4)
        limits.tombstonesPerStep = random.number(1..<9)
        limits.importWindow = random.number(5..<60)
        limits.importLookups = random.number(0..<40)
        limits.journaledCommits = random.pick([0, 1, 3, 20, 256])
        limits.skipsSync = true
        // Copies are compared with the original in all they hold.
        limits.ignoresPlace = true
        limits.comparesWrittenChunks = limits.recentEntries % 2 == 0
        return limits
    }

    func note(_ line: @autoclosure () -> String) { log.append(line()) }

    /// Runs the sequence and throws where store and model differ.
    func run(steps: Int, closing: Bool = true) throws {
        try introduceSources()
        for _ in 0..<steps {
            clock.advance(by: random.pick([0, 0, 1, 1_000_000_000, 30_000_000_000, -5_000_000_000]))
            try step()
            try compareSome()
        }
        if random.chance(0.5) { try finishUpkeep() }
        try compareAll()
        if closing { try store.close() }
    }

    /// Each source is seen once, in a random order, which its rank follows from.
    private func introduceSources() throws {
        let sources = pool.sources.shuffled(using: &random)
        let samples = sources.enumerated().map { index, source in
            pool.plain(.dietaryFiber, 1, start: 1_000 + index, source: source, &random)
        }
        try group([{ run, txn in for sample in samples { try run.save(&txn, [sample]) } }])
    }

    private func step() throws {
        switch random.number(0..<100) {
        case 0..<72: try commitGroup()
        case 72..<86:
            for _ in 0..<random.number(1..<4) {
                let more = try Upkeep.maintainStep(in: store.core)
                note("maintain, more: \(more)")
            }
        case 86..<90: try advanceReplicas()
        case 90..<93: try reopen()
        case 93..<95: try prune()
        case 95: try rebuild()
        case 96: try setShadowing()
        case 97: try copyStore()
        default: try writeWholeBatch()
        }
    }

    // MARK: Commits

    typealias Step = (ModelRun, inout WriteTransaction) throws -> Void

    /// One to four transactions that share a commit, some of them failing.
    private func commitGroup() throws {
        let members = random.chance(0.6) ? 1 : random.number(2..<5)
        try group(
            (0..<members).map { _ in
                let fails = random.chance(0.15)
                return { run, txn in
                    for _ in 0..<run.random.number(1..<4) {
                        try run.operation(&txn)
                        if run.random.chance(0.3) { try run.compareSome(txn) }
                    }
                    if fails {
                        run.note("the transaction fails")
                        throw Refusal()
                    }
                }
            })
    }

    /// Runs transactions in one commit. The model forgets what a failing one did.
    func group(_ steps: [Step]) throws {
        var errors: [any Error] = []
        let box = Monitor<[any Error]>([])
        note("begin \(steps.count)")
        let members = steps.map { step in
            let work = Work(step: step)
            return WriteMember(
                run: { txn in
                    if self.hasMismatch { throw Refusal() }
                    let before = self.model
                    do {
                        try work.step(self, &txn)
                    } catch {
                        self.model = before
                        self.hasMismatch = !(error is Refusal)
                        throw error
                    }
                }, finish: { error in if let error { box.withLock { $0.append(error) } } })
        }
        store.core.commit(members)
        errors = box.withLock { $0 }
        if let unexpected = errors.first(where: { !($0 is Refusal) }) { throw unexpected }
        let commit = try store.read { $0.currentToken.commit }
        for (id, grave) in model.gravesByID where grave.commit == 0 { model.gravesByID[id]!.commit = commit }
        for (key, grave) in model.gravesBySync where grave.commit == 0 { model.gravesBySync[key]!.commit = commit }
    }

    // @unchecked Sendable: a step runs on the thread that made it, see above.
    private struct Work: @unchecked Sendable {
        let step: Step
    }

    // MARK: The store as a whole

    func finishUpkeep() throws {
        while try Upkeep.maintainStep(in: store.core) {}
        note("upkeep finished")
    }

    private func reopen() throws {
        try store.close()
        store = try SampleStore.open(at: folder.path, options: options)
        note("reopened")
    }

    private func rebuild() throws {
        try store.rebuild()
        note("rebuilt")
    }

    private func setShadowing() throws {
        let type = random.pick(pool.types)
        let isOn = random.chance(0.5)
        note("shadowing of \(type): \(isOn)")
        try store.setShadowing(of: type, isOn)
        model.shadowing[type] = isOn
    }

    /// Days pass, and old tombstones are forgotten.
    private func prune() throws {
        // A pruning that is under way goes on where it is, and leaves to the next one what has become old behind it.
        try finishUpkeep()
        // Not by whole days: what was deleted just so many days ago would be forgotten or not by a nanosecond.
        clock.advance(by: (Int64(random.number(25..<80)) * 3_600 + 1_800) * Instant.nanosecondsPerSecond)
        try finishUpkeep()
        let horizon = clock.now - Int64(options.tombstoneDays) * 86_400 * Instant.nanosecondsPerSecond
        for (id, grave) in model.gravesByID where grave.time < horizon && grave.version != Sample.versionLimit {
            model.gravesByID[id] = nil
            model.prunedCommit = max(model.prunedCommit, grave.commit)
        }
        for (key, grave) in model.gravesBySync where grave.time < horizon && grave.version != Sample.versionLimit {
            model.gravesBySync[key] = nil
            model.prunedCommit = max(model.prunedCommit, grave.commit)
        }
        note("pruned before \(horizon.nanoseconds), commit \(model.prunedCommit)")
    }

    /// A copy holds what the store holds.
    private func copyStore() throws {
        copies += 1
        let path = copyFolder.path + "/copy\(copies)"
        let compacts = random.chance(0.5)
        note(compacts ? "compacted copy" : "copy")
        if compacts { try store.compact(to: path) } else { try store.backup(to: path) }
        let original = store
        store = try SampleStore.open(at: path, options: options)
        try compareAll()
        try store.close()
        store = original
    }
}
