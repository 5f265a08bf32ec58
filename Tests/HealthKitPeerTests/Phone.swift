import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator

/// A device with its HealthKit, and on it an app with a store and an engine.
struct Phone {
    let clock: SimulatedClock
    let device: SimulatedDevice
    let app: SimulatedApp
    let watch: SimulatedApp
    let store: SampleStore
    let engine: SyncEngine

    /// - Parameter folder: holds the store; `nil` for a temporary one.
    init(
        _ plan: SyncPlan = .weightTracker, clock: SimulatedClock = SimulatedClock(), device: SimulatedDevice? = nil,
        folder: String? = nil
    ) async throws {
        let device = device ?? SimulatedDevice(clock: clock)
        (self.clock, self.device) = (clock, device)
        app = device.install(bundle: "app.weights", name: "Weights")
        watch = device.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch, product: "Watch7,1")
        var storing = SampleStore.Options()
        storing.clock = { (try? Instant(clock.now)) ?? Instant(nanoseconds: 0) }
        storing.source = Source(bundle: "app.weights", name: "Weights")
        // What is tried here is the order of commits, not what a disk does, and upkeep commits, too.
        storing.limits.skipsSync = true
        storing.maintainsWhenIdle = false
        store = try folder.map { try .open(at: $0, options: storing) } ?? .temporary(options: storing)
        var options = SyncOptions()
        options.clock = SyncClock(now: storing.clock, sleep: { _ in try await Task.sleep(for: .seconds(3_600)) })
        options.random = { 0.5 }
        let peer = SyncPeer(PeerBench.peer(of: app), plan: plan)
        engine = SyncEngine(store: store, peers: [peer], options: options)
    }

    /// Asks for everything and syncs for the first time.
    func begin() async throws {
        try await engine.authorize("HealthKit", .all)
        try await engine.enable("HealthKit")
        try await engine.sync()
    }

    /// Syncs until nothing changes any more.
    func settle() async throws {
        for _ in 0..<3 {
            clock.advance(by: 3_700)
            try await engine.sync()
        }
    }

    func at(_ seconds: Double) throws -> Instant { try Instant(clock.now.addingTimeInterval(seconds)) }

    @discardableResult
    func weigh(_ kilograms: Double, at seconds: Double = 0) throws -> Sample {
        let sample = Sample(.bodyMass, kilograms, .kilogram, at: try at(seconds))
        try store.write { _ = try $0.save(sample) }
        return sample
    }

    func edit(_ id: SampleID, to kilograms: Double) throws {
        try store.write { txn in
            guard var sample = try txn.sample(id: id) else { return }
            sample.quantity.value = kilograms
            sample.version = 0
            _ = try txn.save(sample)
        }
    }

    /// All weights of the store, the losers at one time too.
    func weights() throws -> [Double] {
        try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(\.quantity.value).sorted()
    }

    /// All weights of HealthKit.
    var health: [Double] { device.contents(of: SampleType.bodyMass.identifier).map(\.value).sorted() }

    func pending() throws -> Int { try store.read { try $0.pending(for: "HealthKit") }.count }
}
