import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Synchronization
import TestSupport

/// A device: a store in a folder, an engine, and perhaps a HealthKit with an app on it.
final class Site {
    let number: Int
    let folder: String
    let health: SimulatedDevice?
    private let clock: SimulatedClock
    let wire = Wire()
    /// How far the device's clock is wrong; both the store and the engine go by it.
    let skew = Skew()
    /// Calls of HealthKit's observer that nobody has answered yet.
    let calls = ObserverCalls()
    /// What tells stores and replicas apart follows from the seed, as all else does.
    private let draws: Draws

    private(set) var app: SimulatedApp?
    private(set) var store: SampleStore
    /// Lasts until the process ends or a neighbour's store is opened again.
    var engine: SyncEngine?
    /// Which neighbours this one's engine syncs with.
    var links: [Int] = []
    /// Under which name the store is opened.
    var source = Source(bundle: "app.weights", name: "Weights")
    /// Whether reading was denied: what came meanwhile is read again once the user is asked again.
    var wasBlind = false

    /// Whether engines run by themselves, and listen to HealthKit.
    private let runs: Bool
    /// Whether upkeep has something to do already in a store of some dozen samples.
    private let isSmall: Bool
    /// What this app writes, and syncs in both directions.
    let types: [SampleType]

    static let weights: [SampleType] = [.bodyMass, .leanBodyMass]
    static let nutrients: [SampleType] = [.dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal]
    static let healthName = "HealthKit"
    private var plan: SyncPlan {
        var plans = Dictionary(uniqueKeysWithValues: types.map { ($0, TypePlan(.both)) })
        plans[.stepCount] = TypePlan(.pull)
        return SyncPlan(types: plans)
    }

    init(
        _ number: Int, folder: String, health: SimulatedDevice?, clock: SimulatedClock, seed: UInt64,
        types: [SampleType], runs: Bool, isSmall: Bool
    ) throws {
        (self.number, self.folder, self.health, self.clock) = (number, folder, health, clock)
        self.types = types
        draws = Draws(seed: (seed &+ UInt64(number)) ^ 0x5EED)
        self.runs = runs
        self.isSmall = isSmall
        store = try SampleStore.open(
            at: folder, options: Site.options(source, skew, clock, draws, isSmall: isSmall))
        install()
    }

    private var options: SampleStore.Options { Site.options(source, skew, clock, draws, isSmall: isSmall) }

