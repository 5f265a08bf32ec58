import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The other side of a ``RemotePeer``: answers its messages by the calls of a peer, such as a ``StorePeer`` over the
/// store of a user.
///
/// ```swift
/// let service = PeerService(StorePeer(store, id: "server"))
/// let peer = RemotePeer(id: "server") { call, body in await service.answer(call, body) }
/// ```
///
/// A ``StorePeer`` remembers who greeted, so keep one service for each device.
public struct PeerService<Served: RecordPeer>: Sendable {
    private let peer: Served
    private let limits: PeerLimits?

    /// Creates a service that passes every call to the peer.
    ///
    /// - Parameters:
    ///   - peer: Answers the calls.
    ///   - limits: How much a message may carry, as the answer to a greeting tells; `nil` says nothing.
    public init(_ peer: Served, limits: PeerLimits? = nil) { (self.peer, self.limits) = (peer, limits) }

    /// Returns the answer to a message. A message that cannot be read is answered with an error, too.
    public func answer(_ call: RemoteCall, _ body: Data) async -> Data {
        switch call {
        case .greet:
            await reply(body) { greeting throws(PeerError) in
                var answer = try await peer.greet(greeting)
                if let limits { answer?.limits = limits }
                return answer
            }
        case .meet:
            await reply(body) { (arguments: RemoteArguments.Meeting) throws(PeerError) in
                try await peer.meet(told: arguments.told)
            }
        case .types:
            await reply(body) { (_: RemoteArguments.Nothing) throws(PeerError) in try await peer.types() }
        case .pull:
            await reply(body) { (request: PullRequest) throws(PeerError) in
                var request = request
                request.limit = try PeerService.served(request.limit)
                return try await peer.pull(request)
            }
        case .enumerate:
            await reply(body) { (request: EnumerationRequest) throws(PeerError) in
                var request = request
                request.limit = try PeerService.served(request.limit)
                return try await peer.enumerate(request)
            }
        case .push: await reply(body) { (operations: [PushOperation]) in await peer.push(operations) }
        case .acknowledge:
            await reply(body) { (arguments: RemoteArguments.Acknowledgement) throws(PeerError) in
                try await peer.acknowledge(arguments.token, of: arguments.type)
                return RemoteArguments.Nothing()
            }
        case .digest:
            await reply(body) { (arguments: RemoteArguments.Window) throws(PeerError) in
                try await peer.digest(of: arguments.type, in: arguments.window)
            }
        case .forgotten:
            await reply(body) { (arguments: RemoteArguments.Given) throws(PeerError) in
                try await peer.forgotten(among: arguments.samples, since: arguments.token)
            }
        case .disconnected:
            await reply(body) { (types: Set<SampleType>) in
                await peer.disconnected(from: types)
                return RemoteArguments.Nothing()
            }
        }
    }

    /// The greatest page that one message asks for; a longer one would have to be held in memory as a whole.
    private static var longestPage: Int { 10_000 }

    private static func served(_ limit: Int) throws(PeerError) -> Int {
        guard limit > 0 else { throw PeerError(.invalid, "the limit of a page is \(limit), and must be at least 1") }
        return min(limit, longestPage)
    }

    private func reply<Arguments: Decodable, Value: Codable & Sendable>(
        _ body: Data, _ answer: (Arguments) async throws(PeerError) -> Value
    ) async -> Data {
        let reply: RemoteReply<Value>
        if let arguments = try? JSONDecoder().decode(Arguments.self, from: body) {
            do { reply = .value(try await answer(arguments)) } catch { reply = .failure(error) }
        } else {
            reply = .failure(PeerError(.invalid, "the message cannot be read"))
        }
        // No message of the protocol has a part that JSON lacks. An empty answer counts as none.
        return (try? JSONEncoder().encode(reply)) ?? Data()
    }
}
