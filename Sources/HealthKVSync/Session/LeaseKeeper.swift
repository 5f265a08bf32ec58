import HealthKV
import Synchronization

/// Takes, renews and releases the lease on one peer, by which one engine at a time syncs the store with it, across
/// processes.
final class LeaseKeeper: Sendable {
    private let store: SampleStore
    private let peer: PeerID
    private let calls: CheckedPeer
    private let engine: EngineIdentity
    private let clock: SyncClock
    private let usualTime: Duration
    /// A lease outlasts a call of a peer that takes longer than usual, as a server may tell: otherwise two engines
    /// would take it from each other in turn, and neither could store what its call returned.
    private var leaseTime: Duration { max(usualTime, (calls.ownDeadline ?? .zero) * 2) }
    /// The token of our lease, while this engine holds it.
    private let token = Mutex<UInt64?>(nil)

    init(store: SampleStore, peer: CheckedPeer, options: SyncOptions, engine: EngineIdentity) {
        (self.store, self.peer, calls, self.engine, clock) = (store, peer.id, peer, engine, options.clock)
        usualTime = options.leaseTime
    }

    /// Takes the lease, or renews it after half of its time. Throws if another engine holds it, or has held it since
    /// this one took it: the pass ends, because the state that it has read is no longer valid.
    func hold() async throws {
        let (peer, engine, now, time) = (peer, engine, clock.now(), leaseTime)
        let ours = token.withLock { $0 }
        let known = try store.blockingRead { try $0.lease(of: peer) }
        if known.isHeld(with: ours, beyond: now + time / 2) { return }
        if let ours { try keep(ours, known) }
        // Check before taking the writing lock: the holder of the lease needs that lock.
        if engine.end(ofForeign: known, at: now, time) != nil { throw LeaseKeeper.isBusy(peer) }
        let taken = try await store.write { txn in
            var lease = try txn.lease(of: peer)
            if let ours { try self.keep(ours, lease) }
            if engine.end(ofForeign: lease, at: now, time) != nil { throw LeaseKeeper.isBusy(peer) }
            lease.take(by: engine.owner, with: ours, until: now + time)
            try txn.setLease(lease, of: peer)
            return lease.token
        }
        token.withLock { $0 = taken }
    }

    /// Forgets a lease that another engine has had meanwhile, so that the next call takes a new one. For the beginning
    /// of work, when nothing was read yet.
    func forgetIfLost() throws {
        guard let ours = token.withLock({ $0 }) else { return }
        let peer = peer
        guard try store.read({ try $0.lease(of: peer) }).token != ours else { return }
        token.withLock { if $0 == ours { $0 = nil } }
    }

    /// Throws if another engine has taken the lease meanwhile. The next piece of work takes a new one.
    private func keep(_ ours: UInt64, _ lease: Lease) throws {
        if lease.token == ours { return }
        token.withLock { if $0 == ours { $0 = nil } }
        throw SyncIssue(.busyElsewhere, "the lease on \(peer) was taken over")
    }

    /// Returns when a lease that another engine holds expires, or `nil` if none does.
    func foreignEnd() throws -> Instant? {
        let peer = peer
        let lease = try store.read { try $0.lease(of: peer) }
        return engine.end(ofForeign: lease, at: clock.now(), leaseTime)
    }

    /// Releases the lease, so that another engine need not wait until it expires.
    func release() async throws {
        let ours = token.withLock { token in
            defer { token = nil }
            return token
        }
        guard let ours else { return }
        let peer = peer
        try await store.write { txn in
            var lease = try txn.lease(of: peer)
            guard lease.token == ours else { return }
            lease.release()
            try txn.setLease(lease, of: peer)
        }
    }

    /// Runs a transaction that only the holder of the lease can commit: another process continues from the state that
    /// it found.
    func writing<Result: Sendable>(
        _ change: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        let ours = token.withLock { $0 }
        return try await store.write { txn in
            if let ours { try self.keep(ours, txn.lease(of: self.peer)) }
            return try change(&txn)
        }
    }

    private static func isBusy(_ peer: PeerID) -> SyncIssue {
        SyncIssue(.busyElsewhere, "another engine syncs with \(peer)")
    }
}
