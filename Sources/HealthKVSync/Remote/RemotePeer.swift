import HealthKV

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
    /// How much the peer takes at once.
    public let limits: PeerLimits
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
        (self.id, self.limits, self.transport, signals) = (id, limits, transport, wakeUps)
    }

    /// Always `available`: only a call shows whether the other side can be reached now.
    public func availability() async -> PeerAvailability { .available }

    /// Tells the other side who syncs with it, and asks who it is.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        try await ask(.greet, greeting)
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

    /// Sends operations. Without an answer, each may have happened or not. If the other side cannot read a message, its
    /// halves are sent, and so on, so that it refuses only the operations that it does not know, and one alone only at
    /// the second try: the way may have cut the first message. A call sends few messages, because it has one deadline;
    /// operations that are left then count as failed.
    public func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        var messagesLeft = RemotePeer.messagesOfPush
        return await push(operations[...], &messagesLeft)
    }

    /// Enough to find two operations among 500.
    private static let messagesOfPush = 40

    private func push(_ operations: ArraySlice<PushOperation>, _ messagesLeft: inout Int) async -> [PushOutcome] {
        guard messagesLeft > 0, !Task.isCancelled else {
            return operations.map { _ in .failed(reason: "not sent, because others could not be read") }
        }
        messagesLeft -= 1
        let error: PeerError
        do { return try await ask(.push, Array(operations)) } catch let caught { error = caught }
        guard error.code == .invalid else {
            // Whatever the reason is, the next message would meet it, too.
            messagesLeft = 0
            return operations.map { _ in error.outcome }
        }
        guard operations.count > 1 else { return [await pushAgain(operations, &messagesLeft)] }
        let middle = operations.startIndex + operations.count / 2
        let first = await push(operations[..<middle], &messagesLeft)
        return await first + push(operations[middle...], &messagesLeft)
    }

    /// Sends an operation once more that could not be read alone.
    private func pushAgain(_ operation: ArraySlice<PushOperation>, _ messagesLeft: inout Int) async -> PushOutcome {
        guard !Task.isCancelled else { return .failed(reason: "not sent again, because the call was cancelled") }
        messagesLeft -= 1
        do {
            let outcomes: [PushOutcome] = try await ask(.push, Array(operation))
            return outcomes.count == 1 ? outcomes[0] : .unknown(reason: "the answer to push has another length")
        } catch {
            if error.code == .invalid { return .refused(reason: error.detail) }
            messagesLeft = 0
            return error.outcome
        }
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
