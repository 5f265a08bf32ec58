import HealthKV

#if canImport(Foundation)
    // The small Foundation knows no time zone by name.
    import Foundation
#endif

/// `kvinspect stats STORE --type T --by day`
enum StatsVerb: Verb {
    private static let intervals =
        ["hour", "day", "week", "month", "quarter", "year"] + Rhythm.Cycle.allCases.map(\.rawValue)

    static let description = VerbDescription(
        name: "stats",
        abstract:
            "Print sums or averages of a type by hour, day, week, month, quarter or year, and what else is asked.",
        discussion:
            "Where several sources of a cumulative type measured the same time, the one with the highest priority counts; "
            + "a sample that crosses a border counts on both sides by its time. Weeks begin on Monday. Times outside "
            + "--from and --to are left out, also of the first and the last bucket. With --totals the days are those whose totals a "
            + "peer gave, in the peer's time zone; --from and --to then pick the days that begin between them. By hourOfDay and "
            + "dayOfWeek, the hours 0 to 23 of the local clock or the days 1 (Sunday) to 7 of all weeks are put together.",
        arguments: [.store],
        options: [
            .type,
            OptionDescription(
                name: "by", value: "interval", help: "The length of a bucket.", choices: intervals, defaultValue: "day"
            ),
            .from, .to,
            OptionDescription(name: "source", value: "source", help: "Only samples of this source, by name or bundle."),
            OptionDescription(
                name: "unmerged",
                help: "Count every sample of every source: what two devices both measured counts twice."),
            OptionDescription(
                name: "priority", value: "sources",
                help: "Names of sources joined by commas, the first wins; for this call."),
            .filter, OptionDescription(name: "fill", help: "Also print buckets without data."), totalsOption,
            OptionDescription(name: "unit", value: "unit", help: "Convert the values to this unit."),
        ] + questionOptions + [.format, .zone, .progress])

    static let bucketColumns = ["start", "end", "count", "sum", "min", "max", "average", "unit"]

