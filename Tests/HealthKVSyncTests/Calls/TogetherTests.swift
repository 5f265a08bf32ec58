import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Two pieces of work at a time", .timeLimit(.minutes(30)))
struct TogetherTests {
    private struct Failure: Error {}

    /// Work that ends when it is cancelled, and says so.
    private final class Endless: Sendable {
        let isBegun = Mutex(false)
        let isOver = Mutex(false)

        func run() async -> String {
            isBegun.withLock { $0 = true }
            try? await Task.sleep(for: .seconds(600))
            isOver.withLock { $0 = true }
            return "ended"
        }

        func begun() async { while !isBegun.withLock({ $0 }) { await Task.yield() } }
    }

    @Test("Each begins before the other one ends, and both results come back") func results() async throws {
        let first = Mutex(false)
        let second = Mutex(false)
        let both = try await together {
            first.withLock { $0 = true }
            while !second.withLock({ $0 }) { await Task.yield() }
            return 1
        } and: {
            second.withLock { $0 = true }
            while !first.withLock({ $0 }) { await Task.yield() }
            return "b"
        }
        #expect(both == (1, "b"))
    }

    @Test("If the second one throws, the first one is cancelled and has ended when the error comes")
    func failure() async {
        let endless = Endless()
        await #expect(throws: Failure.self) {
            _ = try await together {
                await endless.run()
            } and: {
                await endless.begun()
                throw Failure()
            }
        }
        #expect(endless.isOver.withLock { $0 })
    }

    @Test("Cancelling the caller cancels both") func cancellation() async {
        let endless = Endless()
        let work = Task {
            try await together {
                await endless.run()
            } and: {
                await endless.begun()
                try await Task.sleep(for: .seconds(600))
            }
        }
        await endless.begun()
        work.cancel()
        await #expect(throws: CancellationError.self) { _ = try await work.value }
        #expect(endless.isOver.withLock { $0 })
    }
}
