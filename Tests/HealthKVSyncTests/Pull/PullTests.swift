import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Pulling from a peer")
struct PullTests {
    @Test("New samples of others come with their source, edits replace, deletions delete, and nothing is sent back")
    func roundTrip() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let first = bench.health.save(bench.scale(72, hour: 1, sync: "a", version: 1))
        try await bench.sync()
        let held = try #require(try bench.store.blockingRead { try $0.sample(id: first) })
        #expect(held.source.name == "Scale" && held.origin == .imported)
        let second = bench.health.save(bench.scale(71, hour: 1, sync: "a", version: 2))
        let report = try await bench.sync()
        #expect(report.pulled.imported == 1 && report.pulled.deleted == 0 && report.pulled.superseded == 1)
        // The id survives the edit; the peer's new one stands in the link (SEMANTICS A8).
        #expect(try bench.store.blockingRead { try $0.sample(id: first) }?.quantity.value == 71)
        #expect(try bench.store.blockingRead { try $0.link(peer: "health", idAtPeer: second) }?.sample == first)
        bench.health.delete(second)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        #expect(bench.health.pushes == 0)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("C14, D: the anchor stands in the transaction of its page, whatever step a crash comes at")
    func anchors() async throws {
        for step in [SyncStep.pagePulled, .pageCommitted] {
            let left = Mutex(3)
            let bench = try Bench { options in
                options.pageSize = 10
                options.atStep = { reached in
                    guard reached == step else { return }
                    let crashes = left.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    if crashes { throw CancellationError() }
                }
            }
            for hour in 0..<95 { bench.health.save(bench.scale(60 + Double(hour), hour: hour)) }
            try await bench.engine.enable(bench.peer)
            for _ in 0..<3 { await #expect(throws: CancellationError.self) { try await bench.sync() } }
            try await bench.sync()
            #expect(try bench.weights.sorted() == (0..<95).map { 60 + Double($0) })
            try bench.finish()
        }
    }

    @Test(
        "C22: in a page additions come first, and a replacement whose deletion comes pages before it keeps its identity"
    )
    func deletionBeforeAddition() async throws {
        let bench = try Bench { $0.pageSize = 1 }
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try await bench.sync()
        // The same app edits it on another device: one deletion, then one addition, each on a page of its own.
        var edit = sample
        edit.quantity = Quantity(70, .kilogram)
        edit.version = try #require(bench.health.live.first?.sample.version) + 1
        edit.syncIdentifier = sample.id.description
        bench.health.save(edit, app: "app")
        let report = try await bench.sync()
        #expect(report.pulled.superseded >= 1 && report.pulled.deleted == 0)
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 70)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("C22: a deletion wins against an edit that was not sent; the edit stays in the audit and can be restored")
    func deletionAgainstEdit() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        let theirs = try #require(bench.health.live.first?.sample.id)
        _ = try bench.save(71, id: sample.id)
        bench.health.delete(theirs)
        let report = try await bench.sync()
        #expect(report.pulled.deleted == 1 && report.pulled.conflicts == 1)
        #expect(try bench.weights.isEmpty && bench.held.isEmpty)
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id) }?.version == 2)
        let conflict = try #require(try bench.store.blockingRead { try $0.conflicts() }.first)
        #expect(conflict.event == .editDeleted && conflict.displaced.quantity.value == 71)
        try bench.write { _ = try $0.restore(conflict) }
        try await bench.sync()
        #expect(bench.held == [71])
        #expect(try bench.store.blockingRead { try $0.conflicts() }.isEmpty)
        try bench.finish()
    }

    @Test("C22: with the policy that edits win, an edit that was not sent survives the deletion") func editWins()
        async throws
    {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.conflicts = .editWins
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try await bench.sync()
        let theirs = try #require(bench.health.live.first?.sample.id)
        _ = try bench.save(71, id: sample.id)
        bench.health.delete(theirs)
        try await bench.sync()
        #expect(try bench.weights == [71])
        #expect(bench.held == [71])
        try bench.finish()
    }

    @Test("C25: an echo updates the link only, never value, unit or date") func echo() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = Sample(.bodyMass, 160, .pound, at: bench.time(1) + 123)
        try bench.write { _ = try $0.save(sample) }
        let before = try #require(try bench.store.blockingRead { try $0.sample(id: sample.id) })
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.link(peer: "health", sample: sample.id) }?.isProvisional == true)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.link(peer: "health", sample: sample.id) }?.isProvisional == false)
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) } == before)
        let commit = try bench.store.info().commit
        try await bench.sync()
        #expect(try bench.store.info().commit == commit + Bench.commitsOfLease)
        try bench.finish()
    }

    @Test("C21, D: after a reinstall own samples are adopted by sync identifier before anything is sent")
    func reinstall()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        _ = try bench.save(71, id: sample.id)
        try await bench.sync()
        let fresh = try Bench(.weightTracker, health: bench.health, clock: bench.clock)
        try await fresh.engine.enable(fresh.peer)
        let report = try await fresh.sync()
        #expect(report.pulled.adopted == 1 && report.pushed.done == 0)
        let adopted = try #require(try fresh.store.blockingRead { try $0.sample(id: sample.id) })
        #expect(adopted.origin == .authored && adopted.version == 2 && adopted.quantity.value == 71)
        _ = try fresh.save(70, id: sample.id)
        try await fresh.sync()
        #expect(fresh.held == [70])
        try bench.finish()
        try fresh.finish()
    }

    @Test("C21: samples from before there were sync identifiers are known by a metadata key") func metadataKey()
        async throws
    {
        let bench = try Bench(.dietApp)
        var old = Sample(.dietaryProtein, 20, .gram, at: bench.time(1), source: Source(name: "app"))
        old.metadata = ["DietAppLogId": .string("17")]
        bench.health.save(old, app: "app")
        var ours = old
        ours.source = .thisApp
        ours.id = SampleID()
        let entry = ours
        try bench.write { _ = try $0.save(entry) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(bench.health.live.count == 1)
        #expect(try bench.store.blockingRead { try $0.samples(of: .dietaryProtein) }.count == 1)
        try bench.finish()
    }

    @Test("C9: skipping the import stores nothing of what there is, and everything that comes") func skip() async throws
    {
        let bench = try Bench()
        bench.health.save(bench.scale(72, hour: 1))
        for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
        #expect(try bench.weights.isEmpty)
        #expect(try !bench.store.blockingRead { try $0.anchors(of: "health") }.isEmpty)
        var later = bench.scale(70, hour: 0)
        later.start = bench.clock.now + 1
        later.end = later.start
        bench.health.save(later)
        try await bench.sync()
        #expect(try bench.weights == [70])
        // A later import of all brings the rest.
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        #expect(try bench.weights.sorted() == [70, 72])
        try bench.finish()
    }

    @Test(
        "C9: a plan that asks brings nothing of the past until it is answered, however often it syncs, and all that comes"
    )
    func asks() async throws {
        let bench = try Bench(.weightTracker.askingForHistory)
        for hour in 0..<50 { bench.health.save(bench.scale(60, hour: -hour)) }
        _ = try bench.save(72)
        bench.engine.start()
        try await bench.engine.authorize(bench.peer)
        try await bench.engine.enable(bench.peer)
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_600)
            try await bench.engine.enterForeground()
        }
        #expect(try bench.weights == [72])
        #expect(try bench.status().historyToAsk == [.bodyMass])
        #expect(try await bench.engine.importPreview(bench.peer) == [.bodyMass: 50])
        bench.health.save(bench.scale(61, hour: -100))
        try await bench.sync()
        #expect(try bench.weights.sorted() == [61, 72])
        // "Skip" leaves them, also later.
        for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
        #expect(try bench.weights.sorted() == [61, 72])
        #expect(try bench.status().historyToAsk.isEmpty)
        bench.clock.advance(seconds: 40 * 86_400)
        try await bench.engine.enterForeground()
        #expect(try bench.weights.sorted() == [61, 72])
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        #expect(try bench.weights.count == 52)
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("D: A first import brings the newest samples first, tells its progress, and can be cancelled and resumed")
    func newestFirst() async throws {
        let bench = try Bench { $0.pageSize = 50 }
        let day = 24
        for index in 0..<400 { bench.health.save(bench.scale(60, hour: 270 - day * index)) }
        let counts = Mutex<[Int]>([])
        let preview = try await bench.engine.importPreview(bench.peer) { told in
            counts.withLock { $0.append(told[.bodyMass] ?? 0) }
        }
        #expect(preview[.bodyMass] == 400)
        #expect(counts.withLock { $0 } == [50, 100, 150, 200, 250, 300, 350, 400])
        var steps = 0
        for try await progress in bench.engine.importHistory(bench.peer, .all) {
            #expect(progress.type == .bodyMass && progress.total == 400 && progress.completed == progress.imported)
            steps += 1
            if steps == 1 {
                let latest = try #require(try bench.store.blockingRead { try $0.latest(of: .bodyMass) })
                #expect(latest.start == bench.time(270) && progress.imported <= 50)
                break
            }
        }
        // Breaking out of the loop cancels the import after the page under way.
        var last: SyncProgress?
        for try await progress in bench.engine.importHistory(bench.peer, .all) { last = progress }
        // What is held is not counted again.
        let total = try #require(last?.total)
        #expect(total < 400 && last?.completed == total)
        #expect(try bench.store.blockingRead { try $0.count() } == 400)
        while try bench.store.blockingRead({ try $0.count() }) < 400 { try await bench.sync() }
        #expect(try bench.status().drained == [.bodyMass])
        #expect(try bench.status().imported[.bodyMass] == 400)
        try bench.finish()
    }

    @Test("D: The progress of an import has a total without a preview, for some days and after a restart, and is whole")
    func wholeProgress() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both), .stepCount: TypePlan(.pull)])) {
            $0.pageSize = 50
        }
        let now = bench.clock.now
        for day in 0..<120 {
            var sample = bench.scale(60, hour: 0)
            (sample.start, sample.end) = (now - .days(day), now - .days(day))
            bench.health.save(sample)
        }
        func steps(_ bench: Bench, _ horizon: TypePlan.Horizon, first: Int = .max) async throws -> [SyncProgress] {
            var steps: [SyncProgress] = []
            for try await step in bench.engine.importHistory(bench.peer, horizon) {
                steps.append(step)
                if steps.count == first { break }
            }
            return steps
        }
        let days = try await steps(bench, .days(29))
        // The newest window comes first, and then the rest is counted.
        #expect(days.first.map { $0.total == nil && $0.imported == 8 } == true)
        #expect(days.dropFirst().allSatisfy { $0.total == 30 })
        #expect(days.last.map { $0.completed == 30 && $0.total == 30 } == true)
        let begun = try await steps(bench, .all, first: 1)
        #expect(begun.first?.total == 90)
        // An invalid sample is never imported, but the bar ends whole.
        bench.health.save(bench.scale(61, hour: -2, sync: "x", version: -5))
        let again = try bench.restarted(SyncPlan(types: [.bodyMass: TypePlan(.both), .stepCount: TypePlan(.pull)]))
        let rest = try await steps(again, .all)
        #expect(rest.allSatisfy { $0.total != nil })
        #expect(rest.last.map { $0.completed == $0.total } == true)
        #expect(try bench.weights.count == 120)
        // An import that is done has nothing to count.
        let done = try await steps(again, .all)
        #expect(done.allSatisfy { $0.completed == $0.total })
        try bench.finish()
    }

    @Test("C8: thirty days of a read-only type are imported, and nothing of it is sent") func readOnly() async throws {
        let bench = try Bench(.walkingApp)
        for day in 0..<60 {
            bench.health.save(
                Sample(
                    .stepCount, 1_000, .count, from: bench.clock.now - .days(day), to: bench.clock.now - .days(day),
                    source: Source(name: "Phone"), origin: .imported))
        }
        try await bench.engine.enable(bench.peer)
        try bench.write { _ = try $0.save(Sample(.stepCount, 5, .count, at: .distantPast + Int64.max / 2)) }
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.samples(of: .stepCount) }.count == 32)
        #expect(bench.health.pushes == 0)
        try bench.finish()
    }

    @Test(
        "C15: a peer's daily totals are kept, asked again for touched days, and an incomplete one never replaces a complete one"
    )
    func totals() async throws {
        let bench = try Bench(.walkingApp) { $0.zone = "UTC" }
        try await bench.engine.enable(bench.peer)
        let today = bench.clock.now
        let day = LocalDays.names(from: today, to: today, zone: "UTC", limit: 1)[0]
        bench.health.set(total: Quantity(500, .count), of: .stepCount, day)
        bench.health.save(
            Sample(
                .stepCount, 500, .count, from: today, to: today, source: Source(name: "Phone"), origin: .imported))
        try await bench.sync()
        let total = { try bench.store.read { try $0.totals(of: .stepCount, peer: "health") }.first { $0.day == day } }
        #expect(try total()?.value == 500 && total()?.isComplete == false)
        bench.health.set(total: Quantity(900, .count), of: .stepCount, day)
        bench.clock.advance(seconds: 86_400)
        try await bench.sync()
        #expect(try total()?.value == 900 && total()?.isComplete == true)
        try bench.finish()
    }

    @Test("C23: at least monthly the feed is read from its beginning, and what is held already is no change")
    func rescan() async throws {
        let bench = try Bench()
        bench.health.set(unreadable: [.bodyMass])
        bench.health.save(bench.scale(72, hour: 1))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        // The anchor has passed over what could not be read (SEMANTICS A17).
        bench.health.set(unreadable: [])
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        try await bench.engine.authorize(bench.peer)
        try await bench.sync()
        #expect(try bench.weights == [72])
        bench.clock.advance(seconds: 31 * 86_400)
        let token = try bench.store.blockingRead { $0.currentToken }
        let report = try await bench.sync()
        #expect(report.pulled.unchanged == 1)
        #expect(try bench.store.blockingRead { try $0.changes(since: token) }.changes.isEmpty)
        try bench.finish()
    }

    @Test(
        "C23: the first sample of others after none were seen makes the feed be read again, since more may be readable")
    func firstForeign() async throws {
        let bench = try Bench()
        bench.health.set(unreadable: [.bodyMass])
        bench.health.save(bench.scale(72, hour: 1))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.health.set(unreadable: [])
        bench.health.save(bench.scale(70, hour: 2))
        try await bench.sync()
        #expect(try bench.weights.sorted() == [70, 72])
        let pulls = bench.health.pulls
        bench.health.save(bench.scale(71, hour: 3))
        try await bench.sync()
        #expect(bench.health.pulls == pulls + 1)
        try bench.finish()
    }

    @Test("An anchor that the peer no longer knows starts the feed over") func expiredAnchor() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(72, hour: 1))
        try await bench.sync()
        bench.health.invalidateAnchors()
        bench.health.save(bench.scale(71, hour: 2))
        let report = try await bench.sync()
        #expect(report.issue == nil)
        #expect(try bench.weights.sorted() == [71, 72])
        try bench.finish()
    }

    @Test("C7: an import that was hidden is never brought back, and an edit of one is never sent") func overlays()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let (hidden, edited) = (
            bench.health.save(bench.scale(72, hour: 1)), bench.health.save(bench.scale(60, hour: 2))
        )
        try await bench.sync()
        try bench.write { txn in
            try txn.hide(id: hidden)
            _ = try txn.overlay(id: edited) { $0.quantity = Quantity(61, .kilogram) }
        }
        bench.health.invalidateAnchors()
        try await bench.sync()
        #expect(try bench.weights == [61])
        #expect(bench.held == [60, 72])
        #expect(bench.health.pushes == 0)
        try bench.finish()
    }
}
