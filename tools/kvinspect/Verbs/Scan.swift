import HealthKV

/// `kvinspect scan STORE --type T`
enum ScanVerb: Verb {
    private static let orders = ["asc", "desc"]
    private static let rules = ["overlap", "start", "end"]

    static let description = VerbDescription(
        name: "scan", abstract: "Print the samples of a type in a range of time.",
        discussion: "The range is half open: a sample at its end is not in it.", arguments: [.store],
        options: [
            .type, .from, .to,
            OptionDescription(name: "source", value: "source", help: "Only samples of this source, by name or bundle."),
            OptionDescription(name: "limit", value: "count", help: "At most so many samples."),
            OptionDescription(
                name: "order", value: "order", help: "Earliest or latest first.", choices: orders, defaultValue: "asc"),
            OptionDescription(
                name: "rule", value: "rule", help: "Samples that overlap the range, or that start or end in it.",
                choices: rules, defaultValue: "overlap"),
            OptionDescription(name: "unit", value: "unit", help: "Convert the values to this unit."),
            OptionDescription(
                name: "sort", value: "key", help: "In the order of times or of values; --order gives the direction.",
                choices: SampleSort.allCases.map(\.rawValue), defaultValue: "time"),
            .filter,
            OptionDescription(name: "shadowed", help: "Also samples that a newer one of the same time hides."),
            .skipDamaged, .exactDamage, .format, .zone, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "samples", columns: SampleRecord.columns,
        tableColumns: ["start", "end", "value", "unit", "source", "id"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let query = try Query(arguments)
        let store = try StoreAccess.openForReading(arguments.store)
        try UnknownType.refuse(query.type, in: store)
        let progress = Progress(arguments, console, unit: "samples")
        var lost: [DamagedRange] = []
        try OutputClosed.end {
            try Listing.print(shape, arguments, console) { listing in
                var watch = OutputWatch()
                lost = try store.read { transaction in
                    try query.forEachSample(in: transaction) { sample in
                        try watch.goesOn {
                            try listing.append(SampleRecord(sample: sample, detail: .listed(query.zone, query.unit)))
                            try progress.advance()
                            return true
                        }
                    }
                }
                try watch.finish()
                return Listing.trailer(isComplete: lost.isEmpty)
            }
        }
        progress.finish()
        if progress.done == 0 {
            console.say(query.limit == 0 ? "--limit 0 asks for no sample." : "No sample matches.")
            try store.read { try UnknownSource.mention(arguments.text("source"), in: $0, console) }
        }
        return LostParts.report(lost, in: query.zone, arguments, console)
    }

    /// What is asked for.
    private struct Query {
        let type: SampleType
        let zone: Zone
        let unit: HealthUnit?
        let from: Instant
        let to: Instant
        let order: SampleOrder
        let rule: RangeRule
        let limit: Int?
        let source: String?
        let filter: SampleFilter?
        let sort: SampleSort
        let includeShadowed: Bool
        let skipsDamaged: Bool

        init(_ arguments: ParsedArguments) throws {
            zone = try arguments.zone()
            type = try arguments.type()
            let range = try arguments.range(in: zone)
            (from, to) = (range.from, range.to)
            order = arguments.text("order") == "desc" ? .descending : .ascending
            rule =
                switch arguments.text("rule") {
                case "start": .strictStart
                case "end": .strictEnd
                default: .overlap
                }
            limit = try arguments.count("limit")
            source = arguments.text("source")
            filter = try arguments.filter(of: type)
            sort = arguments.choice("sort", default: .time)
            includeShadowed = arguments.flag("shadowed")
            skipsDamaged = arguments.flag(OptionDescription.skipDamaged.name)
            unit = try arguments.convert(
                "unit", reason: "Please provide a unit as HealthKit writes it, such as lb or mg/dL."
            ) {
                try? HealthUnit(symbol: $0)
            }
            if let unit, let canonical = type.canonicalUnit, !unit.isCompatible(with: canonical) {
                throw arguments.invalid("unit", reason: "Values of \(type) are measured in \(canonical).")
            }
        }

        /// Calls `body` with each sample until it returns `false`. Returns the damaged ranges that were skipped.
        func forEachSample(
            in transaction: borrowing ReadTransaction, _ body: (Sample) throws -> Bool
        ) throws -> [DamagedRange] {
            // Several sources may share a name: each is asked for only where one has it.
            let sources = try source.map { try transaction.sources(named: $0) }
            if sources?.isEmpty ?? false || limit == 0 { return [] }
            let only = sources?.count == 1 ? sources?.first : nil
            var rest = limit ?? .max
            // What is sorted is held in memory: no more than is printed, unless further sources are left out here.
            let sorted = sort == .value && (sources == nil || only != nil) ? limit : nil
            func take(_ sample: Sample) throws -> Bool {
                if let sources, only == nil, !sources.contains(sample.source.identity) { return true }
                if let unit, !unit.isCompatible(with: sample.quantity.unit) {
                    throw Failure("A sample in \(sample.quantity.unit) cannot be converted to \(unit).")
                }
                rest -= 1
                return try body(sample) && rest > 0
            }
            if skipsDamaged {
                return try transaction.forEachReadableSample(
                    SampleQuery(
                        type, from: from, to: to, rule: rule, order: order, limit: sorted, source: only,
                        includeShadowed: includeShadowed, where: filter, by: sort), take)
            }
            try transaction.forEachSample(
                SampleQuery(
                    type, from: from, to: to, rule: rule, order: order, limit: sorted, source: only,
                    includeShadowed: includeShadowed, where: filter, by: sort),
                take)
            return []
        }
    }
}
