import SyncSupport
import Testing

@testable import HealthKVSync

/// What waits for access costs nothing while it waits (SEMANTICS C12, C13).
@Suite("Entries that wait for access")
struct AccessStormTests {
    private let plan = SyncPlan(types: [.bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.both)])
    private let count = 3_000

    private func drink(_ bench: Bench) throws {
        let sample = Sample(.dietaryWater, 250, .milliliter, at: bench.clock.now)
        try bench.write { _ = try $0.save(sample) }
    }

    @Test(
        "C13: entries of a type that may not be written are parked in one commit without a push, and not looked at again",
        arguments: [TypeAuthorization.Writing.denied, .notDetermined])
    func storm(_ writing: TypeAuthorization.Writing) async throws {
        let bench = try Bench(plan)
        bench.health.set(writing: writing, of: .bodyMass)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let samples = (0..<count).map { Sample(.bodyMass, 70, .kilogram, at: bench.clock.now + .seconds($0)) }
        try bench.write { txn in for sample in samples { _ = try txn.save(sample) } }
        let before = try bench.store.info().commit
        let first = try await bench.engine.enterForeground()
        #expect(first["health"]?.pushed.parked == count)
        // The lease, the operations, and the status.
        #expect(try bench.store.info().commit <= before + Bench.commitsOfLease + 2)
        for _ in 0..<3 {
            let commit = try bench.store.info().commit
            let report = try await bench.engine.enterForeground()
            #expect(report["health"]?.pushed == PushReport())
            #expect(try bench.store.info().commit <= commit + Bench.commitsOfLease)
        }
        #expect(bench.health.pushes == 0)
        let status = try bench.status()
        #expect(status.waiting == [.bodyMass: count])
        #expect(status.issue?.code == (writing == .denied ? .accessDenied : .accessNotDetermined))
        let due = try bench.engine.session("health").schedule.nextDue()
        #expect(due.map { $0 > bench.clock.now } ?? true)
        try drink(bench)
        try await bench.sync()
        #expect(bench.health.pushes == 1)
        #expect(bench.health.live.map(\.sample.type) == [.dietaryWater])
        bench.health.set(writing: .granted, of: .bodyMass)
        try await bench.engine.enterForeground()
        #expect(bench.held.count == count + 1)
        let after = try bench.status()
        #expect(after.waiting.isEmpty && after.issue == nil)
        try bench.finish()
    }

    @Test("A grant of one type does not touch what waits for another")
    func otherGrant() async throws {
        let bench = try Bench(plan)
        for type in [SampleType.bodyMass, .dietaryWater] { bench.health.set(writing: .denied, of: type) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        try bench.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: bench.clock.now)) }
        try drink(bench)
        try await bench.engine.enterForeground()
        #expect(try bench.status().waiting == [.bodyMass: 1, .dietaryWater: 1])
        bench.health.set(writing: .granted, of: .dietaryWater)
        try await bench.engine.session("health").holdLease()
        try await bench.engine.session("health").access.refreshAuthorization()
        let due = try bench.store.blockingRead { try $0.pending(for: "health") }.filter { $0.nextTry < .distantFuture }
        #expect(due.map(\.accessType) == [.dietaryWater])
        try await bench.engine.enterForeground()
        #expect(bench.health.live.map(\.sample.type) == [.dietaryWater])
        try bench.finish()
    }

    @Test("Access that is withdrawn while the engine runs costs one push, and the rest waits") func withdrawn()
        async throws
    {
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.health.set(writing: .denied, of: .bodyMass)
        let samples = (0..<1_000).map { Sample(.bodyMass, 70, .kilogram, at: bench.clock.now + .seconds($0)) }
        try bench.write { txn in for sample in samples { _ = try txn.save(sample) } }
        // What a commit starts asks for no access.
        _ = try await bench.engine.session("health").inTurn {
            try await $0.pass(PassRequest(pulls: false, isOfCommit: true))
        }
        #expect(bench.health.pushes == 1)
        #expect(try bench.status().waiting == [.bodyMass: 1_000])
        #expect(try bench.status().issue?.code == .accessDenied)
        try bench.finish()
    }

    @Test("What waits for access goes when the plan no longer sends its type, and an import does not fail for it")
    func changedPlan() async throws {
        let bench = try Bench(plan)
        bench.health.set(writing: .denied, of: .bodyMass)
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        try await bench.sync()
        #expect(try bench.status().waiting == [.bodyMass: 1])
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        let other = Bench.makeEngine(
            bench.store,
            [
                SyncPeer(
                    MemoryHealthPeer(bench.health),
                    plan: SyncPlan(types: [.bodyMass: TypePlan(.pull), .dietaryWater: TypePlan(.both)]))
            ], bench.clock)
        try await other.sync()
        #expect(try bench.pending.isEmpty)
        #expect(try bench.status().issue == nil)
        try bench.finish()
    }
}
