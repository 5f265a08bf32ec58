import HealthKV

/// `kvinspect changes STORE`
enum ChangesVerb: Verb {
    /// Changes read in one go.
    private static let pageSize = 1000

    static let description = VerbDescription(
        name: "changes", abstract: "Print what was saved and deleted since a token.",
        discussion: "Each change carries the token that continues after it. Without a token, all changes are printed.",
        arguments: [.store],
        options: [
            OptionDescription(name: "since", value: "token", help: "The token after which to begin."),
            OptionDescription(name: "limit", value: "count", help: "At most so many changes."),
            .format, .zone, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "changes", columns: ["change"] + SampleRecord.columns + ["from", "to", "token"],
        tableColumns: ["change", "type", "id", "start", "value", "unit", "token"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let limit =
            try arguments.convert("limit", reason: "Please provide a whole number from 1 on.") {
                Int($0).flatMap { $0 < 1 ? nil : $0 }
            } ?? .max
        var token = try arguments.convert("since", reason: "Please provide a token that this verb or 'info' printed.") {
            ChangeToken($0)
        }
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "changes")
        var hasMore = true
        try Listing.print(shape, arguments, console) { listing in
            try store.read { transaction in
                while hasMore, listing.count < limit {
                    let page = try transaction.changes(since: token, limit: min(pageSize, limit - listing.count))
                    for change in page.changes { try listing.append(ChangeRecord(change: change, zone: zone)) }
                    try progress.advance(to: listing.count)
                    token = page.next
                    hasMore = page.hasMore
                }
            }
            return [.init("next", .optional(token?.description)), .init("more", .bool(hasMore))]
        }
        progress.finish()
        return .clean
    }
}

/// One change as the tool prints it.
private struct ChangeRecord: JSONRecord {
    let change: Change
    let zone: Zone

    func write(to sink: inout some JSONSink) {
        sink.beginObject()
        switch change.kind {
        case .saved(let sample):
            sink.field("change", "saved")
            SampleRecord(sample: sample, detail: .listed(zone, nil)).writeFields(to: &sink)
        case .deleted(let deleted):
            sink.field("change", "deleted")
            sink.field("id", deleted.id.description)
            sink.field("type", deleted.type.identifier)
            sink.field("source", deleted.source.name)
            sink.field("syncIdentifier", optional: deleted.syncIdentifier)
            sink.field("syncVersion", deleted.version)
            sink.field("modified", deleted.modified.time, in: zone)
        case .removedRange(let range):
            sink.field("change", "removedRange")
            sink.field("type", optional: range.type?.identifier)
            sink.field("source", optional: range.source?.name)
            sink.field("from", range.from, in: zone)
            sink.field("to", range.to, in: zone)
        case .interrupted(let reason):
            sink.field("change", "interrupted")
            sink.field("reason", reason)
        }
        sink.field("token", change.token.description)
        sink.endObject()
    }
}
