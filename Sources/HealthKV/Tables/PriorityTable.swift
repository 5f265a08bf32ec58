import ColumnFormat
import HealthModel

/// The order of sources by type, and the kinds of sources from which the default order follows.
enum PriorityTable {
    /// The key of the record in `meta`.
    static let key: [UInt8] = Array("priorities".utf8)

    /// Returns the ranking of sources. A store written before this record existed derives it from the names.
    static func priorities(in snapshot: Snapshot) throws -> PriorityRecord {
        if let stored = try storedPriorities(in: snapshot) { return stored }
        var record = PriorityRecord()
        for number in try NameTable.numbers(.revision, snapshot.view, snapshot.tables) {
            let name = try NameTable.revision(number, in: snapshot)
            record.kinds[name.sourceNumber] = min(
                record.kinds[name.sourceNumber] ?? .other, SourceKind(name.source))
        }
        return record
    }

    static func storedPriorities(in snapshot: Snapshot) throws -> PriorityRecord? {
        if let changed = snapshot.context.state.priorities { return changed }
        guard let span = try snapshot.view.get(snapshot.tables[.meta], key) else { return nil }
        return try PriorityRecord(span, key: key)
    }

    /// Keeps the ranking in memory until the commit writes it: thousands of new sources must not each rewrite the whole
    /// record.
    static func put(_ record: PriorityRecord, in txn: inout WriteTransaction) {
        txn.state.priorities = record
        txn.state.isChanged = true
        txn.state.writes += 1
    }

    /// Writes a changed ranking: at the end of the commit.
    static func writeChanged(in txn: inout WriteTransaction) throws {
        guard let priorities = txn.state.priorities else { return }
        try txn.put(.meta, key, priorities.value(key: key, stamp: txn.stamp))
    }

    /// Returns the value of the ranking as it will be after this commit; empty if there is none.
    static func storedValue(in txn: borrowing WriteTransaction) throws -> [UInt8] {
        try storedPriorities(in: txn.snapshot)?.value(key: key, stamp: txn.stamp) ?? []
    }

    /// Updates the kind of a source from the product of a revision. If this changes the rank of the source, the
    /// summaries of all types of which it has samples become stale, and the winners among duplicates may change.
    static func notePriority(ofSource number: UInt32, _ source: Source, in txn: inout WriteTransaction) throws {
        let stored = try storedPriorities(in: txn.snapshot)
        // A ranking derived from names already includes this revision, so a comparison would not show a change.
        var record = try stored ?? priorities(in: txn.snapshot)
        let kind = min(record.kinds[number] ?? .other, SourceKind(source))
        guard stored == nil || record.kinds[number] != kind else { return }
        let isKnown = stored == nil || record.kinds[number] != nil
        record.kinds[number] = kind
        put(record, in: &txn)
        guard isKnown else { return }
        for (type, counts) in try SummaryTable.allCounts(in: txn.snapshot) where counts.sources[number] != nil {
            try markAllStale(type, in: &txn)
            if try ShadowMarks.shadows(type, in: txn) { txn.state.reranked.insert(type) }
        }
    }

    /// Marks every summary of a type as stale.
    static func markAllStale(_ type: UInt32, in txn: inout WriteTransaction) throws {
        let all = Instant.earliest.nanoseconds...Instant.latest.nanoseconds
        var range: ClosedRange<Int64>?
        // If a chunk cannot be read, the extent of the samples is unknown.
        do { range = try ChunkExtent.extent(of: type, in: txn.snapshot) } catch  where StoreError.isDamage(error) {
            range = all
        }
        guard let range else { return }
        txn.state.stale.mark(type, range.lowerBound, range.upperBound)
        txn.state.isChanged = true
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the order of sources that was set for a type; `nil` if the default applies.
    public func priority(of type: SampleType) throws -> [RankedSource]? {
        let snapshot = snapshot
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return nil }
        return try PriorityTable.priorities(in: snapshot).orders[number]
    }

    /// Returns the orders of sources that were set, by type.
    public func priorities() throws -> [SampleType: [RankedSource]] {
        let snapshot = snapshot
        var orders: [SampleType: [RankedSource]] = [:]
        for (number, order) in try PriorityTable.priorities(in: snapshot).orders {
            orders[try NameTable.type(number, in: snapshot)] = order
        }
        return orders
    }

    /// Returns the sources that have samples of a type, the best first: the order in which statistics merge them.
    public func rankedSources(of type: SampleType) throws -> [RankedSource] {
        let snapshot = snapshot
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return [] }
        let ranking = try SourceRanking.ranking(of: number, in: snapshot)
        return try ranking.classes.map {
            RankedSource(try NameTable.source($0.source, in: snapshot), isUserEntered: $0.isUserEntered)
        }
    }
}
