import HealthKV
import Synchronization

/// The sync with one peer: one thing at a time, each resumable after a crash.
actor PeerSession {
    let store: SampleStore
    let peer: CheckedPeer
    let plan: SyncPlan
    let options: SyncOptions
    /// The engine, as leases know it.
    let holder: LeaseHolder
    /// The last work that was asked for; the next waits for it.
    private var last: Task<Void, Never>?
    /// How much work was asked for and has not ended.
    private var unfinished = 0
    /// The token of our lease, while we hold it.
    var leaseToken: UInt64?
    /// Who wants to hear how a pull goes on.
    var progress: (@Sendable (SyncProgress) -> Void)?
    /// Whom to tell of what the app does, while the engine runs.
    var signals: AsyncStream<Signal>.Continuation?
    /// Whether the pass under way had to read a feed from its beginning.
    var hasBegunAnew = false
    /// Feeds of the pass under way whose peer could not be told how far they are held.
    var notTold: Set<SampleType> = []
    /// Whether both sides were found to remember the same of each other in this pass: nothing of either was lost.
    var agreesWithPeer = false
    /// The last place of our feed that the peer has taken, where the store does not say so yet.
    var told: ChangeToken?
    /// How many samples of others there were when the app asked last.
    var previewed: [SampleType: Int] = [:]
    /// When it was last looked whether anything of others still shows.
    var lookedForOthers: [SampleType: Instant] = [:]
    /// When a feed was found at its end, where the store does not say so yet.
    var looks: [SampleType: Instant] = [:]
    /// When the latest samples of a feed were last looked at, and which of them are left out whatever is read.
    var probes: [SampleType: Instant] = [:]
    var leftOut: [SampleType: Set<SampleID>] = [:]
    /// What a pass was asked for and could not do, where the store does not tell of it.
    let postponed = Mutex<PostponedPass?>(nil)
    /// Wake-ups that wait beside one that was told of.
    let waitingWakes = WaitingWakes()

    init(store: SampleStore, peer: any Peer, plan: SyncPlan, options: SyncOptions, holder: LeaseHolder) {
        self.store = store
        self.peer = CheckedPeer(peer, options)
        self.plan = plan
        self.options = options
        self.holder = holder
    }

    nonisolated var name: String { peer.name }
    nonisolated var now: Instant { options.clock.now() }

    /// Runs work after all that was asked for before. Cancelling the caller cancels the work, and the waiting for its turn at once.
    func inTurn<Result: Sendable>(
        _ work: @escaping @Sendable (isolated PeerSession) async throws -> Result
    ) async throws -> Result {
        let previous = last
        let (turn, begin) = AsyncStream.makeStream(of: Void.self)
        unfinished += 1
        let task = Task { () async throws -> Result in
            // Ends when the turn has come, and for whoever is cancelled: a task's value would be waited for all the same.
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

    /// Runs work that ends the sync. Calls of the peer that are under way are not waited for.
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

    /// Whether nothing is under way, and nothing waits for its turn.
    var isAtRest: Bool { unfinished == 0 }

    /// An engine that does not run gives the lease back with its last work: nobody is to wait for one that is idle.
    private func endWork() async {
        unfinished -= 1
        guard isAtRest, signals == nil else { return }
        // Where that fails the lease ends when it expires.
        try? await releaseLease()
    }

    /// Reads what is remembered of the peer.
    nonisolated func state() throws -> PeerState {
        let name = name
        return try store.read { try $0.state(of: name) }
    }

    /// Changes what is remembered, in a transaction that only the holder of the lease can commit.
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
            // What was lost is no longer held: the next call takes a lease of its own.
            if leaseToken == token { leaseToken = nil }
            throw issue
        }
    }

    /// Whoever lost the lease must not commit: another process goes on from what it found.
    private static func checkLease(_ token: UInt64?, _ name: String, _ txn: inout WriteTransaction) throws {
        guard let token else { return }
        guard try txn.lease(of: name)?.token == token else {
            throw SyncIssue(.busyElsewhere, "the lease on \(name) was taken over")
        }
    }

    nonisolated func issue(_ code: SyncIssue.Code, _ detail: String) -> SyncIssue {
        SyncIssue(code, detail, plan: plan)
    }
}

// One engine at a time syncs a store with a peer, across processes.
extension PeerSession {
    /// Takes the lease, or renews it when half of its time is over. Throws when another engine holds it.
    func holdLease() async throws {
        let (name, holder, now, time) = (name, holder, now, options.leaseTime)
        let ours = leaseToken
        if let held = try store.read({ try $0.lease(of: name) }) {
            if held.token == ours, held.expires > now + time / 2 { return }
            // Asked before the writing lock is: whoever holds the lease needs that.
            if holder.isHeldElsewhere(held, at: now, time) { throw PeerSession.isBusy(name) }
        }
        leaseToken = try await store.write { txn in
            let known = try txn.lease(of: name)
            if let known, holder.isHeldElsewhere(known, at: now, time) { throw PeerSession.isBusy(name) }
            // Another token locks out whatever is left of the last holder.
            let token = known?.token ?? 0
            let lease = Lease(
                holder: holder.name, token: token == ours ? token : token + 1, expires: now + time, mark: holder.mark)
            try txn.setLease(lease, of: name)
            return lease.token
        }
    }

    private static func isBusy(_ name: String) -> SyncIssue {
        SyncIssue(.busyElsewhere, "another engine syncs with \(name)")
    }

    /// When a lease that another engine holds expires; `nil` when none does.
    nonisolated func foreignLease() throws -> Instant? {
        let name = name
        guard let lease = try store.read({ try $0.lease(of: name) }),
            holder.isHeldElsewhere(lease, at: now, options.leaseTime)
        else { return nil }
        return lease.expires
    }

    /// Gives the lease back, so that another engine need not wait for its end.
    func releaseLease() async throws {
        guard let token = leaseToken else { return }
        let name = name
        leaseToken = nil
        try await store.write { txn in
            guard var lease = try txn.lease(of: name), lease.token == token else { return }
            lease.expires = .distantPast
            try txn.setLease(lease, of: name)
        }
    }
}
