import HealthKV

/// `kvinspect conflicts STORE`
enum ConflictsVerb: Verb {
    static let description = VerbDescription(
        name: "conflicts", abstract: "List the conflicts that a sync resolved, the oldest first.",
        discussion: "What a conflict displaced is kept whole, and an app can restore it; 'dump --all' prints it.",
        arguments: [.store], options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "conflicts", columns: ["commit", "time", "event", "sample", "bytes"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        var listing = try Listing(shape, arguments, console)
        for entry in try store.read({ try $0.audit() }) {
            try listing.append(
                .object([
                    .init("commit", .integer(Int64(clamping: entry.commit))),
                    .init("time", .optional(entry.time, in: zone)), .init("event", .string(entry.event)),
                    .init("sample", .string(entry.sample.description)), .init("bytes", .count(entry.displaced.count)),
                ]))
        }
        try listing.finish()
        return .clean
    }
}
