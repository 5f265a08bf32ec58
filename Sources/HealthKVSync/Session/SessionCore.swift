import HealthKV
import Synchronization

/// What all jobs of the sync with one peer work with: the store, the peer behind its checks, the plan, the lease, and
/// the stored state. ``PeerSession`` runs one piece of work at a time on it.
final class SessionCore: Sendable {
    let store: SampleStore
    let peer: CheckedPeer
    let plan: SyncPlan
    let options: SyncOptions
    let lease: LeaseKeeper
    private let remembered = Mutex(SessionMemory())
    /// The request of a pass that could not be done, if the store does not have it.
    let postponed = Mutex<PostponedPass?>(nil)

    init(store: SampleStore, peer: PeerKind, plan: SyncPlan, options: SyncOptions, engine: EngineIdentity) {
        self.store = store
        self.peer = CheckedPeer(peer, options)
        self.plan = plan
        self.options = options
        lease = LeaseKeeper(store: store, peer: self.peer, options: options, engine: engine)
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
        let name = name
        return try await lease.writing { txn in
            var state = try txn.state(of: name)
            let result = try change(&txn, &state)
            try txn.setState(state, of: name)
            return result
        }
    }

    func issue(_ code: SyncIssue.Code, _ detail: String) -> SyncIssue {
        SyncIssue(code, detail, plan: plan)
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
