import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// What is left in HealthKit by edits, deletions and saves that end midway.
@Suite("Pushing what is not a plain sample") struct HardPushTests {
    @Test("The deletion of a workout that ends between the workout and its totals is finished by the next try")
    func interruptedDeletion() async throws {
        let bench = try await PeerBench()
        var run = Sample.workout(
            .running, from: try bench.instant(-1_800), to: try bench.instant(0), energy: Quantity(312, .kilocalorie),
            distance: Quantity(5.2, .kilometer))
        (run.syncIdentifier, run.version) = ("run", 1)
        guard case .done(let idAtPeer) = await bench.save([run]).first else {
            Issue.record("it was not saved")
            return
        }
        // The first call deletes the workout, the second the first of its totals.
        bench.device.fail(.delete, number: 2)
        #expect(await bench.delete(run, idAtPeer: idAtPeer)?.isDone == false)
        bench.device.forgetFailures()
        #expect(await bench.delete(run, idAtPeer: idAtPeer)?.isDone == true)
        for type in [SampleType.workout, .activeEnergyBurned, .distanceWalkingRunning] {
            #expect(bench.contents(type).isEmpty, "\(type) is left in Health")
        }
    }

    @Test("C22: a deletion that takes its time takes no version that is saved meanwhile")
    func slowDeletion() async throws {
        let bench = try await PeerBench()
        let old = try bench.weight(70, "scale-1")
        #expect(await bench.save([old]).allSatisfy(\.isDone))
        bench.device.slow(.delete)
        let deletion = Task { await bench.delete(old) }
        while bench.device.hungCalls == 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(await bench.save([try bench.weight(71, "scale-1", version: 2)]).allSatisfy(\.isDone))
        bench.device.releaseHungCalls()
        #expect(await deletion.value?.isDone == true)
        #expect(bench.contents(.bodyMass).map(\.value) == [71])
    }

    @Test("An edit of a workout leaves no total in Health that the workout no longer has")
    func droppedTotal() async throws {
        let bench = try await PeerBench()
        var run = Sample.workout(
            .running, from: try bench.instant(-1_800), to: try bench.instant(0), energy: Quantity(312, .kilocalorie),
            distance: Quantity(5.2, .kilometer))
        (run.syncIdentifier, run.version) = ("run", 1)
        #expect(await bench.save([run]).allSatisfy(\.isDone))
        // The treadmill had measured nonsense: the distance goes.
        run.version = 2
        run.workout?.distance = nil
        #expect(await bench.save([run]).allSatisfy(\.isDone))
        #expect(bench.contents(.workout).count == 1)
        #expect(bench.contents(.activeEnergyBurned).map(\.value) == [312])
        #expect(bench.contents(.distanceWalkingRunning).isEmpty)
    }

    @Test("A4: members of a meal that have one sync identifier are known by ids of their own")
    func oneIdentifier() async throws {
        let bench = try await PeerBench()
        var meal = try bench.porridge(at: 0, version: 1)
        for index in meal.indices { meal[index].syncIdentifier = "log-17" }
        for (sample, outcome) in zip(meal, await bench.save(meal, group: meal)) {
            let shown = try #require(bench.contents(sample.type).first)
            #expect(outcome == .done(idAtPeer: SampleID(shown.uuid)))
        }
    }

    @Test("A meal that was moved to another time moves as a whole, and leaves nothing when it is deleted")
    func movedMeal() async throws {
        let bench = try await PeerBench()
        let first = try bench.porridge(at: -7_200, version: 1)
        #expect(await bench.save(first, group: first).allSatisfy(\.isDone))
        let moved = try bench.porridge(at: -3_600, version: 2)
        #expect(await bench.save(moved, group: moved).allSatisfy(\.isDone))
        #expect(bench.contents(.food).map(\.value) == [3])
        let start = try #require(bench.contents(.dietaryProtein).first).start
        #expect(bench.contents(.food).map(\.start) == [start])
        for sample in moved { #expect(await bench.delete(sample)?.isDone == true) }
        #expect(bench.contents(.food).isEmpty)
    }

    @Test("An edit of all amounts of a meal that stays at its time leaves its correlation as it is")
    func stayingMeal() async throws {
        let bench = try await PeerBench()
        let first = try bench.porridge(at: -7_200.123_456_789, version: 1)
        #expect(await bench.save(first, group: first).allSatisfy(\.isDone))
        let meal = try #require(bench.contents(.food).first).uuid
        let edited = try bench.porridge(at: -7_200.123_456_789, version: 2)
        #expect(await bench.save(edited, group: edited).allSatisfy(\.isDone))
        #expect(bench.contents(.food).map(\.uuid) == [meal])
    }

    @Test("Of two edits of one version the later ends in Health, also where the type is only sent")
    func ignoredEdits() async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.push)])
        let first = try await Phone(plan)
        try await first.begin()
        let ids = try (0..<16).map { try first.weigh(50 + Double($0), at: Double(-60 * ($0 + 1))).id }
        try await first.settle()
        #expect(first.health.count == 16)
        // Another device of the same person: both see one HealthKit, as through a cloud.
        let second = try await Phone(plan, clock: first.clock, device: first.device)
        try await second.begin()
        try await second.settle()
        #expect(try second.weights().count == 16)
        for (index, id) in ids.enumerated() { try first.edit(id, to: 60 + Double(index)) }
        first.clock.advance(by: 60)
        for (index, id) in ids.enumerated() { try second.edit(id, to: 80 + Double(index)) }
        try await first.engine.sync()
        try await second.engine.sync()
        for _ in 0..<2 {
            try await second.settle()
            try await first.settle()
        }
        // Nothing waits, and nothing is reported.
        #expect(try second.pending() == 0)
        #expect(first.health == (0..<16).map { 80 + Double($0) })
    }

    @Test("A save that fails once for no fault of its own does not divide a meal of many nutrients for ever")
    func dividedMeal() async throws {
        let bench = try await PeerBench()
        let types = SampleType.catalog.filter { $0.identifier.hasPrefix("HKQuantityTypeIdentifierDietary") }
        let grams = types.filter { $0.canonicalUnit == .gram }.sorted()
        try #require(grams.count > 25)
        try await bench.peer.requestAuthorization(AuthorizationRequest(read: Set(grams), write: Set(grams)))
        let nutrients = Dictionary(grams.map { ($0, Quantity(0.001, .gram)) }) { first, _ in first }
        let samples = Meal(id: "log-18", at: try bench.instant(0), more: nutrients).samples().map { sample in
            var sample = sample
            sample.version = 1
            return sample
        }
        bench.device.interrupt(.save)
        _ = await bench.save(samples, group: samples)
        _ = await bench.save(samples, group: samples)
        #expect(bench.contents(.food).map(\.value) == [Double(samples.count)])
    }
}
