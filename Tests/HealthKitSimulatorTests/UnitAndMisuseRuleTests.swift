import Foundation
import HealthKitSimulator
import Testing

/// Units, food, misuse, condensing and open ends (SEMANTICS A23 to A28).
@Suite struct UnitAndMisuseRuleTests {
    private func convert(_ value: Double, _ from: String, _ to: String) -> Double {
        HKQuantity(unit: HKUnit(from: from), doubleValue: value).doubleValue(for: HKUnit(from: to))
    }

    @Test("A23: units are case-sensitive; prefixes apply to metric atoms; a product binds before a division")
    func units() async throws {
        #expect(convert(1, "Cal", "cal") == 1_000)
        #expect(convert(1, "kcal", "Cal") == 1)
        #expect(abs(convert(1, "kcal", "kJ") - 4.184) < 1e-12)
        #expect(convert(100, "lb", "kg") == 45.359237)
        #expect(convert(0.25, "%", "%") == 0.25)
        #expect(convert(37, "degC", "degF").rounded() == 99)
        #expect(convert(60, "count/min", "count/s") == 1)
        #expect(convert(1, "mL/min·kg", "mL/(min·kg)") == 1)
        #expect(convert(1, "mcg", "g") == 1e-6)
        #expect(abs(convert(5, "mmol<180.1558800000541>/L", "mg/dL") - 90.0779) < 1e-3)
        #expect(convert(2, "m^2", "cm^2") == 20_000)
        for bad in ["", "KG", "klb", "kcall", "m/", "1", "m^0", "mol", "kkcal", "min·"] {
            let misuse = await SimulatedMisuse.recording { _ = HKUnit(from: bad) }
            #expect(misuse.count == 1, "\(bad)")
        }
    }

    @Test("A24: a sample that is read back does not keep the unit in which it was saved")
    func noOriginalUnit() async throws {
        let bench = try await Bench()
        try bench.watch.record("BodyMass", 100, "lb", from: bench.at(0))
        #expect(try await bench.values() == [45.359237])
    }

