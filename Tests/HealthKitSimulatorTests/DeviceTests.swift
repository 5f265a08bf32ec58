import Foundation
import HealthKitSimulator
import TestSupport
import Testing

/// The controls of the simulator beyond HealthKit's rules.
@Suite struct DeviceTests {
    @Test(
        "Health data can be unavailable or restricted, and the nth call can fail before or after its effect"
    )
    func failures() async throws {
        let bench = try await Bench()
        bench.device.setAvailable(false)
        #expect(await code { _ = try await bench.changes() } == .errorHealthDataUnavailable)
        SimulatedApp.$current.withValue(bench.app) { #expect(!HKHealthStore.isHealthDataAvailable()) }
        bench.device.setAvailable(true)
        bench.device.setRestricted(true)
        #expect(await code { try await bench.store.save([bench.sample(70)]) } == .errorHealthDataRestricted)
        bench.device.setRestricted(false)
        bench.device.fail(.save, number: 2)
        bench.device.fail(.save, number: 3, code: .unknownError, afterEffect: true)
        try await bench.store.save([bench.sample(70)])
        #expect(await code { try await bench.store.save([bench.sample(71, at: 1)]) } == .unknownError)
        #expect(await code { try await bench.store.save([bench.sample(72, at: 2)]) } == .unknownError)
        #expect(try await bench.values() == [70, 72])
        #expect(bench.device.count(of: .save) == 4)
    }

    @Test("Two devices with one cloud converge, with UUIDs and sources; the greater version wins on both")
    func cloud() async throws {
        let here = try await Bench()
        let there = try await Bench()
        try await here.store.save([here.sample(70, sync: "a")])
        let cloud = SimulatedCloud([here.device, there.device])
        cloud.sync()
        #expect(try await there.values() == [70])
        try await there.store.save([there.sample(71, sync: "a", version: 2)])
        try await here.store.save([here.sample(60, at: 5)])
        cloud.sync()
        cloud.sync()
        func contents(_ bench: Bench) -> Set<SimulatedSample> { Set(bench.device.contents(of: Bench.weight)) }
        #expect(contents(here) == contents(there))
        #expect(try await here.values() == [71, 60])
        let mine = try #require(here.device.contents(of: Bench.weight).first { $0.value == 60 })
        there.device.userDeletes(mine.uuid)
        cloud.sync()
        #expect(try await here.values() == [71])
        #expect(contents(here) == contents(there))
    }

    @Test("Both devices converge even if the cloud delivers changes in parts and in any order")
    func cloudInParts() async throws {
        var random = SeededGenerator()
        let here = try await Bench()
        let there = try await Bench()
        let cloud = SimulatedCloud([here.device, there.device])
        for number in 0..<40 {
            let bench = random.chance(percent: 50) ? here : there
            let sync = "sync-\(random.number(0..<10))"
            try await bench.store.save([bench.sample(70, at: Double(number), sync: sync, version: number + 1)])
            if random.chance(percent: 20), let held = bench.device.contents(of: Bench.weight).first {
                #expect(bench.device.userDeletes(held.uuid).map(\.uuid) == [held.uuid])
                #expect(bench.device.userDeletes(held.uuid).isEmpty)
            }
            cloud.sync(percent: 30, using: &random)
        }
        cloud.sync()
        cloud.sync()
        let held = Set(here.device.contents(of: Bench.weight))
        #expect(held == Set(there.device.contents(of: Bench.weight)))
        #expect(!held.isEmpty)
    }

    @Test("A cloud that delivers a part keeps the rest for later")
    func partOfCloud() async throws {
        var random = SeededGenerator()
        let here = try await Bench()
        let there = try await Bench()
        let cloud = SimulatedCloud([here.device, there.device])
        try await here.store.save((0..<100).map { here.sample(70, at: Double($0)) })
        cloud.sync(percent: 50, using: &random)
        let arrived = there.device.contents(of: Bench.weight).count
        #expect((1..<100).contains(arrived))
        cloud.sync(percent: 0, using: &random)
        #expect(there.device.contents(of: Bench.weight).count == arrived)
        cloud.sync(percent: 100, using: &random)
        #expect(there.device.contents(of: Bench.weight).count == 100)
    }

    @Test("A rebuilt database holds the same samples, counts its anchors from the beginning, and has no deletions")
    func rebuiltDatabase() async throws {
        let bench = try await Bench()
        for number in 0..<5 { try await bench.store.save([bench.sample(70 + Double(number), at: Double(number))]) }
        let gone = try #require(bench.device.contents(of: Bench.weight).first)
        bench.device.userDeletes(gone.uuid)
        let held = Set(bench.device.contents(of: Bench.weight))
        let before = try await bench.changes()
        #expect(before.deletedObjects.count == 1)
        bench.device.rebuildDatabase()
        #expect(Set(bench.device.contents(of: Bench.weight)) == held)
        let after = try await bench.changes()
        #expect(after.addedSamples.count == 4)
        #expect(after.deletedObjects.isEmpty)
    }

    @Test(
        "A terminated app hears of changes only when it observes again or comes to the foreground"
    )
    func launchedAgain() async throws {
        var options = SimulationOptions()
        options.observerFiresAtStart = false
        let bench = try await Bench(options)
        let calls = Calls()
        bench.store.execute(calls.query([bench.weight]))
        bench.app.enterBackground()
        try bench.watch.record("BodyMass", 70, "kg", from: bench.at(0))
        #expect(calls.count == 0)
        bench.app.enterForeground()
        #expect(calls.count == 1)
        try await bench.store.enableBackgroundDelivery(for: bench.weight, frequency: .immediate)
        bench.app.terminate()
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(1))
        #expect(calls.count == 1)
        bench.app.launch(inForeground: false)
        bench.store.execute(calls.query([bench.weight]))
        #expect(calls.count == 2)
    }

