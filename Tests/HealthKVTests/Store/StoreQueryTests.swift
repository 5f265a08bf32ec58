import HealthKV
import Observation
import Synchronization
import Testing

@Suite("Observable queries", .timeLimit(.minutes(30)))
@MainActor
struct StoreQueryTests {
    private func save(_ value: Double, _ day: Int, in store: SampleStore) async throws {
        try await store.write { txn in
            _ = try txn.save(
                Sample(.stepCount, value, .count, at: Instant(nanoseconds: Int64(day) * 86_400_000_000_000)))
        }
    }

    /// Waits until an observed condition holds, told by the observation alone.
    private func wait(until holds: @MainActor () -> Bool) async {
        while true {
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            let isDone = withObservationTracking {
                holds()
            } onChange: {
                change.finish()
            }
            if isDone { return }
            for await _ in changes {}
        }
    }

    @Test("A query shows the first answer and each later one, and its observers are told") func follows() async throws {
        let store = try SampleStore.temporary()
        let samples = StoreQuery(store, SampleQuery(.stepCount))
        let latest = StoreQuery(store, latestOf: .stepCount)
        let sums = StoreQuery(store, StatisticsQuery(.stepCount, by: nil))
        let count = StoreQuery(store) { try $0.count() }
        await wait { samples.value?.count == 0 && latest.value == .some(nil) && count.value == 0 }
        try await save(7, 1, in: store)
        await wait {
            samples.value?.count == 1 && latest.value??.quantity.value == 7 && sums.value?.first?.sum == 7
                && count.value == 1
        }
        try await save(9, 2, in: store)
        await wait { samples.value?.count == 2 && latest.value??.quantity.value == 9 && sums.value?.first?.sum == 16 }
        #expect(samples.error == nil)
        try store.close()
    }

    @Test("An error stops a query and is shown, and it can be started again") func errors() async throws {
        struct Mine: Error {}
        let store = try SampleStore.temporary()
        let shared = Box(fails: true)
        let query = StoreQuery(store) { txn in
            if shared.fails.withLock({ $0 }) { throw Mine() }
            return try txn.count()
        }
        await wait { query.error is Mine }
        shared.fails.withLock { $0 = false }
        query.start()
        await wait { query.value == 0 && query.error == nil }
        try store.close()
    }

    @Test("A query that is released stops reading") func ends() async throws {
        let store = try SampleStore.temporary()
        let reads = Box(fails: false)
        var query: StoreQuery<Int>? = StoreQuery(store) { txn in
            reads.count.withLock { $0 += 1 }
            return try txn.count()
        }
        await wait { query?.value == 0 }
        query = nil
        try await Task.sleep(for: .milliseconds(20))
        let before = reads.count.withLock { $0 }
        try await save(1, 1, in: store)
        try await Task.sleep(for: .milliseconds(120))
        #expect(reads.count.withLock { $0 } == before)
        try store.close()
    }
}

private final class Box: Sendable {
    let fails: Mutex<Bool>
    let count = Mutex(0)

    init(fails: Bool) { self.fails = Mutex(fails) }
}
