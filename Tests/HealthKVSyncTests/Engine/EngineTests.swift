import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("The engine as an app uses it")
struct EngineTests {
    @Test(
        "D: While it runs, a plain save goes out by itself, and a change at the peer comes in and is called back once it is committed"
    )
    func running() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.engine.start()
        _ = try bench.save(72)
        try await until("the push") { bench.held == [72] }
        try await until("the watch") { bench.health.completed == 0 && bench.health.pulls > 0 }
        bench.health.save(bench.scale(80, hour: 2))
        try await until("the pull") { try bench.weights.sorted() == [72, 80] }
        try await until("the call back") { bench.health.completed >= 1 }
        try await until("the status") { try bench.status().lastWakeResult == "changes" }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("A sync with a peer that the engine does not have is refused by name") func unknownPeer() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let issue = await #expect(throws: SyncIssue.self) { try await bench.engine.sync("Healthkit") }
        #expect(issue?.code == .invalid && issue?.detail.contains("Healthkit") == true)
        #expect(try await bench.engine.sync(bench.peer).count == 1)
        try bench.finish()
    }

    @Test("Options that cannot be meant end the process when an engine is made with them") func options() async {
        let size = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var options = SyncOptions()
            options.pushSize = 0
            _ = SyncEngine(store: try SampleStore.temporary(), peers: [], options: options)
        }
        let deadline = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var options = SyncOptions()
            options.callDeadline = .seconds(-1)
            _ = SyncEngine(store: try SampleStore.temporary(), peers: [], options: options)
        }
        for (exit, name) in [(size, "pushSize"), (deadline, "callDeadline")] {
            let told = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
            #expect(told.contains("the option \(name) is"), "\(told)")
        }
    }

    @Test("While there is nothing to do, nothing is done: no call of the peer, no commit, no timer") func idle()
        async throws
    {
        let bench = try Bench.withUpkeep()
        try await bench.engine.enable(bench.peer)
        bench.engine.start()
        _ = try bench.save(72)
        try await until("the push") { try bench.held == [72] && bench.pending.isEmpty }
        let commit = try await bench.restingCommit()
        let (pulls, pushes) = (bench.health.pulls, bench.health.pushes)
        try await Task.sleep(for: .milliseconds(200))
        #expect(bench.health.pulls == pulls && bench.health.pushes == pushes)
        #expect(try bench.store.info().commit == commit)
        #expect(bench.clock.sleepers.isEmpty)
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("What failed is tried again when its time has come, by the injected clock") func timer() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.set(refusal: { _ in .failed(reason: "busy") })
        bench.engine.start()
        _ = try bench.save(72)
        try await until("the timer") { try !bench.clock.sleepers.isEmpty && bench.pending.first?.attempts == 1 }
        bench.health.set(refusal: nil)
        bench.clock.advance(seconds: 3)
        try await until("the retry") { bench.held == [72] }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("An hourly type is pulled each hour") func hourly() async throws {
        let bench = try Bench(.dietApp)
        try await bench.engine.enable(bench.peer)
        bench.engine.start()
        try await until("the timer") { !bench.clock.sleepers.isEmpty }
        let pulls = bench.health.pulls
        bench.clock.advance(seconds: 3_601)
        try await until("the pull") { bench.health.pulls >= pulls + 2 }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("A background task ends at its deadline and goes on another time") func deadline() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        #expect(try await bench.engine.run(until: bench.clock.now + .seconds(30)))
        #expect(bench.held == [72])
        #expect(try await !bench.engine.run(until: bench.clock.now) || bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("The status is stored, and tells each change of it") func status() async throws {
        let bench = try Bench()
        let updates = bench.engine.statusUpdates()
        try await bench.engine.enable(bench.peer)
        bench.health.set(writing: .denied, of: .bodyMass)
        _ = try bench.save(72)
        try await bench.sync()
        for await status in updates where status.parked == 1 { break }
        let again = try bench.restarted()
        let status = try again.status()
        #expect(status.isEnabled && status.parked == 1 && status.pending == 0)
        #expect(status.authorization[.bodyMass]?.writing == .denied)
        #expect(status.authorization[.bodyMass]?.reading == .unknown)
        #expect(status.lastSync == bench.clock.now)
        try await again.engine.disable(again.peer)
        #expect(try !again.status().isEnabled)
        bench.health.set(writing: .granted, of: .bodyMass)
        try await again.sync()
        #expect(bench.held.isEmpty)
        try await again.engine.enable(again.peer)
        try await again.sync()
        #expect(bench.held == [72])
        try bench.finish()
    }

    @Test(
        "C24: a lock parks nothing that can be saved, and a lock of more than a day raises a notice; restricted is unavailable"
    )
    func locked() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.health.set(availability: .locked)
        _ = try bench.save(72)
        let pulls = bench.health.pulls
        try await bench.sync()
        #expect(bench.held == [72] && bench.health.pulls == pulls)
        #expect(try bench.status().notices.isEmpty && bench.status().availability == .locked)
        bench.clock.advance(seconds: 90_000)
        try await bench.sync()
        #expect(try bench.status().notices.map(\.code) == [.lockedForLong])
        bench.health.set(availability: .restricted)
        let report = try await bench.sync()
        #expect(report.issue?.code == .unavailable && report.issue?.recovery == .hideOption)
        bench.health.set(availability: .available)
        #expect(try await bench.sync().issue == nil)
        #expect(try bench.status().issue == nil)
        try bench.finish()
    }

    @Test(
        "C11: disconnecting with purge removes what the peer brought, sends no deletions, answers the number, and is idempotent"
    )
    func disconnect() async throws {
        let bench = try Bench()
        for hour in 0..<45 { bench.health.save(bench.scale(60, hour: hour)) }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72, hour: 100)
        try await bench.sync()
        #expect(try await bench.engine.disconnect(bench.peer, purge: true) == 45)
        #expect(try await bench.engine.disconnect(bench.peer, purge: true) == 0)
        #expect(try bench.weights == [72])
        #expect(bench.health.live.count == 46)
        #expect(try bench.store.blockingRead { try $0.anchors(of: "health") }.isEmpty)
        #expect(try bench.pending.isEmpty && !bench.status().isEnabled)
        // Connected again, all comes back.
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.count == 46 && bench.health.live.count == 46)
        #expect(try await bench.engine.disconnect(bench.peer) == 0)
        #expect(try bench.weights.count == 46)
        try bench.finish()
    }

    @Test("C11: the walking app's plan purges when it disconnects") func walkingDisconnect() async throws {
        let bench = try Bench(.walkingApp)
        bench.health.save(
            Sample(
                .stepCount, 9, .count, from: bench.clock.now, to: bench.clock.now, source: Source(name: "Phone"),
                origin: .imported))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.count(of: .stepCount) } == 1)
        #expect(try await bench.engine.disconnect(bench.peer) == 1)
        try bench.finish()
    }

    @Test("C11, C26: what vanishes twice raises suspicion, is kept and reported") func revoked() async throws {
        let bench = try Bench(.walkingApp)
        bench.health.save(
            Sample(
                .stepCount, 9, .count, from: bench.clock.now, to: bench.clock.now, source: Source(name: "Phone"),
                origin: .imported))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.health.set(unreadable: [.stepCount, .distanceWalkingRunning])
        try await bench.engine.reconcile(bench.peer)
        #expect(try bench.status().issue == nil)
        let report = try await bench.engine.reconcile(bench.peer)
        #expect(report.unverified == 1 && report.deleted == 0)
        let status = try bench.status()
        #expect(status.issue?.code == .accessRevoked && status.issue?.recovery == .openSettings)
        #expect(status.issue?.message.contains("will be removed") == true)
        #expect(try bench.store.blockingRead { try $0.count(of: .stepCount) } == 1)
        try bench.finish()
    }

    @Test("C26: a sample is taken for deleted when two passes agree and another shows that it could have been seen")
    func missing() async throws {
        let bench = try Bench { $0.pageSize = 3 }
        try await bench.engine.enable(bench.peer)
        let ids = (0..<10).map { bench.health.save(bench.scale(60 + Double($0), hour: $0)) }
        try await bench.sync()
        // Deleted while nobody looked, and purged from the feed.
        bench.health.forget(ids[4])
        bench.health.forget(ids[0])
        let first = try await bench.engine.reconcile(bench.peer)
        #expect(first.missing == 1 && first.deleted == 0 && first.unverified == 1)
        let second = try await bench.engine.reconcile(bench.peer)
        #expect(second.deleted == 1 && second.unverified == 1)
        #expect(try bench.store.blockingRead { try $0.sample(id: ids[4]) } == nil)
        #expect(try bench.store.blockingRead { try $0.sample(id: ids[0]) } != nil)
        #expect(try bench.store.blockingRead { try $0.conflicts() }.map(\.event) == [.presumedGone])
        // Should it show itself again, it is back.
        bench.health.restore(ids[4], bench.scale(64, hour: 4))
        try await bench.engine.reconcile(bench.peer)
        #expect(try bench.store.blockingRead { try $0.sample(id: ids[4]) } != nil)
        try bench.finish()
    }

    @Test("One engine at a time: another waits for the lease, and one that lost it cannot commit") func lease()
        async throws
    {
        let bench = try Bench { $0.holder = "app" }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        try await bench.sync()
        try await bench.engine.session("health").holdLease()
        let widget = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { $0.holder = "widget" }
        _ = try bench.save(73, hour: 1)
        let refused = try #require(try await widget.sync()["health"])
        #expect(refused.issue?.code == .busyElsewhere && bench.held == [72])
        bench.clock.advance(seconds: 61)
        #expect(try #require(try await widget.sync()["health"]).issue == nil)
        #expect(bench.held == [72, 73])
        // The app, still believing in its old lease, is refused by its token.
        let session = try bench.engine.session("health")
        await #expect(throws: SyncIssue.self) { try await session.update { _, state in state.purged = 9 } }
        withExtendedLifetime(widget) {}
        try bench.finish()
    }

    @Test("C28: a restored store adopts what the peer holds before it sends anything") func restored() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        let session = try bench.engine.session("health")
        // As after a restore: another epoch, an older version, and an operation that was done long ago.
        try await session.update { txn, state in
            state.epoch += 1
            try txn.enqueue(PendingOperation(peer: "health", kind: .save, sample: sample.id, version: 1))
        }
        var edit = sample
        (edit.quantity, edit.syncIdentifier) = (Quantity(70, .kilogram), sample.id.description)
        edit.version = PeerNumber.next(version: 5, sample.clock, above: 0)
        bench.health.save(edit, app: "app")
        try await bench.sync()
        #expect(try bench.weights == [70])
        #expect(bench.held == [70])
        #expect(try bench.status().notices.map(\.code) == [.restored])
        try bench.finish()
    }

    @Test("Errors name what to do and what to tell the user", arguments: SyncIssue.Code.allCases) func issues(
        _ code: SyncIssue.Code
    ) {
        let expected: [SyncIssue.Code: (String, SyncIssue.Recovery)] = [
            .accessDenied: ("Health access not granted", .openSettings),
            .accessNotDetermined: ("Please grant Health access", .requestAccess),
            .locked: ("Health data unavailable", .retryOnForeground),
            .unavailable: ("Health data is not available on this device", .hideOption),
            .delayed: ("Sync delayed", .wait),
        ]
        let issue = SyncIssue(code, "detail")
        #expect(!issue.message.isEmpty)
        if let (message, recovery) = expected[code] { #expect(issue.message == message && issue.recovery == recovery) }
        let walking = SyncIssue(code, "detail", plan: .walkingApp)
        if code == .accessDenied { #expect(walking.message.contains("You can enter steps manually")) }
    }

    @Test("The presets ask in stages, and for what the seeds list") func presets() {
        let diet = SyncPlan.dietApp
        #expect(diet.request(.onboarding).read == [.bodyMass, .activeEnergyBurned, .workout])
        #expect(
            diet.request(.onboarding).write == [
                .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal,
            ])
        #expect(diet.request(.all).read.count == 8 && diet.request(.all).write.count == 11)
        #expect(SyncPlan.walkingApp.request(.all).write.isEmpty)
        #expect(SyncPlan.weightTracker.request(.onboarding) == SyncPlan.weightTracker.request(.all))
    }

    @Test("The app's log is told what a sync did and what kept it from being whole, without a value or an id")
    func log()
        async throws
    {
        let lines = Mutex<[SyncLogEntry]>([])
        let bench = try Bench { $0.log = { line in lines.withLock { $0.append(line) } } }
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72.5)
        bench.health.save(bench.scale(81.25, hour: 1))
        try await bench.sync()
        bench.health.set(failure: { _ in PeerError(.transient, "busy") })
        bench.clock.advance(seconds: 60)
        try await bench.sync()
        let told = lines.withLock { $0 }
        #expect(told.contains { $0.level == .info && $0.metadata["imported"] == "1" && $0.metadata["sent"] == "1" })
        #expect(told.contains { $0.level == .warning && $0.metadata["issue"] == "delayed" })
        #expect(told.allSatisfy { $0.metadata["peer"] == "health" })
        let text = told.map(\.description).joined(separator: "\n")
        for secret in ["72.5", "81.25", sample.id.description] { #expect(!text.contains(secret)) }
        try bench.finish()
    }

    @Test("The app's log is warned of what was left out or refused for good, without a value")
    func logOfRefusals() async throws {
        let lines = Mutex<[SyncLogEntry]>([])
        let bench = try Bench { $0.log = { line in lines.withLock { $0.append(line) } } }
        try await bench.engine.enable(bench.peer)
        bench.health.set(refusal: { _ in .refused(reason: "it is no weight") })
        _ = try bench.save(72.5)
        try await bench.sync()
        var told = lines.withLock { $0 }
        #expect(told.contains { $0.level == .warning && $0.metadata["quarantined"] == "1" })
        lines.withLock { $0 = [] }
        bench.health.save(bench.scale(81.25, hour: 1, sync: "x", version: -5))
        try await bench.sync()
        told = lines.withLock { $0 }
        #expect(told.contains { $0.level == .warning && $0.metadata["invalid"] == "1" })
        let text = told.map(\.description).joined(separator: "\n")
        for secret in ["72.5", "81.25"] { #expect(!text.contains(secret)) }
        try bench.finish()
    }

    @Test("The app's log is told why a request for access, an import or a comparison failed")
    func logOfFailures() async throws {
        let lines = Mutex<[SyncLogEntry]>([])
        let bench = try Bench()
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both)])
        let peer = BrokenPeer(MemoryHealthPeer(bench.health))
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: plan)], bench.clock) {
            $0.log = { line in lines.withLock { $0.append(line) } }
        }
        func told(_ operation: String) -> [SyncLogEntry] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines.filter { $0.metadata["operation"] == operation }
            }
        }
        try await engine.enable("health")
        await #expect(throws: SyncIssue.self) { try await engine.authorize("health") }
        #expect(told("authorize").map(\.level) == [.warning])
        await #expect(throws: SyncIssue.self) { try await engine.reconcile("health") }
        #expect(told("reconcile").map { $0.metadata["issue"] } == ["delayed"])
        let (here, backup) = (bench.store, try Bench.makeStore(bench.clock))
        let records = Bench.makeEngine(
            here, [SyncPeer(StorePeer(backup, id: "backup", as: "phone"), plan: .everything)], bench.clock
        ) { $0.log = { line in lines.withLock { $0.append(line) } } }
        await #expect(throws: SyncIssue.self) {
            for try await _ in records.importHistory("backup", .fromNowOn) {}
        }
        let entries = told("importHistory")
        #expect(entries.map(\.level) == [.error] && entries.first?.metadata["peer"] == "backup")
        try bench.finish()
    }
}

/// A database whose question for access and whose enumerations fail.
private struct BrokenPeer: DatabasePeer {
    private let inner: MemoryHealthPeer

    init(_ inner: MemoryHealthPeer) { self.inner = inner }

    var id: PeerID { inner.id }
    var traits: DatabaseTraits { inner.traits }
    func availability() async -> PeerAvailability { await inner.availability() }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        throw PeerError(.transient, "it is busy")
    }
    func authorization(of type: SampleType) async -> TypeAuthorization { await inner.authorization(of: type) }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        throw PeerError(.transient, "it is busy")
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] { await inner.push(operations) }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        try await inner.dailyTotals(request)
    }
}
