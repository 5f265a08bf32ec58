import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Meals, weight and water from the Diet App to Apple Health (document 004).
@Suite struct DietOutTests {
    private let nutrients: [SampleType] = [
        .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal, .dietaryFiber, .dietarySugar,
        .dietarySodium, .dietaryCholesterol, .dietaryFatSaturated,
    ]

    private func soup(_ bench: AppBench, _ id: String = "5B2C", fiber: Quantity? = .grams(14)) throws -> Meal {
        var meal = Meal(
            id: id, at: try bench.at(-600), name: "Lentil soup", energy: Quantity(412, .kilocalorie),
            protein: .grams(21.5),
            carbohydrates: .grams(55), fat: .grams(9.25), fiber: fiber, metadata: ["DietAppLogId": .string(id)])
        meal[.dietarySugar] = Quantity(6, .gram)
        meal[.dietarySodium] = Quantity(830, .milligram)
        meal[.dietaryCholesterol] = Quantity(12, .milligram)
        meal[.dietaryFatSaturated] = Quantity(1.5, .gram)
        return meal
    }

    private func log(_ meal: Meal, _ bench: AppBench) throws { _ = try bench.store.write { try $0.save(meal) } }

    /// The number of samples in Health for each nutrient.
    private func held(_ bench: AppBench) -> [Int] { nutrients.map { bench.inHealth($0).count } }

    @Test(
        "A logged meal is in Health at once: every nutrient in its unit at the time of the meal, with food and log id")
    func meal() async throws {
        try await withApp(.dietApp) { bench in
            bench.sync.start()
            try log(try soup(bench), bench)
            try await eventually { held(bench) == Array(repeating: 1, count: 9) }
            await bench.sync.stop()
            let values = nutrients.compactMap { bench.inHealth($0).first?.value }
            let expected = [412, 21.5, 55, 9.25, 14, 6, 0.83, 0.012, 1.5]
            #expect(zip(values, expected).allSatisfy { abs($0 - $1) < 1e-9 }, "\(values)")
            for nutrient in nutrients {
                let sample = try #require(bench.inHealth(nutrient).first)
                #expect(sample.start == bench.date(-600) && sample.end == sample.start)
                #expect(sample.metadataKeys.isSuperset(of: ["HKFoodType", "DietAppLogId"]))
                #expect(sample.syncIdentifier == "app.log.5B2C.\(nutrient.shortName)")
            }
            #expect(bench.inHealth(.food).map(\.value) == [9])
        }
    }

    @Test("A meal without a name is a logged meal in Health, and has no name here")
    func unnamed() async throws {
        try await withApp(.dietApp) { bench in
            var meal = try soup(bench)
            meal.name = nil
            try log(meal, bench)
            try await bench.refresh()
            #expect(bench.inHealth(.dietaryProtein).first?.metadataKeys.contains("HKFoodType") == true)
            let stored = try bench.samples(.dietaryProtein)
            #expect(stored.map { $0.metadata["HKFoodType"] } == [.string("Logged meal")])
            #expect(Meal(stored)?.name == nil)
        }
    }

    @Test("A nutrient that the meal lacks is not written")
    func optional() async throws {
        try await withApp(.dietApp) { bench in
            try log(try soup(bench, fiber: nil), bench)
            try await bench.refresh()
            #expect(bench.inHealth(.dietaryFiber).isEmpty && bench.inHealth(.dietaryProtein).count == 1)
        }
    }

    @Test("A failed save is queued and retried, and a save with unknown outcome doubles nothing")
    func retry() async throws {
        try await withApp(.dietApp) { bench in
            try await bench.refresh()
            bench.device.fail(.save)
            bench.device.fail(.save, number: 2, afterEffect: true)
            try log(try soup(bench), bench)
            let failed = try #require(try await bench.refresh().issue)
            #expect(failed.code == .delayed && failed.message == "Failed to save to HealthKit: \(failed.detail)")
            #expect(!failed.detail.isEmpty)
            let waiting = try bench.store.blockingRead { try $0.pending(for: AppBench.health) }
            #expect(waiting.compactMap { SyncPlan.dietApp.issue(of: $0) }.contains(failed))
            for _ in 0..<4 {
                try await bench.refresh()
                bench.clock.advance(by: 3_600)
            }
            #expect(try await bench.refresh().issue == nil)
            #expect(held(bench) == Array(repeating: 1, count: 9))
            try log(try soup(bench), bench)
            try await bench.refresh()
            #expect(held(bench) == Array(repeating: 1, count: 9))
            #expect(try bench.status.pending == 0)
        }
    }

    @Test("A deleted meal is removed from Health with all its nutrients, and other meals stay")
    func deleted() async throws {
        try await withApp(.dietApp) { bench in
            try log(try soup(bench), bench)
            try log(try soup(bench, "77"), bench)
            try await bench.refresh()
            #expect(held(bench) == Array(repeating: 2, count: 9))
            #expect(try await bench.store.write { try $0.delete(.group("5B2C")) } == 9)
            try await bench.refresh()
            #expect(held(bench) == Array(repeating: 1, count: 9))
            #expect(bench.inHealth(.dietarySodium).map(\.syncIdentifier) == ["app.log.77.dietarySodium"])
        }
    }

    @Test("Nutrition of other apps is not read")
    func writeOnly() async throws {
        try await withApp(.dietApp) { bench in
            let other = bench.device.install(bundle: "com.example.food", name: "Food")
            for nutrient in nutrients {
                let unit = nutrient == .dietaryEnergyConsumed ? "kcal" : "g"
                try other.record(nutrient.recorded, 1, unit, from: bench.date(-60))
            }
            try await bench.refresh()
            for nutrient in nutrients { #expect(try bench.samples(nutrient).isEmpty) }
        }
    }

    @Test("Weight in kilograms and water in millilitres are written with the app as source")
    func weightAndWater() async throws {
        try await withApp(.dietApp) { bench in
            let metadata: [String: MetadataValue] = ["Source": .string("DietApp")]
            try bench.save(Sample(.bodyMass, 70.25, .kilogram, at: try bench.at(-60), metadata: metadata))
            try bench.save(.water(250, at: try bench.at(-30)))
            try await bench.refresh()
            let weight = try #require(bench.inHealth(.bodyMass).first)
            #expect(weight.value == 70.25 && weight.source == bench.app.bundle && weight.start == bench.date(-60))
            #expect(weight.metadataKeys.contains("Source"))
            let water = try #require(bench.inHealth(.dietaryWater).first)
            // The simulator stores volumes in its own unit.
            #expect([250, 0.25].contains { abs($0 - water.value) < 1e-9 }, "\(water.value)")
            #expect(water.start == bench.date(-30) && water.end == water.start)
        }
    }

    @Test("A sample that Health refuses is quarantined with its reason, and does not block later ones")
    func refused() async throws {
        try await withApp(.dietApp) { bench in
            try bench.save(
                Sample(.bodyMass, 70, .kilogram, at: try bench.at(-60), metadata: ["HKTimeZone": .number(3)]))
            try log(try soup(bench), bench)
            try await bench.refresh()
            #expect(held(bench) == Array(repeating: 1, count: 9))
            #expect(try bench.status.quarantined == 1)
            let refused = try bench.store.blockingRead { try $0.pending(for: AppBench.health) }
            #expect(refused.count == 1 && refused.first?.reason.isEmpty == false)
            let issue = try #require(refused.first.flatMap { SyncPlan.dietApp.issue(of: $0) })
            #expect(issue.code == .invalid && issue.message == "Failed to save to HealthKit: \(issue.detail)")
            #expect(issue.detail == refused.first?.reason)
        }
    }
}
