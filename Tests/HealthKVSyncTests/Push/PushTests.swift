import SyncSupport
import Synchronization
import TestSupport
import Testing

@testable import HealthKVSync

@Suite("Pushing what waits")
struct PushTests {
    @Test("An entry, its edit and its deletion reach the peer") func roundTrip() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        #expect(bench.held == [72])
        #expect(try bench.pending.isEmpty)
        _ = try bench.save(71, id: sample.id)
        #expect(try bench.status().pending == 1)
        try await bench.sync()
        #expect(bench.held == [71])
        #expect(bench.health.live.map { PeerNumber.slot(of: $0.sample.version) } == [2])
        try bench.write { _ = try $0.delete(id: sample.id) }
        try await bench.sync()
        #expect(bench.held.isEmpty)
        // The echoes of all that change nothing here.
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }

    @Test("What was written before the sync was enabled is sent too") func earlier() async throws {
        let bench = try Bench()
        for hour in 0..<5 { _ = try bench.save(70 + Double(hour), hour: hour) }
        try await bench.engine.enable(bench.peer)
        #expect(try bench.pending.isEmpty)
        try await bench.sync()
        #expect(bench.held == [70, 71, 72, 73, 74])
        let pushes = bench.health.pushes
        try await bench.sync()
        #expect(bench.health.pushes == pushes)
        try bench.finish()
    }

    @Test(
        "C12: without access an entry is saved, its operation parked without an attempt, and sent once access is granted"
    )
    func unauthorized() async throws {
        let bench = try Bench()
        bench.health.set(writing: .denied, of: .bodyMass)
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        let report = try await bench.sync()
        #expect(report.pushed.parked == 1)
        let waiting = try #require(try bench.pending.first)
        #expect(waiting.state == .parked && waiting.attempts == 0 && !waiting.isSent)
        #expect(try bench.status().advisesSwitchingOff)
        bench.health.set(writing: .granted, of: .bodyMass)
        try await bench.engine.enterForeground()
        #expect(bench.held == [72])
        #expect(try !bench.status().advisesSwitchingOff)
        try bench.finish()
    }

    @Test("C13, D: three quick attempts with growing delays, then slow ones, and nothing blocks what stands behind")
    func retries() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let bad = try bench.save(72)
        _ = try bench.save(80, hour: 1)
        bench.health.set(refusal: { operation in
            guard case .save(let sample) = operation.kind, sample.id == bad.id else { return nil }
            return .failed(reason: "busy")
        })
        var delays: [Int64] = []
        for attempt in 1...5 {
            _ = try await bench.engine.session("health").inTurn { try await $0.pass(PassRequest()) }
            let waiting = try #require(try bench.pending.first)
            #expect(waiting.attempts == attempt)
            #expect(waiting.state == (attempt >= 3 ? .parked : .waiting))
            let delay = (waiting.nextTry.nanoseconds - bench.clock.now.nanoseconds) / 1_000_000_000
            delays.append(delay)
            // Before its time nothing is tried.
            let pushes = bench.health.pushes
            _ = try await bench.engine.session("health").inTurn { try await $0.pass(PassRequest()) }
            #expect(bench.health.pushes == pushes)
            bench.clock.advance(seconds: Int(delay))
        }
        #expect(delays == [2, 4, 3_600, 3_600, 3_600])
        #expect(bench.held == [80])
        bench.health.set(refusal: nil)
        try await bench.sync()
        #expect(bench.held == [72, 80])
        try bench.finish()
    }

    @Test(
        "C13: what is refused for good is quarantined with its reason, can be tried again, and a new edit replaces it")
    func quarantine() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        bench.health.set(refusal: { _ in .refused(reason: "start lies in the future") })
        try await bench.sync()
        let stuck = try #require(try bench.pending.first)
        #expect(stuck.state == .quarantined && stuck.reason == "start lies in the future")
        #expect(try bench.status().quarantined == 1)
        try await bench.sync()
        #expect(bench.health.pushes == 1)
        #expect(try await bench.engine.retry(stuck.id))
        try await bench.sync()
        #expect(bench.health.pushes == 2)
        bench.health.set(refusal: nil)
        _ = try bench.save(71, id: sample.id)
        try await bench.sync()
        #expect(bench.held == [71])
        #expect(try bench.pending.isEmpty)
        #expect(try await !bench.engine.discard(stuck.id))
        try bench.finish()
    }

    @Test("An unknown outcome is tried again, and a delete behind it is still sent") func unknownOutcome() async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        let calls = Mutex(0)
        bench.health.set(refusal: { _ in
            calls.withLock { calls in
                calls += 1
                return calls == 1 ? .unknown(reason: "timed out") : nil
            }
        })
        try await bench.sync()
        #expect(try bench.pending.first?.isSent == true)
        try bench.write { _ = try $0.delete(id: sample.id) }
        #expect(try bench.pending.map(\.kind) == [.delete])
        try await bench.sync()
        #expect(try bench.pending.isEmpty)
        // Deleted before it was ever sent: nothing is sent at all.
        let pushes = bench.health.pushes
        let other = try bench.save(60)
        try bench.write { _ = try $0.delete(id: other.id) }
        try await bench.sync()
        #expect(bench.health.pushes == pushes)
        try bench.finish()
    }

    @Test("D: A crash at any step of a push loses nothing and doubles nothing", arguments: SyncStep.allCases)
    func crash(at step: SyncStep) async throws {
        let crashes = Atomic(true)
        let bench = try Bench { options in
            options.atStep = { reached in
                if reached == step, crashes.load(ordering: .relaxed) { throw CancellationError() }
            }
        }
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        bench.health.save(bench.scale(80, hour: 3))
        _ = try? await bench.sync()
        _ = try bench.save(71, id: sample.id)
        _ = try? await bench.sync()
        crashes.store(false, ordering: .relaxed)
        let again = try bench.restarted()
        try await again.sync()
        try await again.sync()
        #expect(bench.held == [71, 80])
        #expect(try bench.weights.sorted() == [71, 80])
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test(
        "What may have been sent before a crash is not sent again while nothing can be read: it may have been deleted there"
    )
    func crashWhileLocked() async throws {
        let crashes = Atomic(true)
        let bench = try Bench { options in
            options.atStep = { reached in
                if reached == .pushSent, crashes.load(ordering: .relaxed) { throw CancellationError() }
            }
        }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        _ = try? await bench.sync()
        crashes.store(false, ordering: .relaxed)
        bench.health.delete(try #require(bench.health.live.first?.sample.id))
        bench.health.set(availability: .locked)
        let again = try bench.restarted()
        _ = try again.save(80, hour: 1)
        try await again.sync()
        #expect(bench.held == [80], "what was never sent goes, what may have been waits")
        bench.health.set(availability: .available)
        try await again.sync()
        #expect(bench.held == [80])
        #expect(try bench.weights == [80])
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test(
        "What another store wrote, or waited when the store was opened, is not sent while nothing can be read: a person may have deleted it there",
        arguments: [false, true])
    func unknownWhileLocked(isFromElsewhere: Bool) async throws {
        let folder = TemporaryFolder()
        let (clock, health) = (ManualClock(), MemoryHealth())
        var store = try Bench.makeStore(clock, at: folder.path + "/store")
        var bench = try Bench(.weightTracker, health: health, clock: clock, store: store)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        if isFromElsewhere {
            let other = try Bench.makeStore(clock)
            let written = Sample(.bodyMass, 72, .kilogram, at: bench.time(0))
            _ = try await other.write { try $0.save(written) }
            let sample = try #require(try other.blockingRead { try $0.sample(id: written.id) })
            try bench.write { try $0.merge(sample) }
            try other.close()
        } else {
            _ = try bench.save(72)
            try bench.finish()
            store = try Bench.makeStore(clock, at: folder.path + "/store")
            bench = try Bench(.weightTracker, health: health, clock: clock, store: store)
        }
        health.set(availability: .locked)
        _ = try bench.save(80, hour: 1)
        try await bench.sync()
        #expect(bench.held == [80], "saves of now go on, others wait")
        health.set(availability: .available)
        try await bench.sync()
        #expect(bench.held == [72, 80])
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("What is deleted or given up before it is marked as sent is not sent", arguments: [false, true])
    func deletedMeanwhile(isDiscarded: Bool) async throws {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let id = SampleID()
        let bench = try Bench(.weightTracker, health: MemoryHealth(), clock: clock, store: store) { options in
            options.atStep = { step in
                guard step == .pushCollected else { return }
                try store.write { txn in
                    guard let waiting = try txn.pending(peer: "health", sample: id) else { return }
                    if isDiscarded { try txn.removePending(waiting) } else { _ = try txn.delete(id: id) }
                }
            }
        }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72, id: id)
        try await bench.sync()
        #expect(bench.held.isEmpty && bench.health.pushes == 0)
        #expect(
            try bench.pending.isEmpty && bench.store.blockingRead { try $0.link(peer: "health", sample: id) } == nil)
        try bench.finish()
    }

    @Test("What was written at one time before the sync was enabled is sent too, however much it is") func together()
        async throws
    {
        let bench = try Bench()
        let samples = (0..<1_010).map { Sample(.bodyMass, 70 + Double($0) / 100, .kilogram, at: bench.time(1)) }
        try bench.write { _ = try $0.save(samples) }
        _ = try bench.save(60, hour: 2)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(bench.health.live.count == 1_011)
        try bench.finish()
    }

    @Test(
        "What is refused for good keeps no tombstones, and a deletion that waits keeps its own",
        arguments: [false, true])
    func acknowledged(hasWaiting: Bool) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let bad = try bench.save(72)
        let (first, second) = (try bench.save(73, hour: 1), try bench.save(74, hour: 2))
        bench.health.set(refusal: { operation in
            switch operation.kind {
            case .save(let sample): sample.id == bad.id ? .refused(reason: "no") : nil
            case .delete(let deleted): deleted.id == first.id && hasWaiting ? .failed(reason: "busy") : nil
            }
        })
        try await bench.sync()
        try bench.write { _ = try $0.delete(id: first.id) }
        let before = try bench.store.info().commit
        try bench.write { _ = try $0.delete(id: second.id) }
        let after = try bench.store.info().commit
        bench.clock.advance(seconds: 90_000)
        try await bench.sync()
        #expect(try bench.pending.count == (hasWaiting ? 2 : 1))
        let seen = try #require(try bench.store.blockingRead { try $0.peer("health") }?.acknowledged)
        #expect(hasWaiting ? seen.commit < before : seen.commit >= after)
        try bench.finish()
    }

    @Test("An edit made while its sample is on the way is sent afterwards") func editMeanwhile() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        let store = bench.store
        let edit = Sample(.bodyMass, 71, .kilogram, at: sample.start, id: sample.id)
        bench.health.set(afterPush: { _ = try? store.write { try $0.save(edit) } })
        try await bench.sync()
        bench.health.set(afterPush: nil)
        try await bench.sync()
        #expect(bench.held == [71])
        #expect(try bench.weights == [71])
        try bench.finish()
    }

    /// A bench of meals, and how many members the group of each operation has that is sent.
    private func meals() async throws -> (Bench, GroupSizes) {
        let bench = try Bench(.dietApp)
        try await bench.engine.enable(bench.peer)
        let groups = GroupSizes()
        bench.health.set(refusal: { operation in
            groups.all.withLock { $0.append(operation.group.count) }
            return nil
        })
        return (bench, groups)
    }

    @Test("The members of a meal are sent together, and C5: deleted together") func meal() async throws {
        let (bench, groups) = try await meals()
        let samples = [SampleType.dietaryProtein, .dietaryFatTotal].map { type in
            Sample(type, 20, .gram, at: bench.time(1), syncIdentifier: "app.log.1.\(type)")
        }
        try bench.write { _ = try $0.save(group: "log.1", samples) }
        try await bench.sync()
        #expect(groups.all.withLock { $0 } == [2, 2])
        #expect(bench.health.live.count == 2)
        // Saving the same meal again doubles nothing.
        try bench.write { _ = try $0.save(group: "log.1", samples) }
        try await bench.sync()
        #expect(bench.health.live.count == 2)
        try bench.write { _ = try $0.delete(.group("log.1")) }
        try await bench.sync()
        #expect(bench.health.live.isEmpty)
        try bench.finish()
    }

    @Test("C4: what another app keeps under the group of a meal is not sent as a part of it")
    func foreignGroup() async throws {
        let (bench, groups) = try await meals()
        let foreign = Sample(
            .dietarySugar, 4, .gram, from: bench.time(1), to: bench.time(1), source: Source(name: "Cookbook"),
            version: 1, origin: .imported, group: "log.1")
        try bench.write { txn in
            _ = try txn.save(foreign)
            _ = try txn.save(Meal(id: "log.1", at: bench.time(1), protein: .grams(20), fat: .grams(9)))
        }
        try await bench.sync()
        #expect(groups.all.withLock { $0 } == [2, 2])
        #expect(bench.health.live.count == 2)
        try bench.finish()
    }

    @Test(
        "What the user deletes in Health of a type that is only sent is deleted here with the next sync or foreground",
        arguments: [false, true], [TypePlan(.push), TypePlan(.push, triggers: .onChange)])
    func deletedWhereOnlySent(isForeground: Bool, plan: TypePlan) async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: plan]))
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try await bench.sync()
        bench.clock.advance(seconds: 86_400)
        bench.health.delete(try #require(bench.health.live.first).sample.id)
        if isForeground { _ = try await bench.engine.enterForeground() } else { try await bench.sync() }
        #expect(try bench.weights.isEmpty)
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id) } != nil)
        try bench.finish()
    }

    @Test(
        "An edit that is sent as soon as it is made does not bring back what the user has just deleted in Health",
        arguments: [TypePlan(.both), TypePlan(.push)], [false, true])
    func editedAfterDeletion(plan: TypePlan, isPulledBack: Bool) async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: plan]))
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        for _ in 0..<(isPulledBack ? 2 : 1) { try await bench.sync() }
        bench.health.delete(try #require(bench.health.live.first).sample.id)
        _ = try bench.save(73, id: sample.id)
        let request = PassRequest(pulls: false, isOfCommit: true)
        _ = try await bench.engine.session(bench.peer).inTurn { try await $0.pass(request) }
        #expect(bench.held.isEmpty)
        #expect(try bench.weights.isEmpty && bench.pending.isEmpty)
        let conflicts = try bench.store.blockingRead { try $0.conflicts() }
        #expect(conflicts.map(\.displaced.quantity.value) == [73])
        // An edit of what lives there goes.
        let other = try bench.save(60, hour: 5)
        try await bench.sync()
        _ = try bench.save(61, id: other.id, hour: 5)
        _ = try await bench.engine.session(bench.peer).inTurn { try await $0.pass(request) }
        #expect(bench.held == [61])
        try bench.finish()
    }

    @Test(
        "An edit of what Health holds goes also where its feed cannot be read: while the device is locked, and after failures",
        arguments: [TypePlan(.both), TypePlan(.push)], [true, false])
    func editedUnread(plan: TypePlan, isLocked: Bool) async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: plan]))
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        for _ in 0..<2 { try await bench.sync() }
        if isLocked {
            bench.health.set(availability: .locked)
        } else {
            bench.health.set(failure: { _ in PeerError(.invalid, "never") })
        }
        _ = try bench.save(73, id: sample.id)
        for _ in 0..<6 {
            _ = try? await bench.engine.sync()
            bench.clock.advance(seconds: 86_400)
        }
        #expect(bench.held == [73])
        bench.health.set(failure: nil)
        bench.health.set(availability: .available)
        try await bench.sync()
        #expect(try bench.weights == [73])
        try bench.finish()
    }

    @Test("A deletion in Health counts also where one made here was undone before it was sent")
    func undoneUnsent() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        try await bench.sync()
        try bench.write { _ = try $0.delete(id: sample.id) }
        try bench.write { _ = try $0.undelete(id: sample.id) }
        bench.health.delete(try #require(bench.health.live.first).sample.id)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights.isEmpty && bench.held.isEmpty && bench.pending.isEmpty)
        #expect(try bench.store.blockingRead { try $0.conflicts() }.map(\.event) == [.editDeleted])
        try bench.finish()
    }

    @Test("An app that asks for access at each launch still compares once a month")
    func comparesThoughAsking() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        _ = try bench.save(60, hour: 5)
        try await bench.sync()
        bench.health.forget(try #require(bench.health.live.first { $0.sample.quantity.value == 72 }).sample.id)
        for _ in 0..<40 {
            bench.clock.advance(seconds: 86_400)
            try await bench.engine.authorize(bench.peer)
            for _ in 0..<2 { try await bench.sync() }
        }
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) } == nil)
        try bench.finish()
    }
}

