import HealthKV

/// `kvinspect anchors STORE`
enum AnchorsVerb: Verb {
    private enum Action: String, CaseIterable { case reset }

    static let description = VerbDescription(
        name: "anchors", abstract: "List the places in the feeds of peers, or forget a peer's.",
        discussion:
            "With 'reset' and a peer's name its places are forgotten: the next pull begins at the beginning of its feed, and "
            + "what is held already is no change. Samples, links and the queue stay.",
        arguments: [
            .store, .action(Action.self, "'reset' forgets the places of a peer."),
            ArgumentDescription(name: "peer", help: "The peer's name, after 'reset'.", isOptional: true),
        ],
        options: [.peer, .format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "anchors", columns: ["peer", "type", "scope", "token", "time", "outcome"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let sync = SyncFields(zone: try arguments.zone())
        if let (_, peer) = try arguments.action(of: Action.self, on: "peer") {
            return try reset(PeerID(peer), arguments, console)
        }
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "anchors")
        try Listing.print(shape, arguments, console) { listing in
            let anchors = try store.read { txn in
                let anchors = try txn.anchors(of: arguments.peer)
                if anchors.isEmpty { try UnknownPeer.mention(arguments.peer, in: txn, console) }
                return anchors
            }
            for anchor in anchors {
                try listing.append(.object(sync.fields(of: anchor)))
                try progress.advance()
            }
            return []
        }
        progress.finish()
        return .clean
    }

    private static func reset(_ peer: PeerID, _ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let store = try StoreAccess.openForChanging(arguments.store)
        console.say("Forgetting the places in the feed of \(peer) in the store in \(arguments.store).")
        let progress = Progress(arguments, console, unit: "anchors")
        let count = try store.write { txn in
            let anchors = try txn.anchors(of: peer)
            if anchors.isEmpty, try txn.peer(peer) == nil {
                throw Failure(
                    "No peer is called \(peer). 'kvinspect anchors \(arguments.store)' lists the anchors of all.")
            }
            for anchor in anchors { try txn.removeAnchor(peer: peer, type: anchor.type, scope: anchor.scope) }
            return anchors.count
        }
        progress.finish(at: count)
        try Answer.print([.init("peer", .string(peer.rawValue)), .init("removed", .count(count))], arguments, console) {
            ["\(count) \(count == 1 ? "anchor" : "anchors") of \(Table.clean(peer.rawValue)) removed"]
        }
        return .clean
    }
}
