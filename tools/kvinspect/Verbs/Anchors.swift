import HealthKV

/// `kvinspect anchors STORE [reset PEER]`
enum AnchorsVerb: Verb {
    static let description = VerbDescription(
        name: "anchors", abstract: "List our places in the feeds of peers, or forget them.",
        discussion:
            "'reset' makes the next sync with a peer begin at the beginning; what is held already is no change.",
        arguments: [
            .store, ArgumentDescription(name: "action", help: "'reset', or nothing to list.", isOptional: true),
            ArgumentDescription(name: "peer", help: "The peer whose places to forget.", isOptional: true),
        ], options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "anchors", columns: ["peer", "type", "scope", "time", "outcome", "bytes"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        guard let action = arguments.optionalArgument("action") else { return try list(arguments, console) }
        guard action == "reset", let peer = arguments.optionalArgument("peer") else {
            throw UsageError("Write 'anchors STORE reset PEER'")
        }
        console.say("Forgetting our places in the feeds of \(peer).")
        let store = try StoreAccess.openForMending(arguments.store)
        let count = try store.write { transaction in
            let anchors = try transaction.anchors(of: peer)
            for anchor in anchors {
                try transaction.removeAnchor(peer: peer, type: anchor.type, scope: anchor.scope)
            }
            return anchors.count
        }
        guard count > 0 else { throw Failure("There is no place in a feed of \(peer).") }
        return .clean
    }

    private static func list(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        var listing = try Listing(shape, arguments, console)
        for anchor in try store.read({ try $0.anchors() }) {
            try listing.append(
                .object([
                    .init("peer", .string(anchor.peer)), .init("type", .string(anchor.type.shortName)),
                    .init("scope", .string(anchor.scope)), .init("time", .optional(anchor.time, in: zone)),
                    .init("outcome", .string(anchor.outcome)), .init("bytes", .count(anchor.token.count)),
                ]))
        }
        try listing.finish()
        return .clean
    }
}
