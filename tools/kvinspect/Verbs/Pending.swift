import HealthKV

/// `kvinspect pending STORE`
enum PendingVerb: Verb {
    private enum Action: String, CaseIterable { case retry, discard }

    static let description = VerbDescription(
        name: "pending", abstract: "List the operations that wait for peers, or retry or discard one.",
        discussion:
            "'retry' lets an operation be tried at once, as often as a new one, also after it was refused for good. "
            + "'discard' gives it up: the sample stays here, and the peer stays as it is until the sample changes again.",
        arguments: [
            .store, .action(Action.self, "'retry' or 'discard'."),
            ArgumentDescription(
                name: "id", help: "The operation, as the list names it, after an action.", isOptional: true),
        ],
        options: [.peer, .format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "pending",
        columns: [
            "id", "peer", "operation", "sample", "version", "number", "attempts", "sent", "nextTry", "status", "reason",
        ],
        tableColumns: ["id", "operation", "sample", "version", "attempts", "nextTry", "status", "reason"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let sync = SyncFields(zone: try arguments.zone())
        if let (action, id) = try arguments.action(of: Action.self, on: "id") {
            return try change(id, action, sync, arguments, console)
        }
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "operations")
        try Listing.print(shape, arguments, console) { listing in
            let operations = try store.read { txn in
                let operations = try txn.pending(for: arguments.peer)
                if operations.isEmpty { try UnknownPeer.mention(arguments.peer, in: txn, console) }
                return operations
            }
            for operation in operations {
                try listing.append(.object(sync.fields(of: operation)))
                try progress.advance()
            }
            return []
        }
        progress.finish()
        return .clean
    }

    private static func change(
        _ id: String, _ action: Action, _ sync: SyncFields, _ arguments: ParsedArguments, _ console: Console
    ) throws -> ExitCode {
        let store = try StoreAccess.openForChanging(arguments.store)
        console.say("\(action == .retry ? "Requeuing" : "Discarding") \(id) in the store in \(arguments.store).")
        let progress = Progress(arguments, console, unit: "operations", total: 1)
        let changed = try store.write { txn in
            guard var operation = try txn.pending(id: id) else {
                throw Failure(
                    "No operation is called \(id). 'kvinspect pending \(arguments.store)' lists those that wait.")
            }
            switch action {
            case .retry:
                (operation.state, operation.attempts, operation.nextTry) = (.waiting, 0, .distantPast)
                operation.reason = ""
                try txn.updatePending(operation)
            case .discard: try txn.removePending(operation)
            }
            return operation
        }
        progress.finish(at: 1)
        try Answer.print(sync.fields(of: changed), arguments, console) {
            ["\(Table.clean(id)) \(action == .retry ? "will be tried again" : "is discarded")"]
        }
        return .clean
    }
}
