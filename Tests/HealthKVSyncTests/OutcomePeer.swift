import HealthKVSync
import Synchronization

/// A store as a peer that answers some operations otherwise than it should, without carrying them out.
final class OutcomePeer: Peer {
    private let inner: StorePeer
    private let answer = Mutex<(@Sendable (PushOperation) -> PushOutcome?)?>(nil)

    init(_ inner: StorePeer) { self.inner = inner }

    func set(_ answer: (@Sendable (PushOperation) -> PushOutcome?)?) { self.answer.withLock { $0 = answer } }

    var name: String { inner.name }
    var traits: PeerTraits { inner.traits }

    func availability() async -> PeerAvailability { await inner.availability() }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
    func authorization(of type: SampleType) async -> TypeAuthorization { .open }
    func types() async throws(PeerError) -> Set<SampleType> { try await inner.types() }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await inner.enumerate(request)
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let answer = answer.withLock { $0 }
        var outcomes: [PushOutcome] = []
        for operation in operations {
            if let given = answer?(operation) {
                outcomes.append(given)
            } else {
                outcomes += await inner.push([operation])
            }
        }
        return outcomes
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try await inner.digest(of: type, in: window)
    }
    func acknowledge(_ token: [UInt8], of type: SampleType) async { await inner.acknowledge(token, of: type) }
}
