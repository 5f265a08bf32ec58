import HealthKV

#if canImport(Foundation)
    // The small Foundation knows no time zone by name.
    import Foundation
#endif

/// What `kvinspect stats` answers beside sums and averages: how values are spread, in which bands they stayed, where
/// they tend, when in the day or the week they fall, and what each source gave.
extension StatsVerb {
    /// The questions, of which one at most is asked.
    enum Question: String, CaseIterable {
        case percentiles, bands, trend, shares
    }

    static let questionOptions = [
        OptionDescription(
            name: Question.percentiles.rawValue, value: "percents",
            help: "The values below which so many percent of the samples of each bucket lie, such as 5,50,95."),
        OptionDescription(
            name: Question.bands.rawValue, value: "borders",
            help: "How long values stayed between borders, such as 70,180; one answer for the whole range."),
        OptionDescription(
            name: "hold", value: "minutes",
            help: "How long a value is taken to hold after its sample; with --bands.", defaultValue: "15"),
        OptionDescription(
            name: Question.trend.rawValue, help: "The line that fits the samples best; one answer for the whole range."),
        OptionDescription(
            name: Question.shares.rawValue, help: "What each source contributes to the merged sum of each bucket."),
        OptionDescription(
            name: "average", value: "count",
            help: "Also the mean of so many buckets up to each one; those without data do not count."),
        OptionDescription(
            name: "goal", value: "goal",
            help: "Also whether each bucket meets a goal: 10000 for at least, <=2000 for at most, 60..80 for between."),
    ]

    /// The question that is asked, if any.
    static func question(_ arguments: ParsedArguments) throws -> Question? {
        let asked = Question.allCases.filter { arguments.flag($0.rawValue) || arguments.text($0.rawValue) != nil }
        let others = [totalsOption.name, "average", "goal"].filter { arguments.flag($0) || arguments.text($0) != nil }
        if asked.count > 1 || asked.count == 1 && !others.isEmpty {
            let names = (asked.map(\.rawValue) + others).prefix(2)
            throw UsageError("--\(names[0]) and --\(names[1]) exclude each other", verb: description)
        }
        let unused = ["unmerged", "priority"] + (asked == [.bands] || asked == [.trend] ? ["by", "fill"] : [])
        let other = unused.first { arguments.flag($0) || arguments.text($0) != nil }
        if let asked = asked.first, let other {
            throw UsageError("--\(asked.rawValue) and --\(other) exclude each other", verb: description)
        }
        if arguments.text("hold") != nil, asked.first != .bands {
            throw UsageError("--hold belongs to --bands", verb: description)
        }
        return asked.first
    }

    /// The numbers of an option, such as 5,50,95.
    private static func numbers(_ name: String, _ arguments: ParsedArguments, reason: String) throws -> [Double] {
        try arguments.convert(name, reason: reason) { text in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { Double($0) }.filter(\.isFinite)
            return numbers.count == parts.count ? numbers : nil
        } ?? []
    }

    private static func start(of bucket: Statistics, _ zone: Zone) -> [JSONValue.Field] {
        [
            .init("start", .string(DateText.text(bucket.start, in: zone))),
            .init("end", .string(DateText.text(bucket.end, in: zone))),
        ]
    }

    private static func number(_ value: Double?) -> JSONValue { value.map { .double($0) } ?? .null }

    // MARK: each question

