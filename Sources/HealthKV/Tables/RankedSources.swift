import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Returns the order of sources that was set for a type; `nil` if the default applies.
    public func priority(of type: SampleType) throws -> [RankedSource]? {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return nil }
        return try snapshot.priorities().orders[number]
    }

    /// Returns the orders of sources that were set, by type.
    public func priorities() throws -> [SampleType: [RankedSource]] {
        let snapshot = snapshot
        var orders: [SampleType: [RankedSource]] = [:]
        for (number, order) in try snapshot.priorities().orders { orders[try snapshot.type(number)] = order }
        return orders
    }

    /// Returns the sources that have samples of a type, the best first: the order in which statistics merge them.
    public func rankedSources(of type: SampleType) throws -> [RankedSource] {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return [] }
        let ranking = try snapshot.ranking(of: number)
        return try ranking.classes.map { RankedSource(try snapshot.source($0.source), isUserEntered: $0.isUserEntered) }
    }
}

extension WriteTransaction {
    /// Sets the order in which the sources of a type win time from each other, or resets it to the default with `nil`.
    ///
    /// Sources that the order does not name follow in the default order: typed in by the user, watch, phone, others;
    /// among equals, the one that the store met last comes first. Statistics reflect the change immediately.
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

    /// Keeps the ranking in memory until the commit writes it: thousands of new sources must not each rewrite the whole
    /// record.
    private mutating func put(_ record: PriorityRecord) {
        state.priorities = record
        state.isChanged = true
        state.writes += 1
    }

    /// Updates the kind of a source from the product of a revision. If this changes the rank of the source, the
    /// summaries of all types of which it has samples become stale, and the winners among duplicates may change.
    mutating func notePriority(ofSource number: UInt32, _ source: Source) throws {
        let stored = try snapshot.storedPriorities()
        // A ranking derived from names already includes this revision, so a comparison would not show a change.
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
        // If a chunk cannot be read, the extent of the samples is unknown.
        do { range = try snapshot.extent(of: type) } catch  where StoreError.isDamage(error) { range = all }
        guard let range else { return }
        state.stale.mark(type, range.lowerBound, range.upperBound)
        state.isChanged = true
    }
}
