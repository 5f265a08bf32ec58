import HealthKV

// While it runs, the engine waits for commits, for the peers' calls, and for the next time at which something is due.
extension SyncEngine {
    /// Follows the store and its peers until ``stop()``. Calling it again changes nothing.
    public func start() {
        runner.withLock { runner in
            guard runner == nil else { return }
            let sessions = Array(sessions.values)
            runner = Task {
                await withTaskGroup(of: Void.self) { group in
                    for session in sessions { group.addTask { await session.follow() } }
                }
            }
        }
    }

    /// Ends what ``start()`` began, after the step that is under way.
    public func stop() async {
        let task = runner.withLock { runner in
            defer { runner = nil }
            return runner
        }
        task?.cancel()
        await task?.value
        for session in sessions.values { try? await session.inTurn { try await $0.releaseLease() } }
    }
}

/// What wakes a session.
private enum Signal: Sendable {
    case started
    case commit
    case wake(WakeUp)
    case due
}

extension PeerSession {
    /// Serves signals until the task is cancelled or the store closed.
    func follow() async {
        let (signals, sender) = AsyncStream.makeStream(of: Signal.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                await watchCommits(sender)
                sender.finish()
            }
            group.addTask { [self] in
                let types = peer.traits.hasOneFeed ? [.every] : plan.types(with: .onChange)
                for await wake in peer.wakeUps(for: types) { sender.yield(.wake(wake)) }
            }
            sender.yield(.started)
            var timer: Task<Void, Never>?
            for await signal in signals {
                await serve(signal)
                timer?.cancel()
                timer = wakeWhenDue(sender)
                if Task.isCancelled { break }
            }
            timer?.cancel()
            group.cancelAll()
        }
    }

    /// A signal for each commit while none waits: the store tells of those of other processes too.
    private nonisolated func watchCommits(_ sender: AsyncStream<Signal>.Continuation) async {
        while let mark = try? store.commitMark() {
            guard await store.waitForCommit(after: mark) else { return }
            sender.yield(.commit)
        }
    }

    private nonisolated func wakeWhenDue(_ sender: AsyncStream<Signal>.Continuation) -> Task<Void, Never>? {
        guard let due = try? nextDue() else { return nil }
        let clock = options.clock
        return Task {
            guard (try? await clock.sleep(due)) != nil, !Task.isCancelled else { return }
            sender.yield(.due)
        }
    }

    private func serve(_ signal: Signal) async {
        switch signal {
        case .started: _ = try? await inTurn { try await $0.pass(PassRequest()) }
        case .commit:
            guard (try? isPushDue()) == true else { return }
            _ = try? await inTurn { try await $0.pass(PassRequest(pulls: false)) }
        case .due:
            _ = try? await inTurn { session in
                try await session.pass(PassRequest(types: session.plan.types(with: .hourly)))
            }
        case .wake(let wake):
            _ = try? await inTurn { try await $0.serve(wake) }
            // What the call caused is committed, or failed and is kept (SEMANTICS A15).
            wake.complete()
        }
    }

    private func serve(_ wake: WakeUp) async throws {
        let report = try await pass(PassRequest(types: wake.types, pushes: false))
        let found = report.pulled != PullReport()
        let now = now
        // A peer that follows commits is woken by this one too, so a call without news is not worth one.
        guard found || report.issue != nil || peer.traits.needsAuthorization else { return }
        let result = report.issue?.code.rawValue ?? (found ? "changes" : "nothing new")
        try await update { _, state in (state.lastWake, state.lastWakeResult) = (now, result) }
    }

    /// Whether a commit brought anything for this peer.
    private nonisolated func isPushDue() throws -> Bool {
        let (name, now, followsFeed) = (name, now, peer.traits.keepsRecords)
        return try store.read { txn in
            let state = try txn.state(of: name)
            guard state.isEnabled, state.nextTry.map({ $0 <= now }) ?? true else { return false }
            if followsFeed {
                guard let seen = try txn.peer(name)?.acknowledged else { return true }
                if try !txn.changes(since: seen, limit: 1).changes.isEmpty { return true }
            }
            return try txn.pending(for: name).contains { $0.state != .quarantined && $0.nextTry <= now }
        }
    }

    /// When something is to be tried again by itself; `nil` for never.
    nonisolated func nextDue() throws -> Instant? {
        let (name, now) = (name, now)
        let isHourly = !plan.types(with: .hourly).isEmpty
        let foreign = try foreignLease()
        return try store.read { txn in
            let state = try txn.state(of: name)
            guard state.isEnabled else { return nil }
            var times: [Instant] = []
            if let next = state.nextTry { times.append(next) }
            let waiting = try txn.pending(for: name).filter { $0.state != .quarantined }
            if let next = waiting.map(\.nextTry).min(), next > now { times.append(next) }
            if isHourly { times.append((state.lastSync ?? now) + .seconds(3_600)) }
            // Whoever holds the lease does the work; should it end without giving it back, this one goes on.
            if let foreign, foreign > now, !waiting.isEmpty { times.append(foreign) }
            return times.min()
        }
    }
}
