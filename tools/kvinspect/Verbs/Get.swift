import HealthKV

/// `kvinspect get STORE ID`
enum GetVerb: Verb {
    static let description = VerbDescription(
        name: "get", abstract: "Print the samples of an identifier, with all that is known of them.",
        discussion:
            "The identifier is a UUID, a sync identifier or a group, looked for in this order. What peers call the sample, "
            + "what waits for them, and conflicts that were resolved about it follow its fields.",
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
        // Nothing is printed while the transaction is open: a reader may look at the output for long.
        let (samples, state) = try store.read { transaction in
            let samples = try find(id, in: transaction, zone)
            return (samples, try SampleState(samples, in: transaction, zone))
        }
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
            return Listing.trailer(isComplete: state.damaged.isEmpty)
        }
        progress.finish()
        for list in state.damaged { console.say("The \(list) cannot be read: run 'check'.") }
        return state.damaged.isEmpty ? .clean : .damage
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
    private var lists: [SampleID: [JSONValue.Field]] = [:]
    /// The lists that damage keeps from being read.
    private(set) var damaged: [String] = []

    init(_ samples: [Sample], in transaction: borrowing ReadTransaction, _ zone: Zone) throws {
        let sync = SyncFields(zone: zone)
        let ids = samples.map(\.id)
        try add("links") { state in
            for id in ids { state.note("links", try transaction.links(sample: id).map { sync.fields(of: $0) }, of: id) }
        }
        try add("pending") { state in
            for id in ids {
                state.note("pending", try transaction.pending(sample: id).map { sync.fields(of: $0) }, of: id)
            }
        }
        try add("conflicts") { state in
            var entries: [SampleID: [[JSONValue.Field]]] = [:]
            let known = Set(ids)
            for entry in try transaction.audit() where known.contains(entry.sample) {
                let name = JSONValue.Field("id", .string(ConflictsVerb.id(of: entry)))
                entries[entry.sample, default: []].append([name] + sync.fields(of: entry))
            }
            for id in ids { state.note("conflicts", entries[id] ?? [], of: id) }
        }
    }

    func fields(of id: SampleID) -> [JSONValue.Field] { lists[id] ?? [] }

    /// Reads a list. The sample is worth showing if damage keeps the list from being read.
    private mutating func add(_ name: String, _ read: (inout SampleState) throws -> Void) throws {
        do { try read(&self) } catch  where StoreError.isDamage(error) { damaged.append(name) }
    }

    private mutating func note(_ name: String, _ entries: [[JSONValue.Field]], of id: SampleID) {
        guard !entries.isEmpty else { return }
        let objects = entries.map { fields in JSONValue.object(fields.filter { $0.key != "sample" }) }
        lists[id, default: []].append(.init(name, .array(objects)))
    }
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
            try Interruption.check()
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
            var facts = ["\(sample.id)", sample.type.identifier]
            // What a repair has buried again has the greatest version that there is.
            if sample.version < Sample.versionLimit { facts.append("version \(sample.version)") }
            if !sample.source.name.isEmpty { facts.append("of '\(Table.clean(sample.source.name))'") }
            if let start = sample.start { facts.append("at \(DateText.text(start, in: zone))") }
            let clock = sample.modified
            if clock.time != .distantPast {
                facts.append("deleted \(DateText.text(clock.time, in: zone)) by replica \(clock.replica)")
            }
            let pending = try transaction.pending(sample: sample.id).filter { $0.kind == .delete }
            for (words, isRefused) in [("its deletion waits for", false), ("its deletion was refused by", true)] {
                let peers = pending.filter { ($0.state == .quarantined) == isRefused }.map(\.peer.rawValue)
                if !peers.isEmpty {
                    facts.append("\(words) \(peers.map { "'\(Table.clean($0))'" }.joined(separator: ", "))")
                }
            }
            parts.append(facts.joined(separator: ", "))
        }
        if deleted.count > limit { parts.append("and \(deleted.count - limit) more, which 'dump --all' lists") }
        return "No sample has this identifier any more. Deleted: \(parts.joined(separator: "; "))."
    }
}
