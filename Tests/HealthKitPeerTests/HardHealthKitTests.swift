import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// The adapter and the engine where HealthKit is at its hardest: journals, limits, calls that fail halfway, sources
/// that change.
@Suite struct HardHealthKitTests {
    private func phone(_ change: (inout SimulationOptions) -> Void, _ plan: SyncPlan = .weightTracker) async throws
        -> Phone
    {
        var options = SimulationOptions()
        change(&options)
        let clock = SimulatedClock()
        return try await Phone(plan, clock: clock, device: SimulatedDevice(clock: clock, options: options))
    }

    @Test(
        "A16: an entry, its edit and a deletion that are made while the device is locked end alike on both sides",
        arguments: [true, false])
    func locked(journals: Bool) async throws {
        let phone = try await phone { $0.journalsWhileLocked = journals }
        try await phone.begin()
        let (kept, deleted) = (try phone.weigh(70), try phone.weigh(80, at: 60))
        try await phone.settle()
        phone.device.lock()
        let fresh = try phone.weigh(90, at: 120)
        try phone.edit(kept.id, to: 71)
        try await phone.settle()
        try phone.edit(fresh.id, to: 91)
        try await phone.store.write { _ = try $0.delete(id: deleted.id) }
        try await phone.settle()
        phone.device.unlock()
        try await phone.settle()
        #expect(phone.health == [71, 91])
        #expect(try phone.weights() == [71, 91])
        #expect(try phone.pending() == 0)
    }

    @Test(
        "A16: a greater version that came while the device was locked wins over what its journal holds",
        arguments: [true, false])
    func journalLoses(journals: Bool) async throws {
        let phone = try await phone { $0.journalsWhileLocked = journals }
        try await phone.begin()
        let sample = try phone.weigh(70)
        try await phone.settle()
        let other = SimulatedDevice(clock: phone.clock)
        let there = other.install(bundle: phone.app.bundle, name: "Weights")
        let cloud = SimulatedCloud([phone.device, other])
        phone.device.lock()
        try phone.edit(sample.id, to: 71)
        try await phone.settle()
        let number = PeerNumber.next(version: 5, ChangeClock(time: sample.start, replica: 1), above: 0)
        try there.record(
            "BodyMass", 75, "kg", from: sample.start.date,
            metadata: [HKMetadataKeySyncIdentifier: sample.id.description, HKMetadataKeySyncVersion: number])
        cloud.sync()
        phone.device.unlock()
        try await phone.settle()
        #expect(phone.health == [75])
        #expect(try phone.weights() == [75])
        #expect(try phone.pending() == 0)
    }

    @Test("A2: more entries than a save takes arrive in several saves", arguments: [true, false])
    func largestSave(interrupts: Bool) async throws {
        let phone = try await phone {
            $0.largestSave = 30
            $0.oversizeInterrupts = interrupts
        }
        try await phone.begin()
        for index in 0..<120 { try phone.weigh(60 + Double(index), at: Double(index)) }
        try await phone.engine.sync()
        #expect(phone.health.count == 120)
        #expect(try phone.pending() == 0)
        #expect(phone.device.count(of: .save) < 16)
    }

    @Test(
        "A save that is interrupted, before or after its effect, doubles and loses nothing", arguments: [true, false])
    func interrupted(afterEffect: Bool) async throws {
        let phone = try await phone { _ in }
        try await phone.begin()
        phone.device.interrupt(.save, afterEffect: afterEffect)
        phone.device.interrupt(.changes, number: 2)
        let sample = try phone.weigh(70)
        try await phone.settle()
        phone.device.interrupt(.delete, afterEffect: afterEffect)
        try phone.edit(sample.id, to: 71)
        try await phone.settle()
        #expect(phone.health == [71])
        try await phone.store.write { _ = try $0.delete(id: sample.id) }
        try await phone.settle()
        #expect(phone.health.isEmpty)
        #expect(try phone.pending() == 0)
    }

