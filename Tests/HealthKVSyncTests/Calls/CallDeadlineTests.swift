import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Calls that do not return are left behind")
struct CallDeadlineTests {
    @Test(
        "A sync comes to its end though a call never returns, and tells it",
        arguments: [
            "availability", "authorization", "enumerate", "pull", "push", "acknowledge", "dailyTotals",
        ]) func deadline(call: String) async throws
    {
        let trial = try BadAnswerTrial(SyncPlan(types: [.bodyMass: TypePlan(.both, keepsDailyTotals: true)]))
        try await trial.engine.enable(trial.bench.peer)
        _ = try trial.bench.save(72)
        trial.bench.health.save(trial.bench.scale(80, hour: 1))
        try await trial.leaveBehind(call)
        // The call still hangs while the next one is answered.
        #expect(try await trial.sync().issue == nil)
        #expect(trial.bench.held == [72, 80])
        #expect(try trial.bench.weights.sorted() == [72, 80])
        trial.peer.release()
        try trial.bench.finish()
    }

    @Test(
        "A sync with another store comes to its end though a call never returns, and tells it",
        arguments: [
            "availability", "greet", "meet", "pull", "acknowledge", "types", "digest", "push", "forgotten",
        ]) func deadlineOfRecords(call: String) async throws
    {
        let trial = try BadStoreTrial()
        try await trial.engine.enable("there")
        try trial.save(2)
        try trial.saveThere()
        if call == "forgotten" {
            // Only a peer that no longer knows a place in its feed is asked what it has deleted since.
            try await trial.sync()
            trial.peer.set { script in
                script.memory = { $0 }
                script.pullFailure = PeerError(.tokenExpired, "the place is forgotten")
            }
        }
        let count = trial.peer.count(call)
        try await trial.peer.leaveBehind(call, trial.calls) { try await trial.sync().issue }
        #expect(trial.peer.count(call) == count + 1)
        // The call still hangs while the next one is answered.
        trial.peer.set { $0 = AnswerScript() }
        #expect(try await trial.sync().issue == nil)
        try trial.expectBoth(hold: 3)
        try trial.finish()
    }

    @Test(
        "A comparison with another store comes to its end though a call never returns, and tells it",
        arguments: [
            "greet", "meet", "types", "digest", "enumerate", "push",
        ]) func deadlineOfComparison(call: String) async throws
    {
        let trial = try BadStoreTrial()
        try await trial.engine.enable("there")
        try trial.save(2)
        try trial.saveThere()
        try await trial.sync()
        // What left the other store without being deleted, only a comparison finds.
        let left = try #require(try await trial.there.read { try $0.samples(of: .bodyMass, limit: 1) }.first)
        try await trial.there.write { _ = try $0.purge(id: left.id) }
        try await trial.peer.leaveBehind(call, trial.calls) {
            do {
                try await trial.engine.reconcile("there")
                return nil
            } catch let issue as SyncIssue {
                return issue
            }
        }
        try await trial.engine.reconcile("there")
        try trial.expectBoth(hold: 3)
        #expect(try await trial.sync().issue == nil)
        try trial.finish()
    }

    @Test("A peer names a deadline of its own, and its calls may take that long") func ownDeadline() async throws {
        let trial = try BadAnswerTrial(limits: PeerLimits(deadline: .seconds(300)))
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        _ = try trial.bench.save(72)
        trial.peer.set { $0.hanging = ["push"] }
        let work = Task { try await trial.sync() }
        try await trial.endOfHanging()
        try await Task.sleep(for: .milliseconds(100))
        trial.peer.set { $0.hanging = [] }
        trial.peer.release()
        #expect(try await work.value.issue == nil, "the call was abandoned after a minute")
        _ = try trial.bench.save(73)
        trial.peer.set { $0.hanging = ["push"] }
        let other = Task { try await trial.sync() }
        try await trial.endOfHanging(after: 301)
        #expect(try await other.value.issue?.code == .delayed)
        trial.peer.set { $0.hanging = [] }
        trial.peer.release()
        try trial.bench.finish()
    }

