import HealthKV

/// `kvinspect dump STORE`
enum DumpVerb: Verb {
    static let description = VerbDescription(
        name: "dump", abstract: "Print the whole store as JSON Lines that 'load' reads back.",
        discussion: "One live sample a line with all its fields, ordered by type, start, end and id; times are in UTC.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: OptionDescription.format.name, value: "format", help: "How to print: lines are all there is.",
                choices: [OutputFormat.jsonl.rawValue], defaultValue: OutputFormat.jsonl.rawValue),
            OptionDescription(
                name: "all",
                help: "Also print sync state: of it 'load' takes links and daily totals, and passes over the rest."),
            OptionDescription(
                name: "raw",
                help:
                    "Print every table in the text format of mdb_dump instead, for LMDB's own tools to look at. What mdb_load "
                    + "makes of it is no store: it numbers transactions anew. Use a dump or a backup for that."),
            .skipDamaged, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let isRaw = arguments.flag("raw")
        guard !isRaw || !arguments.flag("all") else {
            throw UsageError("--raw and --all exclude each other", verb: description)
        }
        guard !isRaw || !arguments.flag(OptionDescription.skipDamaged.name) else {
            throw UsageError("--raw and --skip-damaged exclude each other", verb: description)
        }
        guard !isRaw || arguments.text(OptionDescription.format.name) == nil else {
            throw UsageError("--raw and --format exclude each other", verb: description)
        }
        let store = try StoreAccess.openForReading(arguments.store)
        if isRaw {
            try RawDump.print(store, console, Progress(arguments, console, unit: "records"))
            return .clean
        }
        let progress = Progress(arguments, console, unit: "samples")
        let skips = arguments.flag(OptionDescription.skipDamaged.name)
        let lost = try store.read { transaction in
            let lost = try printSamples(of: transaction, skippingDamage: skips, console, progress)
            guard arguments.flag("all") else { return lost }
            try StateLines { line in
                var writer = JSONWriter()
                writer.value(line)
                writer.newline()
                try console.write(writer.bytes)
            }.printAll(transaction)
            return lost
        }
        progress.finish()
        return LostParts.report(lost, in: .utc, console)
    }

    private static func printSamples(
        of transaction: borrowing ReadTransaction, skippingDamage: Bool, _ console: Console, _ progress: Progress
    ) throws -> [DamagedRange] {
        progress.total = try transaction.count()
        var writer = JSONWriter()
        var head: DumpHead? = try DumpHead(transaction)
        let lost: [DamagedRange]
        do {
            lost = try transaction.forEachLiveSample(skippingDamage: skippingDamage) { sample in
                writer.beginObject()
                SampleRecord(sample: sample, detail: .lossless).writeFields(to: &writer)
                head?.write(to: &writer)
                head = nil
                writer.endObject()
                writer.newline()
                try progress.advance()
                if writer.bytes.count >= 1 << 15 {
                    try console.write(writer.bytes)
                    writer.removeAll()
                }
            }
        } catch {
            // Whole lines that were read before it are printed.
            if !(error is OutputClosed) { try console.write(writer.bytes) }
            throw error
        }
        try console.write(writer.bytes)
        return lost
    }
}

/// What concerns a whole dump. It stands in the field `dump` of the first line, so that every line is a sample.
struct DumpHead {
    /// The version of the lines. A greater one is refused.
    static let version: Int64 = 1
    /// Far more than any history has, and with a kind for every line of a batch still fewer than a batch can hold.
    static let sourceLimit = 16_384

    /// Those with live samples, in the order in which the store first saw them, which ranks them.
    let sources: [Source]

    /// The orders of sources that were set.
    let priorities: [SampleType: [RankedSource]]

    /// The types for which it was set whether samples of one time shadow each other.
    let shadowing: [SampleType: Bool]

    init(_ transaction: borrowing ReadTransaction) throws {
        sources = try transaction.sourceCounts().filter { $0.samples > 0 }.map(\.source)
        priorities = try transaction.priorities()
        shadowing = try transaction.shadowing()
    }

    func write(to writer: inout JSONWriter) {
        writer.key("dump")
        writer.beginObject()
        writer.field("version", DumpHead.version)
        writer.key("sources")
        writer.beginArray()
        for source in sources.prefix(DumpHead.sourceLimit) {
            writer.source(source)
        }
        writer.endArray()
        if !priorities.isEmpty { writePriorities(to: &writer) }
        if !shadowing.isEmpty {
            writer.key("shadowing")
            writer.beginObject()
            for (type, isOn) in shadowing.sorted(by: { $0.key < $1.key }) { writer.field(type.identifier, isOn) }
            writer.endObject()
        }
        writer.endObject()
    }

    private func writePriorities(to writer: inout JSONWriter) {
        writer.key("priorities")
        writer.beginObject()
        for (type, order) in priorities.sorted(by: { $0.key < $1.key }) {
            writer.key(type.identifier)
            writer.beginArray()
            for place in order {
                writer.beginObject()
                writer.key("source")
                writer.source(Source(bundle: place.source.bundle, name: place.source.name))
                if let isUserEntered = place.isUserEntered { writer.field("userEntered", isUserEntered) }
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
    }
}

/// What the first line of a dump says of the whole.
struct DumpHeadLine {
    var sources: [Source]
    var priorities: [SampleType: [RankedSource]] = [:]
    var shadowing: [SampleType: Bool] = [:]
}
