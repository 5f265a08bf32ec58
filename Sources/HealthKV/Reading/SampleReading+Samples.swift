import ColumnFormat
import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Returns the samples of a type in a range, ordered by start, end and id.
    ///
    /// ```swift
    /// let march = try store.read { try $0.samples(of: .bodyMass, from: a, to: b) }
    /// let newest = try store.read { try $0.samples(of: .stepCount, order: .descending, limit: 10) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of the samples.
    ///   - from: the start of the range, inclusive.
    ///   - to: the end of the range, exclusive.
    ///   - rule: by default every sample that overlaps the range, including long ones that began before it.
    ///   - order: whether the earliest or the latest sample comes first.
    ///   - limit: the maximum number of samples to return; `nil` for all.
    ///   - source: return only samples of this source.
    ///   - includeShadowed: also return samples that lost against another at exactly the same time.
    public func samples(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, limit: Int? = nil, source: SourceIdentity? = nil, includeShadowed: Bool = false
    ) throws -> [Sample] {
        var samples: [Sample] = []
        try forEachSample(
            of: type, from: from, to: to, rule: rule, order: order, limit: limit, source: source,
            includeShadowed: includeShadowed
        ) { sample in
            samples.append(sample)
            return true
        }
        return samples
    }

    /// Calls `body` with each sample in turn until it returns `false`. Memory use stays constant.
    public func forEachSample(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, limit: Int? = nil, source: SourceIdentity? = nil,
        includeShadowed: Bool = false,
        _ body: (Sample) throws -> Bool
    ) throws {
        var left = limit ?? .max
        try snapshot.require(left, 0, "limit")
        guard left > 0, let number = try NameTable.askedNumber(of: type, in: snapshot) else { return }
        let query = SampleQuery(
            range: TimeRange(from: from, to: to), rule: rule, order: order, source: source,
            includeShadowed: includeShadowed)
        let snapshot = snapshot
        try RowReader.forEachRow(of: number, query, in: snapshot) { row in
            left -= 1
            return try body(NameTable.sample(row, number, in: snapshot)) && left > 0
        }
    }

    /// Calls `body` with each readable sample in turn until it returns `false`. Skips damaged chunks, and returns the
    /// ranges of time in which samples may therefore be missing.
    ///
    /// ```swift
    /// let lost = try store.read { txn in
    ///     try txn.forEachReadableSample(of: .stepCount) { sample in
    ///         print(sample.start)
    ///         return true
    ///     }
    /// }
    /// for part in lost { print(part.type, part.starts.from, part.starts.to) }
    /// ```
    public func forEachReadableSample(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, source: SourceIdentity? = nil, includeShadowed: Bool = false,
        _ body: (Sample) throws -> Bool
    ) throws -> [DamagedRange] {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return [] }
        let query = SampleQuery(
            range: TimeRange(from: from, to: to), rule: rule, order: order, source: source,
            includeShadowed: includeShadowed)
        let snapshot = snapshot
        let log = DamageLog()
        try RowReader.forEachRow(of: number, query, skippingDamage: log, in: snapshot) { row in
            try body(NameTable.sample(row, number, in: snapshot))
        }
        return log.ranges(of: type)
    }

    /// Returns the earliest sample of a type.
    public func first(of type: SampleType) throws -> Sample? { try samples(of: type, limit: 1).first }

    /// Returns the latest sample of a type, by start.
    public func latest(of type: SampleType) throws -> Sample? {
        try samples(of: type, order: .descending, limit: 1).first
    }

    /// Returns the number of samples of a type in a range, without shadowed ones.
    public func count(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap
    ) throws -> Int {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return 0 }
        // A sample whose end is not known yet does not end in any range.
        if from == .distantPast, to == .distantFuture, rule != .strictEnd {
            let counts = try SummaryTable.counts(of: number, in: snapshot)
            return counts.samples - counts.shadowed
        }
        let query = SampleQuery(range: TimeRange(from: from, to: to), rule: rule)
        return try RowReader.count(of: number, query, in: snapshot)
    }

    /// Returns the number of samples in the store, including shadowed ones.
    public func count() throws -> Int { try SummaryTable.allCounts(in: snapshot).reduce(0) { $0 + $1.counts.samples } }

    /// Returns the sample with an id.
    public func sample(id: SampleID) throws -> Sample? {
        let snapshot = snapshot
        guard let found = try SampleLookup.find(id, in: snapshot), !found.isHidden else { return nil }
        return try NameTable.sample(found.row, found.lane.type, in: snapshot)
    }

    /// Returns the sample with a sync identifier of a type and source.
    public func sample(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> Sample? {
        try samples(syncIdentifier: syncIdentifier).first { $0.type == type && $0.source.identity == source }
    }

    /// Returns the samples with a sync identifier, of any type and source.
    public func samples(syncIdentifier: String) throws -> [Sample] {
        let snapshot = snapshot
        return try SampleLookup.find(syncIdentifier: syncIdentifier, in: snapshot).filter {
            !$0.isHidden
        }.map {
            try NameTable.sample($0.row, $0.lane.type, in: snapshot)
        }
    }

    /// Returns the samples of a group, such as the nutrients of a meal. With `source`, returns only samples of that
    /// source, because another app may have used the same text.
    public func samples(group: String, source: SourceIdentity? = nil) throws -> [Sample] {
        let snapshot = snapshot
        return try SampleLookup.find(group: group, of: source.map { [$0] }, in: snapshot).filter { !$0.isHidden }.map {
            try NameTable.sample($0.row, $0.lane.type, in: snapshot)
        }
    }

    /// Returns a type's times and values as arrays, decoded directly into them: the fastest way to a chart.
    ///
    /// Includes samples that start in `from..<to`, without shadowed ones. Values are in the canonical unit.
    public func series(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture
    ) throws -> Series {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else {
            return Series(times: [], values: [], unit: type.canonicalUnit)
        }
        return try ColumnReader.series(number, from: from, to: to, in: snapshot)
    }

    /// Folds over a type's columns without copying them: calls `body` with the times and values of one chunk after the
    /// other.
    ///
    /// ```swift
    /// let total = try store.read { txn in
    ///     try txn.fold(.stepCount, into: 0.0) { sum, _, values in
    ///         for index in values.indices { sum += values[index] }
    ///     }
    /// }
    /// ```
    ///
    /// Chunks come in order of time, except that a type with both short and very long samples gives the short ones
    /// first.
    public func fold<Result>(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, into initial: Result,
        _ body: (inout Result, Span<Int64>, Span<Double>) throws -> Void
    ) throws -> Result {
        var result = initial
        guard from < to, let number = try NameTable.askedNumber(of: type, in: snapshot) else { return result }
        try ColumnReader.foldColumns(number, from: from, to: to, in: snapshot) { times, values in
            try body(&result, times, values)
        }
        return result
    }
}
