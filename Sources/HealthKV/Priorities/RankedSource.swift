import HealthModel

/// A place in the order in which sources win time from each other.
public struct RankedSource: Sendable, Hashable, Codable {
    /// The source that has the place, whatever its revision. Where the place or the source has no bundle, their names decide, unless
    /// another place names the source exactly.
    public var source: SourceIdentity
    /// Only the samples that a person typed in, or only the others; `nil` for all of the source, the typed ones first.
    public var isUserEntered: Bool?

    /// A place for a source: for all of its samples, unless `isUserEntered` picks those typed in or the others.
    public init(_ source: SourceIdentity, isUserEntered: Bool? = nil) {
        self.source = source
        self.isUserEntered = isUserEntered
    }

    private func covers(_ isUserEntered: Bool) -> Bool { (self.isUserEntered ?? isUserEntered) == isUserEntered }

    /// The place of a source's samples in an order.
    static func place(of source: SourceIdentity, isUserEntered: Bool, in order: [RankedSource]) -> Int? {
        order.firstIndex { $0.source == source && $0.covers(isUserEntered) }
            ?? order.firstIndex { place in
                (place.source.bundle.isEmpty || source.bundle.isEmpty) && isSameText(place.source.name, source.name)
                    && place.covers(isUserEntered)
            }
    }
}

extension SampleReading where Self: ~Copyable {
    /// The order of sources that was set for a type; `nil` where the default holds.
    public func priority(of type: SampleType) throws -> [RankedSource]? {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return nil }
        return try snapshot.priorities().orders[number]
    }

    /// The orders of sources that were set, by type.
    public func priorities() throws -> [SampleType: [RankedSource]] {
        let snapshot = snapshot
        var orders: [SampleType: [RankedSource]] = [:]
        for (number, order) in try snapshot.priorities().orders { orders[try snapshot.type(number)] = order }
        return orders
    }

    /// The sources that have samples of a type, the one that wins first: the order in which statistics merge them.
    public func rankedSources(of type: SampleType) throws -> [RankedSource] {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return [] }
        let ranking = try snapshot.ranking(of: number)
        return try ranking.classes.map { RankedSource(try snapshot.source($0.source), isUserEntered: $0.isUserEntered) }
    }
}

extension WriteTransaction {
    /// Sets the order in which the sources of a type win time from each other, or goes back to the default with `nil`.
    ///
    /// Sources that the order does not name follow in the default order: typed in by the user, watch, phone, others; among
    /// equals the one that the store met last comes first. Statistics follow at once.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.setPriority([RankedSource(SourceIdentity(name: "Phone"))], of: .stepCount)
    /// }
    /// ```
    public mutating func setPriority(_ order: [RankedSource]?, of type: SampleType) throws {
        guard (order ?? []).count <= PriorityRecord.orderLimit else {
            throw ModelError.numberOutOfRange(field: "sources of an order")
        }
        for place in order ?? [] {
            for text in [place.source.name, place.source.bundle] where text.utf8.count > Sample.textLimit {
                throw ModelError.malformedText(field: "source")
            }
        }
        try whole { transaction in
            let number = try transaction.number(of: type)
            var record = try transaction.snapshot.priorities()
            guard record.orders[number] != order else { return }
            record.orders[number] = order
            transaction.put(record)
            try transaction.markAllStale(number)
            if try transaction.shadows(number) { try transaction.rebuildShadows(of: number) }
        }
    }

    /// Keeps what ranks sources until the commit writes it: thousands of new sources must not each write the whole of it.
    private mutating func put(_ record: PriorityRecord) {
        context.priorities = record
        state.isChanged = true
        state.writes += 1
    }

    /// Keeps what the products of a source's revisions say of it. A source whose place changes so makes the summaries of all
    /// types that it has samples of stale, and its winners may be others.
    mutating func notePriority(ofSource number: UInt32, _ source: Source) throws {
        let stored = try snapshot.storedPriorities()
        // What is told from names knows this revision already, so nothing can be seen to change.
        var record = try stored ?? snapshot.priorities()
        let kind = min(record.kinds[number] ?? .other, SourceKind(source))
        guard stored == nil || record.kinds[number] != kind else { return }
        let isKnown = stored == nil || record.kinds[number] != nil
        record.kinds[number] = kind
        put(record)
        guard isKnown else { return }
        for (type, counts) in try snapshot.allCounts() where counts.sources[number] != nil {
            try markAllStale(type)
            if try shadows(type) { state.reranked.insert(type) }
        }
    }

    /// Marks every summary of a type as stale.
    mutating func markAllStale(_ type: UInt32) throws {
        let all = Instant.earliest.nanoseconds...Instant.latest.nanoseconds
        var range: ClosedRange<Int64>?
        // Where a chunk cannot be read nothing is known of how far samples reach.
        do { range = try snapshot.extent(of: type) } catch  where StoreError.isDamage(error) { range = all }
        guard let range else { return }
        context.stale.mark(type, range.lowerBound, range.upperBound)
        state.isChanged = true
    }
}
