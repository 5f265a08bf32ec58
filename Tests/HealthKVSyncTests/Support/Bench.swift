import HealthKVSync
import SyncSupport
import Testing

/// A store, a health database and an engine between them, on one clock.
struct Bench {
    let clock: ManualClock
    let health: MemoryHealth
    let store: SampleStore
    let engine: SyncEngine

    init(
        _ plan: SyncPlan = .weightTracker, store: SampleStore? = nil, change: (inout SyncOptions) -> Void = { _ in }
    ) throws {
        self = try Bench(plan, health: MemoryHealth(), clock: ManualClock(), store: store, change: change)
    }

    init(
        _ plan: SyncPlan, health: MemoryHealth, clock: ManualClock, store: SampleStore? = nil,
        change: (inout SyncOptions) -> Void = { _ in }
    ) throws {
        let store = try store ?? Bench.makeStore(clock)
        self.init(
            health: health, clock: clock, store: store,
            engine: Bench.makeEngine(store, [SyncPeer(MemoryHealthPeer(health), plan: plan)], clock, change))
    }

    private init(health: MemoryHealth, clock: ManualClock, store: SampleStore, engine: SyncEngine) {
        (self.health, self.clock, self.store, self.engine) = (health, clock, store, engine)
    }

    /// An enabled engine, and a weight of 72 kg that both sides hold.
    static func withOneWeight() async throws -> (bench: Bench, sample: Sample) {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try await bench.sync()
        return (bench, sample)
    }

    /// With a store as apps open it, which does its upkeep by itself.
    static func withUpkeep() throws -> Bench {
        let clock = ManualClock()
        let store = try makeStore(clock) { $0.maintainsWhenIdle = true }
        return try Bench(.weightTracker, health: MemoryHealth(), clock: clock, store: store)
    }

    /// A store whose mass deletions wait for upkeep.
    static func makeSlowStore(_ clock: ManualClock) throws -> SampleStore {
        try makeStore(clock) { $0.limits.removedAtOnce = 4 }
    }

    static func makeStore(
        _ clock: ManualClock, app: String = "app", at path: String? = nil,
        _ change: (inout SampleStore.Options) -> Void = { _ in }
    ) throws -> SampleStore {
        var options = SampleStore.Options()
        options.clock = { clock.now }
        options.source = Source(bundle: app, name: app)
        // What is tried here is the order of commits, not what a disk does.
        options.limits.skipsSync = true
        // Upkeep is done where a test asks for it, and not whenever this machine is slow: it commits, too.
        options.maintainsWhenIdle = false
        change(&options)
        return try path.map { try .open(at: $0, options: options) } ?? .temporary(options: options)
    }

    static func makeEngine(
        _ store: SampleStore, _ peers: [SyncPeer], _ clock: ManualClock,
        _ change: (inout SyncOptions) -> Void = { _ in }
    ) -> SyncEngine {
        var options = SyncOptions()
        options.clock = clock.sync
        options.random = { 0.5 }
        // Time that a test lets pass is not that of a call.
        options.callClock = ManualClock().sync
        options.callGrace = .milliseconds(50)
        // Engines of a test stand for one app that was started again.
        options.holder = "app"
        change(&options)
        return SyncEngine(store: store, peers: peers, options: options)
    }

    var peer: String { "health" }

    /// What a sync commits that finds nothing, of an engine that does not run: it takes the lease and gives it back.
    static let commitsOfLease: UInt64 = 2

    /// The commit at which the store comes to rest: on a busy machine what was begun may take a while.
    func restingCommit() async throws -> UInt64 {
        var (commit, rests) = (try store.info().commit, 0)
        for _ in 0..<600 where rests < 10 {
            try await Task.sleep(for: .milliseconds(50))
            let now = try store.info().commit
            (commit, rests) = (now, now == commit ? rests + 1 : 0)
        }
        return commit
    }

    /// An app that starts again on the same store.
    func restarted(_ plan: SyncPlan = .weightTracker) throws -> Bench {
        try Bench(plan, health: health, clock: clock, store: store)
    }

    /// Blocks: a test asks for the state right after it.
    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws { try store.write(body) }

    @discardableResult
    func sync() async throws -> SyncReport { try await engine.sync()[peer]! }

    func save(_ kilograms: Double, id: SampleID = SampleID(), hour: Int = 0) throws -> Sample {
        let sample = Sample(.bodyMass, kilograms, .kilogram, at: time(hour), id: id)
        try store.write { _ = try $0.save(sample) }
        return sample
    }

    func time(_ hour: Int) -> Instant {
        Instant(nanoseconds: 799_000_000_000_000_000 + Int64(hour) * 3_600 * Instant.nanosecondsPerSecond)
    }

    /// A sample of another app.
    func scale(_ kilograms: Double, hour: Int, sync: String? = nil, version: Int64 = 0) -> Sample {
        Sample(
            .bodyMass, kilograms, .kilogram, from: time(hour), to: time(hour),
            source: Source(bundle: "scale", name: "Scale"), syncIdentifier: sync, version: version, origin: .imported)
    }

    var weights: [Double] {
        get throws {
            try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(\.quantity.value)
        }
    }

    var pending: [PendingOperation] { get throws { try store.read { try $0.pending(for: "health") } } }
    var held: [Double] { health.live.map(\.sample.quantity.value).sorted() }

    func status() throws -> PeerStatus { try engine.status().peers[peer]! }

    func finish(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let report = try store.check()
        #expect(report.findings.isEmpty, "\(report.findings)", sourceLocation: sourceLocation)
        try store.close()
    }
}

/// Waits for something that other tasks bring about.
func until(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ isDone: () async throws -> Bool
) async throws {
    // Long, since a busy machine is no failure; and often, since between two looks all other tests may have had their
    // turn.
    let deadline = ContinuousClock.now + .seconds(120)
    var looks = 0
    while looks < 1_000 || ContinuousClock.now < deadline {
        if try await isDone() { return }
        looks += 1
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("\(what) did not happen", sourceLocation: sourceLocation)
}
