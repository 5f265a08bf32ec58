import HealthKV

/// `kvinspect types STORE`
enum TypesVerb: Verb {
    static let description = VerbDescription(
        name: "types", abstract: "List the types of the store's samples.", arguments: [.store],
        options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "types", columns: ["type", "samples", "shadowed", "first", "last", "unit", "sources", "bytes"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        var listing = try Listing(shape, arguments, console)
        for type in try store.read({ try $0.types() }) {
            try listing.append(
                .object([
                    .init("type", .string(type.type.identifier)), .init("samples", .count(type.samples)),
                    .init("shadowed", .count(type.shadowed)), .init("first", .optional(type.first, in: zone)),
                    .init("last", .optional(type.last, in: zone)),
                    .init("unit", .optional(type.unit?.symbol)),
                    .init("sources", .count(type.sources.count)), .init("bytes", .count(type.bytes)),
                ]))
        }
        try listing.finish()
        return .clean
    }
}
