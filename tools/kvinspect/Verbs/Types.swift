import HealthKV

/// `kvinspect types STORE`
enum TypesVerb: Verb {
    static let description = VerbDescription(
        name: "types", abstract: "List the types of the store's samples.", arguments: [.store],
        options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "types", columns: ["type", "samples", "shadowed", "first", "last", "unit", "sources", "bytes"],
        sizes: ["bytes"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "types")
        var damage = DamagedParts()
        let types = try store.read { try $0.types { damage.note($0, $1) } }
        try Listing.print(shape, of: types, isComplete: damage.isEmpty, arguments, console, progress) {
            record($0, zone)
        }
        return damage.report(console)
    }

    private static func record(_ type: TypeSummary, _ zone: Zone) -> JSONValue {
        // A type that is in no catalog may have several.
        let units = type.units.map(\.symbol).joined(separator: ", ")
        let definition = type.type.definition.map { JSONValue.Field("definition", .string("\($0)")) }
        return .object(
            [
                .init("type", .string(type.type.identifier)), .init("samples", .count(type.samples)),
                .init("shadowed", .count(type.shadowed)), .init("first", .optional(type.first, in: zone)),
                .init("last", .optional(type.last, in: zone)), .init("unit", .optional(units.isEmpty ? nil : units)),
                .init("sources", .count(type.sources.count)), .init("bytes", .count(type.bytes)),
            ] + [definition].compactMap(\.self))
    }
}

/// What of a listing could not be read.
struct DamagedParts {
    private var parts: [(type: SampleType, error: StoreError)] = []

    var isEmpty: Bool { parts.isEmpty }

    mutating func note(_ type: SampleType, _ error: StoreError) {
        if !parts.contains(where: { $0.type == type }) { parts.append((type, error)) }
    }

    /// Prints which types are damaged, and returns the exit code.
    func report(_ console: Console) -> ExitCode {
        for part in parts {
            console.say("Some samples of \(part.type.shortName) cannot be read. The number of samples counts them.")
        }
        if let first = parts.first { console.say("Error: \(StoreAccess.text(for: first.error))") }
        return parts.isEmpty ? .clean : .damage
    }
}
