import SyncSupport
import Testing

@testable import HealthKVSync

/// The order of versions is that of the stores, whatever number a database of health has for them (SEMANTICS C1).
@Suite("Versions of stores and numbers of a database of health")
struct OrderOfVersionsTests {
    /// Two stores with a database each or one together, and a link between the stores where a test wants one.
    private func engine(
        _ store: SampleStore, _ health: MemoryHealth, _ clock: ManualClock, to other: SampleStore? = nil
    )
        -> SyncEngine
    {
        var peers = [SyncPeer(MemoryHealthPeer(health), plan: .weightTracker)]
        if let other { peers.append(SyncPeer(StorePeer(other, id: "other", as: "ours"), plan: .everything)) }
        return Bench.makeEngine(store, peers, clock)
    }

    @Test(
        "C1: a deletion of an edit that won over what Health holds is not undone by the number that the edit was sent under"
    )
    func deletionOfRaisedEdit() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        let (a, b) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let (one, other) = (
            engine(a, health, clock),
            Bench.makeEngine(b, [SyncPeer(StorePeer(a, id: "a", as: "b"), plan: .everything)], clock)
        )
        try await one.enable("health")
        try await other.enable("a")
        let id = SampleID()
        let start = Instant(nanoseconds: 799_000_000_000_000_000)
        func save(_ value: Double, in store: SampleStore) async throws {
            _ = try await store.write { try $0.save(Sample(.bodyMass, value, .kilogram, at: start, id: id)) }
            clock.advance(seconds: 1)
        }
        try await save(70, in: a)
        try await one.sync()
        try await other.sync()
        try await save(71, in: a)
        try await one.sync()
        // B has not heard of 71, and makes the same version.
        try await save(72, in: b)
        try await other.sync()
        #expect(try a.blockingRead { try $0.sample(id: id) }?.version == 2)
        try await one.sync()
        #expect(health.live.map(\.sample.quantity.value) == [72])
        _ = try await b.write { try $0.delete(id: id) }
        clock.advance(seconds: 1)
        for _ in 0..<3 {
            try await other.sync()
            try await one.sync()
        }
        #expect(try a.blockingRead { try $0.sample(id: id) } == nil && b.blockingRead { try $0.sample(id: id) } == nil)
        #expect(health.live.isEmpty)
        try a.close()
        try b.close()
    }

    @Test("C1: two versions that two replicas made at the same instant get different numbers")
    func numbersDiffer() throws {
        let time = Instant(nanoseconds: 799_000_000_000_000_000)
        let numbers = (1...40).map {
            PeerNumber.next(version: 2, ChangeClock(time: time, replica: $0 * 7_919), above: 0)
        }
        #expect(Set(numbers).count >= 38)
        #expect(numbers.allSatisfy { PeerNumber.slot(of: $0) == 2 && $0 < 1 << 53 })
        // What was held under any of them gives way to the next version of any.
        let next = PeerNumber.next(version: 3, ChangeClock(time: time, replica: 1), above: 0)
        #expect(numbers.allSatisfy { $0 < next })
        // Versions that an app takes from a clock in milliseconds fit; greater ones are numbers themselves.
        #expect(PeerNumber.slot(of: PeerNumber.last(version: 1_800_000_000_000)) == 1_800_000_000_000)
        // Slots of either form are in order, come back, and leave the numbers exact in doubles.
        let slots: [Int64] = [0, 1, 2, 1 << 31 - 1, 1 << 31, 1_800_000_000_000, 1 << 41 - 1]
        var last: Int64 = 0
        for slot in slots {
            let clock = ChangeClock(time: time, replica: UInt32(truncatingIfNeeded: slot &* 31))
            let number = PeerNumber.next(version: slot, clock, above: 0)
            #expect(number > last && number <= PeerNumber.last(version: slot))
            #expect(PeerNumber.slot(of: number) == slot && PeerNumber.isMade(number, of: clock))
            #expect(PeerNumber.last(version: slot) < 1 << 53 && PeerNumber.isOurs(number))
            #expect(!PeerNumber.isMade(number ^ 1, of: clock))
            last = PeerNumber.last(version: slot)
        }
        // The greatest number of all, which another program may have used, ends no process.
        #expect(PeerNumber.next(version: 1, ChangeClock(time: time, replica: 1), above: .max) == .max)
        let large: Int64 = 1_800_000_000_000_000_000
        #expect(PeerNumber.next(version: large, ChangeClock(time: time, replica: 1), above: large) == large + 1)
    }

    @Test("A number that is raised goes above what is held, and stays below the next version as long as it can")
    func raisesStayBelow() {
        let time = Instant(nanoseconds: 799_000_000_000_000_000)
        for version: Int64 in [1, 2, 7, 1 << 31 - 1] {
            let held = ChangeClock(time: time, replica: 4), own = ChangeClock(time: time, replica: 5)
            var numbers = [PeerNumber.next(version: version, held, above: 0)]
            for _ in 0..<4 { numbers.append(PeerNumber.next(version: version, own, above: numbers.last! | 0x3_FFFF)) }
            #expect(numbers == numbers.sorted() && Set(numbers).count == 5)
            #expect(numbers.prefix(4).allSatisfy { PeerNumber.slot(of: $0) == version })
            #expect(numbers.prefix(4).allSatisfy { $0 <= PeerNumber.last(version: version) })
            #expect(numbers.prefix(4).allSatisfy { $0 < PeerNumber.next(version: version + 1, held, above: 0) })
            // The fourth raise takes the next slot.
            #expect(PeerNumber.slot(of: numbers[4]) == version + 1)
            for number in numbers.dropFirst() { #expect(PeerNumber.isMade(number, of: own)) }
            // The deletion of a raised number is that of what it replaced, and no other way round.
            for (one, other) in zip(numbers, numbers.dropFirst()) {
                #expect(PeerNumber.covers(other, one) && !PeerNumber.covers(one, other))
            }
            let beside = PeerNumber.next(version: version, own, above: 0)
            if beside != numbers[0] { #expect(!PeerNumber.covers(beside, numbers[0])) }
        }
    }

    @Test("C1: two phones that share a database by cloud alone settle on one edit, the later, and rest")
    func twoPhones() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        let stores = [try Bench.makeStore(clock), try Bench.makeStore(clock)]
        let engines = stores.map { engine($0, health, clock) }
        for engine in engines { try await engine.enable("health") }
        let id = SampleID()
        let start = Instant(nanoseconds: 799_000_000_000_000_000)
        // Both write the same entry, as where an app brings its own database from phone to phone.
        for (store, value) in zip(stores, [71.0, 72.0]) {
            _ = try await store.write { try $0.save(Sample(.bodyMass, value, .kilogram, at: start, id: id)) }
            clock.advance(seconds: 1)
        }
        for _ in 0..<4 { for engine in engines { try await engine.sync() } }
        let pushes = health.pushes
        for _ in 0..<2 { for engine in engines { try await engine.sync() } }
        #expect(health.pushes == pushes)
        for store in stores {
            #expect(try store.blockingRead { try $0.sample(id: id) }?.quantity.value == 72)
            try store.close()
        }
        #expect(health.live.map(\.sample.quantity.value) == [72])
    }

    @Test(
        "C22: where a database does not say what it calls a version it was sent, the deletion of an older version deletes nothing, and that of the sent version does",
        arguments: [false, true])
    func deletionUnderProvisionalLink(isOfSentVersion: Bool) async throws {
        let trial = try BadAnswerTrial()
        let bench = trial.bench
        try await trial.engine.enable(bench.peer)
        let sample = try bench.save(72)
        for _ in 0..<2 { try await trial.sync() }
        let first = try #require(bench.health.live.first).sample
        func link() throws -> PeerLink? { try bench.store.read { try $0.link(peer: "health", sample: sample.id) } }
        #expect(try link()?.idAtPeer == first.id && link()?.isProvisional == false)
        trial.peer.set {
            $0.outcomes = { outcomes in
                outcomes.map { outcome -> PushOutcome in if case .done = outcome { .done() } else { outcome } }
            }
        }
        bench.clock.advance(seconds: 60)
        _ = try bench.save(73, id: sample.id)
        try await trial.sync()
        let entry = try #require(bench.health.live.first)
        let (sent, provisional) = (entry.sample.version, try link())
        #expect(entry.sample.id != first.id && sent > first.version)
        #expect(provisional?.idAtPeer == first.id && provisional?.version == sent)
        #expect(provisional?.isProvisional == true)
        // The database tells of a deletion under the old id, and does not show the new version yet.
        bench.health.forget(entry.sample.id)
        if isOfSentVersion {
            trial.peer.set {
                $0.page = { page, _ in
                    var page = page
                    for index in page.deletions.indices { page.deletions[index].version = sent }
                    return page
                }
            }
        }
        let report = try await trial.sync()
        #expect(report.pulled.deleted == (isOfSentVersion ? 1 : 0))
        if isOfSentVersion { return try trial.expectGone(sample) }
        #expect(report.pulled.superseded == 1)
        #expect(try bench.weights == [73])
        #expect(try link() == provisional)
        bench.health.bringBack(entry)
        try await trial.sync()
        #expect(try bench.weights == [73])
        #expect(bench.held == [73])
        #expect(try link()?.idAtPeer == entry.sample.id && link()?.isProvisional == false)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }
}

/// What a database of health no longer shows, or deleted before it was seen.
@Suite("Samples that a database of health no longer shows")
struct VanishedSampleTests {
    @Test(
        "C26: an own sample that was deleted in Health goes, though its deletion was purged; a later edit does not put it back"
    )
    func ownGone() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        try await bench.sync()
        _ = try bench.save(75, hour: 1)
        for _ in 0..<2 { try await bench.sync() }
        bench.health.forget(try #require(bench.health.live.first { $0.sample.quantity.value == 72 }?.sample.id))
        let report = try await bench.engine.reconcile(bench.peer)
        #expect(report.deleted == 1)
        #expect(try bench.weights == [75] && bench.pending.isEmpty)
        #expect(try bench.store.blockingRead { try $0.conflicts() }.map(\.displaced.id) == [sample.id])
        try await bench.sync()
        #expect(bench.held == [75])
        // An app that still shows the sample edits it.
        _ = try bench.save(73, id: sample.id)
        try await bench.sync()
        #expect(bench.held == [75])
        #expect(try bench.weights == [75])
        try bench.finish()
    }

    @Test(
        "C26: where nothing known is shown any more, few own samples are missed twice before they are taken for deleted"
    )
    func fewGone() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1..<8 { _ = try bench.save(60 + Double(hour), hour: hour) }
        for _ in 0..<2 { try await bench.sync() }
        let all = bench.health.live
        for entry in all { bench.health.forget(entry.sample.id) }
        var report = try await bench.engine.reconcile(bench.peer)
        #expect(try report.deleted == 0 && bench.weights.count == 8)
        // A database that was filled again meanwhile takes nothing away.
        for entry in all { bench.health.restore(entry.sample.id, entry.sample, app: "app") }
        report = try await bench.engine.reconcile(bench.peer)
        #expect(try report.deleted == 0 && bench.weights.count == 8)
        for entry in all { bench.health.forget(entry.sample.id) }
        for _ in 0..<2 { report = try await bench.engine.reconcile(bench.peer) }
        #expect(try report.deleted == 8 && bench.weights.isEmpty)
        try bench.finish()
    }

    @Test("C26: an own sample that was out of sight lives again once it is shown")
    func ownReturns() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        try await bench.sync()
        let held = try #require(bench.health.live.first?.sample)
        bench.health.forget(held.id)
        for _ in 0..<2 { try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights.isEmpty)
        bench.health.restore(held.id, held, app: "app")
        bench.health.invalidateAnchors()
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 72)
        #expect(bench.held == [72])
        try bench.finish()
    }

    @Test("C28: a copy of a store beside another database sends what that lacks, and takes nothing for deleted")
    func otherDatabase() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1...20 { _ = try bench.save(60 + Double(hour), hour: hour) }
        try await bench.sync()
        try await bench.sync()
        let session = try bench.engine.session(bench.peer)
        // As on a new phone, with a database that has nothing of it.
        try await session.update { _, state in state.epoch += 1 }
        for entry in bench.health.live { bench.health.forget(entry.sample.id) }
        for _ in 0..<3 {
            try await bench.sync()
            bench.clock.advance(seconds: 4_000)
        }
        #expect(try bench.weights.count == 21)
        #expect(bench.held.count == 21)
        try bench.finish()
    }

    @Test("C28: a copy that is compared before its first sync takes nothing for deleted") func comparedFirst()
        async throws
    {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1...4 { _ = try bench.save(60 + Double(hour), hour: hour) }
        for _ in 0..<2 { try await bench.sync() }
        let session = try bench.engine.session(bench.peer)
        try await session.update { _, state in state.epoch += 1 }
        for entry in bench.health.live.dropFirst() { bench.health.forget(entry.sample.id) }
        let report = try await bench.engine.reconcile(bench.peer)
        #expect(try report.deleted == 0 && bench.weights.count == 5)
        try bench.finish()
    }

    @Test("C28: what a copy adopts from another database is known by what that calls it")
    func otherDatabaseWithSameSample() async throws {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let (old, new) = (MemoryHealth(), MemoryHealth(seed: 2))
        func engine(_ health: MemoryHealth) -> SyncEngine {
            // Of a large database the comparison does not get far in the first passes.
            Bench.makeEngine(store, [SyncPeer(MemoryHealthPeer(health), plan: .weightTracker)], clock) {
                $0.checkPages = 0
            }
        }
        let first = engine(old)
        try await first.enable("health")
        let id = SampleID()
        func save(_ value: Double) async throws {
            let start = Instant(nanoseconds: 799_000_000_000_000_000)
            _ = try await store.write { try $0.save(Sample(.bodyMass, value, .kilogram, at: start, id: id)) }
            clock.advance(seconds: 1)
        }
        try await save(70)
        for _ in 0..<2 { _ = try await first.sync() }
        // The same version, under the number of a slot that was raised twice.
        var raised = try #require(old.live.first?.sample)
        let sample = try #require(try store.blockingRead { try $0.sample(id: id) })
        raised.version = PeerNumber.next(version: 3, sample.clock, above: 0)
        new.save(raised, app: "app")
        let number = raised.version
        new.set(refusal: { operation in
            guard case .save(let sample) = operation.kind, sample.version < number else { return nil }
            return .superseded
        })
        // As on a new phone.
        let second = engine(new)
        try await second.session("health").update { _, state in state.epoch += 1 }
        for _ in 0..<3 { _ = try await second.sync() }
        let link = try #require(try store.blockingRead { try $0.link(peer: "health", sample: id) })
        #expect(link.idAtPeer == new.live.first?.sample.id && !link.isProvisional)
        // So an edit goes above it, and a deletion is queued.
        try await save(71)
        for _ in 0..<2 { _ = try await second.sync() }
        #expect(new.live.map(\.sample.quantity.value) == [71])
        _ = try await store.write { try $0.delete(id: id) }
        for _ in 0..<2 { _ = try await second.sync() }
        #expect(new.live.isEmpty)
        try store.close()
    }

    @Test("C26: where all that was written is gone at once, nothing is taken for deleted")
    func allGone() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1...20 { _ = try bench.save(60 + Double(hour), hour: hour) }
        try await bench.sync()
        try await bench.sync()
        for entry in bench.health.live { bench.health.forget(entry.sample.id) }
        let report = try await bench.engine.reconcile(bench.peer)
        #expect(try report.deleted == 0 && bench.weights.count == 21)
        // Their user may have deleted them all: they do not come back there either.
        for _ in 0..<4 {
            bench.clock.advance(seconds: 4_000)
            try await bench.sync()
        }
        #expect(bench.held.isEmpty)
        #expect(try bench.weights.count == 21)
        let notices = try bench.status().notices
        #expect(notices.contains { $0.code == .unverified && $0.detail.contains("not sent again") }, "\(notices)")
        // What is written from now on goes there.
        _ = try bench.save(90, hour: 30)
        try await bench.sync()
        #expect(bench.held == [90])
        try bench.finish()
    }

    @Test("Where what others wrote is gone as well, the database is another one, and gets what this app wrote")
    func allOfEverybodyGone() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        bench.health.save(bench.scale(80, hour: 2))
        for hour in 1...20 { _ = try bench.save(60 + Double(hour), hour: hour) }
        for _ in 0..<2 { try await bench.sync() }
        for entry in bench.health.live { bench.health.forget(entry.sample.id) }
        try await bench.engine.reconcile(bench.peer)
        for _ in 0..<4 {
            bench.clock.advance(seconds: 4_000)
            try await bench.sync()
        }
        #expect(bench.held.count == 21)
        try bench.finish()
    }

    @Test(
        "C7: an edit that lies over an import is laid back when the import was out of sight and comes again",
        arguments: ["a comparison shows it", "the feed tells of it"]
    ) func overlayReturns(way: String) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 0))
        let there = bench.health.save(bench.scale(80, hour: 5))
        try await bench.sync()
        try bench.write { _ = try $0.overlay(id: there) { $0.quantity = Quantity(79.5, .kilogram) } }
        let entry = try #require(bench.health.live.first { $0.sample.id == there })
        bench.health.forget(there)
        for _ in 0..<2 { try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [60])
        if way == "the feed tells of it" {
            // As a new device does that a cloud fills.
            bench.health.bringBack(entry)
            try await bench.sync()
        } else {
            bench.health.restore(there, entry.sample)
            try await bench.engine.reconcile(bench.peer)
        }
        #expect(try bench.weights.sorted() == [60, 79.5])
        #expect(try bench.store.blockingRead { try $0.sample(id: there) }?.original?.quantity.value == 80)
        try bench.finish()
    }

    @Test("C26: many own samples go only when two comparisons miss them, and none where more is missing than is shown")
    func manyGone() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1...30 { _ = try bench.save(60 + Double(hour), hour: hour) }
        try await bench.sync()
        try await bench.sync()
        func forget(_ count: Int) {
            let entries = bench.health.live.sorted { $0.sample.start < $1.sample.start }
            for entry in entries.prefix(count) { bench.health.forget(entry.sample.id) }
        }
        forget(12)
        let first = try await bench.engine.reconcile(bench.peer)
        #expect(try first.deleted == 0 && first.missing == 12 && bench.weights.count == 31)
        #expect(try await bench.engine.reconcile(bench.peer).deleted == 12)
        #expect(try bench.weights.count == 19)
        forget(12)
        for _ in 0..<2 { #expect(try await bench.engine.reconcile(bench.peer).deleted == 0) }
        #expect(try bench.weights.count == 19)
        try bench.finish()
    }

    @Test("C26: own samples of a type that is only sent are compared too") func onlySent() async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.push)])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        for hour in 0..<3 { _ = try bench.save(70 + Double(hour), hour: hour) }
        try await bench.sync()
        // The monthly comparison; the first one confirms what was sent.
        for _ in 0..<2 {
            bench.clock.advance(seconds: 31 * 86_400)
            try await bench.sync()
        }
        let gone = try #require(bench.health.live.first { $0.sample.quantity.value == 71 }?.sample.id)
        bench.health.forget(gone)
        bench.clock.advance(seconds: 31 * 86_400)
        try await bench.sync()
        #expect(try bench.weights.sorted() == [70, 72])
        try bench.finish()
    }

    @Test("C25: an own sample that returns has the unit and the local fields that it had") func returnsWhole()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        var entry = Sample(.bodyMass, 160, .pound, at: bench.time(0))
        entry.local = ["note": .string("after the run")]
        let saved = entry
        try bench.write { _ = try $0.save(saved) }
        try await bench.sync()
        try await bench.sync()
        let held = try #require(bench.health.live.first?.sample)
        bench.health.forget(held.id)
        for _ in 0..<2 { try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights.isEmpty)
        bench.health.restore(held.id, held, app: "app")
        try await bench.engine.reconcile(bench.peer)
        let back = try #require(try bench.store.blockingRead { try $0.sample(id: saved.id) })
        #expect(back.quantity == Quantity(160, .pound) && back.local == saved.local)
        try bench.finish()
    }

    @Test("C28: a copy beside another database that has samples of others sends what it holds")
    func otherDatabaseWithOthers()
        async throws
    {
        let (bench, _) = try await Bench.withOneWeight()
        try await bench.sync()
        let session = try bench.engine.session(bench.peer)
        try await session.update { _, state in state.epoch += 1 }
        for entry in bench.health.live { bench.health.forget(entry.sample.id) }
        for hour in 1...20 { bench.health.save(bench.scale(80 + Double(hour), hour: hour)) }
        for _ in 0..<3 { try await bench.sync() }
        #expect(bench.health.live.count { $0.app == "app" } == 1)
        #expect(try bench.weights.count == 21)
        try bench.finish()
    }

    @Test("C1: an edit by a program that leaves the metadata as it was is an edit all the same") func foreignEdit()
        async throws
    {
        let (bench, sample) = try await Bench.withOneWeight()
        try await bench.sync()
        var edit = try #require(bench.health.live.first?.sample)
        (edit.quantity, edit.version) = (Quantity(70, .kilogram), edit.version + 1)
        bench.health.save(edit, app: "app")
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 70)
        #expect(bench.held == [70])
        try bench.finish()
    }
}
