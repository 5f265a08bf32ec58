import Foundation
import HealthKitSimulator
import Testing

/// Behaviour that Apple leaves open, or that is not caused by the app's calls; both settings of each option (SEMANTICS
/// A2, A10, A12, A16).
@Suite struct OpenRuleTests {
    private func options(_ change: (inout SimulationOptions) -> Void) -> SimulationOptions {
        var options = SimulationOptions()
        change(&options)
        return options
    }

    private func recent(_ bench: Bench, after anchor: HKQueryAnchor?) async throws
        -> HKAnchoredObjectQueryDescriptor<HKSample>.Result
    {
        let predicate = HKQuery.predicateForSamples(withStart: bench.at(-100), end: nil, options: .strictStartDate)
        return try await HKAnchoredObjectQueryDescriptor(
            predicates: [.sample(type: bench.weight, predicate: predicate)], anchor: anchor
        ).result(for: bench.store)
    }

    @Test("A12: Apple leaves open whether a predicate applies to deleted objects", arguments: [true, false])
    func deletionsIgnorePredicates(ignore: Bool) async throws {
        let bench = try await Bench(options { $0.deletionsIgnorePredicates = ignore })
        let old = bench.sample(70, at: -1_000)
        try await bench.store.save([old])
        let page = try await recent(bench, after: nil)
        #expect(page.addedSamples.isEmpty)
        try await bench.store.delete([old])
        #expect(try await recent(bench, after: page.newAnchor).deletedObjects.count == (ignore ? 1 : 0))
    }

    @Test(
        "A16: a sample saved while locked meets sync identifiers at unlocking, or at once", arguments: [true, false])
    func journal(journals: Bool) async throws {
        let bench = try await Bench(options { $0.journalsWhileLocked = journals })
        bench.device.lock()
        try await bench.store.save([bench.sample(70, sync: "a", version: 2)])
        try await bench.store.save([bench.sample(60, sync: "a", version: 1)])
        try await bench.store.save([bench.sample(71, at: 1)])
        // Meanwhile the cloud delivers a greater version.
        let other = SimulatedDevice(clock: bench.clock)
        let there = other.install(bundle: bench.app.bundle, name: "Weights")
        let cloud = SimulatedCloud([bench.device, other])
        try there.record(
            "BodyMass", 72, "kg", from: bench.at(0),
            metadata: [HKMetadataKeySyncIdentifier: "a", HKMetadataKeySyncVersion: 3])
        cloud.sync()
        #expect(bench.device.contents(of: Bench.weight).map(\.value).sorted() == [71, 72])
        bench.device.unlock()
        #expect(try await bench.values() == [72, 71])
        // A sample that lost in the journal never reached the database; one that lost in the database was deleted
        // there.
        #expect(try await bench.changes().deletedObjects.count == (journals ? 0 : 1))
    }

    @Test(
        "A2: a save of too many objects fails as a whole, with an error of its own or a broken connection",
        arguments: [true, false])
    func tooLarge(interrupts: Bool) async throws {
        let bench = try await Bench(
            options {
                $0.largestSave = 3
                $0.oversizeInterrupts = interrupts
            })
        let found = await code { try await bench.store.save((0..<4).map { bench.sample(70, at: Double($0)) }) }
        #expect(found == (interrupts ? nil : .errorDataSizeExceeded))
        #expect(try await bench.values().isEmpty)
        try await bench.store.save((0..<3).map { bench.sample(70, at: Double($0)) })
        #expect(try await bench.values().count == 3)
    }

    @Test(
        "An interrupted call may have had its effect, and its error is not one of HealthKit's",
        arguments: [true, false])
    func interrupted(afterEffect: Bool) async throws {
        let bench = try await Bench()
        bench.device.interrupt(.save, afterEffect: afterEffect)
        await #expect(throws: NSError.self) { try await bench.store.save([bench.sample(70)]) }
        #expect(try await bench.values() == (afterEffect ? [70] : []))
    }

    @Test("A hanging call does not return when its task is cancelled, and others proceed") func hung() async throws {
        let bench = try await Bench()
        bench.device.hang(.save)
        let call = Task { try await bench.store.save([bench.sample(70)]) }
        while bench.device.hungCalls == 0 { await Task.yield() }
        call.cancel()
        try await bench.store.save([bench.sample(71)])
        #expect(bench.device.hungCalls == 1)
        bench.device.releaseHungCalls()
        await #expect(throws: NSError.self) { try await call.value }
        #expect(try await bench.values() == [71])
    }

    @Test("A10: Apple leaves open whether deleting requires permission to share", arguments: [true, false])
    func deletingNeedsSharing(needs: Bool) async throws {
        let bench = try await Bench(options { $0.deletingNeedsSharing = needs })
        let sample = bench.sample(70)
        try await bench.store.save([sample])
        bench.device.setAccess(of: bench.app, to: Bench.weight, sharing: .denied)
        #expect(await code { try await bench.store.delete([sample]) } == (needs ? .errorAuthorizationDenied : nil))
        #expect(try await bench.values() == (needs ? [70] : []))
    }

    @Test("A2: Apple leaves open whether the earliest permitted date bounds starts or ends", arguments: [true, false])
    func earliestDate(boundsStarts: Bool) async throws {
        let bench = try await Bench(options { $0.earliestDateBoundsStarts = boundsStarts })
        bench.device.earliestPermittedDate = bench.at(-10)
        let steps = HKQuantitySample(
            type: bench.steps, quantity: HKQuantity(unit: HKUnit(from: "count"), doubleValue: 5), start: bench.at(-20),
            end: bench.at(0), device: nil, metadata: nil)
        #expect(await code { try await bench.store.save([steps]) } == (boundsStarts ? .errorInvalidArgument : nil))
    }

    @Test(
        "A renamed source keeps its bundle; Apple leaves open whether its older samples show the new name",
        arguments: [true, false])
    func renamed(follow: Bool) async throws {
        let bench = try await Bench(options { $0.samplesFollowSourceName = follow })
        try bench.watch.record("BodyMass", 70, "kg", from: bench.at(0))
        bench.device.rename(bench.watch, to: "Uhr")
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(1))
        let sources = try await bench.changes().addedSamples.map(\.sourceRevision.source)
        #expect(sources.map(\.name) == [follow ? "Uhr" : "Watch", "Uhr"])
        #expect(Set(sources.map(\.bundleIdentifier)) == [bench.watch.bundle])
    }

    @Test("An extension has the grants of its app; Apple leaves open which source it has", arguments: [true, false])
    func extensions(ownSource: Bool) async throws {
        let bench = try await Bench(options { $0.extensionsAreOwnSources = ownSource })
        let widget = bench.device.installExtension(of: bench.app, suffix: "widget", name: "Widget")
        try await widget.healthStore.save([bench.sample(70)])
        let read = try await bench.changes().addedSamples
        let bundle = ownSource ? "app.weights.widget" : "app.weights"
        #expect(read.map(\.sourceRevision.source.bundleIdentifier) == [bundle])
        let refused = await code { try await bench.store.delete(read) }
        #expect(refused == (ownSource ? .errorInvalidArgument : nil))
    }
}
