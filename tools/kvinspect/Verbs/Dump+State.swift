import HealthKV

/// Sync state as lines of a dump: `{"state":{"kind":"anchor",…}}`. `load` takes all of it but removed ranges, whose
/// samples have deletions of their own: deletions stand first, before the peers that would have to be told of them, and
/// then what waits for each.
struct StateLines {
    private let sync = SyncFields(zone: .utc)

    func printAll(
        _ transaction: borrowing ReadTransaction, skippingDamage: Bool, isComplete: Bool, to listing: inout Listing
    ) throws {
        try printDeletions(transaction, skippingDamage: skippingDamage, to: &listing)
        try transaction.forEachDeletedContent(skippingDamage: skippingDamage) { sample, time in
            try listing.append(ContentLine(sample: sample, time: time))
        }
        // An import that went on from its place would not bring what is missing here.
        for job in isComplete ? try transaction.unfinishedImports() : [] {
            try listing.append(
                line("import", [.init("job", .string(job.job)), .init("batches", .count(job.position))]))
        }
        for peer in try transaction.peers() { try listing.append(line("peer", fields(of: peer))) }
        try transaction.forEachPurged { type, source, latest in
            try listing.append(
                line(
                    "purged",
                    [
                        .init("type", .string(type.identifier)), .init("source", .string(source.name)),
                        .init("bundle", .string(source.bundle)),
                        .init("latest", .optional(latest, in: .utc)),
                    ]))
        }
        for anchor in try transaction.anchors() { try listing.append(line("anchor", sync.fields(of: anchor))) }
        for operation in try transaction.pending() {
            let access = JSONValue.Field("accessType", .optional(operation.accessType?.identifier))
            try listing.append(line("pending", sync.fields(of: operation) + [access]))
        }
        try transaction.forEachLink(skippingDamage: skippingDamage) {
            try listing.append(line("link", sync.fields(of: $0)))
        }
        try transaction.forEachTotal { try listing.append(line("total", fields(of: $0))) }
        for entry in try transaction.audit() {
            let displaced = JSONValue.Field("displaced", SyncFields.hex(entry.displaced))
            try listing.append(line("audit", sync.fields(of: entry) + [displaced]))
        }
        try transaction.forEachSyncNote { name, bytes in
            guard StateLines.isOfCopies(name) else { return }
            try listing.append(
                line("note", [.init("name", .string(name)), .init("bytes", SyncFields.hex(bytes))]))
        }
        try printRemovals(transaction, to: &listing)
    }

    /// Reads what ``printAll(_:skippingDamage:isComplete:to:)`` prints. Throws where a part of it is damaged.
    static func readAll(_ transaction: borrowing ReadTransaction) throws {
        var place: SampleID?
        repeat { place = try transaction.deletions(after: place).next } while place != nil
        try transaction.forEachDeletedContent(skippingDamage: false) { _, _ in }
        try transaction.forEachDeletionUnderWay(skippingDamage: false) { _ in }
        _ = try transaction.unfinishedImports()
        _ = try transaction.peers()
        try transaction.forEachPurged { _, _, _ in }
        _ = try transaction.anchors()
        _ = try transaction.pending()
        try transaction.forEachLink(skippingDamage: false) { _ in }
        try transaction.forEachTotal { _ in }
        _ = try transaction.audit()
        try transaction.forEachSyncNote { _, _ in }
        var token: ChangeToken?
        var hasMore = true
        while hasMore {
            let page = try transaction.changes(since: token)
            (token, hasMore) = (page.next, page.hasMore)
        }
    }

    /// Whether a copy of the store takes a note over: not who syncs at the moment, and not what is kept of the readers
    /// of this store's feed, which name places in it.
    static func isOfCopies(_ note: String) -> Bool {
        !["lease:", "memory:", "reader:"].contains { note.hasPrefix($0) }
    }

