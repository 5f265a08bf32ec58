import Foundation
import HealthKitSimulator
import Testing

/// Saving, replacing and deleting (SEMANTICS A1 to A11).
@Suite struct ObjectRuleTests {
    @Test("A1: samples end no earlier than they start, and the store stamps the source revision")
    func stamped() async throws {
        let bench = try await Bench()
        let misuse = await SimulatedMisuse.recording {
            _ = HKQuantitySample(
                type: bench.weight, quantity: HKQuantity(unit: HKUnit(from: "kg"), doubleValue: 70), start: bench.at(1),
                end: bench.at(0), device: nil, metadata: nil)
        }
        #expect(misuse.count == 1)
        try await bench.store.save([bench.sample(70)])
        let read = try await bench.changes().addedSamples[0]
        #expect(read.sourceRevision.source == bench.app.source)
        #expect(read.sourceRevision.version == "1.0")
    }

    @Test("A2: a save of several objects is all or nothing; a repeated UUID or too early a date is refused")
    func allOrNothing() async throws {
        let bench = try await Bench()
        let first = bench.sample(70)
        try await bench.store.save([first])
        #expect(await code { try await bench.store.save([bench.sample(71), first]) } == .errorInvalidArgument)
        bench.device.earliestPermittedDate = bench.at(-10)
        let early = bench.sample(69, at: -11)
        #expect(await code { try await bench.store.save([bench.sample(71), early]) } == .errorInvalidArgument)
        #expect(try await bench.values() == [70])
        #expect(bench.store.earliestPermittedSampleDate() == bench.at(-10))
    }

    @Test("A3: sync identifier and sync version appear together or not at all")
    func syncKeysTogether() async throws {
        let misuse = await SimulatedMisuse.recording {
            for metadata: [String: Any] in [
                [HKMetadataKeySyncIdentifier: "a"], [HKMetadataKeySyncVersion: 1],
                [HKMetadataKeySyncIdentifier: 5, HKMetadataKeySyncVersion: 1],
            ] {
                _ = HKCategorySample(
                    type: HKCategoryType(HKCategoryTypeIdentifier(rawValue: "HKCategoryTypeIdentifierSleepAnalysis")),
                    value: 3, start: Date(), end: Date(), device: nil, metadata: metadata)
            }
        }
        #expect(misuse.count == 3)
    }

    @Test("A4: two apps and two types with one sync identifier never collide")
    func keysDoNotCollide() async throws {
        let bench = try await Bench()
        let metadata: [String: Any] = [HKMetadataKeySyncIdentifier: "a", HKMetadataKeySyncVersion: 1]
        try await bench.store.save([bench.sample(70, sync: "a")])
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(1), metadata: metadata)
        try bench.app.record("StepCount", 5, "count", from: bench.at(0), metadata: metadata)
        #expect(try await bench.values() == [70, 71])
        #expect(try await bench.values(of: bench.steps) == [5])
    }

    @Test("A5: a greater version replaces the sample, in correlations and workouts too")
    func greaterVersionReplaces() async throws {
        let bench = try await Bench()
        let energy = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierDietaryEnergyConsumed"))
        try await bench.store.requestAuthorization(toShare: [energy], read: [energy])
        func part(_ version: Int, _ value: Double) -> HKQuantitySample {
            HKQuantitySample(
                type: energy, quantity: HKQuantity(unit: HKUnit(from: "kcal"), doubleValue: value), start: bench.at(0),
                end: bench.at(0), device: nil,
                metadata: [HKMetadataKeySyncIdentifier: "e", HKMetadataKeySyncVersion: version])
        }
        let food = HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood"))
        let meal = HKCorrelation(
            type: food, start: bench.at(0), end: bench.at(0), objects: [part(1, 300)], device: nil, metadata: nil)
        try await bench.store.save([meal])
        let newer = part(2, 310)
        try await bench.store.save([newer])
        let read = try await bench.changes(of: food).addedSamples.first as? HKCorrelation
        #expect(read?.objects.map(\.uuid) == [newer.uuid])
        #expect(bench.device.contents(of: energy.identifier).map(\.value) == [310])
    }

    @Test("A6: a lower version is not inserted, and the save reports success")
    func lowerVersionIsSkipped() async throws {
        let bench = try await Bench()
        try await bench.store.save([bench.sample(70, sync: "a", version: 5)])
        try await bench.store.save([bench.sample(60, sync: "a", version: 4)])
        #expect(try await bench.values() == [70])
    }

    @Test("A7: of equal versions one is kept; Apple leaves open which one", arguments: [false, true])
    func equalVersion(replaces: Bool) async throws {
        var options = SimulationOptions()
        options.equalVersionReplaces = replaces
        let bench = try await Bench(options)
        try await bench.store.save([bench.sample(70, sync: "a")])
        try await bench.store.save([bench.sample(60, sync: "a")])
        #expect(try await bench.values() == [replaces ? 60 : 70])
    }

    @Test("A8: a replacement appears as one addition and one deletion, with a new UUID and the same sync identifier")
    func replacementIsAddedAndDeleted() async throws {
        let bench = try await Bench()
        let first = bench.sample(70, sync: "a")
        try await bench.store.save([first])
        let anchor = try await bench.changes().newAnchor
        let second = bench.sample(71, sync: "a", version: 2)
        try await bench.store.save([second])
        let page = try await bench.changes(after: anchor)
        #expect(page.addedSamples.map(\.uuid) == [second.uuid])
        #expect(page.deletedObjects.map(\.uuid) == [first.uuid])
        #expect(page.deletedObjects.first?.metadata?[HKMetadataKeySyncIdentifier] as? String == "a")
    }

    @Test("A9: after a deletion, any version is inserted again")
    func deletionForgetsTheVersion() async throws {
        let bench = try await Bench()
        let sample = bench.sample(70, sync: "a", version: 9)
        try await bench.store.save([sample])
        try await bench.store.delete([sample])
        try await bench.store.save([bench.sample(60, sync: "a", version: 1)])
        #expect(try await bench.values() == [60])
    }

    @Test("A10: an app can delete only its own objects, and an empty list is refused")
    func onlyOwnObjects() async throws {
        let bench = try await Bench()
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(0))
        let foreign = try await bench.changes().addedSamples
        #expect(await code { try await bench.store.delete(foreign) } == .errorInvalidArgument)
        #expect(await code { try await bench.store.delete([]) } == .errorInvalidArgument)
        try await bench.store.save([bench.sample(70, at: 5)])
        let all = HKQuery.predicateForSamples(withStart: nil, end: nil)
        #expect(try await bench.store.deleteObjects(of: bench.weight, predicate: all) == 1)
        #expect(try await bench.values() == [71])
    }

    @Test("A11: a deleted object keeps at most the sync keys, and is purged after some time")
    func deletedObjects() async throws {
        let bench = try await Bench()
        try await bench.store.save([bench.sample(70, sync: "a"), bench.sample(71)])
        let anchor = try await bench.changes(limit: nil).newAnchor
        let samples = try await bench.changes().addedSamples
        try await bench.store.delete(samples)
        let deleted = try await bench.changes(after: anchor).deletedObjects
        #expect(
            deleted.map { $0.metadata?.keys.sorted() } == [
                [HKMetadataKeySyncIdentifier, HKMetadataKeySyncVersion], nil,
            ])
        bench.device.purgeDeletions()
        #expect(try await bench.changes(after: anchor).deletedObjects.isEmpty)
    }
}
