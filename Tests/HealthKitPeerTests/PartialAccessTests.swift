import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// What may be written goes, and what may not waits without being tried (SEMANTICS A2, A5, A17, A25, C12).
@Suite struct PartialAccessTests {
    private static let nutrients: [SampleType] = [
        .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal,
    ]

    /// A phone whose user lets everything be written but one nutrient.
    private func phone(denying denied: SampleType, _ options: SimulationOptions = SimulationOptions()) async throws
        -> Phone
    {
        let clock = SimulatedClock()
        let phone = try await Phone(
            .dietApp, clock: clock, device: SimulatedDevice(clock: clock, options: options))
        let types = Set(SyncPlan.dietApp.types.keys.map(\.identifier))
        phone.device.answerRequests(.allowOnly(reading: types, sharing: types.subtracting([denied.identifier])))
        try await phone.begin()
        return phone
    }

    private func eat(on phone: Phone, id: String = "log-17") throws {
        let meal = Meal(
            id: id, at: try phone.at(0), name: "Porridge", energy: Quantity(310, .kilocalorie), protein: .grams(11),
            carbohydrates: .grams(54), fat: .grams(6))
        try phone.store.write { txn in for sample in meal.samples() { _ = try txn.save(sample) } }
    }

    private func meals(_ phone: Phone) -> [Double] {
        phone.device.contents(of: SampleType.food.identifier).map(\.value)
    }

    private func status(_ phone: Phone) throws -> PeerStatus {
        try #require(try phone.engine.status().peers["HealthKit"])
    }

    @Test(
        "A17: one denied nutrient keeps no other nutrient of its meal waiting, and the status says what waits for which type"
    )
    func deniedNutrient() async throws {
        let phone = try await phone(denying: .dietaryProtein)
        try eat(on: phone)
        try await phone.settle()
        for type in Self.nutrients {
            #expect(phone.device.contents(of: type.identifier).count == (type == .dietaryProtein ? 0 : 1))
        }
        #expect(meals(phone) == [3])
        let status = try status(phone)
        #expect(status.waiting == [.dietaryProtein: 1])
        #expect(status.parked == 1)
        #expect(status.pending == 0)
        #expect(status.issue?.code == .accessDenied)
        #expect(status.issue?.detail.contains("\(SampleType.dietaryProtein)") == true)
    }

