import HealthKV

/// `kvinspect stats STORE --type T --totals`: what peers counted by themselves, beside what the samples come to
/// (SEMANTICS C15).
extension StatsVerb {
    static let totalsOption = OptionDescription(
        name: "totals",
        help: "Print the days whose totals a peer gave, with what its total is above the samples' own.")

    private static let totalsShape = Listing.Shape(
        key: "buckets",
        columns: [
            "start", "end", "count", "sum", "average", "unit", "day", "zone", "peer", "total", "difference", "complete",
            "read", "goal",
        ],
        tableColumns: ["day", "zone", "peer", "total", "sum", "difference", "unit", "complete"])

    static func runTotals(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let excluded = ["source", "unmerged", "priority", "fill", "where", "average", "goal"].first { name in
            arguments.flag(name) || arguments.text(name) != nil
        }
        if let excluded { throw UsageError("--totals and --\(excluded) exclude each other", verb: description) }
        guard arguments.text("by") ?? "day" == "day" else {
            throw UsageError("--totals are of days; leave out --by", verb: description)
        }
        let (type, zone, unit) = (try arguments.type(), try arguments.zone(), try convertedUnit(arguments))
        let range = try arguments.range(in: zone)
        let (from, to) = (range.from, range.to)
        let store = try StoreAccess.openForReading(arguments.store)
        try UnknownType.refuse(type, in: store)
        let progress = Progress(arguments, console, unit: "totals")
        var isEmpty = true
        try store.read { transaction in
            var peers: Set<PeerID> = []
            try transaction.forEachTotal { if $0.type == type { peers.insert($0.peer) } }
            try Listing.print(totalsShape, arguments, console) { listing in
                for peer in peers.sorted() {
                    try transaction.compareTotals(
                        of: type, peer: peer, from: from, to: to, floatingIn: zone.timeZone
                    ) { comparison in
                        try Interruption.check()
                        try listing.append(record(comparison, zone, unit))
                        try progress.advance()
                    }
                }
                isEmpty = listing.count == 0
                return []
            }
        }
        progress.finish()
        if isEmpty { console.say("No peer gave a total of such a day.") }
        return .clean
    }

    private static func record(_ comparison: DailyTotalComparison, _ zone: Zone, _ unit: HealthUnit?) throws
        -> JSONValue
    {
        let total = comparison.total
        func converted(_ value: Double?) throws -> JSONValue {
            guard let value else { return .null }
            return .double(try unit.map { try Quantity(value, total.unit).value(in: $0) } ?? value)
        }
        // A day is the peer's: it begins where the peer counts from.
        let there = Zone(name: total.zone) ?? zone
        let isDiscrete = total.type.aggregation == .discrete
        return .object([
            .init("start", .optional(comparison.range.map { DateText.text($0.from, in: there) })),
            .init("end", .optional(comparison.range.map { DateText.text($0.to, in: there) })),
            .init("count", .count(comparison.count)),
            .init(isDiscrete ? "average" : "sum", try converted(comparison.own)),
            .init("unit", .string((unit ?? total.unit).symbol)),
            .init("day", .string(total.day)), .init("zone", .string(total.zone)),
            .init("peer", .string(total.peer.rawValue)),
            .init("total", try converted(total.value)), .init("difference", try converted(comparison.difference)),
            .init("complete", .bool(total.isComplete)), .init("read", .string(DateText.text(total.time, in: zone))),
            .init("goal", try converted(total.goal)),
        ])
    }
}
