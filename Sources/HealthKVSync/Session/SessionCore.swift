import HealthKV
import Synchronization

/// What all jobs of the sync with one peer work with: the store, the peer behind its checks, the plan, the lease, and
/// the stored state. ``PeerSession`` runs one piece of work at a time on it.
final class SessionCore: Sendable {
    let store: SampleStore
    let peer: CheckedPeer
    let plan: SyncPlan
    let options: SyncOptions
    /// The engine as the holder of leases.
    let holder: LeaseHolder
    /// The token of our lease, while this engine holds it.
    private let leaseToken = Mutex<UInt64?>(nil)
    private let remembered = Mutex(SessionMemory())
    /// The request of a pass that could not be done, if the store does not have it.
    let postponed = Mutex<PostponedPass?>(nil)

    init(store: SampleStore, peer: PeerKind, plan: SyncPlan, options: SyncOptions, holder: LeaseHolder) {
        self.store = store
        self.peer = CheckedPeer(peer, options)
        self.plan = plan
        self.options = options
        self.holder = holder
    }

    var name: PeerID { peer.id }
    var now: Instant { options.clock.now() }

    /// What is kept in memory only. Only work whose turn it is changes it.
    var memory: SessionMemory {
        get { remembered.withLock { $0 } }
        set { remembered.withLock { $0 = newValue } }
    }

    /// Reads the stored state of the peer.
    func state() throws -> PeerState {
        let name = name
        return try store.read { try $0.state(of: name) }
    }

    /// Changes the stored state, in a transaction that only the holder of the lease can commit.
    @discardableResult
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout WriteTransaction, inout PeerState) throws -> Result
    ) async throws -> Result {
        let (name, token) = (name, leaseToken.withLock { $0 })
        do {
            return try await store.write { txn in
                try SessionCore.checkLease(token, name, &txn)
                var state = try txn.state(of: name)
                let result = try change(&txn, &state)
                try txn.setState(state, of: name)
                return result
            }
        } catch let issue as SyncIssue where issue.code == .busyElsewhere {
            // The lease is lost: the next call takes a new one.
            leaseToken.withLock { if $0 == token { $0 = nil } }
            throw issue
        }
    }

    /// An engine that lost the lease must not commit: another process continues from the state that it found.
    private static func checkLease(_ token: UInt64?, _ name: PeerID, _ txn: inout WriteTransaction) throws {
        guard let token else { return }
        guard try txn.lease(of: name).token == token else {
            throw SyncIssue(.busyElsewhere, "the lease on \(name) was taken over")
        }
    }

    func issue(_ code: SyncIssue.Code, _ detail: String) -> SyncIssue {
        SyncIssue(code, detail, plan: plan)
    }
}

// One engine at a time syncs a store with a peer, across processes.
extension SessionCore {
    /// A lease outlasts a call of a peer that takes longer than usual: otherwise two engines would take it from each
    /// other in turn, and neither could store what its call returned.
    private var leaseTime: Duration { max(options.leaseTime, (peer.ownDeadline ?? .zero) * 2) }

    /// Takes the lease, or renews it after half of its time. Throws if another engine holds it.
    func holdLease() async throws {
        let (name, holder, now, time) = (name, holder, now, leaseTime)
        let ours = leaseToken.withLock { $0 }
        let known = try store.blockingRead { try $0.lease(of: name) }
        if known.isHeld(with: ours, beyond: now + time / 2) { return }
        // Check before taking the writing lock: the holder of the lease needs that lock.
        if holder.end(ofForeign: known, at: now, time) != nil { throw SessionCore.isBusy(name) }
        let token = try await store.write { txn in
            var lease = try txn.lease(of: name)
            if holder.end(ofForeign: lease, at: now, time) != nil { throw SessionCore.isBusy(name) }
            lease.take(by: holder.owner, with: ours, until: now + time)
            try txn.setLease(lease, of: name)
            return lease.token
        }
        leaseToken.withLock { $0 = token }
    }

    private static func isBusy(_ name: PeerID) -> SyncIssue {
        SyncIssue(.busyElsewhere, "another engine syncs with \(name)")
    }

    /// Returns when a lease that another engine holds expires, or `nil` if none does.
    func foreignLease() throws -> Instant? {
        let name = name
        let lease = try store.read { try $0.lease(of: name) }
        return holder.end(ofForeign: lease, at: now, leaseTime)
    }

    /// Releases the lease, so that another engine need not wait until it expires.
    func releaseLease() async throws {
        let ours = leaseToken.withLock { token in
            defer { token = nil }
            return token
        }
        guard let token = ours else { return }
        let name = name
        try await store.write { txn in
            var lease = try txn.lease(of: name)
            guard lease.token == token else { return }
            lease.release()
            try txn.setLease(lease, of: name)
        }
    }
}

extension SessionCore {
    func log(_ level: SyncLogEntry.Level, _ message: String, _ metadata: [String: String] = [:]) {
        options.log?(
            SyncLogEntry(level: level, message: message, metadata: metadata.merging(["peer": name.rawValue]) { $1 }))
    }

    /// Logs the result of a pass. The detail of an issue contains no private data, because it is redacted where it is
    /// made.
    func log(_ report: SyncReport) {
        guard options.log != nil else { return }
        var metadata: [String: String] = [:]
        let counts = [
            ("imported", report.pulled.imported), ("deleted", report.pulled.deleted),
            ("conflicts", report.pulled.conflicts), ("invalid", report.pulled.invalid), ("sent", report.pushed.done),
            ("parked", report.pushed.parked), ("failed", report.pushed.failed),
            ("quarantined", report.pushed.quarantined),
        ]
        for (name, count) in counts where count > 0 { metadata[name] = "\(count)" }
        if let issue = report.issue { return log(issue, "the sync is not whole", metadata) }
        // Nothing repeats what the peer refused for good, or what breaks the rules of the store.
        if report.pushed.quarantined + report.pulled.invalid > 0 {
            return log(.warning, "synced, without what was refused or is invalid", metadata)
        }
        log(metadata.isEmpty ? .debug : .info, "synced", metadata)
    }

    private func log(_ issue: SyncIssue, _ message: String, _ metadata: [String: String]) {
        var metadata = metadata
        (metadata["issue"], metadata["detail"]) = (issue.code.rawValue, issue.detail)
        log(issue.recovery == .wait ? .warning : .error, message, metadata)
    }

    /// Does what the app asked for, and logs why it failed. A cancelled caller has seen no failure.
    func logging<Result>(
        _ operation: String, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Result
    ) async throws -> Result {
        do { return try await work() } catch {
            if options.log != nil, !(error is CancellationError), !Task.isCancelled {
                log(SyncIssue(of: error, plan: plan), "what the app asked for failed", ["operation": operation])
            }
            throw error
        }
    }
}