    private static func options(
        _ source: Source, _ skew: Skew, _ clock: SimulatedClock, _ draws: Draws, isSmall: Bool
    ) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.clock = { skew.time(clock) }
        options.source = source
        options.mapSize = 64 << 20
        options.maintainsWhenIdle = false
        // What is tried here is the order of commits, not what a disk does.
        options.limits.skipsSync = true
        options.limits.draw = { draws.next() }
        if isSmall {
            (options.limits.recentLinks, options.limits.linksPerRecentLink) = (3, 2)
            (options.limits.changeRecords, options.limits.changeRecordsPerStep) = (6, 4)
            options.limits.recentEntries = 16
        }
        return options
    }

    /// Makes an engine, as when the app starts.
    func start(_ neighbours: [Site], _ plant: Plant?) -> SyncEngine {
        var options = SyncOptions()
        let (skew, clock, wire, health, runs) = (skew, clock, wire, health, runs)
        options.clock = SyncClock(
            now: { skew.time(clock) },
            sleep: { time in
                // Timers of an engine that does not run never end.
                guard runs else { return try await Task.sleep(for: .seconds(3_600)) }
                while skew.time(clock) < time { try await Task.sleep(for: .milliseconds(5)) }
            })
        options.callClock = SyncClock(
            now: { skew.time(clock) }, sleep: { _ in try await wire.waitForDeadline { health?.hungCalls ?? 0 } })
        options.callGrace = .milliseconds(5)
        options.random = { 0.5 }
        options.holder = "app"
        (options.pageSize, options.pushSize) = (5, types == Site.weights ? 4 : 7)
        options.atStep = { step in if wire.ends(at: step) { throw CancellationError() } }
        options.probesLatest = plant == nil
        let mistake = plant.map { PlantedMistake(plant: $0, store: store) }
        var peers: [SyncPeer] = []
        if let app {
            let peer = HealthKitPeer(
                store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }, deadline: {})
            peers.append(
                SyncPeer(
                    WirePeer(inner: peer, wire: wire, lock: { health?.lock() }, plant: mistake),
                    plan: plan))
        }
        for other in links {
            let peer = StorePeer(neighbours[other].store, name: "store\(other)", as: "store\(number)")
            peers.append(SyncPeer(WirePeer(inner: peer, wire: wire, lock: {}, plant: mistake), plan: .everything))
        }
        let engine = SyncEngine(store: store, peers: peers, options: options)
        self.engine = engine
        return engine
    }

    /// The app is put on the device, in place of an older one; it has to ask for access again.
    private func install() {
        guard let health else { return }
        app = health.install(bundle: "app.weights", name: "Weights")
        observe()
    }

    private func observe() {
        // A running engine listens by itself.
        guard let app, !runs else { return }
        let calls = calls
        let types = (types + [.stepCount]).map { type in
            HKQueryDescriptor(sampleType: Site.sampleType(type), predicate: nil)
        }
        app.healthStore.execute(
            HKObserverQuery(queryDescriptors: types) { _, _, completion, _ in calls.add(completion) })
    }

    private static func sampleType(_ type: SampleType) -> HKSampleType {
        if type == .workout { return HKWorkoutType.workoutType() }
        return HKQuantityType(HKQuantityTypeIdentifier(rawValue: type.identifier))
    }

    /// The process ends, whatever it was doing, and is started again.
    func reopen() throws {
        engine = nil
        _ = calls.take()
        try store.close()
        store = try SampleStore.open(at: folder, options: options)
        restartWire()
        guard let app else { return }
        app.terminate()
        app.launch()
        observe()
    }

    /// Calls of a process that has ended return to nobody.
    private func restartWire() {
        health?.releaseHungCalls()
        wire.restart()
    }

    /// An older state is copied over the store's file, which stays the same file to the system.
    func overwriteStore(by copy: String) throws {
        try overwriteStore(byFile: copy + "/data.mdb", keepsAttribute: true)
    }

    func overwriteStore(byFile copy: String, keepsAttribute: Bool) throws {
        engine = nil
        _ = calls.take()
        try store.close()
        try FileCopy(of: copy).write(over: folder + "/data.mdb", keepsAttribute: keepsAttribute)
        store = try SampleStore.open(at: folder, options: options)
        restartWire()
        app?.launch()
    }

    /// The app is removed with its store, and installed again; or its store is put back from a folder, as it was once.
    func replaceStore(by copy: String?, reinstalls: Bool) throws {
        engine = nil
        _ = calls.take()
        try store.close()
        try FileManager.default.removeItem(atPath: folder)
        if let copy { try FileManager.default.copyItem(atPath: copy, toPath: folder) }
        store = try SampleStore.open(at: folder, options: options)
        restartWire()
        if reinstalls { install() } else { app?.launch() }
    }

    /// Where the values of own samples stand, in the store.
    func values() throws -> [SampleID: Int] {
        var values: [SampleID: Int] = [:]
        try store.read { txn in
            for type in types {
                for sample in try txn.samples(of: type, includeShadowed: true) where sample.origin == .authored {
                    values[sample.id] = sample.ledgerValue
                }
            }
        }
        return values
    }

    /// What HealthKit holds of this app, by sync identifier.
    func healthValues() -> [(type: SampleType, sample: SimulatedSample)] {
        guard let health, let app else { return [] }
        return types.flatMap { type in
            health.contents(of: type.identifier).filter { $0.source == app.bundle }.map { (type, $0) }
        }
    }

    func holdsInHealth(_ id: SampleID) -> Bool {
        healthValues().contains { $0.sample.syncIdentifier.flatMap { SampleID($0) } == id }
    }

    /// What HealthKit holds of others.
    func foreign() -> [SimulatedSample] {
        guard let health, let app else { return [] }
        return (types + [.stepCount]).flatMap { health.contents(of: $0.identifier) }
            .filter { $0.source != app.bundle }
    }
}

extension Sample {
    /// What was imported, without what lies over it.
    var importedValue: Double { (original?.quantity ?? quantity).value }

    /// A tenth of a workout's seconds, or the quantity: tells which save this is.
    var ledgerValue: Int {
        type == .workout ? Int((end - start.nanoseconds).secondsSinceReference / 10) : Int(quantity.value)
    }

    /// How long a workout of a value lasted, which is less or more than its span, or just that.
    static func workoutSeconds(of value: Int) -> Double { Double(value) * [10, 5, 20][value % 3] }

    /// Puts a value where it is read again.
    mutating func setLedgerValue(_ value: Int) {
        guard type == .workout else { return quantity.value = Double(value) }
        end = start + Int64(value) * 10 * 1_000_000_000
        quantity.value = Sample.workoutSeconds(of: value)
    }
}

extension SimulatedSample {
    /// The same, as HealthKit holds it: of a workout it derives the seconds from the span.
    func ledgerValue(of type: SampleType) -> Int { Int(type == .workout ? value / 10 : value) }
}

/// How far a clock is wrong.
final class Skew: Sendable {
    private let seconds = Mutex(0.0)

    func set(_ value: Double) { seconds.withLock { $0 = value } }

    /// Whether it is more than the day or so by which a clock is wrong for as long as it likes.
    var isYears: Bool { seconds.withLock { abs($0) > 100 * 86_400 } }

    func time(_ clock: SimulatedClock) -> Instant {
        let date = clock.now.addingTimeInterval(seconds.withLock { $0 })
        return (try? Instant(date)) ?? Instant(nanoseconds: 0)
    }
}

/// Calls of an observer, to be answered when their work is done.
final class ObserverCalls: Sendable {
    /// HealthKit does not mark the handler as safe to send, but calls it wherever it is called from.
    private struct Completion: @unchecked Sendable {
        let call: () -> Void
    }

    private let waiting = Mutex<[Completion]>([])

    func add(_ completion: @escaping () -> Void) {
        let completion = Completion(call: completion)
        waiting.withLock { $0.append(completion) }
    }

    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    /// Completes all that wait.
    func answer() { for completion in take() { completion() } }

    /// Takes all that wait away from their callers.
    func take() -> [() -> Void] {
        let taken = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        return taken.map(\.call)
    }
}
