import HealthKV
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A store of records behind a transport: a server, a daemon, another process. Each call becomes one message, and its
/// result another; only the transport is left to the app.
///
/// ```swift
/// import Foundation
///
/// func peer(post: @escaping @Sendable (_ path: String, _ body: Data) async throws -> Data) -> RemotePeer {
///     RemotePeer(id: "server") { call, body in try await post("/sync/\(call.rawValue)", body) }
/// }
/// ```
///
/// A server in Swift passes the messages to a ``PeerService``. Any other server answers them as `docs/PEERS.md` says.
public struct RemotePeer: RecordPeer {
    /// Sends a message and returns the answer. It throws if there is none, and may deliver a message twice.
    public typealias Transport = @Sendable (_ call: RemoteCall, _ body: Data) async throws -> Data

    /// The name under which the store keeps everything that it knows of the peer.
    public let id: PeerID
    /// How much the peer takes at once: what was given, narrowed by what the other side has told when it was greeted.
    public var limits: PeerLimits { given.narrowed(by: told.limits) }
    private let given: PeerLimits
    private let told = ToldLimits()
    private let transport: Transport
    private let signals: @Sendable (Set<SampleType>) -> AsyncStream<WakeUp>

    /// Creates a peer from its transport.
    ///
    /// - Parameters:
    ///   - id: The name under which the store keeps everything that it knows of the peer.
    ///   - limits: How much the peer takes at once; by default 500 operations or samples in a message.
    ///   - wakeUps: Signals that something may have changed there. By default there are none, and the plan's other
    ///     triggers start the syncs.
    ///   - transport: Sends a message and returns the answer.
    public init(
        id: PeerID, limits: PeerLimits = PeerLimits(operations: 500, page: 500),
        wakeUps: @escaping @Sendable (Set<SampleType>) -> AsyncStream<WakeUp> = { _ in AsyncStream { $0.finish() } },
        transport: @escaping Transport
    ) {
        (self.id, given, self.transport, signals) = (id, limits, transport, wakeUps)
    }

    /// Always `available`: only a call shows whether the other side can be reached now.
    public func availability() async -> PeerAvailability { .available }

