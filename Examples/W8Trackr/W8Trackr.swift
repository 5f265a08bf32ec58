import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator

/// A weight tracker: entries in a store of its own, and in Apple Health both ways.
struct W8Trackr {
    let store: SampleStore
    let sync: SyncEngine
    private let health: PeerID = "HealthKit"

    init(_ peer: HealthKitPeer) throws {
        var options = SampleStore.Options()
        options.source = Source(bundle: "com.example.w8trackr", name: "W8Trackr")
        store = try SampleStore.temporary(options: options)
        sync = SyncEngine(store: store, peers: [SyncPeer(peer, plan: .weightTracker.askingForHistory)])
    }

    /// The toggle in Settings. Answers how many entries there are to import.
    func connect() async throws -> Int {
        try await sync.enable(health)
        try await sync.authorize(health)
        return try await sync.importPreview(health)[.bodyMass] ?? 0
    }

    /// The answer to "Import existing entries?"
    func importHistory(_ horizon: TypePlan.Horizon) async throws {
        for try await step in sync.importHistory(health, horizon) { print("  imported \(step.imported)") }
    }

    func log(_ weight: Quantity, at date: Date, note: String? = nil) async throws -> Sample {
        let entry = Sample.weight(weight, at: try Instant(date), note: note)
        _ = try await store.write { try $0.save(entry, orThrow: true) }
        return entry
    }

    func change(_ entry: Sample, to weight: Quantity) async throws {
        var changed = entry
        changed.quantity = weight
        _ = try await store.write { [changed] txn in try txn.save(changed, orThrow: true) }
    }

    func delete(_ entry: Sample) async throws { _ = try await store.write { try $0.delete(id: entry.id) } }

    var entries: [Sample] { get throws { try store.read { try $0.samples(of: .bodyMass) } } }

    /// What Settings shows beside the toggle.
    var message: String? { get throws { try sync.status().peers[health]?.issue?.message } }
}

/// The scenarios of the specification, with a simulated Apple Health in the place of the real one.
@main enum Scenarios {
    static func main() async throws {
        let phone = SimulatedDevice(clock: SimulatedClock(Date()))
        let app = phone.install(bundle: "com.example.w8trackr", name: "W8Trackr")
        let scale = phone.install(bundle: "com.example.scale", name: "Smart Scale")
        let tracker = try W8Trackr(
            HealthKitPeer(store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }))
        func inHealth() -> [Double] { phone.contents(of: SampleType.bodyMass.identifier).map(\.value).sorted() }
        func ago(days: Int) -> Date { Date(timeIntervalSinceNow: Double(-86_400 * days)) }

        for day in 1...365 { try scale.record("BodyMass", 80, "kg", from: ago(days: day)) }
        let found = try await tracker.connect()
        expect("Health is asked for weight, and has entries to import", found == 365)
        try await tracker.importHistory(.all)
        let imported = try tracker.entries.filter { $0.source.name == "Smart Scale" }
        expect("the whole year is there, and known as the scale's", imported.count == 365)

        let entry = try await tracker.log(Quantity(160, .pound), at: Date(), note: "after the run")
        try await tracker.sync.enterForeground()
        expect("a new entry is in Health", inHealth().count { abs($0 - 72.5747792) < 1e-6 } == 1)
        try await tracker.change(entry, to: Quantity(72, .kilogram))
        try await tracker.sync.enterForeground()
        expect("an edit replaces it there", inHealth().contains(72) && inHealth().count == 366)
        try await tracker.delete(entry)
        try await tracker.sync.enterForeground()
        expect("a deleted entry goes there too", inHealth().count == 365)

        try scale.record("BodyMass", 79, "kg", from: Date())
        try await tracker.sync.enterForeground()
        try expect("what the scale weighs appears in the app", tracker.entries.last?.quantity.value == 79)

        phone.setAccess(of: app, to: SampleType.bodyMass.identifier, reading: .denied, sharing: .denied)
        _ = try await tracker.log(Quantity(71, .kilogram), at: Date())
        try await tracker.sync.enterForeground()
        try expect("without access the app goes on with its own data", tracker.entries.count == 367)
        print(try tracker.message ?? "no message")
    }

    private static func expect(_ what: String, _ holds: @autoclosure () throws -> Bool) rethrows {
        guard try holds() else { fatalError("not so: \(what)") }
        print("- \(what)")
    }
}