    /// All deletions that the store remembers, and those that an unfinished operation has yet to write down.
    private func printDeletions(
        _ transaction: borrowing ReadTransaction, skippingDamage: Bool, to listing: inout Listing
    ) throws {
        var place: SampleID?
        repeat {
            let page = try transaction.deletions(after: place)
            for deletion in page.deletions { try listing.append(line("deleted", fields(of: deletion))) }
            place = page.next
        } while place != nil
        try transaction.forEachDeletionUnderWay(skippingDamage: skippingDamage) {
            try listing.append(line("deleted", fields(of: $0)))
        }
    }

    /// The ranges that the feed still knows as removed.
    private func printRemovals(_ transaction: borrowing ReadTransaction, to listing: inout Listing) throws {
        var token: ChangeToken?
        var hasMore = true
        while hasMore {
            let page = try transaction.changes(since: token)
            for change in page.changes {
                if case .removedRange(let range) = change.kind {
                    try listing.append(line("removedRange", fields(of: range)))
                }
            }
            token = page.next
            hasMore = page.hasMore
        }
    }

    private func line(_ kind: String, _ fields: [JSONValue.Field]) -> JSONValue {
        .object([.init("state", .object([.init("kind", .string(kind))] + fields))])
    }

    private func fields(of peer: RegisteredPeer) -> [JSONValue.Field] {
        [
            .init("peer", .string(peer.id.rawValue)), .init("registered", sync.date(peer.registered)),
            .init("lastSeen", sync.date(peer.lastSeen)),
            .init("acknowledged", .optional(peer.acknowledged?.description)),
            .init("queue", .optional(peer.queue.map { $0.takesImports ? "all" : "own" })),
            .init(
                "queueTypes",
                peer.queue?.types.map { types in .array(types.sorted().map { .string($0.identifier) }) } ?? .null),
            .init("retired", .bool(peer.isRetired)),
        ]
    }

    private func fields(of total: DailyTotal) -> [JSONValue.Field] {
        [
            .init("peer", .string(total.peer.rawValue)), .init("type", .string(total.type.identifier)),
            .init("day", .string(total.day)), .init("zone", .string(total.zone)),
            .init("value", total.value.map { .double($0) } ?? .null), .init("unit", .string(total.unit.symbol)),
            .init("complete", .bool(total.isComplete)), .init("time", sync.date(total.time)),
        ] + (total.goal.map { [.init("goal", .double($0))] } ?? [])
    }

    private func fields(of sample: DeletedSample) -> [JSONValue.Field] {
        [
            .init("id", .string(sample.id.description)), .init("type", .string(sample.type.identifier)),
            .init("source", .string(sample.source.name)), .init("bundle", .string(sample.source.bundle)),
            .init("syncIdentifier", .optional(sample.syncIdentifier)), .init("syncVersion", .integer(sample.version)),
            .init("modified", sync.date(sample.modified.time)),
            .init("replica", .integer(Int64(sample.modified.replica))), .init("group", .optional(sample.group)),
            .init("start", .optional(sample.start, in: .utc)), .init("end", .optional(sample.end, in: .utc)),
        ]
    }

    private func fields(of range: RangeRemoval) -> [JSONValue.Field] {
        [
            .init("type", .optional(range.type?.identifier)), .init("source", .optional(range.source?.name)),
            .init("bundle", .optional(range.source?.bundle)), .init("from", sync.date(range.from)),
            .init("to", sync.date(range.to)),
        ]
    }
}

/// The content of a deleted sample, kept so that the deletion can be undone.
private struct ContentLine: JSONRecord {
    let sample: Sample
    let time: Instant

    func write(to sink: inout some JSONSink) {
        sink.beginObject()
        sink.key("state")
        sink.beginObject()
        sink.field("kind", "content")
        sink.field("time", time, in: .utc)
        sink.key("content")
        SampleRecord(sample: sample, detail: .lossless).write(to: &sink)
        sink.endObject()
        sink.endObject()
    }
}
