import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

/// Operations whose outcome is unknown, whose answer was lost, or whose sample changes while they wait.
@Suite("The queue: lost answers, late versions, members that wait")
struct QueueHazardTests {
    private static let sending = SyncPlan(types: [.bodyMass: TypePlan(.push)])

    /// Lets every operation end as unknown without being done, and returns what was to be saved last.
    private func loseAnswers(of bench: Bench) -> LastSent {
        let last = LastSent()
        bench.health.set(refusal: { operation in
            if case .save(let sample) = operation.kind { last.set(sample) }
            return .unknown(reason: "timed out")
        })
        return last
    }

    @Test("C34: the echo of our own deletion, whose answer was lost, does not take back the undeletion")
    func undeletedAfterLostAnswer() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        // The link is confirmed.
        try await bench.sync()
        let theirs = try #require(bench.health.live.first?.sample.id)
        _ = loseAnswers(of: bench)
        try bench.write { _ = try $0.delete(id: sample.id) }
        try await bench.sync()
        #expect(try bench.pending.map(\.isSent) == [true])
        // The call was carried out all the same.
        bench.health.delete(theirs)
        bench.health.set(refusal: nil)
        try bench.write { txn in
            let back = try txn.undelete(id: sample.id)
            #expect(back != nil)
        }
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights == [72])
        #expect(bench.held == [72])
        try bench.finish()
    }

    /// The number that was deleted is the one under which the waiting save was sent.
    @Test("C22: edits win, but a save that was only tried again is no edit: a deletion in Health stays")
    func retriedSaveIsNoEdit() async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.conflicts = .editWins
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let last = loseAnswers(of: bench)
        let sample = Sample(.bodyMass, 72, .kilogram, at: bench.time(0), syncIdentifier: "entry-1")
        try bench.write { _ = try $0.save(sample) }
        try await bench.sync()
        let theirs = bench.health.save(try #require(last.value), app: "app")
        bench.health.delete(theirs)
        bench.health.set(refusal: nil)
        for _ in 0..<2 { try await bench.sync() }
        #expect(bench.held.isEmpty)
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }

    @Test("What another store brought, and Health has from a cloud, leaves Health when it is deleted here")
    func receivedAndDeleted() async throws {
        let (first, sample) = try await Bench.withOneWeight()
        let shown = try #require(first.health.live.first?.sample)
        let brought = try #require(try first.store.blockingRead { try $0.sample(id: sample.id) })
        let second = try Bench(Self.sending)
        try await second.engine.enable(second.peer)
        try await second.sync()
        // The cloud of the database is faster than the push.
        second.health.save(shown, app: "app")
        try second.write { txn in
            try txn.receiving(from: "hub") { _ = try $0.merge(brought) }
        }
        #expect(try second.pending.map(\.kind) == [.save])
        try second.write { _ = try $0.delete(id: sample.id) }
        for _ in 0..<3 { try await second.sync() }
        #expect(try second.weights.isEmpty)
        #expect(second.held.isEmpty)
        try first.finish()
        try second.finish()
    }

    @Test("A sample whose uncertain save was discarded leaves Health when it is deleted")
    func discardedAndDeleted() async throws {
        let bench = try Bench(Self.sending)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let last = loseAnswers(of: bench)
        let sample = try bench.save(72)
        try await bench.sync()
        bench.health.save(try #require(last.value), app: "app")
        bench.health.set(refusal: nil)
        let waiting = try #require(try bench.pending.first)
        #expect(waiting.isSent)
        #expect(try await bench.engine.discard(waiting.id))
        try bench.write { _ = try $0.delete(id: sample.id) }
        for _ in 0..<3 { try await bench.sync() }
        #expect(bench.held.isEmpty)
        try bench.finish()
    }

    @Test("A refused nutrient of a type that left the plan does not keep the others of its meal waiting")
    func quarantinedMateOfDroppedType() async throws {
        let bench = try Bench(
            SyncPlan(types: [.dietaryProtein: TypePlan(.both), .dietaryFiber: TypePlan(.both)]))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let protein = Sample(.dietaryProtein, 11, .gram, at: bench.time(0), group: "log-1")
        let fiber = Sample(.dietaryFiber, 8, .gram, at: bench.time(0), group: "log-1")
        try bench.write { txn in for sample in [protein, fiber] { _ = try txn.save(sample) } }
        bench.health.set(refusal: { $0.type == .dietaryFiber ? .unknown(reason: "timed out") : nil })
        try await bench.sync()
        bench.health.set(refusal: { $0.type == .dietaryFiber ? .refused(reason: "not taken") : nil })
        try await bench.sync()
        #expect(bench.held == [11])
        #expect(try bench.pending.map(\.state) == [.quarantined])
        bench.health.set(refusal: nil)

        let narrower = try bench.restarted(SyncPlan(types: [.dietaryProtein: TypePlan(.both)]))
        let edit = Sample(.dietaryProtein, 12, .gram, at: bench.time(0), id: protein.id, group: "log-1")
        try bench.write { _ = try $0.save(edit) }
        for _ in 0..<3 { try await narrower.sync() }
        #expect(try bench.pending.filter { $0.sample == protein.id }.isEmpty)
        #expect(bench.held == [12])
        try bench.finish()
    }

    @Test(
        "What the feed told while a type was only sent is imported once the type is pulled again",
        arguments: [TypePlan.Horizon.all, .days(3_650)])
    func passedWhileOnlySent(_ horizon: TypePlan.Horizon) async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: horizon)])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        for hour in 10..<19 { bench.health.save(bench.scale(60 + Double(hour), hour: hour)) }
        for _ in 0..<2 { try await bench.sync() }

        let sending = try bench.restarted(Self.sending)
        _ = loseAnswers(of: bench)
        _ = try sending.save(72, hour: 20)
        try await sending.sync()
        bench.health.save(bench.scale(55, hour: 1))
        bench.health.set(refusal: nil)
        // The operation may have arrived, so the feed is read before it is sent again.
        try await sending.sync()
        #expect(try bench.pending.isEmpty)

        let again = try bench.restarted(plan)
        for _ in 0..<3 { try await again.sync() }
        #expect(try bench.weights.contains(55))
        try bench.finish()
    }

    @Test("An own version that lands late goes, too, if the deletion that it follows is on an earlier page")
    func lateVersionOnNextPage() async throws {
        let bench = try Bench { $0.pageSize = 1 }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let last = loseAnswers(of: bench)
        let (id, start) = (SampleID(), bench.time(0))
        try bench.write { txn in
            _ = try txn.save(Sample(.bodyMass, 72, .kilogram, at: start, id: id, syncIdentifier: "entry-1"))
        }
        try await bench.sync()
        let late = try #require(last.value)
        bench.health.set(refusal: nil)
        try bench.write { txn in
            _ = try txn.save(Sample(.bodyMass, 71, .kilogram, at: start, id: id, syncIdentifier: "entry-1"))
        }
        for _ in 0..<2 { try await bench.sync() }
        #expect(bench.held == [71])
        bench.health.delete(try #require(bench.health.live.first?.sample.id))
        bench.health.save(late, app: "app")
        for _ in 0..<3 { try await bench.sync() }
        #expect(try bench.weights.isEmpty)
        #expect(bench.held.isEmpty)
        try bench.finish()
    }

    /// The feed of a type that is only sent is read once something there was greater than what was sent.
    @Test("C22: where a type is only sent, an edit of another phone that won over a deletion comes back here")
    func supersededDeletion() async throws {
        let (health, clock) = (MemoryHealth(), ManualClock())
        let first = try Bench(Self.sending, health: health, clock: clock)
        let second = try Bench(Self.sending, health: health, clock: clock)
        for bench in [first, second] { try await bench.engine.enable(bench.peer) }
        let sample = try first.save(70)
        for bench in [first, second] { try await bench.sync() }
        #expect(try second.weights == [70])
        clock.advance(seconds: 60)
        _ = try second.save(71, id: sample.id)
        try await second.sync()
        #expect(first.held == [71])
        clock.advance(seconds: 60)
        try first.write { _ = try $0.delete(id: sample.id) }
        for _ in 0..<3 { for bench in [first, second] { try await bench.sync() } }
        #expect(try first.weights == second.weights)
        #expect(try first.weights == first.held)
        try first.finish()
        try second.finish()
    }

    @Test("C19: a save that waits for the unlocking has a time at which it is tried again")
    func timeAfterLock() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        _ = loseAnswers(of: bench)
        _ = try bench.save(72)
        try await bench.sync()
        bench.health.set(refusal: nil)
        bench.health.set(availability: .locked)
        bench.clock.advance(seconds: 60)
        try await bench.sync()
        #expect(try bench.pending.map(\.isSent) == [true])
        let due = try bench.engine.session("health").schedule.nextDue()
        #expect(due != nil)
        try bench.finish()
    }
}

/// The sample that was to be saved last.
private final class LastSent: Sendable {
    private let sample = Mutex<Sample?>(nil)

    var value: Sample? { sample.withLock { $0 } }

    func set(_ sent: Sample) { sample.withLock { $0 = sent } }
}