    @Test("The user deletes all samples of a type, or those of one source")
    func userDeletesAll() async throws {
        let bench = try await Bench()
        try await bench.store.save([bench.sample(70)])
        for second in 1...3 { try bench.watch.record("BodyMass", 71, "kg", from: bench.at(Double(second))) }
        #expect(bench.device.userDeletesAll(of: Bench.weight, from: bench.watch.bundle) == 3)
        #expect(try await bench.values() == [70])
        #expect(bench.device.userDeletesAll(of: Bench.weight) == 1)
    }

    @Test("A reinstalled app keeps its samples and loses its grants")
    func reinstall() async throws {
        let bench = try await Bench()
        try await bench.store.save([bench.sample(70)])
        let again = bench.device.install(bundle: "app.weights", name: "Weights", version: "2.0").healthStore
        #expect(again.authorizationStatus(for: bench.weight) == .notDetermined)
        try await again.requestAuthorization(toShare: [bench.weight], read: [bench.weight])
        let all = HKQuery.predicateForSamples(withStart: nil, end: nil)
        #expect(try await again.deleteObjects(of: bench.weight, predicate: all) == 1)
    }

    @Test("The duration of a workout excludes pauses, and its statistics cover the samples that were added")
    func workout() async throws {
        let bench = try await Bench()
        let energy = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierActiveEnergyBurned"))
        try await bench.store.requestAuthorization(toShare: [HKObjectType.workoutType(), energy], read: [])
        let configuration = HKWorkoutConfiguration()
        configuration.activityType = .running
        let builder = HKWorkoutBuilder(healthStore: bench.store, configuration: configuration, device: nil)
        try await builder.beginCollection(at: bench.at(0))
        let burned = HKQuantitySample(
            type: energy, quantity: HKQuantity(unit: HKUnit(from: "kcal"), doubleValue: 312), start: bench.at(0),
            end: bench.at(1_800), device: nil, metadata: nil)
        try await builder.addSamples([burned])
        let pause = [(HKWorkoutEventType.pause, 600.0), (.resume, 660)].map { type, second in
            HKWorkoutEvent(
                type: type, dateInterval: DateInterval(start: bench.at(second), duration: 0), metadata: nil)
        }
        try await builder.addWorkoutEvents(pause)
        try await builder.endCollection(at: bench.at(1_800))
        let finished = try #require(try await builder.finishWorkout())
        let read = try await bench.changes(of: HKObjectType.workoutType()).addedSamples.first as? HKWorkout
        #expect(read?.uuid == finished.uuid)
        #expect(read?.duration == 1_740)
        #expect(read?.workoutActivityType == .running)
        let sum = read?.allStatistics[energy]?.sumQuantity()
        #expect(sum?.doubleValue(for: HKUnit(from: "kcal")) == 312)
    }
}
