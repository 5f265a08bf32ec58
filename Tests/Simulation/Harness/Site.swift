import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Synchronization
import TestSupport

/// A device: a store in a folder, an engine, and optionally a HealthKit with an app on it.
final class Site {
    let number: Int
    let folder: String
    let health: SimulatedDevice?
    private let clock: SimulatedClock
    let wire = Wire()
    /// What a running engine saves to HealthKit.
    let crossed = CrossedSaves()
    /// The error of the device's clock, which applies to both the store and the engine.
    let skew = Skew()
    /// Observer calls of HealthKit that are not completed yet.
    let calls = ObserverCalls()
    /// Random numbers for the identities of stores and replicas, which follow from the seed like everything else.
    private let draws: Draws

    private(set) var app: SimulatedApp?
    private(set) var store: SampleStore
    /// The current engine. It ends with the process or when a neighbour's store is reopened.
    var engine: SyncEngine?
    /// The neighbours that this engine syncs with.
    var links: [Int] = []
    /// The name under which the store reads its neighbours; another one each time that its name is taken.
    var readerName: PeerID
    /// The source under which the store is opened.
    var source = Source(bundle: "app.weights", name: "Weights")
    /// Whether reading was denied at some time. The engine then reads again after the next authorization request.
    var wasBlind = false

    /// Whether engines run by themselves and observe HealthKit.
    private let runs: Bool
    /// Whether limits are so small that a store of some dozen samples needs maintenance.
    private let isSmall: Bool
    /// The types that this app writes, and syncs in both directions, but for those that it only sends.
    let types: [SampleType]
    /// The types that this app writes and only sends to its HealthKit.
    var sent: [SampleType] = []

    /// How steps are imported from HealthKit: others write them, and the app only reads them.
    var steps = TypePlan(.pull)
    /// From when on the app imports steps, at the latest: it counts from when the sync was enabled.
    var stepsFrom: Instant?

    /// Whether steps leave the store once its neighbours have them.
    var keepsStepsBriefly: Bool { steps.retention == .cache }

    /// Whether the store must hold a sample of another app if its HealthKit does, and only then. Other samples that it
    /// holds, a neighbour may have brought.
    func imports(_ type: SampleType, _ start: Instant) -> Bool {
        guard type == .stepCount else { return true }
        return !keepsStepsBriefly && stepsFrom.map { start >= $0 } ?? true
    }

    /// The epoch of the store when its whole feed of HealthKit was last read. A store that begins another one, because
    /// it was repaired or put back, doubts all links until HealthKit shows their samples again.
    var trustedEpoch: UInt64?

    /// Whether the engine runs in an extension of the app, which has the app's source.
    var worksInExtension = false

    /// The neighbours that the store reaches by messages, as over a network.
    var byMessages: Set<Int> = []

    static let weights: [SampleType] = [.bodyMass, .leanBodyMass]
    static let nutrients: [SampleType] = [.dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal]
    static let healthName: PeerID = "HealthKit"
    private var plan: SyncPlan {
        var plans = Dictionary(uniqueKeysWithValues: types.map { ($0, TypePlan(.both)) })
        for type in sent { plans[type] = TypePlan(.push) }
        plans[.stepCount] = steps
        return SyncPlan(types: plans)
    }

    init(
        _ number: Int, folder: String, health: SimulatedDevice?, clock: SimulatedClock, seed: UInt64,
        types: [SampleType], runs: Bool, isSmall: Bool
    ) throws {
        (self.number, self.folder, self.health, self.clock) = (number, folder, health, clock)
        self.types = types
        readerName = PeerID("store\(number)")
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
        // The simulation tests the order of commits, not the behaviour of a disk.
        options.limits.skipsSync = true
        options.limits.draw = { draws.next() }
        if isSmall {
            (options.limits.recentLinks, options.limits.linksPerRecentLink) = (3, 2)
            (options.limits.changeRecords, options.limits.changeRecordsPerStep) = (6, 4)
            options.limits.recentEntries = 16
        }
        return options
    }

