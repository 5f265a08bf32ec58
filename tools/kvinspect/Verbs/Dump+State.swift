import HealthKV

/// Sync state as lines of a dump: `{"state":{"kind":"anchor",…}}`. What peers call samples and what they gave as totals `load`
/// takes; the rest is there to be looked at: a store that is loaded is new to its peers, and `load` passes it over.
struct StateLines {
    private let zone = Zone.utc
    private let print: (JSONValue) throws -> Void

    init(_ print: @escaping (JSONValue) throws -> Void) { self.print = print }

    func printAll(_ transaction: borrowing ReadTransaction) throws {
        for peer in try transaction.peers() { try line("peer", fields(of: peer)) }
        for anchor in try transaction.anchors() { try line("anchor", fields(of: anchor)) }
        for operation in try transaction.pending() { try line("pending", fields(of: operation)) }
        try transaction.forEachLink { try line("link", fields(of: $0)) }
        try transaction.forEachTotal { try line("total", fields(of: $0)) }
        for entry in try transaction.audit() { try line("audit", fields(of: entry)) }
        try printDeletions(transaction)
    }

    /// What the feed still knows of deletions.
    private func printDeletions(_ transaction: borrowing ReadTransaction) throws {
        var token: ChangeToken?
        var hasMore = true
        while hasMore {
            let page = try transaction.changes(since: token)
            for change in page.changes {
                switch change.kind {
                case .deleted(let sample): try line("deleted", fields(of: sample))
                case .removedRange(let range): try line("removedRange", fields(of: range))
                case .saved, .interrupted: break
                }
            }
            token = page.next
            hasMore = page.hasMore
        }
    }

    private func line(_ kind: String, _ fields: [JSONValue.Field]) throws {
        try print(.object([.init("state", .object([.init("kind", .string(kind))] + fields))]))
    }

    private func fields(of peer: Peer) -> [JSONValue.Field] {
        [
            .init("peer", .string(peer.name)), .init("registered", date(peer.registered)),
            .init("lastSeen", date(peer.lastSeen)),
            .init("acknowledged", .optional(peer.acknowledged?.description)),
        ]
    }

    private func fields(of anchor: Anchor) -> [JSONValue.Field] {
        [
            .init("peer", .string(anchor.peer)), .init("type", .string(anchor.type.identifier)),
            .init("scope", .string(anchor.scope)), .init("token", hex(anchor.token)), .init("time", date(anchor.time)),
            .init("outcome", .string(anchor.outcome)),
        ]
    }

    private func fields(of operation: PendingOperation) -> [JSONValue.Field] {
        [
            .init("id", .string(operation.id)), .init("peer", .string(operation.peer)),
            .init("operation", .string("\(operation.kind)")), .init("sample", .string(operation.sample.description)),
            .init("version", .integer(operation.version)), .init("attempts", .count(operation.attempts)),
            .init("nextTry", date(operation.nextTry)), .init("status", .string("\(operation.state)")),
            .init("reason", .string(operation.reason)),
        ]
    }

    private func fields(of link: PeerLink) -> [JSONValue.Field] {
        [
            .init("peer", .string(link.peer)), .init("sample", .string(link.sample.description)),
            .init("peerID", .string(link.peerID.description)), .init("version", .integer(link.version)),
            .init("provisional", .bool(link.isProvisional)),
        ]
    }

    private func fields(of total: DailyTotal) -> [JSONValue.Field] {
        [
            .init("peer", .string(total.peer)), .init("type", .string(total.type.identifier)),
            .init("day", .string(total.day)), .init("zone", .string(total.zone)),
            .init("value", total.value.map { .double($0) } ?? .null), .init("unit", .string(total.unit.symbol)),
            .init("complete", .bool(total.isComplete)), .init("time", date(total.time)),
        ]
    }

    private func fields(of entry: AuditEntry) -> [JSONValue.Field] {
        [
            .init("event", .string(entry.event)), .init("sample", .string(entry.sample.description)),
            .init("time", date(entry.time)), .init("displaced", hex(entry.displaced)),
        ]
    }

    private func fields(of sample: DeletedSample) -> [JSONValue.Field] {
        [
            .init("id", .string(sample.id.description)), .init("type", .string(sample.type.identifier)),
            .init("source", .string(sample.source.name)), .init("bundle", .string(sample.source.bundle)),
            .init("syncIdentifier", .optional(sample.syncIdentifier)), .init("syncVersion", .integer(sample.version)),
            .init("modified", date(sample.modified.time)), .init("replica", .integer(Int64(sample.modified.replica))),
        ]
    }

    private func fields(of range: RangeRemoval) -> [JSONValue.Field] {
        [
            .init("type", .optional(range.type?.identifier)), .init("source", .optional(range.source?.name)),
            .init("bundle", .optional(range.source?.bundle)), .init("from", date(range.from)),
            .init("to", date(range.to)),
        ]
    }

    /// A date; null where none is meant.
    private func date(_ instant: Instant) -> JSONValue {
        .optional(instant == .distantPast || instant == .distantFuture ? nil : instant, in: zone)
    }

    private func hex(_ bytes: [UInt8]) -> JSONValue {
        .string(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
}
