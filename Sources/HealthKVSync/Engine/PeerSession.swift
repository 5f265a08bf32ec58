import HealthKV
import Synchronization

/// The sync with one peer. It does one piece of work at a time, and each can be resumed after a crash.
///
/// The jobs of a sync are types of their own (``SessionJob``), which work with ``core``. This actor gives each piece of
/// work its turn, and serves signals while the engine runs.
actor PeerSession: SessionJob {
    nonisolated let core: SessionCore
    /// The last requested work; the next work waits for it.
    private var last: Task<Void, Never>?
    /// How many pieces of work were requested and have not ended.
    private var unfinished = 0
    /// Receives the app's actions while the engine runs.
    var signals: AsyncStream<Signal>.Continuation?
    /// How many times the engine was started. The last start owns ``signals``.
    var followers = 0
    /// Wake-ups that wait for the signal of the first one.
    let waitingWakes = WaitingWakes()

    init(core: SessionCore) { self.core = core }

    /// Runs work after all work that was requested before. Cancelling the caller cancels the work, and ends its wait
    /// immediately.
    func inTurn<Result: Sendable>(
        _ work: @escaping @Sendable (isolated PeerSession) async throws -> Result
    ) async throws -> Result {
        let previous = last
        let (turn, begin) = AsyncStream.makeStream(of: Void.self)
        unfinished += 1
        let task = Task { () async throws -> Result in
            // Ends when the turn has come, or when the caller is cancelled. Waiting for a task's value would ignore a
            // cancellation.
            for await _ in turn {}
            do {
                try Task.checkCancellation()
                // Another engine may have had the lease since the last work: that ends no work that has not begun.
                try core.lease.forgetIfLost()
                let result = try await work(self)
                await endWork()
                return result
            } catch {
                await endWork()
                throw error
            }
        }
        last = Task {
            await previous?.value
            begin.finish()
            _ = try? await task.value
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Runs work that ends the sync. It does not wait for calls of the peer that are in progress.
    func interrupting<Result: Sendable>(
        _ work: @escaping @Sendable (isolated PeerSession) async throws -> Result
    ) async throws -> Result {
        let interruption = peer.interrupt()
        defer { interruption.end() }
        return try await inTurn { session in
            interruption.end()
            return try await work(session)
        }
    }

    /// Whether no work is in progress, and none waits for its turn.
    var isAtRest: Bool { unfinished == 0 }

    /// Releases the lease after the last work of an engine that does not run: no other engine should wait for an idle
    /// one.
    private func endWork() async {
        unfinished -= 1
        guard isAtRest, signals == nil else { return }
        // If this fails, the lease ends when it expires.
        try? await releaseLease()
    }

    /// Runs one sync.
    nonisolated func pass(_ request: PassRequest) async throws -> SyncReport {
        try await Pass(core: core).run(request)
    }
}