    static func printPercentiles(
        _ query: StatisticsQuery, _ transaction: borrowing ReadTransaction, _ zone: Zone, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> Int {
        let name = Question.percentiles.rawValue
        let reason = "Write numbers from 0 to 100, each once, joined by commas."
        let percents = try numbers(name, arguments, reason: reason)
        guard percents.allSatisfy({ $0 >= 0 && $0 <= 100 }), Set(percents).count == percents.count else {
            throw arguments.invalid(name, reason: reason)
        }
        let columns = percents.map { "p" + ($0 == $0.rounded() ? "\(Int($0))" : "\($0)") }
        let shape = Listing.Shape(key: "buckets", columns: ["start", "end", "count"] + columns + ["unit"])
        var count = 0
        try Listing.print(shape, arguments, console) { listing in
            try transaction.forEachStatistics(query) { bucket in
                try Interruption.check()
                let (from, to) = (max(bucket.start, query.from), min(bucket.end, query.to))
                var part = query
                (part.from, part.to) = (from, to)
                let spread = try transaction.distribution(samples(of: part), unit: query.unit)
                try listing.append(
                    .object(
                        start(of: bucket, zone) + [.init("count", .count(spread.count))]
                            + zip(columns, percents).map { .init($0, number(spread.percentile($1))) }
                            + [.init("unit", .optional(spread.unit?.symbol))]))
            }
            count = listing.count
            return []
        }
        return count
    }

    static func printBands(
        _ query: StatisticsQuery, _ transaction: borrowing ReadTransaction, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> Int {
        let name = Question.bands.rawValue
        let reason = "Write ascending numbers, joined by commas."
        let borders = try numbers(name, arguments, reason: reason)
        guard zip(borders, borders.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw arguments.invalid(name, reason: reason)
        }
        let hold = try arguments.convert("hold", reason: "Write a number of minutes.") { text in
            Double(text).flatMap { $0 >= 0 && $0 < 1e6 ? $0 : nil }
        }
        let found = try transaction.timeInBands(
            samples(of: query), borders: borders, unit: query.unit, hold: .nanoseconds(Int64((hold ?? 15) * 60e9)))
        let shape = Listing.Shape(key: "bands", columns: ["lower", "upper", "seconds", "count", "share", "unit"])
        try Listing.print(shape, arguments, console) { listing in
            for band in found.bands {
                try listing.append(
                    .object([
                        .init("lower", number(band.lower)), .init("upper", number(band.upper)),
                        .init("seconds", .double(Double(band.nanoseconds) / 1e9)), .init("count", .count(band.count)),
                        .init("share", .double(band.share)), .init("unit", .optional(found.unit?.symbol)),
                    ]))
            }
            return []
        }
        // A value from before the range may hold within it.
        return found.bands.count { $0.count > 0 || $0.nanoseconds > 0 }
    }

    static func printTrend(
        _ query: StatisticsQuery, _ transaction: borrowing ReadTransaction, _ zone: Zone, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> Int {
        let trend = try transaction.trend(samples(of: query))
        let shape = Listing.Shape(key: "trends", columns: ["perDay", "center", "value", "fit", "count", "unit"])
        try Listing.print(shape, arguments, console) { listing in
            guard let trend else { return [] }
            let own = trend.unit
            func converted(_ value: Double) throws -> Double {
                guard let own, let unit = query.unit else { return value }
                return try own.convert(value, to: unit)
            }
            // A difference is converted as one: units such as degrees Celsius have a zero of their own.
            let slope = try converted(trend.centerValue + trend.perDay) - converted(trend.centerValue)
            try listing.append(
                .object([
                    .init("perDay", .double(query.unit == nil ? trend.perDay : slope)),
                    .init("center", .string(DateText.text(trend.center, in: zone))),
                    .init("value", .double(try converted(trend.centerValue))), .init("fit", .double(trend.fit)),
                    .init("count", .count(trend.count)), .init("unit", .optional((query.unit ?? own)?.symbol)),
                ]))
            return []
        }
        if trend == nil, try !transaction.samples(samples(of: query)).isEmpty {
            console.say("All samples have one time: no line goes through them.")
            return 1
        }
        return trend?.count ?? 0
    }

    static func printShares(
        _ query: StatisticsQuery, _ transaction: borrowing ReadTransaction, _ zone: Zone, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> Int {
        guard query.type.aggregation == .cumulative else {
            throw UsageError("--shares are of types that are summed up; \(query.type) is not", verb: description)
        }
        if arguments.flag("fill") { throw UsageError("--shares and --fill exclude each other", verb: description) }
        var query = query
        query.fillsEmptyBuckets = true
        let parts = try transaction.statisticsBySource(query, competing: true).sorted { $0.key < $1.key }
        let shape = Listing.Shape(
            key: "buckets", columns: ["start", "end", "source", "bundle", "count", "sum", "share", "unit"],
            tableColumns: ["start", "source", "sum", "share", "unit"])
        var count = 0
        try Listing.print(shape, arguments, console) { listing in
            for index in parts.first?.value.indices ?? 0..<0 {
                try Interruption.check()
                let total = parts.reduce(0.0) { $0 + ($1.value[index].sum ?? 0) }
                for (source, buckets) in parts where buckets[index].hasData {
                    let bucket = buckets[index]
                    try listing.append(
                        .object(
                            start(of: bucket, zone) + [
                                .init("source", .string(source.name)), .init("bundle", .string(source.bundle)),
                                .init("count", .count(bucket.count)), .init("sum", number(bucket.sum)),
                                .init("share", total == 0 ? .null : number(bucket.sum.map { $0 / total })),
                                .init("unit", .optional(bucket.unit?.symbol)),
                            ]))
                }
            }
            count = listing.count
            return []
        }
        return count
    }

    static func printRhythm(
        _ query: StatisticsQuery, of cycle: Rhythm.Cycle, _ transaction: borrowing ReadTransaction,
        _ arguments: ParsedArguments, _ console: Console
    ) throws -> Int {
        let rhythm = try transaction.rhythm(query, of: cycle)
        let shape = Listing.Shape(
            key: "slots", columns: ["slot", "occurrences", "count", "sum", "average", "min", "max", "unit"])
        try Listing.print(shape, arguments, console) { listing in
            for slot in rhythm.slots {
                try listing.append(
                    .object([
                        .init("slot", .count(slot.number)), .init("occurrences", .count(slot.occurrences)),
                        .init("count", .count(slot.count)), .init("sum", number(slot.sum)),
                        .init("average", number(slot.average)), .init("min", number(slot.minimum)),
                        .init("max", number(slot.maximum)), .init("unit", .optional(rhythm.unit?.symbol)),
                    ]))
            }
            return []
        }
        // A sample may start in another slot than the one into which it reaches.
        return rhythm.slots.count { $0.occurrences > 0 }
    }

    /// The samples of a query for statistics.
    private static func samples(of query: StatisticsQuery) -> SampleQuery {
        var samples = SampleQuery(
            query.type, from: query.from, to: query.to, rule: .strictStart, where: query.filter)
        if let sources = query.sources {
            let any = SampleFilter.any(sources.map { .source($0) })
            samples.filter = samples.filter.map { $0 && any } ?? any
        }
        return samples
    }

    // MARK: averages and goals beside the buckets

    /// The goal of `--goal`, if there is one.
    static func goal(_ arguments: ParsedArguments) throws -> Goal? {
        try arguments.convert("goal", reason: "Write a number, <= and a number, or two numbers with .. between them.") {
            text in
            if text.hasPrefix("<=") { return Double(text.dropFirst(2)).flatMap { $0.isFinite ? .atMost($0) : nil } }
            if let number = Double(text), number.isFinite { return .atLeast(number) }
            guard let dots = text.range(of: ".."), !text[dots.upperBound...].hasPrefix("."),
                let lower = Double(text[..<dots.lowerBound]),
                let upper = Double(text[dots.upperBound...]), lower <= upper
            else { return nil }
            return .within(lower...upper)
        }
    }

    /// Prints the buckets with a moving average, and whether they meet a goal.
    static func printFollowed(
        _ query: StatisticsQuery, _ transaction: borrowing ReadTransaction, _ zone: Zone, _ arguments: ParsedArguments,
        _ console: Console
    ) throws -> Int {
        let span = try arguments.count("average")
        if let span, span < 1 { throw arguments.invalid("average", reason: "One bucket at least.") }
        let goal = try goal(arguments)
        let buckets = try transaction.statistics(query)
        let value: (Statistics) -> Double? = { $0.value }
        let averages = span.map { buckets.movingAverage(of: value, over: $0) }
        let more = (span == nil ? [] : ["movingAverage"]) + (goal == nil ? [] : ["met"])
        let shape = Listing.Shape(key: "buckets", columns: columns(of: query.type) + more)
        var streaks: Streaks?
        if let goal { streaks = try rows(in: buckets, query, of: value, meeting: goal, transaction) }
        try Listing.print(shape, arguments, console) { listing in
            for (index, bucket) in buckets.enumerated() {
                try Interruption.check()
                var fields = record(bucket, zone)
                if let averages { fields.append(.init("movingAverage", number(averages[index]))) }
                if let goal {
                    let met = bucket.hasData && (value(bucket).map { goal.isMet(by: $0) } ?? false)
                    fields.append(.init("met", .bool(met)))
                }
                try listing.append(.object(fields))
            }
            guard let streaks else { return [] }
            return [
                .init("met", .count(streaks.met)), .init("total", .count(streaks.total)),
                .init("currentStreak", .count(streaks.current?.count ?? 0)),
                .init("longestStreak", .count(streaks.longest?.count ?? 0)),
                .init("longestFrom", .optional(streaks.longest?.start, in: zone)),
            ]
        }
        if let streaks, arguments.listFormat(console) != .json {
            console.say(
                "\(streaks.met) of \(streaks.total) met the goal, those without data counted; "
                    + "\(streaks.current?.count ?? 0) in a row now, \(streaks.longest?.count ?? 0) at most.")
        }
        return buckets.count
    }

    /// The rows of buckets that met a goal, up to today: a row of days that ended long ago does not go on.
    private static func rows(
        in buckets: StatisticsCollection, _ query: StatisticsQuery, of value: (Statistics) -> Double?,
        meeting goal: Goal, _ transaction: borrowing ReadTransaction
    ) throws -> Streaks {
        let now = SystemClock.now()
        let isOpen = query.to > now
        guard query.to == .distantFuture, let last = buckets.last, last.end <= now else {
            return buckets.streaks(of: value, meeting: goal, lastIsOpen: isOpen, until: now)
        }
        var toNow = query
        toNow.to = now + 1
        return try transaction.statistics(toNow).streaks(of: value, meeting: goal, until: now)
    }
}
