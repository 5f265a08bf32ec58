import HealthKV

/// The calls of a record peer, as they pass a transport. The raw values are stable: use them as paths or names.
public enum RemoteCall: String, Sendable, Hashable, Codable, CaseIterable {
    /// ``RecordPeer/greet(_:)``
    case greet
    /// ``RecordPeer/meet(told:)``
    case meet
    /// ``RecordPeer/types()``
    case types
    /// ``Peer/pull(_:)``
    case pull
    /// ``Peer/enumerate(_:)``
    case enumerate
    /// ``Peer/push(_:)``
    case push
    /// ``Peer/acknowledge(_:of:)``
    case acknowledge
    /// ``RecordPeer/digest(of:in:)``
    case digest
    /// ``RecordPeer/forgotten(among:since:)``
    case forgotten
    /// ``Peer/disconnected(from:)``
    case disconnected
}

/// What the other side returned, or the error that it threw: `{"value":…}` or `{"failure":…}`.
enum RemoteReply<Value: Codable & Sendable>: Codable, Sendable {
    case value(Value)
    case failure(PeerError)

    private enum CodingKeys: CodingKey { case value, failure }

    /// An error as it was sent, perhaps with a code that came after this release.
    private struct Failure: Decodable {
        var code: String
        var detail: String
        var retryAfter: Duration?

        var error: PeerError {
            PeerError(PeerError.Code(rawValue: code) ?? .transient, detail, retryAfter: retryAfter)
        }
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        if let failure = try fields.decodeIfPresent(Failure.self, forKey: .failure) {
            self = .failure(failure.error)
        } else if fields.contains(.value), try fields.decodeNil(forKey: .value),
            let nothing = (Value.self as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Value
        {
            self = .value(nothing)
        } else {
            self = .value(try fields.decode(Value.self, forKey: .value))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .value(let value): try fields.encode(value, forKey: .value)
        case .failure(let error): try fields.encode(error, forKey: .failure)
        }
    }
}

/// The arguments of calls that have more than one, or none that is a message of its own.
enum RemoteArguments {
    struct Meeting: Codable {
        var told: ChangeToken?
    }

    struct Acknowledgement: Codable {
        var token: [UInt8]
        var type: SampleType
    }

    struct Window: Codable {
        var type: SampleType
        var window: TimeRange
    }

    struct Given: Codable {
        var samples: [Sample]
        var token: [UInt8]
    }

    /// What a call without a result returns, and one without arguments sends.
    struct Nothing: Codable {}
}
