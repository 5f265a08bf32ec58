import HealthKV
import Synchronization

// While it runs, the engine waits for commits, for the peers' wake-ups, and for the next time at which work is due.
extension SyncEngine {
    /// Follows the store and its peers until ``stop()``. A second call has no effect.
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

    /// Ends what ``start()`` began, after the current step. Other work that the app requested continues.
    public func stop() async {
        let task = runner.withLock { runner in
            defer { runner = nil }
            return runner
        }
        task?.cancel()
        await task?.value
        for session in sessions.values {
            // Continuing work releases the lease at its end.
            guard await session.isAtRest else { continue }
            try? await session.inTurn { try await $0.releaseLease() }
        }
    }
}

/// A flag for commits that the session has not looked at yet: one signal represents all of them.
private final class CommitFlag: Sendable {
    private let isUp = Mutex(false)

    /// Returns `true` if the flag was down.
    func raise() -> Bool {
        isUp.withLock { isUp in
            defer { isUp = true }
            return !isUp
        }
    }

    func lower() { isUp.withLock { $0 = false } }
}

extension PeerSession {
    /// Tells the running engine that the app changed what may be synced.
    func noteChange() { signals?.yield(.started) }

    /// Serves signals until the task is cancelled or the store is closed.
    func follow() async {
        let (signals, sender) = AsyncStream.makeStream(of: Signal.self)
        let flag = CommitFlag()
        followers += 1
        let number = followers
        self.signals = sender
        // Take the mark before anything is read, so that commits made meanwhile are reported.
        let mark = store.followedMark()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [store] in
                if let mark {
                    // Send a signal for a commit only if none is waiting. The store also reports commits of other
                    // processes.
                    await store.followCommits(after: mark) { isBack in
                        // While the store was suspended, nothing could be listened to.
                        if isBack { sender.yield(.started) } else if flag.raise() { sender.yield(.commit) }
                    }
                }
                sender.finish()
            }
            sender.yield(.started)
            var (timer, listener): (Task<Void, Never>?, Task<Void, Never>?)
            for await signal in signals {
                switch signal {
                case .started:
                    // Types that were not enabled or not allowed before may be followed now, and the reverse.
                    listener?.cancel()
                    listener = listen(sender)
                case .commit: flag.lower()
                case .wake, .due: break
                }
                await serve(signal)
                timer?.cancel()
                timer = wakeWhenDue(sender, signal)
                if Task.isCancelled { break }
            }
            timer?.cancel()
            listener?.cancel()
            group.cancelAll()
        }
        // The engine may have been started again meanwhile.
        if followers == number { self.signals = nil }
    }

    private nonisolated func listen(_ sender: AsyncStream<Signal>.Continuation) -> Task<Void, Never>? {
        // A type that is only sent needs no wake-ups.
        let types = peer.keepsRecords ? [.every] : plan.types(with: .onChange).intersection(plan.pulled)
        guard !types.isEmpty, (try? state().isEnabled) == true else { return nil }
        let wakeUps = peer.wakeUps(for: types)
        // Wake-ups of an earlier stream may still wait.
        if !waitingWakes.isEmpty { sender.yield(.wake) }
        return Task { [waitingWakes] in
            for await wake in wakeUps { if waitingWakes.add(wake) { sender.yield(.wake) } }
        }
    }

    private nonisolated func wakeWhenDue(
        _ sender: AsyncStream<Signal>.Continuation, _ last: Signal
    ) -> Task<Void, Never>? {
        guard let next = try? schedule.nextDue() else { return nil }
        // Work that was tried a moment ago is never retried immediately, whatever is wrong.
        let due = if case .due = last { max(next, now + .seconds(1)) } else { next }
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
            guard (try? schedule.isPushDue()) == true else { return }
            _ = try? await inTurn { try await $0.pass(PassRequest(pulls: false, isOfCommit: true)) }
        case .due:
            _ = try? await inTurn { session in
                let types = try session.schedule.isHourDue() ? session.plan.types(with: .hourly) : []
                return try await session.pass(
                    PassRequest(pulling: types, and: session.core.postponed.withLock { $0 }))
            }
        case .wake:
            let wakes = waitingWakes.take()
            if wakes.isEmpty { return }
            let types = wakes.reduce(into: Set()) { $0.formUnion($1.types) }
            do { try await inTurn { try await $0.serve(wakeUpOf: types) } } catch {
                // The wake-up does not come again once the store is back.
                let isSuspended = (error as? StoreError)?.code == .suspended
                if isSuspended { Pass(core: core).postpone(PassRequest(types: types, pushes: false)) }
            }
            // The work of the wake-ups is committed, or it failed and is kept (SEMANTICS A15).
            for wake in wakes { wake.complete() }
        }
    }

    private func serve(wakeUpOf types: Set<SampleType>) async throws {
        let report = try await pass(PassRequest(types: types, pushes: false))
        let found = report.pulled != PullReport()
        let now = now
        // This commit wakes a peer that follows commits, so a wake-up without news is not worth a commit. Two stores
        // that follow each other would otherwise wake each other for as long as an issue stands.
        guard found || report.issue != nil || peer.needsAuthorization else { return }
        let result = report.issue?.code.rawValue ?? (found ? "changes" : "nothing new")
        let known = try store.blockingRead { try $0.state(of: peer.id) }
        let isOld = known.lastWake.map { $0.hasPassed(.seconds(3_600), at: now) } ?? true
        guard found || peer.needsAuthorization || known.lastWakeResult != result || isOld else { return }
        try await update { _, state in (state.lastWake, state.lastWakeResult) = (now, result) }
    }
}
