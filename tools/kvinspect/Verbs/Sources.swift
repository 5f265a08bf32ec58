import HealthKV

/// `kvinspect sources STORE`
enum SourcesVerb: Verb {
    static let description = VerbDescription(
        name: "sources", abstract: "List the apps and devices that the samples came from, in the order first seen.",
        arguments: [.store], options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "sources",
        columns: ["source", "bundle", "samples", "first", "last", "unit", "types", "revisions", "bytes"],
        sizes: ["bytes"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "sources")
        var damage = DamagedParts()
        let sources = try store.read { try $0.sources { damage.note($0, $1) } }
        try Listing.print(shape, of: sources, isComplete: damage.isEmpty, arguments, console, progress) {
            record($0, zone)
        }
        return damage.report(console)
    }

    /// The units of its types, as far as these have one; `nil` for none.
    private static func units(of source: SourceSummary) -> String? {
        let units = Set(source.types.compactMap(\.canonicalUnit?.symbol)).sorted()
        return units.isEmpty ? nil : units.joined(separator: ", ")
    }

    private static func record(_ source: SourceSummary, _ zone: Zone) -> JSONValue {
        .object([
            .init("source", .string(source.source.name)), .init("bundle", .string(source.source.bundle)),
            .init("samples", .count(source.samples)), .init("first", .optional(source.first, in: zone)),
            .init("last", .optional(source.last, in: zone)), .init("unit", .optional(units(of: source))),
            .init("types", .count(source.types.count)),
            .init("revisions", .count(source.revisions.count)), .init("bytes", .count(source.bytes)),
        ])
    }
}
