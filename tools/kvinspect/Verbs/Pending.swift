import HealthKV

/// `kvinspect pending STORE [retry|discard ID]`
enum PendingVerb: Verb {
    static let description = VerbDescription(
        name: "pending", abstract: "List what waits for peers, or retry or give up one operation.",
        discussion:
            "The id is the one that the list shows. A discarded operation is never sent, unless its sample changes again.",
        arguments: [
            .store,
            ArgumentDescription(name: "action", help: "'retry' or 'discard', or nothing to list.", isOptional: true),
            ArgumentDescription(name: "id", help: "The operation.", isOptional: true),
        ], options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "pending",
        columns: [
            "id", "peer", "operation", "sample", "version", "status", "attempts", "sent", "nextTry", "reason",
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        guard let action = arguments.optionalArgument("action") else { return try list(arguments, console) }
        guard ["retry", "discard"].contains(action), let id = arguments.optionalArgument("id") else {
            throw UsageError("Write 'pending STORE retry ID' or 'pending STORE discard ID'")
        }
        console.say(action == "retry" ? "Making \(id) due at once." : "Giving \(id) up.")
        let store = try StoreAccess.openForMending(arguments.store)
        let isThere = try store.write { transaction in
            guard var operation = try transaction.pending().first(where: { $0.id == id }) else { return false }
            guard action == "retry" else {
                try transaction.removePending(operation)
                return true
            }
            (operation.state, operation.attempts, operation.nextTry) = (.waiting, 0, .distantPast)
            try transaction.updatePending(operation)
            return true
        }
        guard isThere else { throw Failure("No operation \(id) waits.") }
        return .clean
    }

    private static func list(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        var listing = try Listing(shape, arguments, console)
        for operation in try store.read({ try $0.pending() }) {
            let next = operation.nextTry == .distantPast ? nil : operation.nextTry
            try listing.append(
                .object([
                    .init("id", .string(operation.id)), .init("peer", .string(operation.peer)),
                    .init("operation", .string("\(operation.kind)")),
                    .init("sample", .string(operation.sample.description)),
                    .init("version", .integer(operation.version)), .init("status", .string("\(operation.state)")),
                    .init("attempts", .count(operation.attempts)), .init("sent", .bool(operation.isSent)),
                    .init("nextTry", .optional(next, in: zone)), .init("reason", .string(operation.reason)),
                ]))
        }
        try listing.finish()
        return .clean
    }
}