    @Test("A late answer changes nothing") func lateAnswer() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        let sample = try trial.bench.save(72)
        try await trial.leaveBehind("push")
        #expect(try trial.bench.pending.first?.isSent == true)
        let commit = try trial.bench.store.info().commit
        trial.peer.release()
        try await until("the late push") { trial.bench.held == [72] }
        #expect(try trial.bench.store.info().commit == commit)
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.bench.pending.isEmpty)
        #expect(trial.bench.health.live.count == 1)
        #expect(try trial.bench.store.blockingRead { try $0.link(peer: "health", sample: sample.id) } != nil)
        try trial.bench.finish()
    }

    @Test(
        "What a call that was left behind saves after all does not come back once the user has deleted it",
        arguments: [0, 1])
    func lateSave(synced: Int) async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        let sample = try trial.bench.save(72)
        try await trial.leaveBehind("push")
        trial.bench.clock.advance(seconds: 3_600)
        for _ in 0...synced { try await trial.sync() }
        #expect(trial.bench.held == [72])
        trial.bench.health.delete(try #require(trial.bench.health.live.first).sample.id)
        trial.peer.release()
        try await until("the late push") { trial.bench.held == [72] }
        for _ in 0..<3 {
            trial.bench.clock.advance(seconds: 3_600)
            try await trial.sync()
        }
        try trial.expectGone(sample)
    }

    @Test("Calls that never return are left behind a few times, and then no more are made until one returns")
    func abandonedCalls() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        trial.peer.set { $0.hanging = ["availability"] }
        for count in 1...4 {
            let work = Task { try await trial.sync() }
            try await until("call \(count)") { trial.peer.hung == count && !trial.calls.sleepers.isEmpty }
            trial.calls.advance(seconds: 61)
            #expect(try await work.value.issue?.code == .delayed)
        }
        trial.peer.set { $0.hanging = [] }
        #expect(try await trial.sync().issue?.code == .delayed)
        #expect(trial.peer.count("availability") == 4)
        trial.peer.release()
        try await until("the end of the issue") { try await trial.sync().issue == nil }
        try trial.bench.finish()
    }

    @Test(
        "Disabling, disconnecting and stopping wait for no call that never returns", .timeLimit(.minutes(30)),
        arguments: [
            "disable", "disconnect", "stop", "cancel",
        ]) func ending(how: String) async throws
    {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        trial.peer.set { $0.hanging = ["pull", "disconnected"] }
        let work = Task { try await trial.sync() }
        if how == "stop" {
            work.cancel()
            trial.engine.start()
        }
        try await until("the call that hangs") { trial.peer.hung > 0 }
        // The deadline of the call is far away on its own clock, which does not move: a wait for it never ends.
        switch how {
        case "disable":
            try await trial.engine.disable(trial.bench.peer)
            #expect(try await work.value.issue?.code == .delayed)
            #expect(try trial.bench.status().issue == nil)
        case "disconnect":
            let purged = Task { try await trial.engine.disconnect(trial.bench.peer) }
            // The peer is told, and that has a deadline too.
            try await until("the call of the end") { trial.peer.hung == 2 && !trial.calls.sleepers.isEmpty }
            trial.calls.advance(seconds: 61)
            #expect(try await purged.value == 0)
            #expect(try trial.bench.status() == PeerStatus())
        case "stop": await trial.engine.stop()
        default:
            work.cancel()
            await #expect(throws: CancellationError.self) { try await work.value }
        }
        trial.peer.release()
        try trial.bench.finish()
    }

    @Test("The user may take longer to grant access than a call may take, and not for ever") func authorizing()
        async throws
    {
        let trial = try BadAnswerTrial()
        trial.peer.set { $0.hanging = ["requestAuthorization"] }
        let work = Task { try await trial.engine.authorize(trial.bench.peer) }
        try await until("the question") { trial.peer.hung > 0 && !trial.calls.sleepers.isEmpty }
        trial.calls.advance(seconds: 61)
        try await Task.sleep(for: .milliseconds(60))
        #expect(!trial.calls.sleepers.isEmpty)
        trial.calls.advance(seconds: 900)
        await #expect(throws: SyncIssue.self) { try await work.value }
        trial.peer.release()
        try trial.bench.finish()
    }
}