    @Test(
        "A5, A25: once the nutrient may be written the meal is one whole correlation, and no sample is doubled or lost",
        arguments: [false, true])
    func grantedNutrient(deletingTakesMembers: Bool) async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = deletingTakesMembers
        let phone = try await phone(denying: .dietaryProtein, options)
        try eat(on: phone)
        try await phone.settle()
        phone.device.setAccess(of: phone.app, to: SampleType.dietaryProtein.identifier, sharing: .granted)
        try await phone.settle()
        for type in Self.nutrients { #expect(phone.device.contents(of: type.identifier).count == 1) }
        // A meal that took its members along leaves one of the late member, and the others beside it.
        if !deletingTakesMembers { #expect(meals(phone) == [4]) }
        #expect(try status(phone).waiting.isEmpty)
        #expect(try status(phone).issue == nil)
        #expect(try phone.pending() == 0)
        let held = try phone.store.blockingRead { try $0.samples(group: "log-17") }
        #expect(held.count == 4)
        #expect(held.allSatisfy { $0.version == 1 })
        let saves = phone.device.count(of: .save)
        try await phone.settle()
        #expect(phone.device.count(of: .save) == saves)
        try await phone.store.write { txn in for sample in held { try txn.delete(id: sample.id) } }
        try await phone.settle()
        for type in Self.nutrients { #expect(phone.device.contents(of: type.identifier).isEmpty) }
    }

    @Test("C22: a member that the user deleted in Health does not come back with the nutrient that completes its meal")
    func deletedMember() async throws {
        let phone = try await phone(denying: .dietaryProtein)
        try eat(on: phone)
        try await phone.settle()
        let energy = SampleType.dietaryEnergyConsumed.identifier
        let shown = try #require(phone.device.contents(of: energy).first)
        #expect(phone.device.userDeletes(shown.uuid).count == 1)
        phone.device.setAccess(of: phone.app, to: SampleType.dietaryProtein.identifier, sharing: .granted)
        _ = try await phone.engine.enterForeground()
        #expect(phone.device.contents(of: energy).isEmpty)
        try await phone.settle()
        #expect(phone.device.contents(of: energy).isEmpty)
        #expect(try phone.store.blockingRead { try $0.samples(group: "log-17") }.count == 3)
        #expect(phone.device.contents(of: SampleType.dietaryProtein.identifier).count == 1)
        #expect(try phone.pending() == 0)
    }

    @Test("A push splits a meal by what may be written, though nobody knew of it before")
    func splitPush() async throws {
        let bench = try await PeerBench()
        bench.device.setAccess(of: bench.app, to: SampleType.dietaryFiber.identifier, sharing: .denied)
        let samples = Meal(
            id: "log-17", at: try bench.instant(0), name: "Porridge", energy: Quantity(310, .kilocalorie),
            protein: .grams(11),
            fiber: .grams(8.2)
        ).samples().map { sample in
            var sample = sample
            sample.version = 1
            return sample
        }
        let outcomes = await bench.save(samples, group: samples)
        for (sample, outcome) in zip(samples, outcomes) {
            if sample.type == .dietaryFiber {
                #expect(outcome == .parked(.unauthorized))
            } else {
                #expect(outcome.isDone)
            }
        }
        #expect(bench.contents(.food).map(\.value) == [2])
        #expect(bench.device.count(of: .save) == 1)
    }

    @Test("C13: what lies before the earliest permitted date is refused with its reason, and no save tries it")
    func earliestDate() async throws {
        let bench = try await PeerBench()
        bench.device.earliestPermittedDate = bench.clock.now.addingTimeInterval(-1_000)
        let samples = try (0..<200).map { try bench.weight(70, "w\($0)", at: -1_900 + Double($0) * 10) }
        let outcomes = await bench.save(samples)
        let bound = try Instant(bench.device.earliestPermittedDate)
        for (sample, outcome) in zip(samples, outcomes) {
            #expect(sample.end < bound ? outcome.isRefused : outcome.isDone)
        }
        #expect(outcomes.count(where: \.isRefused) == 90)
        #expect(bench.device.count(of: .save) == 1)
    }

    @Test("C13: entries before the earliest permitted date are visible in quarantine, and cost one save in all")
    func quarantinedBeforeEarliest() async throws {
        let phone = try await Phone()
        phone.device.earliestPermittedDate = phone.clock.now.addingTimeInterval(-1_000)
        try await phone.begin()
        for index in 0..<50 { try phone.weigh(70 + Double(index), at: -1_500 - Double(index)) }
        try phone.weigh(60)
        try await phone.settle()
        #expect(phone.health == [60])
        #expect(phone.device.count(of: .save) == 1)
        #expect(try status(phone).quarantined == 50)
        #expect(try phone.store.blockingRead { try $0.pending(for: "HealthKit") }.allSatisfy { !$0.reason.isEmpty })
    }

    @Test(
        "C9: the past stays out of an import that is not answered, also where reading is denied first and allowed later",
        arguments: [false, true])
    func allowedLater(passesInvisible: Bool) async throws {
        let clock = SimulatedClock()
        var options = SimulationOptions()
        options.anchorsPassInvisible = passesInvisible
        let phone = try await Phone(
            .weightTracker.askingForHistory, clock: clock, device: SimulatedDevice(clock: clock, options: options))
        for index in 1...20 {
            let date = clock.now.addingTimeInterval(-Double(index) * 3_600)
            try phone.watch.record("BodyMass", 60 + Double(index), "kg", from: date)
        }
        try await phone.engine.authorize("HealthKit", .all)
        let type = SampleType.bodyMass.identifier
        phone.device.setAccess(of: phone.app, to: type, reading: .denied)
        try await phone.engine.enable("HealthKit")
        try await phone.settle()
        phone.device.setAccess(of: phone.app, to: type, reading: .granted)
        try await phone.settle()
        #expect(try phone.weights().isEmpty)
        try phone.watch.record("BodyMass", 50, "kg", from: clock.now)
        try await phone.settle()
        #expect(try phone.weights() == [50])
        for try await _ in phone.engine.importHistory("HealthKit", .all) {}
        #expect(try phone.weights().count == 21)
    }
}
