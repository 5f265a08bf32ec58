import LMDB
import Testing

@testable import HealthKV

/// Observation in the process: `changes(of:)`.
@Suite(.timeLimit(.minutes(30))) struct ChangeSequenceTests {
    private func steps(_ value: Double, _ day: Int) -> Sample { Sample(.stepCount, value, .count, at: .day(day)) }
    private func weight(_ value: Double, _ day: Int) -> Sample { Sample(.bodyMass, value, .kilogram, at: .day(day)) }

    /// The first ids of saved samples that a sequence gives.
    private static func ids(
        _ changes: ChangeSequence, _ count: Int, begun: AsyncStream<Void>.Continuation? = nil
    ) async -> [SampleID] {
        var ids: [SampleID] = []
        for await change in changes {
            begun?.finish()
            if let sample = change.saved { ids.append(sample.id) }
            if ids.count == count { break }
        }
        return ids
    }

    @Test("Two observers see every change from where they began, each the types it asked for") func observers()
        async throws
    {
        let store = try SampleStore.temporary()
        try await store.write { [self] in _ = try $0.save(steps(0, 0)) }
        let samples = (1...40).map { $0 % 2 == 0 ? weight(Double($0), $0) : steps(Double($0), $0) }
        let (all, weights) = (store.changes(), store.changes(of: [.bodyMass]))
        let everything = Task { await Self.ids(all, 40) }
        let some = Task { await Self.ids(weights, 20) }
        for sample in samples { try await store.write { _ = try $0.save(sample) } }
        #expect(await everything.value == samples.map(\.id))
        #expect(await some.value == samples.filter { $0.type == .bodyMass }.map(\.id))
        try store.expectClean()
        try store.close()
    }

    @Test("An observer that begins at a token catches up first") func catchingUp() async throws {
        let store = try SampleStore.temporary()
        let samples = (1...10).map { steps(Double($0), $0) }
        try await store.write { _ = try $0.save(Array(samples[..<4])) }
        let token = try store.blockingRead { $0.currentToken }
        try await store.write { _ = try $0.save(Array(samples[4..<8])) }
        let changes = store.changes(since: token)
        let seen = Task { await Self.ids(changes, 6) }
        try await store.write { _ = try $0.save(Array(samples[8...])) }
        #expect(await seen.value == samples[4...].map(\.id))
        try store.close()
    }

    @Test("A slow observer misses nothing") func slow() async throws {
        let store = try SampleStore.temporary()
        let changes = store.changes()
        let samples = (0..<600).map { steps(Double($0), $0) }
        for part in 0..<6 { try await store.write { _ = try $0.save(Array(samples[part * 100..<part * 100 + 100])) } }
        #expect(await Self.ids(changes, 600) == samples.map(\.id))
        try store.close()
    }

    @Test("An observer ends when its task is cancelled, while others go on") func cancellation() async throws {
        let store = try SampleStore.temporary()
        let (first, second) = (store.changes(), store.changes())
        let cancelled = Task { await Self.ids(first, 100) }
        let other = Task { await Self.ids(second, 2) }
        try await store.write { [self] in _ = try $0.save(steps(1, 1)) }
        cancelled.cancel()
        #expect(await cancelled.value.count <= 1)
        try await store.write { [self] in _ = try $0.save(steps(2, 2)) }
        #expect(await other.value.count == 2)
        try store.close()
    }

    @Test("Observers end when the store is closed, whether they wait or have not begun") func closing() async throws {
        let store = try SampleStore.temporary()
        let (waiting, late) = (store.changes(), store.changes())
        let (begun, told) = AsyncStream.makeStream(of: Void.self)
        let task = Task { await Self.ids(waiting, 100, begun: told) }
        try await store.write { [self] in _ = try $0.save(steps(1, 1)) }
        for await _ in begun {}
        try store.close()
        #expect(await task.value.count == 1)
        #expect(await Self.ids(late, 1).isEmpty)
        #expect(await Self.ids(store.changes(), 1).isEmpty)
    }

    @Test("A token that cannot be continued interrupts, with the reason, and ends") func interruption() async throws {
        let store = try SampleStore.temporary()
        let other = try SampleStore.temporary()
        let foreign = try other.blockingRead { $0.currentToken }
        try other.close()
        var kinds: [Change.Kind] = []
        for await change in store.changes(since: foreign) { kinds.append(change.kind) }
        #expect(kinds.count == 1)
        guard case .interrupted(let reason) = kinds.first else {
            Issue.record("no interruption")
            return
        }
        #expect(reason.contains("another store"))
        try store.close()
    }
}
