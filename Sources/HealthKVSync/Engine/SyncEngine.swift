import HealthKV
import Synchronization

/// Keeps a store in step with its peers.
///
/// ```swift
/// let sync = SyncEngine(store: store, peers: [SyncPeer(StorePeer(backup, name: "backup"), plan: .everything)])
/// try await sync.enable("backup")
/// sync.start()                                         // follows changes until stop()
/// ```
///
/// It keeps nothing to itself: plans come from the app, all else stands in the store. So it may be made anew at any time, and one in
/// another process goes on where this one ended. While there is nothing to do it does nothing.
public final class SyncEngine: Sendable {
    /// The store.
    public let store: SampleStore
    let sessions: [String: PeerSession]
    let options: SyncOptions
    let runner = Mutex<Task<Void, Never>?>(nil)

    /// An engine for a store and its peers. Their names differ.
    public init(store: SampleStore, peers: [SyncPeer], options: SyncOptions = SyncOptions()) {
        options.check()
        self.store = store
        self.options = options
        var sessions: [String: PeerSession] = [:]
        let holder = LeaseHolder(options)
        for item in peers {
            precondition(!item.peer.name.isEmpty, "a peer has a name")
            precondition(sessions[item.peer.name] == nil, "two peers have one name")
            sessions[item.peer.name] = PeerSession(
                store: store, peer: item.peer, plan: item.plan, options: options, holder: holder)
        }
        self.sessions = sessions
    }

    /// The names of the peers, in order.
    public var peers: [String] { sessions.keys.sorted() }

    func session(_ name: String) throws -> PeerSession {
        guard let session = sessions[name] else { throw SyncIssue(.invalid, "the engine has no peer \(name)") }
        return session
    }

    /// Switches the sync with a peer on. From now on every change is queued for it in the transaction that makes it, whoever
    /// makes it; nothing is asked of the peer yet.
    public func enable(_ name: String) async throws {
        let session = try session(name)
        try await session.inTurn { try await $0.enable(nil) }
        await session.noteChange()
    }

    /// Switches the sync with a peer off. Its queue is kept and grows, so that switching it on again misses nothing.
    public func disable(_ name: String) async throws {
        let session = try session(name)
        try await session.interrupting { try await $0.disable() }
        await session.noteChange()
    }

    /// Asks the user for access to the types of a stage.
    public func authorize(_ name: String, _ stage: AuthorizationStage = .all) async throws {
        let session = try session(name)
        try await session.inTurn { try await $0.authorize(stage) }
        await session.noteChange()
    }

    /// Syncs now with all peers that are enabled, or with one: when the app comes to the foreground, or the user asks for it.
    /// What keeps it from being whole stands in the report and in the status. A name that no peer has is an error.
    @discardableResult
    public func sync(_ name: String? = nil) async throws -> [String: SyncReport] {
        if let name { _ = try session(name) }
        var reports: [String: SyncReport] = [:]
        for key in peers where name == nil || name == key {
            reports[key] = try await session(key).inTurn { try await $0.pass(PassRequest(isUrgent: true)) }
        }
        return reports
    }

    /// Syncs the types that are to be synced when the app comes to the foreground.
    @discardableResult
    public func enterForeground() async throws -> [String: SyncReport] {
        var reports: [String: SyncReport] = [:]
        for key in peers {
            reports[key] = try await session(key).inTurn { session in
                let types = session.plan.types(with: .foreground)
                return try await session.pass(PassRequest(types: types, isUrgent: true))
            }
        }
        return reports
    }

    /// Syncs until a time, for a task that the system grants in the background. What is not done by then goes on another time;
    /// answers whether all was done.
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

    /// How the sync with each peer stands.
    public func status() throws -> SyncStatus {
        let names = peers
        return try store.read { txn in
            var status = SyncStatus()
            for name in names { status.peers[name] = try txn.syncStatus(of: name) }
            return status
        }
    }

    /// The status now and after each change of it.
    public func statusUpdates() -> AsyncStream<SyncStatus> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watch = Task { [self] in
                var last: SyncStatus?
                repeat {
                    guard let mark = try? store.commitMark(), let status = try? status() else { break }
                    if status != last { continuation.yield(status) }
                    last = status
                    guard await store.waitForCommit(after: mark) else { break }
                } while !Task.isCancelled
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }
}
