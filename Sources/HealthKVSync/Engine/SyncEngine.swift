import HealthKV
import Synchronization

/// Syncs a store with its peers.
///
/// ```swift
/// let sync = SyncEngine(store: store, peers: [SyncPeer(StorePeer(backup, id: "backup"), plan: .everything)])
/// try await sync.enable("backup")
/// sync.start()                                         // follows changes until stop()
/// ```
///
/// The engine keeps no state of its own: the app gives the plans, and the store holds everything else. So an app may
/// create an engine at any time, and an engine in another process continues where this one ended. Without work, the
/// engine is idle.
public final class SyncEngine: Sendable {
    /// The store.
    public let store: SampleStore
    let sessions: [PeerID: PeerSession]
    let options: SyncOptions
    let runner = Mutex<Task<Void, Never>?>(nil)

    /// Creates an engine for a store and its peers. The peers must have different names.
    public init(store: SampleStore, peers: [SyncPeer], options: SyncOptions = SyncOptions()) {
        options.check()
        self.store = store
        self.options = options
        var sessions: [PeerID: PeerSession] = [:]
        let engine = EngineIdentity(options)
        for item in peers {
            Misuse.refuse(unless: !item.peer.id.rawValue.isEmpty, "a peer has a name")
            Misuse.refuse(unless: sessions[item.peer.id] == nil, "two peers have one name")
            item.plan.check()
            let core = SessionCore(
                store: store, peer: item.kind, plan: item.plan, options: options, engine: engine)
            sessions[core.name] = PeerSession(core: core)
        }
        self.sessions = sessions
    }

    /// The names of the peers, in order.
    public var peers: [PeerID] { sessions.keys.sorted() }

    func session(_ name: PeerID) throws -> PeerSession {
        guard let session = sessions[name] else { throw SyncIssue(.invalid, "the engine has no peer \(name)") }
        return session
    }

    /// Switches the sync with a peer on. From now on every change is queued for the peer in the transaction that makes
    /// it, regardless of the caller. The peer is not called yet.
    public func enable(_ name: PeerID) async throws {
        let session = try session(name)
        try await session.inTurn { try await $0.enrollment.enable(nil) }
        await session.noteChange()
    }

    /// Switches the sync with a peer off. Its queue is kept and grows, so that nothing is missed when the sync is
    /// switched on again.
    public func disable(_ name: PeerID) async throws {
        let session = try session(name)
        try await session.interrupting { try await $0.enrollment.disable() }
        await session.noteChange()
    }

    /// Asks the user for access to the types of a stage.
    public func authorize(_ name: PeerID, _ stage: AuthorizationStage = .all) async throws {
        let session = try session(name)
        try await session.inTurn { session in
            try await session.core.logging("authorize") { try await session.access.authorize(stage) }
        }
        await session.noteChange()
    }

    /// Syncs now with all enabled peers, or with one: when the app comes to the foreground, or when the user asks for
    /// it. The report and the status contain the issue of an incomplete sync. Throws if no peer has the name.
    @discardableResult
    public func sync(_ name: PeerID? = nil) async throws -> [PeerID: SyncReport] {
        if let name { _ = try session(name) }
        var reports: [PeerID: SyncReport] = [:]
        for key in peers where name == nil || name == key {
            reports[key] = try await session(key).inTurn { try await $0.pass(PassRequest(isUrgent: true)) }
        }
        return reports
    }

    /// Syncs the types with the foreground trigger.
    @discardableResult
    public func enterForeground() async throws -> [PeerID: SyncReport] {
        var reports: [PeerID: SyncReport] = [:]
        for key in peers {
            reports[key] = try await session(key).inTurn { session in
                let (types, postponed) = (session.plan.types(with: .foreground), session.core.postponed.withLock { $0 })
                return try await session.pass(PassRequest(pulling: types, and: postponed, isUrgent: true))
            }
        }
        return reports
    }

    /// Syncs until a deadline, for a task that the system grants in the background. Unfinished work continues another
    /// time. Returns `true` if everything was done.
    @discardableResult
    public func run(until deadline: Instant) async throws -> Bool {
        let clock = options.clock
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                let reports = try await self.sync()
                return reports.values.allSatisfy { $0.issue == nil }
            }
            group.addTask {
                try await clock.sleep(deadline)
                return false
            }
            defer { group.cancelAll() }
            do {
                return try await group.next() ?? false
            } catch is CancellationError {
                return false
            }
        }
    }

    /// Returns the status of the sync with each peer.
    public func status() throws -> SyncStatus {
        let names = peers
        return try store.read { txn in
            var status = SyncStatus()
            for name in names { status.peers[name] = try txn.syncStatus(of: name) }
            return status
        }
    }

    /// Returns the status now and after each change of it.
    public func statusUpdates() -> AsyncStream<SyncStatus> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watch = Task { [self] in
                var last: SyncStatus?
                repeat {
                    guard let mark = store.followedMark() else { break }
                    // A suspended store has no status until it is back.
                    if let status = try? status(), status != last {
                        continuation.yield(status)
                        last = status
                    }
                    guard await store.waitForCommit(after: mark) else { break }
                } while !Task.isCancelled
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }
}
