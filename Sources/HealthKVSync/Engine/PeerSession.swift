import HealthKV
import Synchronization

/// The sync with one peer. It does one piece of work at a time, and each can be resumed after a crash.
actor PeerSession {
    let store: SampleStore
    let peer: CheckedPeer
    let plan: SyncPlan
    let options: SyncOptions
    /// The engine as the holder of leases.
    let holder: LeaseHolder
    /// The last requested work; the next work waits for it.
    private var last: Task<Void, Never>?
    /// How many pieces of work were requested and have not ended.
    private var unfinished = 0
    /// The token of our lease, while this engine holds it.
    var leaseToken: UInt64?
    /// Called with the progress of a pull.
    var progress: (@Sendable (SyncProgress) -> Void)?
    /// Receives the app's actions while the engine runs.
    var signals: AsyncStream<Signal>.Continuation?
    /// Whether the current pass had to read a feed from its beginning.
    var hasBegunAnew = false
    /// Feeds of the current pass whose peer could not be told how far they are stored.
    var notTold: Set<SampleType> = []
    /// Whether this pass found that both sides remember the same of each other: neither has lost anything.
    var agreesWithPeer = false
    /// The last place of our feed that the peer has taken, if the store does not have it yet.
    var told: ChangeToken?
    /// How many foreign samples there were when the app last asked.
    var previewed: [SampleType: Int] = [:]
    /// When the session last checked whether any foreign sample still shows.
    var lookedForOthers: [SampleType: Instant] = [:]
    /// When a feed was found at its end, if the store does not have that yet.
    var looks: [SampleType: Instant] = [:]
    /// When the latest samples of a feed were last probed, and which of them every pull leaves out.
    var probes: [SampleType: Instant] = [:]
    var leftOut: [SampleType: Set<SampleID>] = [:]
    /// The request of a pass that could not be done, if the store does not have it.
    let postponed = Mutex<PostponedPass?>(nil)
    /// Wake-ups that wait for the signal of the first one.
    let waitingWakes = WaitingWakes()

    init(store: SampleStore, peer: PeerKind, plan: SyncPlan, options: SyncOptions, holder: LeaseHolder) {
        self.store = store
        self.peer = CheckedPeer(peer, options)
        self.plan = plan
        self.options = options
        self.holder = holder
    }

    nonisolated var name: String { peer.name }
    nonisolated var now: Instant { options.clock.now() }

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

    /// Reads the stored state of the peer.
    nonisolated func state() throws -> PeerState {
        let name = name
        return try store.read { try $0.state(of: name) }
    }

    /// Changes the stored state, in a transaction that only the holder of the lease can commit.
    @discardableResult
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout WriteTransaction, inout PeerState) throws -> Result
    ) async throws -> Result {
        let (name, token) = (name, leaseToken)
        do {
            return try await store.write { txn in
                try PeerSession.checkLease(token, name, &txn)
                var state = try txn.state(of: name)
                let result = try change(&txn, &state)
                try txn.setState(state, of: name)
                return result
            }
        } catch let issue as SyncIssue where issue.code == .busyElsewhere {
            // The lease is lost: the next call takes a new one.
            if leaseToken == token { leaseToken = nil }
            throw issue
        }
    }

    /// An engine that lost the lease must not commit: another process continues from the state that it found.
    private static func checkLease(_ token: UInt64?, _ name: String, _ txn: inout WriteTransaction) throws {
        guard let token else { return }
        guard try txn.lease(of: name).token == token else {
            throw SyncIssue(.busyElsewhere, "the lease on \(name) was taken over")
        }
    }

    nonisolated func issue(_ code: SyncIssue.Code, _ detail: String) -> SyncIssue {
        SyncIssue(code, detail, plan: plan)
    }
}

// One engine at a time syncs a store with a peer, across processes.
extension PeerSession {
    /// Takes the lease, or renews it after half of its time. Throws if another engine holds it.
    func holdLease() async throws {
        let (name, holder, now, time) = (name, holder, now, options.leaseTime)
        let ours = leaseToken
        let known = try store.read { try $0.lease(of: name) }
        if known.isHeld(with: ours, beyond: now + time / 2) { return }
        // Check before taking the writing lock: the holder of the lease needs that lock.
        if holder.end(ofForeign: known, at: now, time) != nil { throw PeerSession.isBusy(name) }
        leaseToken = try await store.write { txn in
            var lease = try txn.lease(of: name)
            if holder.end(ofForeign: lease, at: now, time) != nil { throw PeerSession.isBusy(name) }
            lease.take(by: holder.owner, with: ours, until: now + time)
            try txn.setLease(lease, of: name)
            return lease.token
        }
    }

    private static func isBusy(_ name: String) -> SyncIssue {
        SyncIssue(.busyElsewhere, "another engine syncs with \(name)")
    }

    /// Returns when a lease that another engine holds expires, or `nil` if none does.
    nonisolated func foreignLease() throws -> Instant? {
        let name = name
        let lease = try store.read { try $0.lease(of: name) }
        return holder.end(ofForeign: lease, at: now, options.leaseTime)
    }

    /// Releases the lease, so that another engine need not wait until it expires.
    func releaseLease() async throws {
        guard let token = leaseToken else { return }
        let name = name
        leaseToken = nil
        try await store.write { txn in
            var lease = try txn.lease(of: name)
            guard lease.token == token else { return }
            lease.release()
            try txn.setLease(lease, of: name)
        }
    }
}
