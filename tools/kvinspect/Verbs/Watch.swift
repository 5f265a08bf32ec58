import HealthKV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `kvinspect watch STORE`
enum WatchVerb: Verb {
    static let description = VerbDescription(
        name: "watch", abstract: "Show what is written to a store, while it is written.",
        discussion:
            "Each look shows commits, the samples that were saved and deleted since the look before, what waits for peers, the "
            + "snapshots that are being read, and how the file and the journal grow. Between two looks nothing is held. A terminal "
            + "shows one view that is redrawn; elsewhere each look is one object a line. No health value is shown.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "interval", value: "seconds", help: "The time between two looks, such as 0.5.", defaultValue: "1"),
            OptionDescription(
                name: "count", value: "count", help: "End after so many looks.", defaultValue: "until Ctrl-C"),
            .format, .zone,
        ])

    private static let shape = Listing.Shape(
        key: "looks",
        columns: [
            "time", "commit", "commits", "transaction", "samples", "added", "deleted", "ranges_removed", "types",
            "pending",
            "peers", "readers", "oldest_reader", "file_bytes", "live_bytes", "free_pages", "journal_bytes",
            "journal_commits", "restarted",
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let reason = "Please provide a number of seconds from 0.01 on."
        let interval =
            try arguments.convert("interval", reason: reason) {
                Double($0).flatMap { $0 >= 0.01 && $0 <= 1e6 ? Duration.seconds($0) : nil }
            } ?? .seconds(1)
        let count = try arguments.count("count")
        var store = try WatchedStore(arguments.store)
        let format = arguments.listFormat(console)
        // Ctrl-C is how a watch ends.
        do {
            if format == .table {
                var view = WatchView(folder: arguments.store, zone: zone, console)
                try repeatLooks(every: interval, count) { try view.show(try store.look()) }
            } else {
                try Listing.print(shape, arguments, console, format: format) { listing in
                    do {
                        try repeatLooks(every: interval, count) {
                            try listing.append(record(try store.look(), zone))
                            try listing.flush()
                        }
                    } catch is Interruption {}
                    return []
                }
            }
        } catch is Interruption {}
        return .clean
    }

    /// Looks at times that are `interval` apart, and leaves out those that have passed meanwhile.
    private static func repeatLooks(every interval: Duration, _ count: Int?, _ look: () throws -> Void) throws {
        let clock = ContinuousClock()
        var next = clock.now
        var looks = 0
        while count.map({ looks < $0 }) ?? true {
            while clock.now < next {
                try Interruption.check()
                let rest = min(next - clock.now, .milliseconds(20)).components
                usleep(UInt32(max(0, rest.attoseconds / 1_000_000_000_000)))
            }
            try Interruption.check()
            try look()
            looks += 1
            next = max(next + interval, clock.now)
        }
    }

    private static func record(_ look: WatchedStore.Look, _ zone: Zone) -> JSONValue {
        let activity = look.activity
        let types = look.changes.sorted { $0.key.shortName < $1.key.shortName }
        return .object([
            .init("time", .string(DateText.text(look.time, in: zone))),
            .init("commit", .integer(Int64(activity.commit))), .init("commits", .integer(Int64(look.commits))),
            .init("transaction", .count(activity.transaction)), .init("samples", .count(activity.samples)),
            .init("added", .count(look.added)), .init("deleted", .count(look.deleted)),
            .init("ranges_removed", .count(look.rangesRemoved)),
            .init(
                "types",
                .array(
                    types.map {
                        .object([
                            .init("type", .string($0.key.shortName)), .init("added", .count($0.value.added)),
                            .init("deleted", .count($0.value.deleted)),
                        ])
                    })), .init("pending", .count(activity.pending.reduce(0) { $0 + $1.count })),
            .init(
                "peers",
                .array(
                    activity.pending.map {
                        .object([.init("peer", .string($0.peer.rawValue)), .init("pending", .count($0.count))])
                    })), .init("readers", .count(activity.readers.count)),
            .init("oldest_reader", .optional(activity.readers.compactMap(\.transaction).min())),
            .init("file_bytes", .count(activity.fileBytes)), .init("live_bytes", .count(activity.liveBytes)),
            .init("free_pages", .count(activity.freePages)), .init("journal_bytes", .count(activity.journalBytes)),
            .init("journal_commits", .count(activity.journaledCommits)), .init("restarted", .bool(look.isRestarted)),
        ])
    }
}