    /// A type of which the latest value counts has a column for it.
    static func columns(of type: SampleType) -> [String] {
        bucketColumns.flatMap { $0 == "unit" && type.combination == .latest ? ["latest", $0] : [$0] }
    }

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let question = try question(arguments)
        if arguments.flag(totalsOption.name) { return try runTotals(arguments, console) }
        let cycle = try cycle(arguments, question)
        let follows = ["average", "goal"].contains { arguments.text($0) != nil }
        let zone = try arguments.zone()
        // What a type that is not in the catalog means, only the store tells.
        let defining = try arguments.type().catalogNumber == nil ? StoreAccess.openForReading(arguments.store) : nil
        try defining?.read { _ = try $0.definitions() }
        var query = try query(arguments, zone)
        let store = try defining ?? StoreAccess.openForReading(arguments.store)
        try UnknownType.refuse(query.type, in: store)
        let progress = Progress(arguments, console, unit: "%", total: 100)
        var isEmpty = true
        try store.read { transaction in
            try choose(arguments, transaction, &query)
            let query = query
            if question != nil || cycle != nil || follows {
                let count = try answer(question, cycle, query, transaction, zone, arguments, console)
                isEmpty = count == 0
                return
            }
            let shape = Listing.Shape(key: "buckets", columns: columns(of: query.type))
            try Listing.print(shape, arguments, console) { listing in
                try transaction.forEachStatistics(query) { share in
                    try progress.advance(to: Int(share * 100))
                } _: { bucket in
                    try Interruption.check()
                    try listing.append(.object(record(bucket, zone)))
                }
                isEmpty = listing.count == 0
                return []
            }
        }
        progress.finish()
        if isEmpty {
            console.say("No sample matches.")
            try store.read { try UnknownSource.mention(arguments.text("source"), in: $0, console) }
        }
        return .clean
    }

    /// What repeats, if hours of the day or days of the week are asked for.
    private static func cycle(_ arguments: ParsedArguments, _ question: Question?) throws -> Rhythm.Cycle? {
        guard let cycle = arguments.text("by").flatMap(Rhythm.Cycle.init) else { return nil }
        let others = [totalsOption.name, "average", "goal", "fill"]
        let other = question?.rawValue ?? others.first { arguments.flag($0) || arguments.text($0) != nil }
        if let other { throw UsageError("--by \(cycle.rawValue) and --\(other) exclude each other", verb: description) }
        return cycle
    }

    /// Prints what is asked for beside sums and averages of buckets. Returns how much was found.
    private static func answer(
        _ question: Question?, _ cycle: Rhythm.Cycle?, _ query: StatisticsQuery,
        _ transaction: borrowing ReadTransaction, _ zone: Zone, _ arguments: ParsedArguments, _ console: Console
    ) throws -> Int {
        switch (question, cycle) {
        case (.percentiles, _): try printPercentiles(query, transaction, zone, arguments, console)
        case (.bands, _): try printBands(query, transaction, arguments, console)
        case (.trend, _): try printTrend(query, transaction, zone, arguments, console)
        case (.shares, _): try printShares(query, transaction, zone, arguments, console)
        case (nil, let cycle?): try printRhythm(query, of: cycle, transaction, arguments, console)
        case (nil, nil): try printFollowed(query, transaction, zone, arguments, console)
        }
    }

    /// The sources that are asked for, and their order: by names, which alone are read for it.
    private static func choose(
        _ arguments: ParsedArguments, _ transaction: borrowing ReadTransaction, _ query: inout StatisticsQuery
    ) throws {
        guard arguments.text("source") != nil || arguments.text("priority") != nil else { return }
        if let name = arguments.text("source") { query.sources = try transaction.sources(named: name) }
        if let names = arguments.text("priority") { try setPriority(names, transaction, arguments, &query) }
    }

    private static func query(_ arguments: ParsedArguments, _ zone: Zone) throws -> StatisticsQuery {
        let type = try arguments.type()
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = zone.timeZone
        let unit = StatisticsInterval.Unit(rawValue: arguments.text("by") ?? "day") ?? .day
        let range = try arguments.range(in: zone)
        var query = StatisticsQuery(
            type, by: .every(1, unit), from: range.from, to: range.to, calendar: calendar,
            fillsEmptyBuckets: arguments.flag("fill"))
        query.unit = try convertedUnit(arguments)
        query.filter = try arguments.filter(of: type)
        if arguments.flag("unmerged") || arguments.text("priority") != nil {
            guard type.aggregation == .cumulative else {
                throw UsageError(
                    "--unmerged and --priority are for types that are summed up; \(type) is not",
                    verb: description)
            }
            guard !(arguments.flag("unmerged") && arguments.text("priority") != nil) else {
                throw UsageError("--unmerged and --priority exclude each other", verb: description)
            }
            query.options = CumulativeOptions(
                sources: arguments.flag("unmerged") ? .unmergedCountingOverlapsTwice : .merged)
        }
        return query
    }

    /// The unit that values are converted to, if any.
    static func convertedUnit(_ arguments: ParsedArguments) throws -> HealthUnit? {
        let unit = try arguments.convert("unit", reason: "Please provide the symbol of a unit, such as kg.") {
            try? HealthUnit(symbol: $0)
        }
        let type = try arguments.type()
        if let unit, let canonical = type.canonicalUnit, !unit.isCompatible(with: canonical) {
            throw arguments.invalid("unit", reason: "Values of \(type) are measured in \(canonical).")
        }
        return unit
    }

    private static func setPriority(
        _ names: String, _ transaction: borrowing ReadTransaction, _ arguments: ParsedArguments,
        _ query: inout StatisticsQuery
    ) throws {
        // A name may hold commas itself: then it is the whole value.
        let isOne = try !transaction.sources(named: names).isEmpty
        var order: [RankedSource] = []
        for name in isOne ? [names] : names.split(separator: ",").map(String.init) {
            let named = try transaction.sources(named: name)
            if named.isEmpty { try UnknownSource.refuse(name, in: transaction) }
            // Of several with one name the one that was first seen last counts, as it does without an order.
            order += named.reversed().map { RankedSource($0) }
        }
        query.options = CumulativeOptions(sources: .mergedInOrder(order))
    }

    static func record(_ bucket: Statistics, _ zone: Zone) -> [JSONValue.Field] {
        var fields: [JSONValue.Field] = [
            .init("start", .string(DateText.text(bucket.start, in: zone))),
            .init("end", .string(DateText.text(bucket.end, in: zone))), .init("count", .count(bucket.count)),
        ]
        if let sum = bucket.sum {
            fields.append(.init("sum", .double(sum)))
        } else {
            for (name, value) in [
                ("min", bucket.minimum), ("max", bucket.maximum), ("average", bucket.average),
            ] {
                fields.append(.init(name, value.map { .double($0) } ?? .null))
            }
        }
        if bucket.combination == .latest { fields.append(.init("latest", bucket.value.map { .double($0) } ?? .null)) }
        fields.append(.init("unit", .optional(bucket.unit?.symbol)))
        return fields
    }
}
