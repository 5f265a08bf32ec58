import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Whose turn it is, and what is left when somebody does not wait")
struct TurnTests {
    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isUp: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    /// Work that is under way until it is told to end.
    private static func begin(_ session: PeerSession) async throws -> AsyncStream<Void>.Continuation {
        let (gate, end) = AsyncStream.makeStream(of: Void.self)
        let hasBegun = Flag()
        _ = Task {
            try await session.inTurn { _ in
                hasBegun.raise()
                for await _ in gate {}
            }
        }
        try await until("the beginning") { hasBegun.isUp }
        return end
    }

    @Test("A background task ends at its deadline, whatever else is under way") func deadline() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let end = try await Self.begin(bench.engine.session(bench.peer))
        let hasEnded = Flag()
        let run = Task {
            let isWhole = try await bench.engine.run(until: bench.clock.now)
            hasEnded.raise()
            return isWhole
        }
        try await until("the end at the deadline") { hasEnded.isUp }
        end.finish()
        #expect(try await !run.value)
        #expect(try await bench.sync().issue == nil)
        try bench.finish()
    }

    @Test("A caller that waits for its turn lets nobody overtake what is under way") func order() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let session = try bench.engine.session(bench.peer)
        let end = try await Self.begin(session)
        let second = Task { try await session.inTurn { _ in } }
        try await Task.sleep(for: .milliseconds(5))
        let hasOvertaken = Flag()
        let third = Task { try await session.inTurn { _ in hasOvertaken.raise() } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await Task.sleep(for: .milliseconds(20))
        #expect(!hasOvertaken.isUp)
        end.finish()
        try await third.value
        #expect(hasOvertaken.isUp)
        try bench.finish()
    }

    @Test("An engine stops without waiting for what the app asked for beside it") func stop() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.engine.start()
        try await until("the first sync") { try bench.status().lastSync != nil }
        let end = try await Self.begin(bench.engine.session(bench.peer))
        let hasStopped = Flag()
        _ = Task {
            await bench.engine.stop()
            hasStopped.raise()
        }
        try await until("the stop") { hasStopped.isUp }
        end.finish()
        try await until("the end of the lease") { try bench.store.read { try $0.lease(of: "health") }.state == .free }
        try bench.finish()
    }

    @Test("What a peer does not do for a cancelled caller is no failure, and no attempt", arguments: [false, true])
    func cancelled(isUnknown: Bool) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let work = Mutex<Task<SyncReport, any Error>?>(nil)
        func run() async throws {
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                for await _ in gate {}
                return try await bench.sync()
            }
            work.withLock { $0 = task }
            open.finish()
            _ = try? await task.value
        }
        let cancel: @Sendable () -> Void = { work.withLock { $0 }?.cancel() }
        bench.health.set(failure: { _ in
            cancel()
            return PeerError(.transient, "CancellationError")
        })
        try await run()
        let state = try bench.store.blockingRead { try $0.state(of: "health") }
        #expect(state.issue == nil && state.nextTry == nil && state.types.values.allSatisfy { $0.pulls == .well })
        bench.health.set(failure: nil)
        _ = try bench.save(72)
        bench.health.set(refusal: { _ in
            cancel()
            return isUnknown ? .unknown(reason: "CancellationError") : .failed(reason: "CancellationError")
        })
        try await run()
        let waiting = try #require(try bench.pending.first)
        #expect(waiting.attempts == 0 && waiting.state == .waiting && waiting.nextTry <= bench.clock.now)
        bench.health.set(refusal: nil)
        try await bench.sync()
        #expect(bench.held == [72])
        try bench.finish()
    }

    @Test("A commit that is made while one is told of is told of too") func commitMeanwhile() async throws {
        let store = try Bench.makeStore(ManualClock())
        let (first, second) = (Flag(), Flag())
        let mark = try store.commitMark()
        let write: @Sendable () throws -> Void = {
            try store.write { _ = try $0.save(Sample(.bodyMass, 72, .kilogram, at: Instant(nanoseconds: 0))) }
        }
        let watch = Task {
            await store.followCommits(after: mark) { _ in
                if first.isUp { return second.raise() }
                first.raise()
                try? write()
            }
        }
        try write()
        try await until("the second") { second.isUp }
        watch.cancel()
        await watch.value
        try store.close()
    }

    @Test("A store that is suspended after a commit, or before it is followed, is followed on once it is back")
    func followedAcrossSuspension() async throws {
        for isSuspendedBefore in [false, true] {
            let store = try Bench.makeStore(ManualClock())
            let (told, isBack) = (Flag(), Flag())
            if isSuspendedBefore { try store.suspend() }
            let mark = try #require(store.followedMark())
            let watch = Task {
                await store.followCommits(after: mark) { wasAway in
                    if wasAway { return isBack.raise() }
                    guard !told.isUp else { return }
                    // One more commit, and the store is gone before anybody has looked at it.
                    try? store.write { _ = try $0.save(Sample(.bodyMass, 73, .kilogram, at: Instant(nanoseconds: 9))) }
                    try? store.suspend()
                    told.raise()
                }
            }
            if !isSuspendedBefore {
                try await store.write { _ = try $0.save(Sample(.bodyMass, 72, .kilogram, at: Instant(nanoseconds: 0))) }
                try await until("the commit") { told.isUp }
            }
            try await Task.sleep(for: .milliseconds(50))
            #expect(!isBack.isUp)
            try store.resume()
            try await until("the return") { isBack.isUp }
            watch.cancel()
            await watch.value
            try store.close()
        }
    }
}
