#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// `kvinspect conflicts STORE`
enum ConflictsVerb: Verb {
    static let description = VerbDescription(
        name: "conflicts", abstract: "List the conflicts that were resolved, the oldest first.",
        discussion:
            "An entry names what happened, when, and the sample that lost; its content is printed with --show-values only.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "show-values", help: "Print the displaced samples whole, with their health values."),
            .format, .zone, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "conflicts",
        columns: ["id", "event", "sample", "time", "type", "source", "version", "bytes", "displaced"],
        tableColumns: ["id", "time", "event", "type", "source", "version", "sample"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "conflicts")
        let showsValues = arguments.flag("show-values")
        try Listing.print(shape, arguments, console) { listing in
            for entry in try store.read({ try $0.audit() }) {
                try listing.append(.object(fields(of: entry, in: zone, showsValues: showsValues)))
                try progress.advance()
            }
            return []
        }
        progress.finish()
        return .clean
    }

    static func id(of entry: AuditEntry) -> String { "\(entry.commit).\(entry.ordinal)" }

    private static func fields(of entry: AuditEntry, in zone: Zone, showsValues: Bool) -> [JSONValue.Field] {
        // Sync keeps a displaced sample as JSON; other writers may keep what they like.
        let sample = try? JSONDecoder().decode(Sample.self, from: Data(entry.displaced))
        var fields: [JSONValue.Field] = [.init("id", .string(id(of: entry)))]
        fields += SyncFields(zone: zone).fields(of: entry)
        if let sample {
            fields += [
                .init("type", .string(sample.type.identifier)), .init("source", .string(sample.source.name)),
                .init("version", .integer(sample.version)),
            ]
        }
        fields.append(.init("bytes", .count(entry.displaced.count)))
        guard showsValues else { return fields }
        return fields + [.init("displaced", sample.map { tree($0, zone) } ?? SyncFields.hex(entry.displaced))]
    }

    private static func tree(_ sample: Sample, _ zone: Zone) -> JSONValue {
        var builder = JSONTreeBuilder()
        SampleRecord(sample: sample, detail: .full(zone)).write(to: &builder)
        return builder.value
    }
}
