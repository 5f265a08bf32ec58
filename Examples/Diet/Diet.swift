import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator

/// A diet app: meals to Apple Health, energy and workouts from it, weight and water both ways.
struct Diet {
    let store: SampleStore
    let sync: SyncEngine
    private let health: PeerID = "HealthKit"

    init(_ peer: HealthKitPeer) throws {
        var options = SampleStore.Options()
        options.source = Source(bundle: "com.example.diet", name: "DietApp")
        store = try SampleStore.temporary(options: options)
        sync = SyncEngine(store: store, peers: [SyncPeer(peer, plan: .dietApp)])
    }

    /// "Connect Apple Health" asks for the few types that the app needs at once; the settings ask for the others.
    func connect(_ stage: AuthorizationStage) async throws {
        try await sync.enable(health)
        try await sync.authorize(health, stage)
    }

    /// A meal is saved as one: all of its nutrients or none.
    func log(_ meal: Meal) async throws { _ = try await store.write { try $0.save(meal, orThrow: true) } }

    func deleteMeal(_ id: String) async throws { _ = try await store.write { try $0.deleteMeal(id: id) } }

    func drink(_ milliliters: Double, at date: Date) async throws {
        let water = Sample.water(milliliters, at: try Instant(date))
        _ = try await store.write { try $0.save(water, orThrow: true) }
    }

    /// The day's budget: what was eaten and what was burned.
    func today() throws -> TodaySummary { try store.read { try $0.today(at: try Instant(Date())) } }

    var latestWeight: Sample? { get throws { try store.read { try $0.latest(of: .bodyMass) } } }
}

/// The scenarios of the document, with a simulated Apple Health in the place of the real one.
@main enum Scenarios {
    static func main() async throws {
        let phone = SimulatedDevice(clock: SimulatedClock(Date()))
        let app = phone.install(bundle: "com.example.diet", name: "DietApp")
        let watch = phone.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch)
        let scale = phone.install(bundle: "com.example.scale", name: "Smart Scale")
        let diet = try Diet(
            HealthKitPeer(store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }))
        func inHealth(_ type: SampleType) -> Int { phone.contents(of: type.identifier).count }

        try await diet.connect(.onboarding)
        var soup = Meal(
            id: "5B2C", at: try Instant(Date()), name: "Lentil soup", energy: Quantity(412, .kilocalorie),
            protein: .grams(21.5),
            carbohydrates: .grams(55), fat: .grams(9.25), metadata: ["DietAppLogId": .string("5B2C")])
        try await diet.log(soup)
        try await diet.sync.sync()
        expect("a logged meal is in Health", inHealth(.dietaryEnergyConsumed) == 1 && inHealth(.dietaryProtein) == 1)
        soup[.dietaryFiber] = Quantity(14, .gram)
        try await diet.log(soup)
        try await diet.sync.sync()
        expect("fiber waits until the app asks for all types", inHealth(.dietaryFiber) == 0)
        try await diet.connect(.all)
        try await diet.sync.sync()
        expect(
            "then it follows, and nothing is doubled", inHealth(.dietaryFiber) == 1 && inHealth(.dietaryProtein) == 1)

        try await diet.drink(250, at: Date())
        try scale.record("BodyMass", 70.5, "kg", from: Date())
        let noon = Calendar.current.startOfDay(for: Date())
        try watch.record("ActiveEnergyBurned", 320, "kcal", from: noon, to: noon.addingTimeInterval(600))
        try await diet.sync.enterForeground()
        expect("water is in Health", inHealth(.dietaryWater) == 1)
        try expect("the scale's weight is in the app", diet.latestWeight?.quantity == Quantity(70.5, .kilogram))
        let today = try diet.today()
        let isWhole = today.dietaryEnergy == 412 && abs(today.activeEnergy - 320) < 1e-9
        expect("the day has what was eaten and burned", isWhole)

        phone.fail(.save)
        try await diet.log(Meal(id: "77", at: try Instant(Date()), name: "Apple", energy: Quantity(95, .kilocalorie)))
        try await diet.sync.sync()
        try await diet.sync.sync()
        expect("a save that failed is tried again", inHealth(.dietaryEnergyConsumed) == 2)
        try await diet.deleteMeal("5B2C")
        try await diet.sync.sync()
        let left = [inHealth(.dietaryFiber), inHealth(.dietaryEnergyConsumed)]
        expect("a deleted meal goes with all it holds", left == [0, 1])
        let status = try diet.sync.status()
        expect("nothing waits any more", status.pending + status.parked + status.quarantined == 0)
    }

    private static func expect(_ what: String, _ holds: @autoclosure () throws -> Bool) rethrows {
        guard try holds() else { fatalError("not so: \(what)") }
        print("- \(what)")
    }
}