private final class GroupSizes: Sendable {
    let all = Mutex<[Int]>([])

    @Test(
        "What may have been sent and was deleted there does not come back, whether its feed fails or was not asked for",
        arguments: [true, false], [TypePlan(.both), TypePlan(.push)])
    func deletedUnanswered(fails: Bool, plan: TypePlan) async throws {
        let trial = try BadAnswerTrial(SyncPlan(types: [.bodyMass: plan]))
        try await trial.engine.enable(trial.bench.peer)
        if !plan.pulls { try await trial.sync() }
        let sample = try trial.bench.save(72)
        trial.peer.set { $0.outcomes = { _ in [] } }
        try await trial.sync()
        #expect(try trial.bench.pending.map(\.isSent) == [true])
        trial.peer.set { $0.outcomes = nil }
        let held = try #require(trial.bench.health.live.first)
        trial.bench.health.delete(held.sample.id)
        if fails { trial.bench.health.set(failure: { _ in PeerError(.transient, "busy") }) }
        trial.bench.clock.advance(seconds: 3_600)
        let request = PassRequest(pulls: fails)
        _ = try await trial.engine.session("health").inTurn { try await $0.pass(request) }
        #expect(trial.bench.held.isEmpty)
        trial.bench.health.set(failure: nil)
        trial.bench.clock.advance(seconds: 3_600)
        try await trial.sync()
        try trial.expectGone(sample)
    }
}
