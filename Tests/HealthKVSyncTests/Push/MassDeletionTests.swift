import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Deletions of many samples at once between stores")
struct MassDeletionTests {
    private struct Crash: Error {}

    private static let count = 40
    /// Longer than any machine takes for such a deletion.
    private static let patience = Duration.seconds(3_600)

    private func fill(_ store: SampleStore, _ clock: ManualClock) async throws {
        let samples = (0..<MassDeletionTests.count).map {
            Sample(.dietaryWater, 200, .milliliter, at: clock.now - .seconds(60 * $0))
        }
        _ = try await store.write { try $0.save(samples) }
    }

    private func count(_ store: SampleStore) throws -> Int { try store.read { try $0.count(of: .dietaryWater) } }

    private func finish(_ stores: SampleStore...) throws {
        for store in stores {
            let report = try store.check()
            #expect(report.findings.isEmpty, "\(report.findings)")
            try store.close()
        }
    }

    @Test("They are sent a page at a time, and a crash costs no more than a page") func sentInPages() async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let peer = OutcomePeer(StorePeer(there, id: "there", as: "here"))
        let left = Mutex<Int?>(nil)
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) { options in
            options.pushSize = 5
            options.atStep = { step in
                guard step == .outcomesCommitted else { return }
                let isLast = left.withLock { left in
                    left = left.map { $0 - 1 }
                    return left == 0
                }
                if isLast { throw Crash() }
            }
        }
        try await engine.enable("there")
        try await fill(here, clock)
        _ = try await engine.sync()
        #expect(try count(there) == MassDeletionTests.count)
        _ = try await here.write { try $0.delete(.range(of: .dietaryWater)) }
        left.withLock { $0 = 3 }
        _ = try? await engine.sync()
        #expect(peer.deletions == [5, 5, 5])
        let again = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) { $0.pushSize = 5 }
        #expect(try await again.sync()["there"]?.issue == nil)
        #expect(peer.deletions.allSatisfy { $0 <= 5 })
        #expect(peer.deletions.reduce(0, +) == MassDeletionTests.count)
        #expect(try count(there) == 0)
        #expect(try here.blockingRead { try $0.state(of: "there") }.removal == nil)
        try finish(here, there)
    }

    @Test("They are read a page at a time, by places midway in them that count as nothing seen") func readInPages()
        async throws
    {
        let clock = ManualClock()
        let there = try Bench.makeStore(clock)
        try await fill(there, clock)
        var token = PeerPlace(token: try there.blockingRead { $0.currentToken }).bytes
        try await StorePeer(there, id: "there", as: "here").acknowledge(token, of: .every)
        let acknowledged = try there.blockingRead { try $0.peer("here") }?.acknowledged
        _ = try await there.write { try $0.delete(.range(of: .dietaryWater)) }
        let last = Sample(.bodyMass, 70, .kilogram, at: clock.now)
        _ = try await there.write { try $0.save(last) }
        var (deleted, added): ([SampleID], [SampleID]) = ([], [])
        for _ in 0..<20 {
            // As the next process would make it.
            let peer = StorePeer(there, id: "there", as: "here")
            let page = try await peer.pull(PullRequest(type: .every, token: token, limit: 7))
            #expect(page.deletions.count <= 7)
            deleted += page.deletions.map(\.idAtPeer)
            added += page.additions.map(\.idAtPeer)
            token = try #require(page.token)
            if PeerPlace(token)?.deleted != nil {
                try await peer.acknowledge(token, of: .every)
                #expect(try there.blockingRead { try $0.peer("here") }?.acknowledged == acknowledged)
            }
            if page.isDrained { break }
        }
        #expect(deleted.count == MassDeletionTests.count)
        #expect(Set(deleted).count == MassDeletionTests.count)
        #expect(added == [last.id])
        #expect(PeerPlace(token)?.deleted == nil)
        try finish(there)
    }

    @Test("One that is not carried out yet waits, and what stands before it does not") func unfinishedHere()
        async throws
    {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeSlowStore(clock), try Bench.makeStore(clock))
        let peers = [SyncPeer(StorePeer(there, id: "there", as: "here"), plan: .everything)]
        let engine = Bench.makeEngine(here, peers, clock) { $0.upkeepBudget = .zero }
        try await engine.enable("there")
        try await fill(here, clock)
        _ = try await engine.sync()
        let before = Sample(.bodyMass, 70, .kilogram, at: clock.now)
        let after = Sample(.bodyMass, 71, .kilogram, at: clock.now - 1)
        _ = try await here.write { try $0.save(before) }
        _ = try await here.write { try $0.delete(.range(of: .dietaryWater)) }
        _ = try await here.write { try $0.save(after) }
        _ = try await engine.sync()
        #expect(try there.blockingRead { try $0.sample(id: before.id) } != nil)
        #expect(try count(there) == MassDeletionTests.count)
        _ = try await Bench.makeEngine(here, peers, clock) { $0.upkeepBudget = Self.patience }.sync()
        #expect(try count(there) == 0)
        #expect(try there.blockingRead { try $0.sample(id: after.id) } != nil)
        try finish(here, there)
    }

    @Test("One that the other store has not carried out is carried out by its reader") func unfinishedThere()
        async throws
    {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeSlowStore(clock))
        let engine = Bench.makeEngine(
            here, [SyncPeer(StorePeer(there, id: "there", as: "here"), plan: .everything)], clock
        ) { ($0.pageSize, $0.upkeepBudget) = (7, Self.patience) }
        try await engine.enable("there")
        try await fill(there, clock)
        _ = try await engine.sync()
        #expect(try count(here) == MassDeletionTests.count)
        _ = try await there.write { try $0.delete(.range(of: .dietaryWater)) }
        #expect(try there.blockingRead { $0.hasUnfinishedRemovals })
        _ = try await engine.sync()
        #expect(try count(here) == 0)
        #expect(try !there.blockingRead { $0.hasUnfinishedRemovals })
        try finish(here, there)
    }
}
