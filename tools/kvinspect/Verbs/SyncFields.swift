import HealthKV

/// Records of sync as the tool prints them, in lists and in dumps.
struct SyncFields {
    let zone: Zone

    func fields(of anchor: Anchor) -> [JSONValue.Field] {
        [
            .init("peer", .string(anchor.peer.rawValue)), .init("type", .string(anchor.type.identifier)),
            .init("scope", .string(anchor.scope)), .init("token", SyncFields.hex(anchor.token)),
            .init("time", date(anchor.time)), .init("outcome", .string(anchor.outcome)),
        ]
    }

    func fields(of operation: PendingOperation) -> [JSONValue.Field] {
        [
            .init("id", .string(operation.id)), .init("peer", .string(operation.peer.rawValue)),
            .init("operation", .string("\(operation.kind)")), .init("sample", .string(operation.sample.description)),
            .init("version", .integer(PeerNumber.slot(of: operation.version))),
            .init("number", .integer(operation.version)), .init("attempts", .count(operation.attempts)),
            .init("sent", .bool(operation.isSent)), .init("nextTry", date(operation.nextTry)),
            .init("status", .string("\(operation.state)")),
            .init("reason", .string(operation.reason)),
        ]
    }

    func fields(of link: PeerLink) -> [JSONValue.Field] {
        [
            .init("peer", .string(link.peer.rawValue)), .init("sample", .string(link.sample.description)),
            .init("peerID", .string(link.idAtPeer.description)), .init("version", .integer(link.version)),
            .init("provisional", .bool(link.isProvisional)),
        ]
    }

    func fields(of entry: AuditEntry) -> [JSONValue.Field] {
        [
            .init("event", .string(entry.event)), .init("sample", .string(entry.sample.description)),
            .init("time", date(entry.time)),
        ]
    }

    /// A date; null where none is meant.
    func date(_ instant: Instant) -> JSONValue {
        .optional(instant == .distantPast || instant == .distantFuture ? nil : instant, in: zone)
    }

    static func hex(_ bytes: [UInt8]) -> JSONValue {
        .string(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
}

extension ArgumentDescription {
    /// What to do instead of listing.
    static func action<Action: RawRepresentable<String> & CaseIterable>(
        _ type: Action.Type, _ help: String
    ) -> ArgumentDescription {
        ArgumentDescription(
            name: "action", help: help, isOptional: true, choices: Action.allCases.map(\.rawValue))
    }
}

extension OptionDescription {
    static let peer = OptionDescription(name: "peer", value: "name", help: "Only what belongs to this peer.")
}

extension ParsedArguments {
    /// The peer that the answer is narrowed to; `nil` for all.
    var peer: PeerID? { text(OptionDescription.peer.name).map { PeerID($0) } }

    /// The action with its subject, the argument that follows it; `nil` to list.
    func action<Action: RawRepresentable<String>>(
        of type: Action.Type, on subject: String
    ) throws -> (action: Action, subject: String)? {
        // The parser has refused all other words.
        guard let word = optionalArgument("action"), let action = Action(rawValue: word) else { return nil }
        guard let subject = optionalArgument(subject) else {
            throw UsageError("Missing expected argument '<\(subject)>'", verb: verb)
        }
        guard text(OptionDescription.peer.name) == nil else {
            throw UsageError("'\(word)' and --peer exclude each other: --peer narrows the list", verb: verb)
        }
        return (action, subject)
    }
}
