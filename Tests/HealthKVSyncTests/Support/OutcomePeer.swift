import HealthKVSync
import Synchronization

/// A store as a peer that answers some operations otherwise than it should, without carrying them out, notes what it is
/// sent, and does something before it is enumerated.
final class OutcomePeer: RecordPeer {
    private let inner: StorePeer
    private let answer = Mutex<(@Sendable (PushOperation) -> PushOutcome?)?>(nil)
    private let isLost = Mutex<(@Sendable (PushOperation) -> Bool)?>(nil)
    private let sizes = Mutex<[Int]>([])
    private let atEnumeration = Mutex<(@Sendable () throws -> Void)?>(nil)

    private let remembers: Bool
    private let namesTypes = Mutex(true)

    init(_ inner: StorePeer, remembers: Bool = true) { (self.inner, self.remembers) = (inner, remembers) }

    /// The peer cannot tell what types it holds samples of.
    func forgetTypes() { namesTypes.withLock { $0 = false } }

    /// How many deletions each push held, where it held any.
    var deletions: [Int] { sizes.withLock { $0 } }

    /// Runs once, before the next enumeration.
    func beforeEnumeration(_ body: @escaping @Sendable () throws -> Void) { atEnumeration.withLock { $0 = body } }

    func set(_ answer: (@Sendable (PushOperation) -> PushOutcome?)?) { self.answer.withLock { $0 = answer } }

    /// Loses the answers to some operations, which are carried out.
    func lose(_ isLost: (@Sendable (PushOperation) -> Bool)?) { self.isLost.withLock { $0 = isLost } }

    var id: PeerID { inner.id }

    func availability() async -> PeerAvailability { await inner.availability() }
    func types() async throws(PeerError) -> Set<SampleType> {
        namesTypes.withLock { $0 } ? try await inner.types() : []
    }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        let body = atEnumeration.withLock { body in
            defer { body = nil }
            return body
        }
        do { try body?() } catch { throw PeerError(.transient, "\(error)") }
        return try await inner.enumerate(request)
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let count = operations.count { if case .delete = $0.kind { true } else { false } }
        if count > 0 { sizes.withLock { $0.append(count) } }
        if let isLost = isLost.withLock({ $0 }) {
            return zip(operations, await inner.push(operations)).map { isLost($0) ? .unknown(reason: "lost") : $1 }
        }
        guard let answer = answer.withLock({ $0 }) else { return await inner.push(operations) }
        var outcomes: [PushOutcome] = []
        for operation in operations {
            if let given = answer(operation) {
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
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        try await inner.forgotten(among: samples, since: token)
    }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        remembers ? try await inner.meet(told: told) : nil
    }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        try await inner.acknowledge(token, of: type)
    }
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { try await inner.greet(greeting) }
}