    /// Makes an engine, as at the start of the app.
    func start(_ neighbours: [Site], _ plant: Plant?) -> SyncEngine {
        var options = SyncOptions()
        let (skew, clock, wire, health, runs) = (skew, clock, wire, health, runs)
        options.clock = SyncClock(
            now: { skew.time(clock) },
            sleep: { time in
                // Timers of an engine that does not run must never fire.
                guard runs else { return try await Task.sleep(for: .seconds(3_600)) }
                // As with the system's clock, a timer runs on if the device's clock is set meanwhile.
                let begin = skew.time(clock)
                guard time > begin else { return }
                let end = clock.now.addingTimeInterval(Double(time.nanoseconds - begin.nanoseconds) / 1e9)
                while clock.now < end { try await Task.sleep(for: .milliseconds(5)) }
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
        if let app, let health {
            let worker =
                worksInExtension ? health.installExtension(of: app, suffix: "widget", name: "Widget") : app
            let peer = HealthKitPeer(
                store: worker.healthStore, source: worker.source, hasInfoKey: { app.infoKeys.contains($0) },
                deadline: {})
            peers.append(
                SyncPeer(
                    WirePeer(
                        inner: peer, wire: wire, lock: { health.lock() }, plant: mistake,
                        crossed: runs ? crossed : nil),
                    plan: plan))
        }
        for other in links {
            let peer = StorePeer(neighbours[other].store, id: PeerID("store\(other)"), as: readerName)
            guard byMessages.contains(other) else {
                peers.append(SyncPeer(WirePeer(inner: peer, wire: wire, lock: {}, plant: mistake), plan: .everything))
                continue
            }
            let service = PeerService(peer, limits: PeerLimits(operations: 6, page: 4))
            let remote = RemotePeer(id: peer.id) { call, body in await service.answer(call, body) }
            peers.append(SyncPeer(WirePeer(inner: remote, wire: wire, lock: {}, plant: mistake), plan: .everything))
        }
        let engine = SyncEngine(store: store, peers: peers, options: options)
        self.engine = engine
        return engine
    }

    /// Gives the store another name for its neighbours.
    func rename() {
        readerName = PeerID("\(readerName)'")
        engine = nil
    }

    /// Installs the app, replacing an older one; it has to request access again.
    private func install() {
        guard let health else { return }
        app = health.install(bundle: "app.weights", name: "Weights")
        observe()
    }

    private func observe() {
        // A running engine observes HealthKit by itself.
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

    /// Ends the process at any point of its work, and starts it again.
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

    /// Ends hung calls of the old process, whose results nobody receives.
    private func restartWire() {
        crossed.restart()
        health?.releaseHungCalls()
        wire.restart()
    }

    /// Copies an older state over the store's file, which keeps its inode.
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

    /// Removes the app with its store and installs it again, or restores an old copy of the store from a folder.
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

    /// Damages the file of the store, repairs it, and puts the new store in its place.
    func repairStore(_ damage: (inout [UInt8]) -> Void) throws -> RepairReport {
        engine = nil
        _ = calls.take()
        try store.close()
        let file = URL(fileURLWithPath: folder + "/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: file))
        damage(&bytes)
        try Data(bytes).write(to: file)
        let report = try SampleStore.repair(at: folder, to: folder + "-repaired")
        try FileManager.default.removeItem(atPath: folder)
        try FileManager.default.moveItem(atPath: folder + "-repaired", toPath: folder)
        store = try SampleStore.open(at: folder, options: options)
        restartWire()
        app?.launch()
        return report
    }

    /// The values of own samples in the store.
    func values() throws -> [SampleID: Int] {
        var values: [SampleID: Int] = [:]
        try store.read { txn in
            for type in types {
                for sample in try txn.samples(SampleQuery(type, includeShadowed: true)) where sample.origin == .authored
                {
                    values[sample.id] = sample.ledgerValue
                }
            }
        }
        return values
    }

    /// The samples of this app in HealthKit.
    func healthValues() -> [(type: SampleType, sample: SimulatedSample)] {
        guard let health, let app else { return [] }
        return types.flatMap { type in
            health.contents(of: type.identifier).filter { $0.source == app.bundle }.map { (type, $0) }
        }
    }

    func holdsInHealth(_ id: SampleID, atLeast number: Int64 = 0) -> Bool {
        healthValues().contains { held in
            held.sample.syncIdentifier.flatMap { SampleID($0) } == id && Int64(held.sample.version ?? 0) >= number
        }
    }

    /// The samples of others in HealthKit.
    func foreign() -> [SimulatedSample] { foreign { _, _ in true } }

    /// The samples of others in HealthKit that the store must hold, too.
    func wanted() throws -> [SimulatedSample] { try foreign { imports($0, try Instant($1.start)) } }

    /// When the first of the others' steps starts that HealthKit shows within the horizon; `nil` if it shows none.
    func earliestStep() throws -> Instant? {
        guard let health, let app else { return nil }
        let steps = health.contents(of: SampleType.stepCount.identifier).filter { $0.source != app.bundle }
        return try steps.map { try Instant($0.start) }.filter { imports(.stepCount, $0) }.min()
    }

    private func foreign(
        where isMeant: (SampleType, SimulatedSample) throws -> Bool
    ) rethrows -> [SimulatedSample] {
        guard let health, let app else { return [] }
        return try (types + [.stepCount]).flatMap { type in
            try health.contents(of: type.identifier).filter { try $0.source != app.bundle && isMeant(type, $0) }
        }
    }
}

extension Sample {
    /// The imported value, without an overlay.
    var importedValue: Double { (original?.quantity ?? quantity).value }

    /// The value that identifies a save: the quantity, or for workouts a tenth of the seconds of the span.
    var ledgerValue: Int {
        type == .workout ? Int((end - start.nanoseconds).secondsSinceReference / 10) : Int(quantity.value)
    }

    /// The duration of a workout with a value: equal to its span, shorter or longer.
    static func workoutSeconds(of value: Int) -> Double { Double(value) * [10, 5, 20][value % 3] }

    /// Stores a value where `ledgerValue` reads it.
    mutating func setLedgerValue(_ value: Int) {
        guard type == .workout else { return quantity.value = Double(value) }
        end = start + Int64(value) * 10 * 1_000_000_000
        quantity.value = Sample.workoutSeconds(of: value)
    }
}

extension SimulatedSample {
    /// The value that identifies a save, in HealthKit's form: HealthKit derives the seconds of a workout from its span.
    func ledgerValue(of type: SampleType) -> Int { Int(type == .workout ? value / 10 : value) }
}

/// The error of a device's clock.
final class Skew: Sendable {
    private let seconds = Mutex(0.0)

    func set(_ value: Double) { seconds.withLock { $0 = value } }

    /// Whether the error exceeds the day or so that a clock may be wrong for any length of time.
    var isYears: Bool { seconds.withLock { abs($0) > 100 * 86_400 } }

    func time(_ clock: SimulatedClock) -> Instant {
        let date = clock.now.addingTimeInterval(seconds.withLock { $0 })
        return (try? Instant(date)) ?? Instant(nanoseconds: 0)
    }
}

/// Calls of an observer, to be completed when their work is done.
final class ObserverCalls: Sendable {
    /// unchecked: HealthKit does not mark the handler as Sendable, but allows calling it from any thread.
    private struct Completion: @unchecked Sendable {
        let call: () -> Void
    }

    private let waiting = Mutex<[Completion]>([])

    func add(_ completion: @escaping () -> Void) {
        let completion = Completion(call: completion)
        waiting.withLock { $0.append(completion) }
    }

    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    /// Completes all waiting calls.
    func answer() { for completion in take() { completion() } }

    /// Removes and returns all waiting calls.
    func take() -> [() -> Void] {
        let taken = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        return taken.map(\.call)
    }
}
