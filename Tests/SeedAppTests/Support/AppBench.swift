import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Synchronization
import TestSupport
import Testing

/// A person's phone: an app with its store and its sync, Apple Health, and other apps that write to it. Time advances
/// only on request.
final class AppBench {
    static let health: PeerID = "HealthKit"

    let clock = SimulatedClock()
    let device: SimulatedDevice
    let app: SimulatedApp
    let scale: SimulatedApp
    let watch: SimulatedApp
    let phone: SimulatedApp
    private let plan: SyncPlan
    private let zone: String?
    private let folder = TemporaryFolder()
    private let entries: AppLog
    private(set) var store: SampleStore
    private(set) var sync: SyncEngine

    /// What the app's logger got of the store's notices.
    var log: [SyncLogEntry] { entries.all }

    /// Days are those of `zone`, or of the machine if it is `nil`.
    init(_ plan: SyncPlan, zone: String? = "UTC") throws {
        (self.plan, self.zone) = (plan, zone)
        entries = AppLog()
        device = SimulatedDevice(clock: clock)
        app = device.install(bundle: "com.example.app", name: "The App")
        scale = device.install(bundle: "com.example.scale", name: "Smart Scale")
        watch = device.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch, product: "Watch7,1")
        phone = device.install(bundle: "com.apple.health.phone", name: "Phone", kind: .phone)
        (store, sync) = try AppBench.launch(app, clock, plan, zone, folder.path, entries)
    }

    private static func launch(
        _ app: SimulatedApp, _ clock: SimulatedClock, _ plan: SyncPlan, _ zone: String?, _ folder: String,
        _ log: AppLog
    ) throws -> (SampleStore, SyncEngine) {
        let now: @Sendable () -> Instant = { (try? Instant(clock.now)) ?? .distantPast }
        var options = SampleStore.Options()
        options.source = Source(bundle: app.bundle, name: "The App")
        options.clock = now
        options.onNotice = { log.add(SyncLogEntry($0)) }
        // What is tried here is the order of commits, not what a disk does.
        options.limits.skipsSync = true
        let store = try SampleStore.open(at: folder, options: options)
        let peer = HealthKitPeer(
            store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) },
            deadline: { try? await Task.sleep(for: .seconds(3_600)) })
        var syncing = SyncOptions()
        syncing.clock = SyncClock(
            now: now,
            sleep: { time in while now() < time { try await Task.sleep(for: .milliseconds(1)) } })
        syncing.random = { 0.5 }
        if let zone { syncing.zone = zone }
        return (store, SyncEngine(store: store, peers: [SyncPeer(peer, plan: plan)], options: syncing))
    }

    /// Ends the app and starts it again; only its store remains.
    func restart() async throws {
        await sync.stop()
        app.terminate()
        try store.close()
        app.launch()
        (store, sync) = try AppBench.launch(app, clock, plan, zone, folder.path, entries)
    }

    var now: Instant { get throws { try Instant(clock.now) } }

    /// The instant this many seconds from now.
    func at(_ seconds: Int) throws -> Instant { try now + Int64(seconds) * Instant.nanosecondsPerSecond }

    func date(_ seconds: Int) -> Date { clock.now.addingTimeInterval(Double(seconds)) }

    @discardableResult
    func save(_ sample: Sample) throws -> SaveOutcome { try store.write { try $0.save(sample) } }

    func samples(_ type: SampleType) throws -> [Sample] { try store.read { try $0.samples(of: type) } }

    /// The samples of a type in Apple Health, of any writer.
    func inHealth(_ type: SampleType) -> [SimulatedSample] {
        device.contents(of: type.identifier).sorted { $0.start < $1.start }
    }

    /// Syncs once, as when the user pulls to refresh.
    @discardableResult
    func refresh() async throws -> SyncReport { try #require(try await sync.sync(AppBench.health)[AppBench.health]) }

    var status: PeerStatus { get throws { try #require(try sync.status().peers[AppBench.health]) } }

    func finish(_ location: SourceLocation = #_sourceLocation) async throws {
        await sync.stop()
        let report = try store.check()
        #expect(report.findings.isEmpty, "\(report.findings)", sourceLocation: location)
        try store.close()
    }
}

/// Runs `body` with an app, and checks its store afterwards. `answer` is the user's answer to the authorization
/// request; `nil` sends none.
func withApp(
    _ plan: SyncPlan, answer: SimulatedDevice.Answer? = .allow, zone: String? = "UTC",
    _ location: SourceLocation = #_sourceLocation, _ body: (AppBench) async throws -> Void
) async throws {
    let bench = try AppBench(plan, zone: zone)
    if let answer {
        bench.device.answerRequests(answer)
        try await bench.sync.enable(AppBench.health)
        try await bench.sync.authorize(AppBench.health)
    }
    try await body(bench)
    try await bench.finish(location)
}

/// Waits until another task fulfils a condition.
func eventually(_ location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool) async throws {
    // Long, because a busy machine is no failure; and many checks, because all other tests may run between two of them.
    let deadline = ContinuousClock.now + .seconds(120)
    var checks = 0
    while checks < 1_000 || ContinuousClock.now < deadline {
        if try condition() { return }
        checks += 1
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("it does not happen", sourceLocation: location)
}

extension SampleType {
    /// The name of the type in the calls of the simulated apps.
    var recorded: String { String(identifier.dropFirst("HKQuantityTypeIdentifier".count)) }
}

extension SimulatedSample {
    /// The number by which HealthKit orders versions.
    var number: Int64 { Int64(version ?? 0) }
    /// The version from which the number was made.
    var storeVersion: Int64 { PeerNumber.slot(of: number) }
}

/// The log of an app.
final class AppLog: Sendable {
    private let entries = Mutex<[SyncLogEntry]>([])
    func add(_ entry: SyncLogEntry) { entries.withLock { $0.append(entry) } }
    var all: [SyncLogEntry] { entries.withLock { $0 } }
}
