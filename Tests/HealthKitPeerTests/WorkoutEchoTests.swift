import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// HealthKit derives a workout's duration from its span and the recorded pauses; the app's own value is never lost to
/// that (SEMANTICS C25).
@Suite struct WorkoutEchoTests {
    private static let plan = SyncPlan(types: [.workout: TypePlan(.both), .bodyMass: TypePlan(.both)])

    private func run(on phone: Phone, lasting seconds: Double, withActivity: Bool = true) throws -> Sample {
        var run = Sample.workout(
            .running, from: try phone.at(-3_600), to: try phone.at(0), duration: seconds,
            distance: Quantity(5.2, .kilometer))
        let whole = WorkoutActivity(.running, from: run.start, to: run.end)
        run.workout?.activities = withActivity ? [whole] : []
        try phone.store.write { [run] txn in _ = try txn.save(run) }
        return run
    }

    private func held(_ id: SampleID, on phone: Phone) throws -> Sample? {
        try phone.store.read { try $0.sample(id: id) }
    }

    /// Waits until the store and HealthKit have been at rest for a while; returns the numbers of commits and saves
    /// then.
    private func rest(_ phone: Phone) async throws -> (commit: UInt64, saves: Int) {
        var (last, rests) = ((commit: UInt64(0), saves: 0), 0)
        for _ in 0..<2_000 where rests < 20 {
            try await Task.sleep(for: .milliseconds(50))
            let now = (commit: try phone.store.info().commit, saves: phone.device.count(of: .save))
            (last, rests) = (now, now == last ? rests + 1 : 0)
        }
        return last
    }

    @Test(
        "C25: a workout that is shorter or longer than its span is sent once, and its echo changes nothing while the engine runs",
        arguments: [1_800.0, 3_600, 5_400])
    func echo(lasting seconds: Double) async throws {
        let phone = try await Phone(Self.plan)
        try await phone.begin()
        phone.engine.start()
        let sample = try run(on: phone, lasting: seconds)
        while phone.device.count(of: .save) == 0 { try await Task.sleep(for: .milliseconds(5)) }
        let before = try await rest(phone)
        try await phone.engine.sync()
        let after = try await rest(phone)
        try await Task.sleep(for: .milliseconds(300))
        #expect(try phone.store.info().commit == after.commit)
        await phone.engine.stop()
        #expect(before.saves == 1)
        #expect(after.saves == 1)
        let held = try #require(try held(sample.id, on: phone))
        #expect(held.duration == seconds)
        #expect(held.version == 1)
        #expect(held.workout == sample.workout)
        #expect(try phone.pending() == 0)
        #expect(
            try phone.store.blockingRead { try $0.link(peer: "HealthKit", sample: sample.id) }?.isProvisional == false)
    }

    @Test("C25: an edit of the duration alone reaches HealthKit, and a reinstalled app finds the app's own value again")
    func editedDuration() async throws {
        let phone = try await Phone(Self.plan)
        try await phone.begin()
        let sample = try run(on: phone, lasting: 1_800)
        try await phone.settle()
        var edited = try #require(try held(sample.id, on: phone))
        (edited.quantity.value, edited.version) = (1_700, 0)
        try await phone.store.write { [edited] txn in _ = try txn.save(edited) }
        try await phone.settle()
        #expect(phone.device.count(of: .save) == 2)
        #expect(try held(sample.id, on: phone)?.duration == 1_700)
        let second = try await Phone(Self.plan, clock: phone.clock, device: phone.device)
        try await second.begin()
        try await second.settle()
        #expect(try held(sample.id, on: second)?.duration == 1_700)
        #expect(second.device.count(of: .save) == 2)
    }

    @Test(
        "C25: content that comes back with a greater version, as HealthKit stores it, changes no content here",
        arguments: [true, false])
    func raisedEcho(withActivity: Bool) async throws {
        let phone = try await Phone(Self.plan)
        phone.device.options.addsWorkoutActivity = !withActivity
        try await phone.begin()
        let sample = try run(on: phone, lasting: 1_800, withActivity: withActivity)
        try await phone.settle()
        // Another device sends what it holds again, under the number of a second version.
        var again = try #require(try held(sample.id, on: phone))
        again.version = PeerNumber.next(version: 2, ChangeClock(time: sample.start, replica: 1), above: 0)
        again.syncIdentifier = sample.id.description
        let outcomes = await PeerBench.peer(of: phone.app).push([PushOperation(sequence: 1, kind: .save(again))])
        #expect(outcomes.map(\.isDone) == [true])
        try await phone.settle()
        let held = try #require(try held(sample.id, on: phone))
        #expect(held.workout == sample.workout)
        #expect(held.duration == 1_800)
        #expect(phone.device.count(of: .save) == 2)
    }

    @Test(
        "C25: the activity that HealthKit adds to a workout without any is no edit, whether or not totals may be written",
        arguments: [true, false])
    func addedActivity(isDenied: Bool) async throws {
        let phone = try await Phone(Self.plan)
        phone.device.options.addsWorkoutActivity = true
        try await phone.begin()
        if isDenied {
            phone.device.setAccess(
                of: phone.app, to: SampleType.distanceWalkingRunning.identifier, reading: nil, sharing: .denied)
        }
        let run = Sample.workout(
            .running, from: try phone.at(-3_600), to: try phone.at(0), duration: 1_800,
            distance: Quantity(5.2, .kilometer))
        try await phone.store.write { txn in _ = try txn.save(run) }
        try await phone.settle()
        var edited = try #require(try held(run.id, on: phone))
        (edited.quantity.value, edited.version) = (1_700, 0)
        try await phone.store.write { [edited] txn in _ = try txn.save(edited) }
        for _ in 0..<4 {
            try await phone.settle()
            phone.clock.advance(by: 7_200)
        }
        #expect(phone.device.count(of: .save) == 2)
        let held = try #require(try held(run.id, on: phone))
        #expect(held.workout == run.workout && held.duration == 1_700)
    }
}
