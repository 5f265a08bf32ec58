import Synchronization
import Testing

@testable import HealthKVSync

/// A store as a peer, before one push of which something else happens, or which is exchanged for another state then.
final class InterruptedPeer: RecordPeer {
    private let current: Mutex<StorePeer>
    private let atPush = Mutex<(@Sendable () async throws -> StorePeer?)?>(nil)

    init(_ peer: StorePeer) { current = Mutex(peer) }

    private var inner: StorePeer { current.withLock { $0 } }

    /// Runs `body` once, before the next push. If it returns a peer, that one takes the place of this one.
    func beforePush(_ body: @escaping @Sendable () async throws -> StorePeer?) { atPush.withLock { $0 = body } }

    var id: PeerID { inner.id }
    func availability() async -> PeerAvailability { await inner.availability() }
    func types() async throws(PeerError) -> Set<SampleType> { try await inner.types() }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await inner.enumerate(request)
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let body = atPush.withLock { body in
            defer { body = nil }
            return body
        }
        do {
            if let next = try await body?() { current.withLock { $0 = next } }
        } catch {
            Issue.record("what happens before the push failed: \(error)")
        }
        return await inner.push(operations)
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try await inner.digest(of: type, in: window)
    }
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        try await inner.forgotten(among: samples, since: token)
    }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { try await inner.meet(told: told) }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        try await inner.acknowledge(token, of: type)
    }
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { try await inner.greet(greeting) }
}
