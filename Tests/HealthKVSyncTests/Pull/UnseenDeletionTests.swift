import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Deletions of samples that were never seen here")
struct UnseenDeletionTests {
    /// A weight that both sides hold, whose number is neither among the least nor among the greatest of its version:
    /// the number ends with eleven bits of a hash.
    private func benchWithMiddleNumber() async throws -> (bench: Bench, sample: Sample) {
        while true {
            let (bench, sample) = try await Bench.withOneWeight()
            let number = try #require(bench.health.live.first?.sample.version)
            if (200..<1_800).contains(number & 2_047) { return (bench, sample) }
            try bench.finish()
        }
    }

    @Test("C22: a foreign sample that Health deleted before this store saw it stays away when another store brings it")
    func deletedUnseen() async throws {
        let bench = try Bench()
        let hub = try Bench.makeStore(bench.clock, app: "hub")
        let there = bench.health.save(bench.scale(80, hour: 1))
        var sample = try #require(bench.health.live.first?.sample)
        sample.origin = .imported
        let known = sample
        _ = try await hub.write { try $0.merge(known) }
        bench.clock.advance(seconds: 1)
        // The app was installed again; Health still tells of the deletion.
        bench.health.delete(there)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let both = Bench.makeEngine(
            bench.store, [SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything)], bench.clock)
        try await both.enable("hub")
        for _ in 0..<2 { try await both.sync() }
        #expect(try bench.weights.isEmpty)
        #expect(try hub.blockingRead { try $0.sample(id: there) } == nil)
        try hub.close()
        try bench.finish()
    }

    @Test(
        "A foreign sample that Health deleted stays away where only the last days are imported, but not an older one: what replaced it there is not read",
        arguments: [1, 40])
    func deletedUnseenWithHorizon(daysAgo: Int) async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.horizon = .days(30)
        let bench = try Bench(plan)
        let hub = try Bench.makeStore(bench.clock, app: "hub")
        var weight = bench.scale(80, hour: 1)
        (weight.start, weight.end) = (bench.clock.now - .days(daysAgo), bench.clock.now - .days(daysAgo))
        let there = bench.health.save(weight)
        var sample = try #require(bench.health.live.first?.sample)
        sample.origin = .imported
        let known = sample
        _ = try await hub.write { try $0.merge(known) }
        bench.clock.advance(seconds: 1)
        // The app was installed again; Health still tells of the deletion.
        bench.health.delete(there)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let both = Bench.makeEngine(
            bench.store,
            [
                SyncPeer(MemoryHealthPeer(bench.health), plan: plan),
                SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
            ],
            bench.clock)
        try await both.enable("hub")
        for _ in 0..<3 { try await both.sync() }
        let isDeleted = daysAgo == 1
        #expect(try bench.weights == (isDeleted ? [] : [80]))
        #expect(try (hub.blockingRead { try $0.sample(id: there) } == nil) == isDeleted)
        // Neither a rescan of Health nor a feed that is read again takes away what the hub alone has.
        bench.clock.advance(seconds: 86_400)
        _ = try await both.reconcile(bench.peer)
        for _ in 0..<2 { try await both.sync() }
        #expect(try bench.weights == (isDeleted ? [] : [80]))
        try hub.close()
        try bench.finish()
    }

    @Test(
        "C22: what Health deleted stays away, though another store read it with a clock that was ahead, or edited it",
        arguments: ["read", "edited", "edited by itself"], [false, true])
    func deletedWhileAhead(_ what: String, isUnseen: Bool) async throws {
        let (clock, ahead, health) = (ManualClock(), ManualClock(), MemoryHealth())
        ahead.advance(seconds: 5 * 365 * 86_400)
        let bench = try Bench(.weightTracker, health: health, clock: clock)
        let hub = try Bench.makeStore(ahead, app: "hub")
        let there = health.save(bench.scale(80, hour: 1))
        var sample = try #require(health.live.first?.sample)
        sample.origin = .imported
        let known = sample
        try await hub.write { txn in
            try txn.merge(known)
            guard what != "read" else { return }
            try txn.overlay(id: there) { $0.quantity = Quantity(79.5, .kilogram) }
            if what == "edited by itself" { try txn.removeOverlay(id: there) }
        }
        try await bench.engine.enable(bench.peer)
        if !isUnseen { try await bench.sync() }
        #expect(try bench.weights == (isUnseen ? [] : [80]))
        health.delete(there)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        let both = Bench.makeEngine(
            bench.store, [SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything)], bench.clock)
        try await both.enable("hub")
        for _ in 0..<2 { try await both.sync() }
        #expect(try bench.weights.isEmpty)
        #expect(try hub.blockingRead { try $0.sample(id: there) } == nil)
        try hub.close()
        try bench.finish()
    }

    @Test(
        "C22: of two versions that devices made at once none comes back after Health has deleted the greater one",
        arguments: [false, true])
    func deletedWithAnotherVersion(isReplaced: Bool) async throws {
        let (clock, ahead, health) = (ManualClock(), ManualClock(), MemoryHealth())
        ahead.advance(seconds: 3_600)
        let hub = try Bench.makeStore(ahead)
        let id = SampleID()
        try await hub.write { _ = try $0.save(Sample(.bodyMass, 72, .kilogram, at: clock.now, id: id)) }
        func both(_ bench: Bench) -> SyncEngine {
            Bench.makeEngine(
                bench.store,
                [
                    SyncPeer(MemoryHealthPeer(health), plan: .weightTracker),
                    SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
                ], clock)
        }
        // Health may have had the other version first.
        let other = try Bench(.weightTracker, health: isReplaced ? health : MemoryHealth(), clock: clock)
        try await other.engine.enable(other.peer)
        try other.write { _ = try $0.save(Sample(.bodyMass, 71, .kilogram, at: clock.now, id: id)) }
        try await other.sync()
        let known = try #require(try other.store.blockingRead { try $0.sample(id: id) })
        try other.finish()
        let first = try Bench(.weightTracker, health: health, clock: clock)
        let engine = both(first)
        for name in [first.peer, "hub"] { try await engine.enable(name) }
        for _ in 0..<2 { try await engine.sync() }
        #expect(first.held == [72])
        try first.finish()
        // The phone was restored, and has got the version of the other device.
        let second = try Bench(.weightTracker, health: health, clock: clock)
        try second.write { _ = try $0.merge(known) }
        health.delete(try #require(health.live.first?.sample.id))
        clock.advance(seconds: 60)
        try await second.engine.enable(second.peer)
        try await second.sync()
        #expect(try second.weights.isEmpty)
        let again = both(second)
        try await again.enable("hub")
        for _ in 0..<3 { try await again.sync() }
        #expect(try second.weights.isEmpty && second.held.isEmpty)
        #expect(try hub.blockingRead { try $0.sample(id: id) } == nil)
        // It lives again, and Health, which may not be written to, tells of the deletion once more.
        health.set(writing: .denied, of: .bodyMass)
        var next = Sample(.bodyMass, 73, .kilogram, at: clock.now, id: id)
        next.version = 5
        let restored = next
        try await hub.write { _ = try $0.save(restored) }
        for _ in 0..<2 { try await again.sync() }
        health.invalidateAnchors()
        for _ in 0..<2 { try await again.sync() }
        #expect(try second.weights == [73])
        #expect(try hub.blockingRead { try $0.sample(id: id) } != nil)
        try hub.close()
        try second.finish()
    }

    @Test(
        "C22: an own sample that Health deleted before this store saw it stays away, though another clock is years ahead"
    )
    func ownDeletedUnseen() async throws {
        let (clock, ahead, health) = (ManualClock(), ManualClock(), MemoryHealth())
        ahead.advance(seconds: 5 * 365 * 86_400)
        let hub = try Bench.makeStore(ahead)
        let id = SampleID()
        try await hub.write { _ = try $0.save(Sample(.bodyMass, 72, .kilogram, at: clock.now, id: id)) }
        func phone() throws -> Bench { try Bench(.weightTracker, health: health, clock: clock) }
        func both(_ bench: Bench) -> SyncEngine {
            Bench.makeEngine(
                bench.store,
                [
                    SyncPeer(MemoryHealthPeer(health), plan: .weightTracker),
                    SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
                ], clock)
        }
        let first = try phone()
        let engine = both(first)
        for name in [first.peer, "hub"] { try await engine.enable(name) }
        for _ in 0..<2 { try await engine.sync() }
        #expect(first.held == [72])
        try first.finish()
        // The app is installed again; meanwhile the user deletes the sample in Health.
        let second = try phone()
        health.delete(try #require(health.live.first?.sample.id))
        try await second.engine.enable(second.peer)
        try await second.sync()
        let again = both(second)
        try await again.enable("hub")
        for _ in 0..<2 { try await again.sync() }
        #expect(try second.weights.isEmpty && second.held.isEmpty)
        #expect(try hub.blockingRead { try $0.sample(id: id) } == nil)
        // A version that was made since lives.
        var next = Sample(.bodyMass, 73, .kilogram, at: clock.now, id: id)
        next.version = 2
        let edited = next
        try await hub.write { _ = try $0.save(edited) }
        for _ in 0..<2 { try await again.sync() }
        #expect(try second.weights == [73] && second.held == [73])
        try hub.close()
        try second.finish()
    }

    @Test("C27: what is deleted here and may not be deleted in Health does not come back once its tombstone is old")
    func deletedAndOnlyPulled() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        let store = try Bench.makeStore(clock) { $0.tombstoneDays = 10 }
        let writing = try Bench(.weightTracker, health: health, clock: clock, store: store)
        try await writing.engine.enable(writing.peer)
        let sample = try writing.save(72)
        for _ in 0..<2 { try await writing.sync() }
        // From now on the app only reads.
        let bench = try Bench(
            SyncPlan(types: [.bodyMass: TypePlan(.pull)]), health: health, clock: clock, store: store)
        try await bench.engine.enable(bench.peer)
        try bench.write { try $0.delete(id: sample.id) }
        for _ in 0..<6 {
            clock.advance(seconds: 20 * 86_400)
            // The newest change shows that the clock is right.
            try bench.write { _ = try $0.save(Sample(.stepCount, 1, .count, at: clock.now)) }
            while try store.maintain() {}
            try await bench.sync()
        }
        #expect(bench.held == [72])
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }

    @Test(
        "C27: a deletion is kept for a database that was not read since the app was installed, or must be read once more, however long that takes",
        arguments: [true, false])
    func deletedBeforeAdoption(isInstalledAgain: Bool) async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        func phone() throws -> Bench {
            let store = try Bench.makeStore(clock) { $0.tombstoneDays = 10 }
            return try Bench(.weightTracker, health: health, clock: clock, store: store)
        }
        var bench = try phone()
        try await bench.engine.enable(bench.peer)
        let id = try bench.save(72).id
        let sample = try #require(try bench.store.blockingRead { try $0.sample(id: id) })
        try await bench.sync()
        let entry = try #require(health.live.first)
        if isInstalledAgain {
            try bench.finish()
            bench = try phone()
            health.set(availability: .locked)
            try await bench.engine.enable(bench.peer)
            // Another store brings the deletion.
            try bench.write { try $0.merge(DeletedSample(of: sample)) }
        } else {
            try bench.write { try $0.delete(id: sample.id) }
            try await bench.sync()
            #expect(bench.held.isEmpty)
            health.set(availability: .locked)
            try await bench.engine.disable(bench.peer)
            try bench.write { txn in
                var state = try txn.state(of: "health")
                try state.beginDoubt(of: "health", at: clock.now, in: &txn)
                try txn.setState(state, of: "health")
            }
            try await bench.engine.enable(bench.peer)
            health.bringBack(entry)
        }
        for _ in 0..<12 {
            clock.advance(seconds: 2 * 86_400)
            try await bench.sync()
            while try bench.store.maintain() {}
        }
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id) } != nil)
        health.set(availability: .available)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights.isEmpty && bench.held.isEmpty)
        // The database has been read: the tombstone is kept no longer.
        clock.advance(seconds: 2 * 86_400)
        try await bench.sync()
        while try bench.store.maintain() {}
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id) } == nil)
        try bench.finish()
    }

    @Test(
        "C22: deletions of samples that nothing is known of leave no tombstones of our own source, though another app numbers as this one does",
        arguments: [true, false])
    func unknownDeletions(areMarked: Bool) async throws {
        let bench = try Bench()
        for hour in 0..<50 {
            let clock = ChangeClock(time: bench.time(hour), replica: 9)
            let number = areMarked ? PeerNumber.next(version: 1, clock, above: 0) : 1
            let id = bench.health.save(bench.scale(60, hour: hour, sync: SampleID().description, version: number))
            bench.health.delete(id)
        }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.deletions() }.deletions.isEmpty)
        try bench.finish()
    }

    @Test(
        "C22: an own sample that was deleted before this store saw it goes where Health shows it again, whatever clock it was written by",
        arguments: [0, 5 * 365])
    func ownDeletedUnseenShownAgain(daysAhead: Int) async throws {
        let (clock, ahead, health) = (ManualClock(), ManualClock(), MemoryHealth())
        ahead.advance(seconds: daysAhead * 86_400)
        let first = try Bench(.weightTracker, health: health, clock: ahead)
        try await first.engine.enable(first.peer)
        _ = try first.save(72)
        try await first.sync()
        let entry = try #require(health.live.first)
        try first.finish()
        // The app is installed again; a cloud delivers the deletion first, and then once more what was deleted.
        let second = try Bench(.weightTracker, health: health, clock: clock)
        health.delete(entry.sample.id)
        try await second.engine.enable(second.peer)
        try await second.sync()
        #expect(try second.store.blockingRead { try $0.deletions() }.deletions.isEmpty)
        health.bringBack(entry)
        for _ in 0..<2 { try await second.sync() }
        #expect(try second.weights.isEmpty && second.held.isEmpty)
        try second.finish()
    }

    @Test(
        "C22: an edit that comes over a tombstone of its version outlives the peer's word of the deletion that was known"
    )
    func editOverDeletion() async throws {
        let (bench, _) = try await benchWithMiddleNumber()
        let sent = try #require(bench.health.live.first)
        let deleted = sent.sample.version
        bench.clock.advance(seconds: 60)
        try bench.write { try $0.delete(id: #require(sent.sample.syncIdentifier.flatMap { SampleID($0) })) }
        try await bench.sync()
        #expect(bench.held.isEmpty)
        // Another device knew the first version, and made the same version later. Its number is the lower of the two.
        let edit = try #require(
            (61..<2_000).lazy.map { seconds -> (number: Int64, stamp: OwnStamp) in
                let time = bench.clock.now + Int64(seconds) * Instant.nanosecondsPerSecond
                let clock = ChangeClock(time: time, replica: 77)
                return (PeerNumber.next(version: 1, clock, above: 0), OwnStamp(version: 1, clock: clock))
            }.first { $0.number < deleted })
        bench.clock.advance(seconds: 3_000)
        var edited = sent.sample
        edited.quantity = Quantity(73, .kilogram)
        edited.version = edit.number
        edited.metadata[OwnStamp.key] = .string(edit.stamp.text)
        // The cloud delivers what was deleted once more, its deletion, and the edit: all on one page.
        bench.health.bringBack(sent)
        bench.health.delete(sent.sample.id)
        bench.health.save(edited, app: "app")
        for _ in 0..<3 { try await bench.sync() }
        #expect(try bench.weights == [73])
        #expect(bench.held == [73])
        try bench.finish()
    }

    @Test("C22: the deletion of another device's version does not take ours of the same slot, which the database shows")
    func deletionOfConcurrentVersion() async throws {
        let (bench, sample) = try await benchWithMiddleNumber()
        try await bench.sync()
        let ours = try #require(bench.health.live.first)
        // Another device made the same version; its number is the greater one. It is deleted before ours comes to that
        // device.
        let other = try #require(
            (1..<4_000).lazy.map { seconds -> (number: Int64, stamp: OwnStamp) in
                let time = bench.clock.now - Int64(seconds) * Instant.nanosecondsPerSecond
                let clock = ChangeClock(time: time, replica: 78)
                return (PeerNumber.next(version: 1, clock, above: 0), OwnStamp(version: 1, clock: clock))
            }.first { $0.number > ours.sample.version })
        var theirs = ours
        (theirs.sample.id, theirs.sample.version) = (SampleID(), other.number)
        theirs.sample.metadata[OwnStamp.key] = .string(other.stamp.text)
        bench.health.bringBack(theirs)
        bench.health.delete(theirs.sample.id)
        for _ in 0..<3 { try await bench.sync() }
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) } != nil)
        #expect(bench.held == [72])
        // A deletion of a greater version covers ours.
        theirs.sample.version = PeerNumber.last(version: 2)
        bench.health.bringBack(theirs)
        bench.health.delete(theirs.sample.id)
        bench.health.forget(ours.sample.id)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }
}
