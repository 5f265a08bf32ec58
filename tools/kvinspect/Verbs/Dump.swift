import HealthKV

/// `kvinspect dump STORE`
enum DumpVerb: Verb {
    static let description = VerbDescription(
        name: "dump", abstract: "Print the whole store as JSON Lines that 'load' reads back.",
        discussion:
            "One live sample a line with all its fields, ordered by type, start, end and id; times are in UTC. The first line "
            + "also says what was set for types and in which order the sources were first seen; without a sample, or with "
            + "very many sources, that has lines of its own.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: OptionDescription.format.name, value: "format",
                help:
                    "How to print; 'load' reads json and jsonl. Tables and csv have the samples as 'scan' lists them.",
                choices: OutputFormat.allCases.map(\.rawValue), defaultValue: OutputFormat.jsonl.rawValue),
            OptionDescription(
                name: "all",
                help:
                    "Also print sync state, which 'load' brings back: deletions with what was deleted as long as it can be "
                    + "undeleted, imports that were interrupted, peers, what was purged, anchors, what waits for peers, links, "
                    + "daily totals and conflicts. The store that is loaded is another replica."
            ),
            OptionDescription(
                name: "raw",
                help:
                    "Print every table in the text format of mdb_dump instead, for LMDB's own tools to look at. Of the "
                    + "file that mdb_load makes of it, 'repair' makes a store again. Damaged values are printed as they are, "
                    + "without a message."),
            OptionDescription(
                name: "salvage",
                help:
                    "Print what 'repair' would keep of a damaged store, without writing a new one; works in a temporary "
                    + "folder. --skip-damaged does the same if the store is too damaged to be opened."),
            .skipDamaged, .exactDamage, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "lines", columns: SampleRecord.columns,
        tableColumns: ["type", "start", "end", "value", "unit", "source", "id"])

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
        guard !isRaw || !arguments.flag("salvage") else {
            throw UsageError("--raw and --salvage exclude each other", verb: description)
        }
        let format = arguments.choice(OptionDescription.format.name, default: OutputFormat.jsonl)
        guard !arguments.flag("all") || format.isJSON else {
            throw UsageError("--all is for --format json and jsonl", verb: description)
        }
        let skips = arguments.flag(OptionDescription.skipDamaged.name)
        if arguments.flag("salvage") { return try printSalvaged(arguments, console) }
        let store: SampleStore
        do {
            store = try StoreAccess.openForReading(arguments.store)
        } catch let error as StoreError where error.code == .damaged && skips {
            return try printSalvaged(arguments, console)
        }
        if skips, try !isReadableBesideSamples(store, state: arguments.flag("all")) {
            return try printSalvaged(arguments, console)
        }
        if isRaw {
            try RawDump.print(store, console, Progress(arguments, console, unit: "records"))
            return .clean
        }
        return try print(store, skippingDamage: skips, arguments, console)
    }

    private static func print(
        _ store: SampleStore, skippingDamage skips: Bool, isComplete: Bool = true, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> ExitCode {
        let progress = Progress(arguments, console, unit: "samples")
        let format = arguments.choice(OptionDescription.format.name, default: OutputFormat.jsonl)
        var lost: [DamagedRange] = []
        try OutputClosed.end {
            try Listing.print(shape, arguments, console, format: format) { listing in
                try store.read { transaction in
                    try printSamples(
                        of: transaction, skippingDamage: skips, isLossless: format.isJSON, to: &listing, &lost, progress
                    )
                    if arguments.flag("all") {
                        try StateLines().printAll(
                            transaction, skippingDamage: skips, isComplete: isComplete && lost.isEmpty, to: &listing)
                    }
                }
                return Listing.trailer(isComplete: isComplete && lost.isEmpty)
            }
        }
        progress.finish()
        return LostParts.report(lost, in: .utc, arguments, console)
    }

    /// Returns `false` if something is damaged that has no place to skip to: settings, counts or the state of sync.
    private static func isReadableBesideSamples(_ store: SampleStore, state: Bool) throws -> Bool {
        do {
            try store.read { transaction in
                _ = try transaction.count()
                _ = try DumpHead.parts(of: transaction)
                _ = try transaction.liveTypes()
                if state { try StateLines.readAll(transaction) }
            }
            return true
        } catch  where StoreError.isDamage(error) {
            return false
        }
    }

    /// Prints what a repair would keep, and says on the error output what it would lose.
    private static func printSalvaged(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        guard StoreAccess.holdsStore(arguments.store) else { throw StoreAccess.noStore(in: arguments.store) }
        let searching = Progress(arguments, console, unit: "values")
        let code = try SampleStore.withSalvaged(
            at: arguments.store, progress: { (try? searching.advance()) != nil }
        ) { store, report in
            searching.finish()
            let losses = RepairVerb.losses(of: report, arguments)
            for line in losses + report.findings.prefix(RepairVerb.named) { console.say("Damaged: \(line)") }
            let more = report.findings.count - RepairVerb.named
            if more > 0 { console.say("Damaged: \(more) more findings") }
            let code = try print(
                store, skippingDamage: false, isComplete: !report.isLossy, arguments, console)
            return report.isSound ? code : .damage
        }
        try Interruption.check()
        return code
    }

    private static func printSamples(
        of transaction: borrowing ReadTransaction, skippingDamage: Bool, isLossless: Bool, to listing: inout Listing,
        _ lost: inout [DamagedRange], _ progress: Progress
    ) throws {
        progress.total = try transaction.count()
        var heads = isLossless ? try DumpHead.parts(of: transaction) : []
        // All parts of the head but the last precede the first sample, on lines of their own.
        while heads.count > 1 { try listing.append(HeadLine(head: heads.removeFirst())) }
        for type in try transaction.liveTypes() {
            var lines = DumpLineWriter(type)
            var watch = OutputWatch()
            lost += try transaction.forEachStored(of: type, skippingDamage: skippingDamage) { samples, whole in
                try watch.goesOn {
                    for index in samples.indices {
                        if !isLossless {
                            try listing.append(SampleRecord(sample: whole(index), detail: .listed(.utc, nil)))
                        } else if let head = heads.popLast() {
                            try listing.append(SampleLine(sample: whole(index), head: head))
                        } else {
                            try listing.appendJSON { try lines.write(samples[index], to: &$0) { try whole(index) } }
                        }
                    }
                    try progress.advance(by: samples.indices.count)
                    return true
                }
            }
            try watch.finish()
        }
        if let head = heads.first, !head.isEmpty { try listing.append(HeadLine(head: head)) }
    }

    /// A sample, and on the first line what concerns the whole dump.
    private struct SampleLine: JSONRecord {
        let sample: Sample
        let head: DumpHead?

        func write(to sink: inout some JSONSink) {
            sink.beginObject()
            SampleRecord(sample: sample, detail: .lossless).writeFields(to: &sink)
            head?.write(to: &sink)
            sink.endObject()
        }
    }

    private struct HeadLine: JSONRecord {
        let head: DumpHead

        func write(to sink: inout some JSONSink) {
            sink.beginObject()
            head.write(to: &sink)
            sink.endObject()
        }
    }
}
