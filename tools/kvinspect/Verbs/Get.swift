import HealthKV

/// `kvinspect get STORE ID`
enum GetVerb: Verb {
    static let description = VerbDescription(
        name: "get", abstract: "Print the samples of an identifier, with all that is known of them.",
        discussion: "The identifier is a UUID, a sync identifier or a group, looked for in this order.",
        arguments: [.store, ArgumentDescription(name: "id", help: "A UUID, a sync identifier or a group.")],
        options: [.format, .zone, .progress])

    private static let shape = Listing.Shape(
        key: "samples",
        columns: SampleRecord.columns.flatMap { name in
            switch name {
            case "source": ["source"] + ["bundle", "version", "product", "system"].map { "sourceRevision.\($0)" }
            case "modified": ["modified", "replica"]
            case "count": ["count", "multiplicity"]
            default: [name]
            }
        })

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let id = arguments.argument("id")
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "samples")
        let samples = try store.read { try find(id, in: $0) }
        try Listing.print(shape, arguments, console) { listing in
            for sample in samples {
                let record = SampleRecord(sample: sample, detail: .full(zone))
                if arguments.listFormat(console) == .table {
                    try printCard(record, console)
                } else {
                    try listing.append(record)
                }
                try progress.advance()
            }
            return []
        }
        progress.finish()
        return .clean
    }

    private static func find(_ id: String, in transaction: borrowing ReadTransaction) throws -> [Sample] {
        let uuid = SampleID(id)
        if let uuid, let sample = try transaction.sample(id: uuid) { return [sample] }
        var samples = try transaction.samples(syncIdentifier: id)
        if samples.isEmpty { samples = try transaction.samples(group: id) }
        if !samples.isEmpty { return samples }
        if let uuid, try transaction.deletedSample(id: uuid) != nil {
            throw Failure("The sample of this UUID was deleted. Its tombstone is kept.")
        }
        throw Failure("No sample has this UUID, sync identifier or group.")
    }

    /// One field a line, since a sample has more of them than a terminal has columns.
    private static func printCard(_ record: SampleRecord, _ console: Console) throws {
        var builder = JSONTreeBuilder()
        record.write(to: &builder)
        let fields = builder.value.flattened
        let width = fields.map { $0.key.count }.max() ?? 0
        for field in fields {
            let padding = String(repeating: " ", count: width - field.key.count + 2)
            try console.print(Table.clean(field.key) + padding + Table.clean(field.value.cell))
        }
        try console.print("")
    }
}
