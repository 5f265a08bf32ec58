import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Energy, workouts, steps, weight and water from Apple Health to the Diet App (document 004).
@Suite struct DietInTests {
    /// Records a run with the watch.
    private func run(_ bench: AppBench, from start: Date, to end: Date, kilocalories: Double) async throws {
        let store = bench.watch.healthStore
        let energy = HKQuantityType(HKQuantityTypeIdentifier(rawValue: SampleType.activeEnergyBurned.identifier))
        try await store.requestAuthorization(toShare: [HKObjectType.workoutType(), energy], read: [])
        let configuration = HKWorkoutConfiguration()
        configuration.activityType = .running
        let builder = HKWorkoutBuilder(healthStore: store, configuration: configuration, device: nil)
        try await builder.beginCollection(at: start)
        let quantity = HKQuantity(unit: HKUnit(from: "kcal"), doubleValue: kilocalories)
        try await builder.addSamples([
            HKQuantitySample(type: energy, quantity: quantity, start: start, end: end, device: nil, metadata: nil)
        ])
        try await builder.endCollection(at: end)
        _ = try await builder.finishWorkout()
    }

    @Test("The latest weight and the weights of the last days are read in kilograms, oldest first")
    func weights() async throws {
        try await withApp(.dietApp) { bench in
            for day in 0..<40 {
                try bench.scale.record("BodyMass", 80 + Double(day), "kg", from: bench.date(-day * 86_400 - 60))
            }
            try await bench.refresh()
            let latest = try #require(try bench.store.blockingRead { try $0.latest(of: .bodyMass) })
            let (from, to, minute) = (try bench.at(-30 * 86_400), try bench.now, try bench.at(-60))
            #expect(latest.quantity == Quantity(80, .kilogram) && latest.start == minute)
            let month = try bench.store.blockingRead {
                try $0.samples(SampleQuery(.bodyMass, from: from, to: to, rule: .strictStart))
            }
            #expect(month.map(\.quantity.value) == (0..<30).reversed().map { 80 + Double($0) })
        }
    }

    @Test("A second weight on the same day is kept, and a weight from Health is not sent back")
    func secondWeighing() async throws {
        try await withApp(.dietApp) { bench in
            try bench.save(Sample(.bodyMass, 71, .kilogram, at: try bench.at(-7_200)))
            try bench.scale.record("BodyMass", 70.5, "kg", from: bench.date(-3_600))
            try await bench.refresh()
            try await bench.refresh()
            let weights = try bench.samples(.bodyMass)
            #expect(weights.map(\.quantity.value) == [71, 70.5] && weights.last?.origin == .imported)
            #expect(bench.inHealth(.bodyMass).count == 2)
        }
    }

    @Test("Water syncs both ways")
    func water() async throws {
        try await withApp(.dietApp) { bench in
            try bench.scale.record("DietaryWater", 330, "mL", from: bench.date(-60))
            try bench.save(.water(250, at: try bench.now))
            try await bench.refresh()
            let amounts = try bench.samples(.dietaryWater).map { try $0.value(in: .milliliter) }
            #expect(zip(amounts, [330, 250]).allSatisfy { abs($0 - $1) < 1e-9 } && amounts.count == 2)
            #expect(bench.inHealth(.dietaryWater).count == 2)
        }
    }

    @Test("Today's active energy is summed in kilocalories by strict start, and is zero without samples")
    func energy() async throws {
        try await withApp(.dietApp) { bench in
            bench.clock.advance(by: 12 * 3_600)
            let now = try bench.now
            #expect(try bench.store.blockingRead { try $0.today(at: now, calendar: .utc) }.activeEnergyStrict == 0)
            let energy = "ActiveEnergyBurned"
            try bench.watch.record(energy, 100, "kcal", from: bench.date(-7_200), to: bench.date(-3_600))
            try bench.watch.record(energy, 418.4, "kJ", from: bench.date(-3_600), to: bench.date(-60))
            try bench.watch.record(energy, 50, "kcal", from: bench.date(-13 * 3_600), to: bench.date(-11 * 3_600))
            try bench.watch.record(
                "BasalEnergyBurned", 70, "kcal", from: bench.date(-7_200), to: bench.date(-3_600))
            try await bench.sync.enterForeground()
            let summary = try bench.store.blockingRead { try $0.today(at: now, calendar: .utc) }
            #expect(abs(summary.activeEnergyStrict - 200) < 1e-9 && abs(summary.basalEnergy - 70) < 1e-9)
        }
    }

