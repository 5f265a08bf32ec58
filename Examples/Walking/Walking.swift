import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator

/// A walking app: steps and distance from Apple Health by day, read only, or entered by hand.
struct Walking {
    let store: SampleStore
    let sync: SyncEngine
    private let health: PeerID = "HealthKit"

    init(_ peer: HealthKitPeer) throws {
        var options = SampleStore.Options()
        options.source = Source(bundle: "com.example.walking", name: "Walking App")
        store = try SampleStore.temporary(options: options)
        sync = SyncEngine(store: store, peers: [SyncPeer(peer, plan: .walkingApp)])
    }

    /// "Enable Health Tracking". Answers what to tell the user when it cannot be.
    func enableHealthTracking() async throws -> String? {
        do {
            try await sync.enable(health)
            try await sync.authorize(health)
            return nil
        } catch let issue as SyncIssue {
            return issue.message
        }
    }

    /// On opening the app, on pull to refresh, and on "Sync Now". Answers what went wrong.
    func refresh() async throws -> SyncIssue? { try await sync.enterForeground()[health]?.issue }

    /// Whether Health still shows what it showed; asked now and then.
    func checkAccess() async throws -> SyncIssue? {
        try await sync.reconcile(health)
        return try sync.status().peers[health]?.issue
    }

    /// Removes what came from Health and switches to entering by hand. Answers how many entries went.
    func disconnect() async throws -> Int { try await sync.disconnect(health) }

    func enter(steps: Double, from start: Date, to end: Date) async throws {
        let entered = Sample.walking(steps: steps, from: try Instant(start), to: try Instant(end))
        _ = try await store.write { try $0.save(entered, orThrow: true) }
    }

    func days(_ first: String, _ last: String) throws -> [DailyStepData] {
        try store.read { try $0.dailySteps(from: first, to: last, source: "healthkit") }
    }
}

/// The scenarios of the plan, with a simulated Apple Health in the place of the real one.
@main enum Scenarios {
    static func main() async throws {
        let device = SimulatedDevice(clock: SimulatedClock(Date()))
        let app = device.install(bundle: "com.example.walking", name: "Walking App")
        let phone = device.install(bundle: "com.apple.health.phone", name: "Phone", kind: .phone)
        let walking = try Walking(
            HealthKitPeer(store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }))
        let today = Calendar.current.startOfDay(for: Date())
        func morning(_ day: Int) -> Date {
            (Calendar.current.date(byAdding: .day, value: -day, to: today) ?? today).addingTimeInterval(9 * 3_600)
        }
        func name(_ day: Int) -> String {
            morning(day).formatted(Date.ISO8601FormatStyle(timeZone: .current).year().month().day())
        }
        for (day, hour) in (1...40).map({ ($0, morning($0).addingTimeInterval(3_600)) }) {
            try phone.record("StepCount", 5_000, "count", from: morning(day), to: hour)
            try phone.record("DistanceWalkingRunning", 4_000, "m", from: morning(day), to: hour)
        }
        let refusal = try await walking.enableHealthTracking()
        let issue = try await walking.refresh()
        expect("Health tracking is enabled, and synced", refusal == nil && issue == nil)
        let week = try walking.days(name(7), name(1))
        let isWhole = week.count == 7 && week.allSatisfy { $0.stepCount == 5_000 && $0.distanceMeters == 4_000 }
        expect("a week has seven days of steps and metres", isWhole)
        let older = try walking.days(name(40), name(35))
        expect("the first sync reaches thirty days back", older.allSatisfy { !$0.hasData })
        let walk = morning(3).addingTimeInterval(7_200)
        try await walking.enter(steps: 900, from: walk, to: walk.addingTimeInterval(1_800))
        try expect("steps entered by hand count too", walking.days(name(3), name(3)).first?.stepCount == 5_900)
        for type in ["StepCount", "DistanceWalkingRunning"] {
            device.setAccess(of: app, to: "HKQuantityTypeIdentifier\(type)", reading: .denied)
        }
        _ = try await walking.checkAccess()
        let revoked = try await walking.checkAccess()
        expect("revoked access is noticed: \(revoked?.message ?? "-")", revoked?.code == .accessRevoked)
        let removed = try await walking.disconnect()
        let left = try walking.days(name(30), name(0)).map(\.stepCount).reduce(0, +)
        expect("what came from Health is removed, what was entered stays", removed > 50 && left == 900)
    }

    private static func expect(_ what: String, _ holds: @autoclosure () throws -> Bool) rethrows {
        guard try holds() else { fatalError("not so: \(what)") }
        print("- \(what)")
    }
}
