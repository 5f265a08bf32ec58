import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("What a plan says is done, however it came to be")
struct PlanTests {
    private func steps(_ bench: Bench, days: Int) -> Sample {
        let time = bench.clock.now - .days(days)
        return Sample(
            .stepCount, 100, .count, from: time, to: time, source: Source(name: "Phone"), origin: .imported)
    }

    private func stepsHeld(_ bench: Bench) throws -> Int { try bench.store.read { try $0.count(of: .stepCount) } }

    @Test("C9: asking for access before the peer is enabled leaves the horizon as it is planned") func authorizedFirst()
        async throws
    {
        let bench = try Bench(.walkingApp)
        for day in 0..<60 { bench.health.save(steps(bench, days: day)) }
        try await bench.engine.authorize(bench.peer)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try stepsHeld(bench) == 31)
        try bench.finish()
    }

    @Test("A plan that an update of the app changed is taken over with the next sync") func changed() async throws {
        var plan = SyncPlan.walkingApp
        let bench = try Bench(plan)
        for day in 0..<60 { bench.health.save(steps(bench, days: day)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try stepsHeld(bench) == 31)
        plan.types[.stepCount]?.horizon = .all
        plan.types[.bodyMass] = TypePlan(.both)
        let updated = try bench.restarted(plan)
        try await updated.sync()
        #expect(try stepsHeld(bench) == 60)
        _ = try bench.save(72)
        #expect(try bench.pending.count == 1)
        try await updated.sync()
        #expect(bench.held.contains(72))
        try await updated.sync()
        // Nothing more is to be taken over.
        let commit = try bench.store.info().commit
        try await updated.sync()
        #expect(try bench.store.info().commit == commit + Bench.commitsOfLease)
        try bench.finish()
    }

    @Test("What waits for a type that is no longer sent is dropped; once it is sent again, all that differs is")
    func noLongerSent() async throws {
        let (bench, edited) = try await Bench.withOneWeight()
        let deleted = try bench.save(80, hour: 1)
        try await bench.sync()
        try await bench.sync()
        _ = try bench.save(71, id: edited.id)
        try bench.write { _ = try $0.delete(id: deleted.id) }
        #expect(try bench.pending.count == 2)
        let reading = try bench.restarted(SyncPlan(types: [.bodyMass: TypePlan(.pull)]))
        try await reading.sync()
        #expect(try bench.pending.isEmpty)
        // Neither does what is read from the beginning make anything wait.
        bench.health.invalidateAnchors()
        try await reading.sync()
        #expect(try bench.pending.isEmpty && bench.held == [72, 80])
        let again = try bench.restarted()
        try await again.sync()
        #expect(bench.held == [71])
        #expect(try bench.pending.isEmpty && bench.weights == [71])
        try bench.finish()
    }

    @Test("What was edited or deleted while a first import was midway and the plan sent nothing is sent once it does")
    func sentMidway() async throws {
        let before = try Bench()
        try await before.engine.enable(before.peer)
        for month in 0..<40 { _ = try before.save(70 + Double(month), hour: -720 * month) }
        try await before.sync()
        try before.store.close()
        // The app was deleted and installed again.
        let pages = PageCountdown()
        let reading = try Bench(
            SyncPlan(types: [.bodyMass: TypePlan(.pull)]), health: before.health, clock: before.clock
        ) { options in
            options.pageSize = 2
            options.atStep = { try pages.reach($0) }
        }
        try await reading.engine.enable(reading.peer)
        pages.end(after: 2)
        await #expect(throws: CancellationError.self) { try await reading.sync() }
        let held = try reading.store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
        #expect(held.count >= 2 && held.count < 40, "\(held.count)")
        var edited = held[0]
        (edited.quantity.value, edited.version) = (200, 0)
        try reading.write { [edited] txn in
            _ = try txn.save(edited)
            _ = try txn.delete(id: held[1].id)
        }
        let both = try reading.restarted()
        for _ in 0..<3 {
            both.clock.advance(seconds: 3_700)
            try await both.sync()
        }
        let values = (held[0].quantity.value, held[1].quantity.value)
        let wanted = (0..<40).map { 70 + Double($0) }.filter { value in
            value != values.0 && value != values.1
        }
        #expect(try reading.weights.sorted() == wanted + [200])
        #expect(both.held == wanted + [200])
        try both.finish()
    }

    @Test("A horizon below zero and an unknown time zone are refused, not replaced by others") func impossiblePlans()
        async throws
    {
        await #expect(processExitsWith: .failure) {
            _ = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .days(-5))]))
        }
        await #expect(processExitsWith: .failure) {
            _ = try Bench(.weightTracker) { $0.zone = "Mars/Base" }
        }
        let bench = try Bench(.weightTracker)
        await #expect(throws: SyncIssue.self) {
            for try await _ in bench.engine.importHistory(bench.peer, .days(-5)) {}
        }
        #expect(try bench.store.blockingRead { try $0.peers() }.isEmpty)
        try bench.finish()
    }

    @Test("C9: a horizon of any number of days is one") func endlessHorizon() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .days(.max))])) {
            $0.retirementDays = .max
        }
        bench.health.save(bench.scale(72, hour: 1))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights == [72])
        try bench.finish()
    }

    @Test("C21: what the app wrote before the horizon is adopted too, and not sent again") func earlierOwn()
        async throws
    {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .fromNowOn)])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try await bench.sync()
        bench.health.save(bench.scale(60, hour: 1))
        let fresh = try Bench(plan, health: bench.health, clock: bench.clock)
        try await fresh.engine.enable(fresh.peer)
        let report = try await fresh.sync()
        #expect(report.pulled.adopted == 1)
        #expect(try fresh.weights == [72])
        _ = try fresh.save(71, id: sample.id)
        try await fresh.sync()
        #expect(fresh.held == [60, 71])
        try bench.finish()
        try fresh.finish()
    }

    @Test("C21, C28: a restored store adopts what the app wrote before the horizon, too") func earlierOwnOfRestored()
        async throws
    {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .days(7))]))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        // Written after the copy was made that the store now is, for a day long before.
        let lost = Sample(
            .bodyMass, 72, .kilogram, at: bench.clock.now - .days(30), source: Source(name: "app"),
            syncIdentifier: "own")
        bench.health.save(lost, app: "app")
        try await bench.engine.session(bench.peer).update { _, state in state.epoch += 1 }
        try await bench.sync()
        #expect(try bench.weights == [72])
        try bench.finish()
    }

    @Test("C9: a plan that imports a part of the types that it does not name is refused, also if it changes later")
    func horizonOfOthers() async throws {
        let bench = try Bench()
        func engine(_ plan: SyncPlan, _ peer: some DatabasePeer) -> SyncEngine {
            Bench.makeEngine(bench.store, [SyncPeer(peer, plan: plan)], bench.clock)
        }
        let part = SyncPlan(types: [.bodyMass: TypePlan(.both)], others: TypePlan(.pull, horizon: .days(7)))
        let refused = await #expect(throws: SyncIssue.self) {
            try await engine(part, MemoryHealthPeer(bench.health)).enable(bench.peer)
        }
        #expect(refused?.code == .invalid)
        try await bench.engine.enable(bench.peer)
        let later = try await engine(part, MemoryHealthPeer(bench.health)).sync()[bench.peer]
        #expect(later?.issue?.code == .invalid)
        let backup = try Bench.makeStore(bench.clock)
        func records(_ plan: SyncPlan) -> SyncEngine {
            Bench.makeEngine(
                bench.store, [SyncPeer(StorePeer(backup, id: "backup", as: "phone"), plan: plan)], bench.clock)
        }
        try await records(.everything).enable("backup")
        let changed = SyncPlan(types: [:], others: TypePlan(.both, horizon: .ask))
        #expect(try await records(changed).sync()["backup"]?.issue?.code == .invalid)
        bench.clock.advance(seconds: 7_200)
        #expect(try await records(.everything).sync()["backup"]?.issue == nil)
        try bench.finish()
    }

    @Test("C9, C11: another store is imported whole and nothing of it is purged; who asks for that is told so")
    func historyOfRecords() async throws {
        let clock = ManualClock()
        let (here, backup) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        func engine(_ plan: SyncPlan) -> SyncEngine {
            Bench.makeEngine(here, [SyncPeer(StorePeer(backup, id: "backup", as: "phone"), plan: plan)], clock)
        }
        try await backup.write { _ = try $0.save(Sample(.bodyMass, 70, .kilogram, at: clock.now - .days(30))) }
        let everything = engine(.everything)
        for horizon in [TypePlan.Horizon.fromNowOn, .days(7)] {
            let issue = await #expect(throws: SyncIssue.self) {
                for try await _ in everything.importHistory("backup", horizon) {}
            }
            #expect(issue?.code == .invalid)
        }
        for item in [TypePlan(.both, horizon: .days(7)), TypePlan(.pull, departure: .purge)] {
            let issue = await #expect(throws: SyncIssue.self) {
                try await engine(SyncPlan(types: [.bodyMass: item])).enable("backup")
            }
            #expect(issue?.code == .invalid)
        }
        #expect(try everything.status().peers["backup"]?.isEnabled == false)
        for try await _ in everything.importHistory("backup", .all) {}
        let issue = await #expect(throws: SyncIssue.self) { try await everything.disconnect("backup", purge: true) }
        #expect(issue?.code == .invalid)
        #expect(try everything.status().peers["backup"]?.isEnabled == true)
        #expect(try await everything.disconnect("backup") == 0)
        #expect(try here.blockingRead { try $0.count() } == 1)
        for store in [here, backup] { try store.close() }
    }

    @Test("C21: a type whose reading was refused may be sent, and what is there is adopted once reading is allowed")
    func refusedReading() async throws {
        let plan = SyncPlan(types: [.dietaryProtein: TypePlan(.push)])
        let bench = try Bench(plan)
        bench.health.save(
            Sample(.dietaryProtein, 20, .gram, at: bench.time(1), syncIdentifier: "old"), app: "app")
        bench.health.set(failure: { _ in PeerError(.unauthorized, "no") })
        try await bench.engine.enable(bench.peer)
        try bench.write { _ = try $0.save(Sample(.dietaryProtein, 30, .gram, at: bench.time(2))) }
        #expect(try await bench.sync().issue == nil)
        #expect(bench.held == [20, 30])
        bench.health.set(failure: nil)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.count(of: .dietaryProtein) } == 2)
        #expect(bench.held == [20, 30])
        try bench.finish()
    }

    @Test("Types that are asked for at a later stage are no issue, in a preview, an import or a sync") func stages()
        async throws
    {
        let bench = try Bench(.dietApp)
        bench.health.set(failure: { $0 == .dietaryWater ? PeerError(.notDetermined, "not asked") : nil })
        bench.health.save(bench.scale(72, hour: 1))
        #expect(try await bench.engine.importPreview(bench.peer)[.bodyMass] == 1)
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        #expect(try bench.weights == [72])
        #expect(try bench.status().issue == nil)
        bench.health.set(failure: { _ in PeerError(.notDetermined, "not asked") })
        #expect(try await bench.sync().issue?.code == .accessNotDetermined)
        try bench.finish()
    }

    @Test("C22: a feed that is not read to its end holds back its own type, and that not for ever") func midway()
        async throws
    {
        var plan = SyncPlan.weightTracker
        plan.types[.stepCount] = TypePlan(.pull)
        let clock = ManualClock()
        let health = MemoryHealth()
        let (here, backup) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here,
            [
                SyncPeer(MemoryHealthPeer(health), plan: plan),
                SyncPeer(StorePeer(backup, id: "backup", as: "phone"), plan: .everything),
            ], clock
        ) { $0.pageSize = 1 }
        for peer in engine.peers { try await engine.enable(peer) }
        _ = try await engine.sync()
        _ = try await here.write { try $0.save(Sample(.bodyMass, 72, .kilogram, at: clock.now)) }
        for hour in 1...3 {
            let time = clock.now - .seconds(hour * 3_600)
            health.save(
                Sample(.stepCount, 5, .count, from: time, to: time, source: Source(name: "P"), origin: .imported))
        }
        let pulls = Mutex(0)
        health.set(failure: { type in
            guard type == .stepCount else { return nil }
            let isLate = pulls.withLock { pulls in
                pulls += 1
                return pulls > 1
            }
            return isLate ? PeerError(.transient, "busy") : nil
        })
        _ = try await engine.sync("health")
        #expect(try here.blockingRead { try $0.state(of: "health")[.stepCount].phase.arrivingSince != nil })
        _ = try await engine.sync("backup")
        #expect(try backup.blockingRead { try $0.count(of: .bodyMass) } == 1)
        #expect(try backup.blockingRead { try $0.count(of: .stepCount) } == 0)
        // Neither does a comparison send it, when the feed no longer knows what was told, or when it is asked for.
        try await engine.reconcile("backup")
        #expect(try backup.blockingRead { try $0.count(of: .stepCount) } == 0)
        clock.advance(seconds: 2 * 86_400)
        _ = try await engine.sync("backup")
        #expect(
            try backup.blockingRead { try $0.count(of: .stepCount) }
                == here.blockingRead { try $0.count(of: .stepCount) })
        for store in [here, backup] { try store.close() }
    }

    @Test("C22: a deletion of a type that is held back is not sent by one that follows the feed for the first time")
    func heldDeletion()
        async throws
    {
        let clock = ManualClock()
        let (here, backup) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here, [SyncPeer(StorePeer(backup, id: "backup", as: "phone"), plan: .everything)], clock)
        let sample = Sample(.stepCount, 5, .count, at: clock.now)
        _ = try await here.write { try $0.save(sample) }
        _ = try await here.write { try $0.delete(id: sample.id) }
        // A feed of steps from elsewhere stands in its middle: the deletion may be half of a replacement.
        _ = try await here.write { txn in
            try txn.setPeer(RegisteredPeer(id: "health", registered: clock.now, lastSeen: clock.now))
            var state = PeerState()
            (state.isEnabled, state.epoch) = (true, txn.epoch)
            state[.stepCount].phase = .midway(since: clock.now)
            try txn.setState(state, of: "health")
        }
        try await engine.enable("backup")
        _ = try await engine.sync()
        #expect(try backup.blockingRead { try $0.deletedSample(id: sample.id) } == nil)
        _ = try await here.write { txn in
            var state = try txn.state(of: "health")
            state[.stepCount].phase = .drained
            try txn.setState(state, of: "health")
        }
        _ = try await engine.sync()
        #expect(try backup.blockingRead { try $0.deletedSample(id: sample.id) } != nil)
        for store in [here, backup] { try store.close() }
    }

    @Test("A place that somebody forgets while a page of the feed is on its way stays forgotten") func resetMeanwhile()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        for hour in 0..<3 { bench.health.save(bench.scale(60 + Double(hour), hour: hour)) }
        try await bench.sync()
        let gone = try #require(try bench.store.blockingRead { try $0.samples(of: .bodyMass) }.first)
        try bench.write { _ = try $0.purge(id: gone.id) }
        let store = bench.store
        let again = Bench.makeEngine(
            store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { options in
            options.atStep = { step in
                guard step == .pagePulled else { return }
                try store.write { txn in
                    guard try txn.syncNote("reset") == nil else { return }
                    try txn.setSyncNote("reset", [1])
                    try txn.removeAnchor(peer: "health", type: .bodyMass)
                }
            }
        }
        bench.health.save(bench.scale(70, hour: 9))
        _ = try await again.sync()
        #expect(try bench.weights.sorted() == [60, 61, 62, 70])
        try bench.finish()
    }

    @Test("What a peer got while a type was only sent is imported once the type is pulled again")
    func pulledAgain() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both)]))
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 1))
        try await bench.sync()
        let sending = try bench.restarted(SyncPlan(types: [.bodyMass: TypePlan(.push)]))
        bench.health.save(bench.scale(61, hour: 2))
        for _ in 0..<2 { try await sending.sync() }
        #expect(try bench.weights == [60])
        let again = try bench.restarted(SyncPlan(types: [.bodyMass: TypePlan(.both)]))
        bench.health.save(bench.scale(62, hour: 3))
        try await again.sync()
        #expect(try bench.weights.sorted() == [60, 61, 62])
        try bench.finish()
    }

    @Test("C16: a day of which the peer knows nothing is kept as such, and not as a zero") func daysWithoutData()
        async throws
    {
        let bench = try Bench(.walkingApp) { $0.zone = "UTC" }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let totals = try bench.store.blockingRead { try $0.totals(of: .stepCount, peer: "health") }
        #expect(!totals.isEmpty && totals.allSatisfy { $0.value == nil })
        try bench.finish()
    }

    @Test("Tombstones are not kept for a peer for which nothing ever waits") func pullOnly() async throws {
        let bench = try Bench(.walkingApp)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.peer("health") }?.acknowledged != nil)
        let commit = try bench.store.info().commit
        try await bench.sync()
        #expect(try bench.store.info().commit == commit + Bench.commitsOfLease)
        try bench.finish()
    }
}
