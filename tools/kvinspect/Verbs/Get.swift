import HealthKV

/// `kvinspect get STORE ID`
enum GetVerb: Verb {
    static let description = VerbDescription(
        name: "get", abstract: "Print the samples of an identifier, with all that is known of them.",
        discussion:
            "The identifier is a UUID, a sync identifier or a group, looked for in this order. What peers call the sample, "
            + "what waits for them, and conflicts that were resolved about it stand behind its fields.",
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
        } + ["links", "pending", "conflicts"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let id = arguments.argument("id")
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "samples")
        try store.read { transaction in
            let samples = try find(id, in: transaction, zone)
            let state = try SampleState(samples, in: transaction, zone)
            try Listing.print(shape, arguments, console) { listing in
                for sample in samples {
                    let record = JSONValue.object(fields(of: sample, zone) + state.fields(of: sample.id))
                    if arguments.listFormat(console) == .table {
                        try printCard(record, console)
                    } else {
                        try listing.append(record)
                    }
                    try progress.advance()
                }
                return []
            }
        }
        progress.finish()
        return .clean
    }

    private static func fields(of sample: Sample, _ zone: Zone) -> [JSONValue.Field] {
        var builder = JSONTreeBuilder()
        SampleRecord(sample: sample, detail: .full(zone)).write(to: &builder)
        guard case .object(let fields) = builder.value else { return [] }
        return fields
    }

    private static func find(
        _ id: String, in transaction: borrowing ReadTransaction, _ zone: Zone
    ) throws -> [Sample] {
        let uuid = SampleID(id)
        if let uuid, let sample = try transaction.sample(id: uuid) { return [sample] }
        var samples = try transaction.samples(syncIdentifier: id)
        if samples.isEmpty { samples = try transaction.samples(group: id) }
        if !samples.isEmpty { return samples }
        var deleted = try uuid.flatMap { try transaction.deletedSample(id: $0) }.map { [$0] } ?? []
        if deleted.isEmpty { deleted = try DeletedRecord.named(id, in: transaction) }
        guard deleted.isEmpty else { throw Failure(try DeletedRecord.text(deleted, in: transaction, zone)) }
        throw Failure("No sample has this UUID, sync identifier or group.")
    }

    /// One field a line, since a sample has more of them than a terminal has columns.
    private static func printCard(_ record: JSONValue, _ console: Console) throws {
        let fields = record.flattened
        let width = fields.map { $0.key.count }.max() ?? 0
        for field in fields {
            let padding = String(repeating: " ", count: width - field.key.count + 2)
            try console.print(Table.clean(field.key) + padding + Table.clean(field.value.cell))
        }
        try console.print("")
    }
}

/// What the store knows of samples beside their fields: their names at peers, what waits, resolved conflicts.
private struct SampleState {
    private var fields: [SampleID: [JSONValue.Field]] = [:]

    init(_ samples: [Sample], in transaction: borrowing ReadTransaction, _ zone: Zone) throws {
        let sync = SyncFields(zone: zone)
        let ids = Set(samples.map(\.id))
        var conflicts: [SampleID: [JSONValue]] = [:]
        for entry in try transaction.audit() where ids.contains(entry.sample) {
            let fields = sync.fields(of: entry).filter { $0.key != "sample" }
            conflicts[entry.sample, default: []].append(
                .object([.init("id", .string(ConflictsVerb.id(of: entry)))] + fields))
        }
        for id in ids {
            let links = try transaction.links(sample: id).map { link in
                JSONValue.object(sync.fields(of: link).filter { $0.key != "sample" })
            }
            let pending = try transaction.pending(sample: id).map { operation in
                JSONValue.object(sync.fields(of: operation).filter { $0.key != "sample" })
            }
            let lists = [("links", links), ("pending", pending), ("conflicts", conflicts[id] ?? [])]
            fields[id] = lists.filter { !$0.1.isEmpty }.map { .init($0.0, .array($0.1)) }
        }
    }

    func fields(of id: SampleID) -> [JSONValue.Field] { fields[id] ?? [] }
}

/// What is known of samples that are gone.
private enum DeletedRecord {
    /// At most this many are told.
    private static let limit = 10

    /// The deleted samples of a sync identifier or group.
    static func named(_ name: String, in transaction: borrowing ReadTransaction) throws -> [DeletedSample] {
        guard !name.isEmpty else { return [] }
        var found: [DeletedSample] = []
        var place: SampleID?
        repeat {
            let page = try transaction.deletions(after: place)
            found += page.deletions.filter { $0.syncIdentifier == name || $0.group == name }
            place = page.next
        } while place != nil
        return found
    }

    static func text(
        _ deleted: [DeletedSample], in transaction: borrowing ReadTransaction, _ zone: Zone
    ) throws -> String {
        var parts: [String] = []
        for sample in deleted.prefix(limit) {
            var words = ["\(sample.id)", sample.type.identifier, "version \(sample.version)"]
            if !sample.source.name.isEmpty { words.append("of '\(Table.clean(sample.source.name))'") }
            if let start = sample.start { words.append("at \(DateText.text(start, in: zone))") }
            let clock = sample.modified
            if clock.time != .distantPast {
                words.append("deleted \(DateText.text(clock.time, in: zone)) by replica \(clock.replica)")
            }
            let peers = try transaction.pending(sample: sample.id).filter { $0.kind == .delete }
                .map { "'\(Table.clean($0.peer.rawValue))'" }
            if !peers.isEmpty { words.append("the deletion is not yet sent to \(peers.joined(separator: ", "))") }
            parts.append(words.joined(separator: ", "))
        }
        if deleted.count > limit { parts.append("and \(deleted.count - limit) more, which 'dump --all' lists") }
        return "No sample has this identifier any more. Deleted: \(parts.joined(separator: "; "))."
    }
}