    @Test("Today's workouts have activity, duration, energy and times")
    func workouts() async throws {
        try await withApp(.dietApp) { bench in
            bench.clock.advance(by: 12 * 3_600)
            try await run(bench, from: bench.date(-3_600), to: bench.date(-1_800), kilocalories: 312)
            try await bench.sync.enterForeground()
            let (now, start, end) = (try bench.now, try bench.at(-3_600), try bench.at(-1_800))
            let workout = try #require(
                try bench.store.blockingRead { try $0.today(at: now, calendar: .utc) }.workouts.first)
            #expect(workout.workout?.activityType == .running && workout.duration == 1_800)
            #expect(workout.workout?.activityType.displayName == "Running")
            #expect(workout.workout?.energy?.value == 312 && workout.start == start)
            #expect(workout.end == end && workout.source.name == "Watch")
        }
    }

    @Test("Body fat, lean mass and steps are read and never written")
    func bodyComposition() async throws {
        try await withApp(.dietApp) { bench in
            try bench.scale.record("BodyFatPercentage", 0.21, "%", from: bench.date(-60))
            try bench.scale.record("LeanBodyMass", 55, "kg", from: bench.date(-60))
            try bench.phone.record("StepCount", 900, "count", from: bench.date(-600), to: bench.date(-60))
            try bench.save(Sample(.bodyFatPercentage, 0.2, .percent, at: try bench.now))
            try await bench.refresh()
            #expect(try bench.samples(.bodyFatPercentage).map(\.quantity.value).sorted() == [0.2, 0.21])
            #expect(try bench.samples(.leanBodyMass).map(\.quantity.value) == [55])
            #expect(try bench.samples(.stepCount).map(\.quantity.value) == [900])
            #expect(bench.inHealth(.bodyFatPercentage).count == 1)
        }
    }

    @Test("New weight or energy in Health wakes the app, which notifies its screens")
    func observed() async throws {
        try await withApp(.dietApp) { bench in
            bench.sync.start()
            try await eventually { try bench.device.count(of: .enableDelivery) > 0 && bench.status.lastSync != nil }
            // Before the task begins, which may be after the changes.
            let changes = bench.store.changes(of: [.bodyMass, .activeEnergyBurned])
            let heard = Task {
                var types: Set<SampleType> = []
                for await change in changes {
                    if case .saved(let sample) = change.kind { types.insert(sample.type) }
                    if types.count == 2 { break }
                }
                return types
            }
            try bench.scale.record("BodyMass", 80, "kg", from: bench.clock.now)
            try bench.watch.record(
                "ActiveEnergyBurned", 100, "kcal", from: bench.date(-600), to: bench.date(-60))
            try await eventually {
                try !bench.samples(.bodyMass).isEmpty && !bench.samples(.activeEnergyBurned).isEmpty
            }
            let both = await heard.value
            #expect(both == [.bodyMass, .activeEnergyBurned])
            // Weight, water and energy. Types that the app only sends do not wake it.
            #expect(bench.device.count(of: .enableDelivery) == 3)
            try await eventually { bench.device.uncompletedCalls == 0 }
        }
    }

    @Test("A running app reads energy every hour without a request")
    func hourly() async throws {
        try await withApp(.dietApp) { bench in
            bench.sync.start()
            try await eventually { try bench.status.lastSync != nil }
            bench.device.dropObserverCalls(1_000)
            try bench.watch.record(
                "BasalEnergyBurned", 70, "kcal", from: bench.date(-7_200), to: bench.date(-3_600))
            bench.clock.advance(by: 3_700)
            try await eventually { try bench.samples(.basalEnergyBurned).count == 1 }
        }
    }
}
