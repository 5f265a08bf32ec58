import Testing

@testable import HealthKV

/// The Diet App: meals out, energy and workouts in, weight and water both ways (document 004).
@Suite("Seed Diet App") struct DietAppTests {
    private let app = Source(bundle: "com.example.diet", name: "DietApp", version: "2.1")
    private let watch = Source(bundle: "com.apple.health.watch", name: "Watch", product: "Watch7,2")

    /// All nine nutrients that the app writes.
    private var meal: Meal {
        var meal = Meal(
            id: "5B2C", at: .day(3, 43_200), name: "Lentil soup", energy: Quantity(412, .kilocalorie),
            protein: .grams(21.5),
            carbohydrates: .grams(55), fat: .grams(9.25), fiber: .grams(14), metadata: ["DietAppLogId": .string("5B2C")]
        )
        meal[.dietarySugar] = Quantity(6.1, .gram)
        meal[.dietarySodium] = Quantity(830, .milligram)
        meal[.dietaryCholesterol] = Quantity(12, .milligram)
        meal[.dietaryFatSaturated] = Quantity(1.5, .gram)
        return meal
    }

    @Test("A meal of nine nutrients is written as one, with food type, log id and a sync identifier each")
    func writeMeal() throws {
        try withStore { store in
            let outcomes = try store.write { try $0.save(meal, source: app) }
            #expect(outcomes == Array(repeating: .inserted, count: 9))
            let samples = try store.read { try $0.samples(group: "5B2C") }
            #expect(samples.count == 9)
            for sample in samples {
                #expect(sample.syncIdentifier == "app.log.5B2C.\(sample.type.shortName)")
                #expect(sample.metadata["HKFoodType"] == .string("Lentil soup"))
                #expect(sample.metadata["DietAppLogId"] == .string("5B2C"))
                #expect(sample.start == .day(3, 43_200) && sample.end == sample.start && sample.source == app)
            }
            let sodium = try #require(samples.first { $0.type == .dietarySodium })
            #expect(sodium.quantity == Quantity(830, .milligram))
            #expect(try sodium.value(in: .gram) == 0.83)
            #expect(Meal(samples) == meal)
        }
    }

    @Test("A retry writes nothing twice, an edit takes the nutrient out that is gone, and it can come back")
    func retryAndEdit() throws {
        try withStore { store in
            try store.write { _ = try $0.save(meal, source: app) }
            #expect(try store.write { try $0.save(meal, source: app) } == Array(repeating: .unchanged, count: 9))
            var changed = meal
            changed[.dietaryFiber] = nil
            changed[.dietaryProtein] = Quantity(25, .gram)
            let edited = changed
            let outcomes = try store.write { try $0.save(edited, source: app) }
            #expect(outcomes.count { $0 == .replaced } == 1 && outcomes.count == 8)
            #expect(try store.read { Meal(try $0.samples(group: "5B2C")) } == edited)
            try store.write { _ = try $0.save(meal, source: app) }
            #expect(try store.read { Meal(try $0.samples(group: "5B2C")) } == meal)
        }
    }