    @Test(
        "A save that does not return is of unknown outcome once it ends, and is not doubled", arguments: [true, false])
    func hung(afterEffect: Bool) async throws {
        let bench = try await PeerBench()
        bench.device.hang(.save, afterEffect: afterEffect)
        let sample = try bench.weight(70, "w")
        let push = Task { await bench.save([sample]) }
        while bench.device.hungCalls == 0 { await Task.yield() }
        // Other calls go on meanwhile.
        #expect(try await bench.pullAll(.bodyMass).added.count == (afterEffect ? 1 : 0))
        bench.device.releaseHungCalls()
        guard case .unknown = await push.value.first else {
            Issue.record("the outcome is known")
            return
        }
        #expect(await bench.save([sample]).allSatisfy(\.isDone))
        #expect(bench.contents(.bodyMass).count == 1)
    }

    @Test(
        "A12: deletions from before the horizon are told or not, and both sides agree on what lies behind it",
        arguments: [true, false])
    func deletionsIgnorePredicates(ignore: Bool) async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .days(1))])
        let phone = try await phone({ $0.deletionsIgnorePredicates = ignore }, plan)
        let old = try phone.watch.record("BodyMass", 50, "kg", from: phone.clock.now.addingTimeInterval(-900_000))
        let new = try phone.watch.record("BodyMass", 51, "kg", from: phone.clock.now.addingTimeInterval(-900))
        try await phone.begin()
        try phone.weigh(70)
        try await phone.settle()
        #expect(try phone.weights() == [51, 70])
        phone.device.userDeletes(old)
        phone.device.userDeletes(new)
        try await phone.settle()
        #expect(try phone.weights() == [70])
        #expect(phone.health == [70])
    }

    @Test(
        "C31, C33: sources that are renamed, this app's too, double nothing and lose no edit", arguments: [true, false])
    func renamed(follow: Bool) async throws {
        let phone = try await phone { $0.samplesFollowSourceName = follow }
        try await phone.begin()
        let own = try phone.weigh(70)
        try phone.watch.record("BodyMass", 80, "kg", from: phone.clock.now.addingTimeInterval(60))
        try await phone.settle()
        phone.device.rename(phone.watch, to: "Uhr")
        phone.device.rename(phone.app, to: "Gewichte")
        try phone.watch.record("BodyMass", 81, "kg", from: phone.clock.now.addingTimeInterval(120))
        // Reads the feed from its beginning.
        try await phone.engine.authorize("HealthKit", .all)
        try await phone.settle()
        #expect(try phone.weights() == [70, 80, 81])
        try phone.edit(own.id, to: 71)
        try await phone.settle()
        #expect(phone.health == [71, 80, 81])
        #expect(try phone.weights() == [71, 80, 81])
        let saves = phone.device.count(of: .save)
        try await phone.engine.authorize("HealthKit", .all)
        try await phone.settle()
        #expect(phone.device.count(of: .save) == saves)
    }

    @Test("What an extension saved is this app's, whichever source HealthKit gives it", arguments: [true, false])
    func extensions(ownSource: Bool) async throws {
        var options = SimulationOptions()
        options.extensionsAreOwnSources = ownSource
        let bench = try await PeerBench(options)
        let widget = bench.device.installExtension(of: bench.app, suffix: "widget", name: "Widget")
        let widgetPeer = HealthKitPeer(
            store: widget.healthStore, source: widget.source, extensions: [], hasInfoKey: { _ in true })
        let app = bench.app
        let peer = HealthKitPeer(
            store: app.healthStore, source: app.source, extensions: ["app.weights.widget"], hasInfoKey: { _ in true })
        let sample = try bench.weight(70, "w")
        #expect(await widgetPeer.push([PushOperation(sequence: 0, kind: .save(sample))]).allSatisfy(\.isDone))
        let page = try await peer.pull(PullRequest(type: .bodyMass, limit: 10))
        #expect(page.additions.map(\.isOwn) == [true])
        // Only who wrote it replaces it; the edit is there beside it otherwise, and none is taken for another app's.
        let edit = try bench.weight(71, "w", version: 2)
        #expect(await peer.push([PushOperation(sequence: 0, kind: .save(edit))]).allSatisfy(\.isDone))
        #expect(bench.contents(.bodyMass).map(\.value).sorted() == (ownSource ? [70, 71] : [71]))
        let all = try await peer.pull(PullRequest(type: .bodyMass, limit: 10))
        #expect(!all.additions.map(\.isOwn).contains(false))
    }
}