    /// Tells the other side who syncs with it, and asks who it is and how much it takes at once.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        let answer: PeerGreeting? = try await ask(.greet, greeting)
        told.set(answer?.limits)
        return answer
    }

    /// Asks what the other side remembers of the store.
    public func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        try await ask(.meet, RemoteArguments.Meeting(told: told))
    }

    /// Asks for the types that the other side holds samples of.
    public func types() async throws(PeerError) -> Set<SampleType> { try await ask(.types, RemoteArguments.Nothing()) }

    /// Asks for a page of the other side's changes.
    public func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await ask(.pull, request) }

    /// Asks for a page of the other side's samples of a type, the latest first.
    public func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await ask(.enumerate, request)
    }

    /// Asks for the digest of a window.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try await ask(.digest, RemoteArguments.Window(type: type, window: window))
    }

    /// Asks which deletions the other side has forgotten, in messages of the size that it takes.
    public func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        var forgotten: Set<SampleID> = []
        var rest = samples[...]
        repeat {
            let part = Array(rest.prefix(limits.page ?? .max))
            rest = rest.dropFirst(part.count)
            let arguments = RemoteArguments.Given(samples: part, token: token)
            guard let found: Set<SampleID> = try await ask(.forgotten, arguments) else { return nil }
            forgotten.formUnion(found)
        } while !rest.isEmpty
        return forgotten
    }

    /// Sends operations. Without an answer, each may have happened or not. If the other side cannot read a message, the
    /// search for what it does not know takes further messages, for half of the time that a call has; operations that
    /// are left then count as failed, and the engine goes on with them.
    public func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        var search = UnreadableSearch(until: SuspendingClock.now + limits.deadline(usual: .seconds(60)) / 2)
        return await push(operations[...], &search)
    }

    private func push(_ operations: ArraySlice<PushOperation>, _ search: inout UnreadableSearch) async -> [PushOutcome]
    {
        if search.isOver || Task.isCancelled { return operations.map { _ in UnreadableSearch.notSent } }
        if search.sendsSingly, operations.count > 1 {
            var outcomes: [PushOutcome] = []
            for index in operations.indices { outcomes += await push(operations[index...index], &search) }
            return outcomes
        }
        switch await answer(to: operations) {
        case .success(let outcomes): return outcomes
        case .failure(let error) where error.code != .invalid:
            // Whatever the reason is, the next message would meet it, too.
            search.isCut = true
            return operations.map { _ in error.outcome }
        case .failure(let error):
            search.hasBegun = true
            guard operations.count < 2 else { break }
            return operations.isEmpty ? [] : [await refuse(operations, error, &search)]
        }
        let middle = operations.startIndex + operations.count / 2
        let first = await push(operations[..<middle], &search)
        return await first + push(operations[middle...], &search)
    }

    /// Refuses an operation that could not be read alone; at first only at the second try, because the way may have cut
    /// the message.
    private func refuse(
        _ operation: ArraySlice<PushOperation>, _ error: PeerError, _ search: inout UnreadableSearch
    ) async -> PushOutcome {
        if !search.sendsSingly {
            if Task.isCancelled { return UnreadableSearch.notSent }
            switch await answer(to: operation) {
            case .success(let outcomes): return outcomes[0]
            case .failure(let second) where second.code != .invalid:
                search.isCut = true
                return second.outcome
            case .failure: break
            }
        }
        search.refused += 1
        return .refused(reason: error.detail)
    }

    /// Sends one message. Its outcomes belong to its operations only if there is one for each.
    private func answer(to operations: ArraySlice<PushOperation>) async -> Result<[PushOutcome], PeerError> {
        do {
            let outcomes: [PushOutcome] = try await ask(.push, Array(operations))
            guard outcomes.count == operations.count else {
                return .failure(PeerError(.badAnswer, "a push has \(outcomes.count) outcomes"))
            }
            return .success(outcomes)
        } catch { return .failure(error) }
    }

    /// Tells the other side that the store durably holds everything up to a token.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        let _: RemoteArguments.Nothing = try await ask(
            .acknowledge, RemoteArguments.Acknowledgement(token: token, type: type))
    }

    /// Signals what the app passed as `wakeUps`.
    public func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { signals(types) }

    /// Tells the other side that the app has disconnected it. It may not hear of that.
    public func disconnected(from types: Set<SampleType>) async {
        let _: RemoteReply<RemoteArguments.Nothing>? = try? await exchange(.disconnected, types)
    }

    private func ask<Value: Codable & Sendable>(
        _ call: RemoteCall, _ arguments: some Encodable & Sendable
    ) async throws(PeerError) -> Value {
        switch try await exchange(call, arguments) as RemoteReply<Value> {
        case .value(let value): return value
        case .failure(let error): throw error
        }
    }

    private func exchange<Value: Codable & Sendable>(
        _ call: RemoteCall, _ arguments: some Encodable & Sendable
    ) async throws(PeerError) -> RemoteReply<Value> {
        let answer: Data
        do {
            answer = try await transport(call, try JSONEncoder().encode(arguments))
        } catch let error as PeerError {
            throw error
        } catch {
            // What the transport says may quote the message.
            throw PeerError(.transient, "no answer to \(call.rawValue)")
        }
        do { return try JSONDecoder().decode(RemoteReply<Value>.self, from: answer) } catch {
            throw PeerError(.badAnswer, "the answer to \(call.rawValue) cannot be read")
        }
    }
}

/// The limits that the other side told last. Copies of a peer share them.
private final class ToldLimits: Sendable {
    private let last = Mutex<PeerLimits?>(nil)

    var limits: PeerLimits? { last.withLock { $0 } }
    func set(_ limits: PeerLimits?) { last.withLock { $0 = limits } }
}

/// The search among the operations of a push for those that the other side cannot read.
private struct UnreadableSearch {
    let end: SuspendingClock.Instant
    /// Whether any message could not be read.
    var hasBegun = false
    /// Whether a message got no answer.
    var isCut = false
    /// How many operations were refused.
    var refused = 0

    init(until end: SuspendingClock.Instant) { self.end = end }

    /// Where some are refused, more will be: halves would only cost messages, and so would second tries.
    var sendsSingly: Bool { refused >= 3 }

    var isOver: Bool { isCut || hasBegun && SuspendingClock.now >= end }

    static let notSent = PushOutcome.failed(reason: "not sent, because others could not be read")
}

extension PeerError {
    /// What the error means for operations that were to be sent.
    fileprivate var outcome: PushOutcome {
        if let retryAfter { return .busy(retryAfter: retryAfter) }
        return switch code {
        case .notDetermined, .unauthorized: .parked(.unauthorized)
        case .locked: .parked(.locked)
        case .unavailable, .restricted: .parked(.unavailable)
        case .tokenExpired, .wentBackwards, .readerWentBackwards, .invalid, .transient, .badAnswer, .nameTaken:
            .unknown(reason: detail)
        }
    }
}