    @Test("A25: a greater version of a correlation from the cloud keeps its members", arguments: [true, false])
    func foodOfCloud(takesMembers: Bool) async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = takesMembers
        let (here, there) = (try await Bench(options), try await Bench(options))
        let food = HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood"))
        let protein = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierDietaryProtein"))
        func metadata(_ name: String, _ version: Int) -> [String: Any] {
            [HKMetadataKeySyncIdentifier: name, HKMetadataKeySyncVersion: NSNumber(value: version)]
        }
        for (version, bench) in [(1, here), (2, there)] {
            let member = HKQuantitySample(
                type: protein, quantity: HKQuantity(unit: HKUnit(from: "g"), doubleValue: Double(version)),
                start: bench.at(0), end: bench.at(0), device: nil, metadata: metadata("protein", version))
            let meal = HKCorrelation(
                type: food, start: bench.at(0), end: bench.at(0), objects: [member], device: nil,
                metadata: metadata("meal", version))
            try await bench.store.requestAuthorization(toShare: [protein], read: [protein])
            try await bench.store.save([meal])
        }
        let cloud = SimulatedCloud([here.device, there.device])
        cloud.sync()
        cloud.sync()
        for bench in [here, there] {
            #expect(bench.device.contents(of: protein.identifier).map(\.value) == [2])
            #expect(bench.device.contents(of: food.identifier).map(\.value) == [1])
        }
    }

    @Test("A25: a correlation that is saved twice keeps its members, even if deleting one deletes its members")
    func savedTwice() async throws {
        var options = SimulationOptions()
        (options.deletingCorrelationDeletesMembers, options.equalVersionReplaces) = (true, true)
        let bench = try await Bench(options)
        let food = HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood"))
        let protein = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierDietaryProtein"))
        try await bench.store.requestAuthorization(toShare: [protein], read: [protein])
        for _ in 0..<2 {
            let member = HKQuantitySample(
                type: protein, quantity: HKQuantity(unit: HKUnit(from: "g"), doubleValue: 20), start: bench.at(0),
                end: bench.at(0), device: nil,
                metadata: [HKMetadataKeySyncIdentifier: "protein", HKMetadataKeySyncVersion: NSNumber(value: 1)])
            let meal = HKCorrelation(
                type: food, start: bench.at(0), end: bench.at(0), objects: [member], device: nil,
                metadata: [HKMetadataKeySyncIdentifier: "meal", HKMetadataKeySyncVersion: NSNumber(value: 1)])
            try await bench.store.save([meal])
        }
        #expect(bench.device.contents(of: protein.identifier).map(\.value) == [20])
        let read = try await bench.changes(of: food).addedSamples.last as? HKCorrelation
        #expect(read?.objects.count == 1)
    }

    @Test(
        "A25: a food correlation groups nutrients and is found by them; deleting it may delete them or not",
        arguments: [true, false])
    func food(takesMembers: Bool) async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = takesMembers
        let bench = try await Bench(options)
        let food = HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood"))
        let types = ["DietaryProtein", "DietaryFiber"].map {
            HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifier\($0)"))
        }
        func meal() -> HKCorrelation {
            let members = types.map {
                HKQuantitySample(
                    type: $0, quantity: HKQuantity(unit: HKUnit(from: "g"), doubleValue: 8), start: bench.at(0),
                    end: bench.at(0), device: nil, metadata: nil)
            }
            return HKCorrelation(
                type: food, start: bench.at(0), end: bench.at(0), objects: Set(members), device: nil,
                metadata: ["HKFoodType": "Porridge"])
        }
        #expect(await code { try await bench.store.save([meal()]) } == .errorAuthorizationNotDetermined)
        try await bench.store.requestAuthorization(toShare: Set(types), read: Set(types))
        try await bench.store.save([meal()])
        let saved = try await bench.changes(of: food).addedSamples
        #expect((saved.first as? HKCorrelation)?.objects.count == 2)
        // An observer of a type is called for samples that are deleted with a correlation (A14).
        let calls = types.map { _ in Calls() }
        for (call, type) in zip(calls, types) { bench.store.execute(call.query([type])) }
        let before = calls.map(\.count)
        try await bench.store.delete(saved)
        #expect(zip(calls, before).map { $0.count - $1 } == (takesMembers ? [1, 1] : [0, 0]))
        #expect(bench.device.contents(of: types[0].identifier).count == (takesMembers ? 0 : 1))
        let misuse = await SimulatedMisuse.recording {
            try? await bench.store.requestAuthorization(toShare: [], read: [food])
        }
        #expect(misuse.count == 1)
    }

    @Test("A26: misuse raises an exception: units, durations, dates, metadata, types, usage strings")
    func misuse() async throws {
        let bench = try await Bench()
        let cases: [@Sendable () async throws -> Void] = [
            { _ = HKQuantity(unit: HKUnit(from: "kg"), doubleValue: 1).doubleValue(for: HKUnit(from: "m")) },
            { try bench.app.record("BodyMass", 1, "m", from: bench.at(0)) },
            { try bench.app.record("StepCount", 1, "count", from: bench.at(0), to: bench.at(345_601)) },
            { try bench.app.record("StepCount", 1, "count", from: bench.at(0), metadata: ["bad": [1]]) },
            { try bench.app.record("StepCount", 1, "count", from: bench.at(0), metadata: ["HKWasUserEntered": "yes"]) },
            { _ = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierMood")) },
            {
                let stand = HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifierAppleStandTime"))
                try await bench.store.requestAuthorization(toShare: [stand], read: [])
            },
            {
                bench.app.infoKeys = []
                try await bench.store.requestAuthorization(toShare: [], read: [bench.weight])
            },
        ]
        for (index, body) in cases.enumerated() {
            let found = await SimulatedMisuse.recording { try? await body() }
            #expect(found.count == 1, "case \(index): \(found)")
        }
    }

    @Test("A27: the system condenses samples: many deletions, one addition, and never a dip in the total")
    func condensing() async throws {
        let bench = try await Bench()
        for minute in 0..<5 {
            let start = Double(minute) * 60
            try bench.watch.record("StepCount", 10, "count", from: bench.at(start), to: bench.at(start + 60))
        }
        let anchor = try await bench.changes(of: bench.steps).newAnchor
        let taken = bench.device.condense(Bench.steps, of: bench.watch.bundle, from: bench.at(0), to: bench.at(300))
        #expect(taken == 5)
        let page = try await bench.changes(of: bench.steps, after: anchor)
        #expect(page.deletedObjects.count == 5)
        #expect((page.addedSamples.first as? HKQuantitySample)?.count == 5)
        #expect(try await bench.values(of: bench.steps) == [50])
    }

    @Test("A28: an end in the distant future means unknown, and bounds in the distant past saturate")
    func openEnd() async throws {
        let bench = try await Bench()
        try bench.watch.record("BodyMass", 70, "kg", from: bench.at(0), to: .distantFuture)
        let everything = HKQuery.predicateForSamples(withStart: .distantPast, end: .distantFuture)
        #expect(try await bench.values(of: bench.weight, everything) == [70])
        #expect(try await bench.changes().addedSamples.first?.hasUndeterminedDuration == true)
    }
}