    @Test(
        "A meal is deleted as one, by its log id as group or as metadata, all nutrients of it, and a retry does not revive it"
    )
    func deleteMeal() throws {
        try withStore { store in
            try store.write { _ = try $0.save(meal, source: app) }
            #expect(
                try store.read { try $0.samples(metadataKey: "DietAppLogId", values: [.string("5B2C")]) }.count == 9)
            #expect(try store.write { try $0.delete(.group("5B2C")) } == 9)
            #expect(try store.read { try $0.count() } == 0)
            #expect(try store.write { try $0.save(meal, source: app) } == Array(repeating: .vetoed, count: 9))
            var other = meal
            other.id = "77"
            other.metadata = ["DietAppLogId": .string("77")]
            let second = other
            try store.write { _ = try $0.save(second, source: app) }
            #expect(try store.write { try $0.delete(.metadata("DietAppLogId", values: [.string("77")])) } == 9)
        }
    }

    @Test("C4: Another app's food under the same log id is not touched by an edit or a deletion, nor mixed in a view")
    func foreignMeal() throws {
        try withStore { store in
            let other = Source(bundle: "com.example.cookbook", name: "Cookbook")
            let foreign = [SampleType.dietaryProtein, .dietaryCalcium].map { type in
                Sample(
                    type, 4, .gram, from: .day(3, 43_200), to: .day(3, 43_200), source: other, version: 1,
                    origin: .imported, group: "5B2C")
            }
            for sample in foreign { try store.save(sample) }
            let outcomes = try store.write { try $0.save(meal, source: app) }
            #expect(outcomes == Array(repeating: .inserted, count: 9))
            #expect(try store.read { try $0.samples(group: "5B2C") }.count == 11)
            #expect(try store.read { Meal(try $0.samples(group: "5B2C", source: app.identity)) } == meal)
            #expect(try store.read { Meal(try $0.samples(group: "5B2C")) } == nil)
            let meals = try store.read { try $0.meals(from: .day(3), to: .day(4)) }
            #expect(meals.map(\.samples.count).sorted() == [2, 9] && meals.allSatisfy { $0.group == "5B2C" })
            // A meal of nothing empties its own group alone.
            let nothing = Meal(id: "5B2C", at: .day(3, 43_200))
            #expect(try store.write { try $0.save(nothing, source: app) }.isEmpty)
            #expect(Set(try store.read { try $0.samples(group: "5B2C") }.map(\.id)) == Set(foreign.map(\.id)))
            // That the other's food lives does not revive what was deleted here.
            #expect(try store.write { try $0.save(meal, source: app) } == Array(repeating: .vetoed, count: 9))
            let second = Meal(id: "5B2C", at: .day(3, 43_200), fat: .grams(2))
            #expect(try store.write { try $0.save(second) } == [.inserted])
            #expect(try store.write { try $0.deleteMeal(id: "5B2C", source: app) } == 0)
            #expect(try store.write { try $0.deleteMeal(id: "5B2C") } == 1)
            #expect(try store.read { try $0.count() } == 2)
            #expect(try store.write { try $0.delete(.group("5B2C")) } == 2)
        }
    }

    @Test("A meal that cannot be stored leaves nothing of it behind")
    func allOrNothing() throws {
        try withStore { (store: SampleStore) throws in
            var wrong = meal
            wrong[.dietarySugar] = Quantity(3, .kilocalorie)
            let refused = wrong
            #expect(throws: StoreError.self) {
                try store.write { _ = try $0.save(refused, source: app) }
            }
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("Water is written in millilitres and read from elsewhere in other units")
    func water() throws {
        try withStore { store in
            try store.save(Sample.water(250, at: .day(2), source: app))
            let glass = HealthUnit.fluidOunceUS
            try store.save(Sample(.dietaryWater, 8, glass, at: .day(2, 60), source: watch))
            let read = try store.read { try $0.samples(of: .dietaryWater) }
            #expect(read.map(\.quantity) == [Quantity(250, .milliliter), Quantity(8, glass)])
            let series = try store.read { try $0.series(.dietaryWater) }
            #expect(series.values == [250, 236.5882365] && series.unit == .milliliter)
        }
    }

    @Test("A weight in kilograms is written with the app as source, in metadata too")
    func weight() throws {
        try withStore { store in
            let sample = Sample(
                .bodyMass, 70.25, .kilogram, at: .day(1), source: app, metadata: ["Source": .string("DietApp")])
            try store.save(sample)
            let latest = try #require(try store.read { try $0.latest(of: .bodyMass) })
            #expect(latest.quantity == Quantity(70.25, .kilogram) && latest.metadata["Source"] == .string("DietApp"))
        }
    }

    @Test("Today's workouts come with activity, display name, duration without pauses, and energy; newest first")
    func workouts() throws {
        try withStore { store in
            let names: [(WorkoutActivityType, String)] = [
                (.running, "Running"), (.walking, "Walking"), (.cycling, "Cycling"), (.swimming, "Swimming"),
                (.functionalStrengthTraining, "Strength Training"), (.yoga, "Yoga"), (.hiking, "Hiking"),
                (.other, "Workout"), (WorkoutActivityType(rawValue: 999), "Workout"),
            ]
            for (hour, (activity, _)) in names.enumerated() {
                var workout = Workout(
                    activity, energy: Quantity(100 + Double(hour), .kilocalorie), distance: Quantity(5, .kilometer))
                workout.events = [
                    WorkoutEvent(.pause, from: .day(8, hour * 3_600 + 600), to: .day(8, hour * 3_600 + 600)),
                    WorkoutEvent(.resume, from: .day(8, hour * 3_600 + 660), to: .day(8, hour * 3_600 + 660)),
                ]
                workout.statistics = [
                    WorkoutStatistics(
                        .heartRate, from: .day(8, hour * 3_600), to: .day(8, hour * 3_600 + 1_800),
                        average: Quantity(131, .countPerMinute), maximum: Quantity(164, .countPerMinute))
                ]
                try store.save(
                    .workout(
                        workout, from: .day(8, hour * 3_600), to: .day(8, hour * 3_600 + 1_800), duration: 1_740,
                        source: watch))
            }
            let today = try store.read {
                try $0.samples(
                    SampleQuery(.workout, from: .day(8), to: .day(9), rule: .strictStart, order: .descending))
            }
            #expect(today.map { $0.workout?.activityType.displayName } == names.reversed().map(\.1))
            #expect(today.allSatisfy { $0.duration == 1_740 && $0.end == $0.start + 1_800_000_000_000 })
            #expect(today.last?.workout?.energy == Quantity(100, .kilocalorie))
            #expect(today.last?.workout?.events.count == 2 && today.last?.workout?.statistics.count == 1)
        }
    }

    @Test("Today's active and basal energy are read by strict start, in kilocalories whatever they were written in")
    func energy() throws {
        try withStore { store in
            try store.save(
                Sample(.activeEnergyBurned, 100, .kilocalorie, from: .day(4, -60), to: .day(4, 60), source: watch))
            try store.save(
                Sample(.activeEnergyBurned, 418.4, .kilojoule, from: .day(4, 60), to: .day(4, 120), source: watch))
            try store.save(
                Sample(.activeEnergyBurned, 50, .kilocalorie, from: .day(4, 120), to: .day(4, 180), source: watch))
            try store.save(
                Sample(.basalEnergyBurned, 70, .kilocalorie, from: .day(4), to: .day(4, 3_600), source: watch))
            let (active, basal) = try store.read { txn in
                (
                    try txn.samples(SampleQuery(.activeEnergyBurned, from: .day(4), to: .day(5), rule: .strictStart)),
                    try txn.series(.basalEnergyBurned, from: .day(4), to: .day(5))
                )
            }
            #expect(try active.map { try $0.value(in: .kilocalorie) } == [100, 50])
            #expect(basal.values == [70])
        }
    }

    @Test(
        "Body fat, lean mass and steps are read: the newest measurement of each, and a day's steps from phone and watch once"
    )
    func bodyAndSteps() throws {
        try withStore { store in
            for (day, fat, lean) in [(5, 0.184, 58.5), (6, 0.181, 58.75)] {
                try store.save(Sample(.bodyFatPercentage, fat, .percent, at: .day(day), source: watch))
                try store.save(Sample(.leanBodyMass, lean, .kilogram, at: .day(day), source: watch))
            }
            for source in [watch, Source(bundle: "com.apple.health.phone", name: "Phone")] {
                try store.save(
                    Sample(.stepCount, 900, .count, from: .day(6, 3_600), to: .day(6, 4_200), source: source))
            }
            let (fat, lean) = try store.read {
                (try $0.latest(of: .bodyFatPercentage), try $0.latest(of: .leanBodyMass))
            }
            #expect(fat?.quantity.formatted() == "18.1 %" && lean?.quantity == Quantity(58.75, .kilogram))
            let steps = try store.read { try $0.statistics(of: .stepCount, from: .day(6), to: .day(7)) }
            #expect(steps.sum == 900)
        }
    }
}
