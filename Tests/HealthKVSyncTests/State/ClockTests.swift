import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Clocks that are wrong by years, and are put right")
struct ClockTests {
    private static let year = 365 * 86_400
    /// From the clock of the tests to 1970, in seconds.
    private static let to1970 = 800_000_000 + 978_307_200

    @Test("What was put off by a clock a year ahead is sent once the clock is right, by a running engine too")
    func putOff() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: Self.year)
        // The queue and the pass as a whole are put off.
        bench.health.set(refusal: { _ in .failed(reason: "busy") })
        _ = try bench.save(70)
        try await bench.sync()
        bench.health.set(refusal: nil)
        bench.health.set(availability: .unavailable)
        bench.engine.start()
        try await until("the failure") { try bench.status().issue?.code == .unavailable }
        bench.health.set(availability: .available)
        bench.clock.advance(seconds: -Self.year)
        for number in 0..<6 { _ = try bench.save(71 + Double(number), hour: number + 1) }
        try await until("all entries at the peer") { bench.held.count == 7 }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("A lock that was noted with a wrong clock raises no notice, and keeps none away", arguments: [true, false])
    func lock(isBehind: Bool) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let (peer, now) = (bench.peer, bench.clock.now)
        let wrong = isBehind ? Instant("1970-01-01T00:00:00Z")! : now + .seconds(Self.year)
        try await bench.store.write { txn in
            var state = try txn.state(of: peer)
            (state.availability, state.lockedSince) = (.locked, wrong)
            if !isBehind { state.note(.lockedForLong, "health data is locked for more than a day", at: wrong) }
            try txn.setState(state, of: peer)
        }
        bench.health.set(availability: .locked)
        try await bench.sync()
        let session = try bench.engine.session(peer)
        #expect(try session.state().lockedSince == now)
        #expect(try session.state().notices.allSatisfy { $0.time > now })
        bench.clock.advance(seconds: 90_000)
        try await bench.sync()
        let told = try session.state().notices.filter { $0.code == .lockedForLong }
        #expect(told.map(\.time) == [bench.clock.now])
        try bench.finish()
    }

    @Test("No time that was noted a year ahead keeps from anything that is done regularly") func noted() async throws {
        var plan = SyncPlan.walkingApp
        plan.types[.stepCount]?.triggers.insert(.hourly)
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let (peer, ahead) = (bench.peer, bench.clock.now + .seconds(Self.year))
        try await bench.store.write { txn in
            var state = try txn.state(of: peer)
            (state.lastHourly, state.lastSync, state.lastAcknowledged, state.lockedSince) = (ahead, ahead, ahead, ahead)
            state[.stepCount].lastRescan = ahead
            state[.stepCount].lastForeign = ahead
            state[.stepCount].checkDue = ahead
            state[.stepCount].visibility = .vanished(at: ahead)
            state.silentSince = ahead
            try txn.setState(state, of: peer)
            try txn.setPeer(RegisteredPeer(id: "other", registered: ahead, lastSeen: ahead))
        }
        let session = try bench.engine.session(peer)
        #expect(try session.schedule.nextDue() ?? .distantFuture <= bench.clock.now)
        try await bench.sync()
        let (state, now) = (try session.state(), bench.clock.now)
        #expect(state.lastHourly == now)
        #expect(state.lastSync == now)
        #expect(state.lastAcknowledged == now)
        #expect(state[.stepCount].lastRescan == now)
        #expect(state[.stepCount].checkDue.map { $0 <= now + .seconds(7_200) } ?? true)
        #expect(try bench.store.blockingRead { try $0.peer("other") }?.lastSeen == now)
        try bench.finish()
    }

    @Test("C36: a day without anything to read is no year, though a clock a year ahead noted when the user was asked")
    func asked() async throws {
        let bench = try Bench(SyncPlan(types: [.stepCount: TypePlan(.pull)]))
        try await bench.engine.enable(bench.peer)
        bench.clock.advance(seconds: Self.year)
        try await bench.sync()
        let ahead = bench.clock.now
        #expect(try bench.engine.session(bench.peer).state()[.stepCount].asked == ahead)
        #expect(try bench.status().notices.isEmpty)
        bench.clock.advance(seconds: -Self.year)
        try await bench.sync()
        #expect(try bench.engine.session(bench.peer).state()[.stepCount].asked == ahead)
        #expect(try bench.status().notices.map(\.code) == [.nothingReadable])
        try bench.finish()
    }

    @Test("C26: a comparison that a clock a year ahead began starts over, and misses nothing of what it passed then")
    func comparing() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        for hour in 1...3 { bench.health.save(bench.scale(80 + Double(hour), hour: hour)) }
        try await bench.sync()
        let ids = try bench.store.blockingRead { try $0.samples(of: .bodyMass) }.map(\.id)
        let (peer, now) = (bench.peer, bench.clock.now)
        // It has passed all samples without being shown one, as the comparison before it: continued, it would take them
        // for deleted.
        var left = PeerComparison(at: now + .seconds(Self.year))
        (left.cursor, left.isSeen, left.missing) = (bench.time(0).cursor, true, ids)
        let note = CheckNote(missing: Set(ids), check: left)
        try await bench.store.write { txn in
            var state = try txn.state(of: peer)
            state[.bodyMass].checkDue = now
            try txn.setState(state, of: peer)
            try txn.setCheckNote(note, peer, .bodyMass)
        }
        try await bench.sync()
        #expect(try bench.weights.sorted() == [81, 82, 83])
        #expect(try bench.store.blockingRead { try $0.checkNote(peer, .bodyMass) } == CheckNote())
        #expect(try bench.engine.session(peer).state()[.bodyMass].checkDue == nil)
        try bench.finish()
    }

    @Test(
        "What a locked database could not be told, or did not answer, is tried again soon, though it was put off by a clock a year ahead"
    )
    func lockedMeanwhile() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let (peer, ahead) = (bench.peer, bench.clock.now + .seconds(Self.year))
        let failure = PullFailure(issue: SyncIssue(.delayed, "put off"), nextTry: ahead)
        try await bench.store.write { txn in
            var state = try txn.state(of: peer)
            state[.bodyMass].pulls.fail(failure)
            state[.bodyMass].unacknowledged = failure
            try txn.setState(state, of: peer)
        }
        bench.health.set(availability: .locked)
        try await bench.sync()
        let known = try bench.engine.session(peer).state()[.bodyMass]
        let soon = bench.clock.now + .seconds(3_600)
        #expect(try #require(known.pulls.failure?.nextTry) <= soon)
        #expect(try #require(known.unacknowledged?.nextTry) <= soon)
        bench.health.set(availability: .available)
        try await bench.sync()
        let after = try bench.engine.session(peer).state()[.bodyMass]
        #expect(after.pulls == .well && after.unacknowledged == nil)
        try bench.finish()
    }

    @Test("A feed that another clock left midway a year ahead holds nothing back") func midway() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let ahead = bench.clock.now + .seconds(Self.year)
        try await bench.store.write { txn in
            try txn.setPeer(RegisteredPeer(id: "other", registered: ahead, lastSeen: ahead))
            var state = PeerState()
            state.isEnabled = true
            state[.bodyMass].phase = .midway(since: ahead)
            try txn.setState(state, of: "other")
        }
        _ = try bench.save(70)
        try await bench.sync()
        #expect(bench.held == [70])
        try bench.finish()
    }

    @Test("C22: a feed that was left midway by a clock in 1970 holds back once the clock is set, for a day")
    func midwaySince1970() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let unset = bench.clock.now - .seconds(Self.to1970)
        let now = bench.clock.now
        try await bench.store.write { txn in
            try txn.setPeer(RegisteredPeer(id: "other", registered: now, lastSeen: now))
            var state = PeerState()
            (state.isEnabled, state.epoch) = (true, txn.epoch)
            state[.bodyMass].phase = .midway(since: unset)
            try txn.setState(state, of: "other")
        }
        _ = try bench.save(70)
        for _ in 0..<2 {
            try await bench.sync()
            #expect(bench.held.isEmpty)
            bench.clock.advance(seconds: 3_600)
        }
        bench.clock.advance(seconds: 86_400)
        try await bench.sync()
        #expect(bench.held == [70])
        try bench.finish()
    }

    /// Weights of a scale on each of the last four hundred days before the clock of the tests.
    private func fill(_ bench: Bench) {
        let now = Instant(nanoseconds: 800_000_000_000_000_000)
        for day in 0..<400 {
            let time = now - .days(day) - .seconds(3_600)
            bench.health.save(
                Sample(
                    .bodyMass, 70 + Double(day) / 8, .kilogram, from: time, to: time,
                    source: Source(bundle: "scale", name: "Scale"), origin: .imported))
        }
    }

    @Test(
        "Thirty days are thirty days, though the clock was a year ahead, or never set, when the sync was enabled",
        arguments: [year, -to1970])
    func horizon(offset: Int) async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.horizon = .days(30)
        let bench = try Bench(plan)
        fill(bench)
        bench.clock.advance(seconds: offset)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        bench.clock.advance(seconds: -offset)
        try await bench.sync()
        #expect(try bench.weights.count == 30)
        let horizon = try bench.engine.session(bench.peer).state()[.bodyMass].history.horizon
        bench.clock.advance(seconds: 86_400)
        try await bench.sync()
        #expect(try bench.engine.session(bench.peer).state()[.bodyMass].history.horizon == horizon, "once")
        try bench.finish()
    }

    @Test(
        "A clock that is not set for a while moves neither thirty days nor what is new",
        arguments: [TypePlan.Horizon.days(30), .fromNowOn])
    func horizonStays(horizon: TypePlan.Horizon) async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.horizon = horizon
        let bench = try Bench(plan)
        fill(bench)
        try await bench.engine.enable(bench.peer)
        let session = try bench.engine.session(bench.peer)
        if horizon == .days(30) { try await bench.sync() }
        let held = try bench.weights.count
        #expect(held == (horizon == .days(30) ? 30 : 0))
        let before = try session.state()[.bodyMass].history
        bench.clock.advance(seconds: 20 * 86_400 - Self.to1970)
        try await bench.sync()
        bench.clock.advance(seconds: Self.to1970)
        // Entered late: for a day that the first import covered, or that came after the enabling.
        let late = bench.clock.now - .days(horizon == .days(30) ? 45 : 15)
        bench.health.save(
            Sample(
                .bodyMass, 60, .kilogram, from: late, to: late, source: Source(bundle: "scale", name: "Scale"),
                origin: .imported))
        try await bench.sync()
        #expect(try bench.weights.count == held + 1)
        let after = try session.state()[.bodyMass].history
        #expect(after.horizon == before.horizon && after.skipped == before.skipped)
        try bench.finish()
    }

    @Test(
        "What was asked for in place of the plan is asked for again, and a skipped import stays skipped",
        arguments: [year, -to1970])
    func askedFor(offset: Int) async throws {
        for horizon in [TypePlan.Horizon.days(30), .fromNowOn] {
            let bench = try Bench()
            fill(bench)
            bench.clock.advance(seconds: offset)
            for try await _ in bench.engine.importHistory(bench.peer, horizon) {}
            #expect(try bench.weights.isEmpty)
            bench.clock.advance(seconds: -offset)
            try await bench.sync()
            #expect(try bench.weights.count == (horizon == .fromNowOn ? 0 : 30))
            bench.clock.advance(seconds: 7_200)
            bench.health.save(bench.scale(60, hour: 1_000_000 / 3_600 + 1))
            try await bench.sync()
            #expect(try bench.weights.contains(60))
            try bench.finish()
        }
    }
}
