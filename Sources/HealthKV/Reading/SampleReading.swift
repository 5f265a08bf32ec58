import ColumnFormat
import HealthModel

/// What reading and writing transactions can read.
public protocol SampleReading: ~Copyable {
    /// What the transaction sees.
    var snapshot: Snapshot { @_lifetime(borrow self) get }
}

extension SampleReading where Self: ~Copyable {
    /// The samples of a type in a range, ordered by start, end and id.
    ///
    /// ```swift
    /// let march = try store.read { try $0.samples(of: .bodyMass, from: a, to: b) }
    /// let newest = try store.read { try $0.samples(of: .stepCount, order: .descending, limit: 10) }
    /// ```
    ///
    /// - Parameters:
    ///   - rule: by default every sample that overlaps the range, long ones that began before it included.
    ///   - limit: the most samples to give; `nil` for all.
    ///   - source: give samples of this source only.
    ///   - includeShadowed: give samples too that lost against another at exactly the same time.
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

    /// Calls `body` with each sample in turn until it answers false; memory stays flat.
    public func forEachSample(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, limit: Int? = nil, source: SourceIdentity? = nil,
        includeShadowed: Bool = false,
        _ body: (Sample) throws -> Bool
    ) throws {
        var left = limit ?? .max
        try snapshot.require(left, 0, "limit")
        guard left > 0, let number = try snapshot.askedNumber(of: type) else { return }
        let query = SampleQuery(
            range: TimeRange(from: from, to: to), rule: rule, order: order, source: source,
            includeShadowed: includeShadowed)
        let snapshot = snapshot
        try snapshot.forEachRow(of: number, query) { row in
            left -= 1
            return try body(snapshot.sample(row, number)) && left > 0
        }
    }

    /// Calls `body` with each sample that can be read, in turn, until it answers false. Damaged chunks are passed over; the answer
    /// tells in which stretches of time there may have been others.
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
        guard let number = try snapshot.askedNumber(of: type) else { return [] }
        let query = SampleQuery(
            range: TimeRange(from: from, to: to), rule: rule, order: order, source: source,
            includeShadowed: includeShadowed)
        let snapshot = snapshot
        let log = DamageLog()
        try snapshot.forEachRow(of: number, query, skippingDamage: log) { row in
            try body(snapshot.sample(row, number))
        }
        return log.ranges(of: type)
    }

    /// The earliest sample of a type.
    public func first(of type: SampleType) throws -> Sample? { try samples(of: type, limit: 1).first }

    /// The latest sample of a type, by start.
    public func latest(of type: SampleType) throws -> Sample? {
        try samples(of: type, order: .descending, limit: 1).first
    }

    /// How many samples of a type a range has; shadowed ones do not count.
    public func count(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap
    ) throws -> Int {
        guard let number = try snapshot.askedNumber(of: type) else { return 0 }
        // An end that is not known yet lies in no range.
        if from == .distantPast, to == .distantFuture, rule != .strictEnd {
            let counts = try snapshot.counts(of: number)
            return counts.samples - counts.shadowed
        }
        let query = SampleQuery(range: TimeRange(from: from, to: to), rule: rule)
        return try snapshot.count(of: number, query)
    }

    /// How many samples the store has, shadowed ones included.
    public func count() throws -> Int { try snapshot.allCounts().reduce(0) { $0 + $1.counts.samples } }

    /// The sample with an id.
    public func sample(id: SampleID) throws -> Sample? {
        let snapshot = snapshot
        guard let found = try snapshot.find(id), !found.isHidden else { return nil }
        return try snapshot.sample(found.row, found.lane.type)
    }

    /// The sample with a sync identifier of a type and source.
    public func sample(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> Sample? {
        try samples(syncIdentifier: syncIdentifier).first { $0.type == type && $0.source.identity == source }
    }

    /// The samples with a sync identifier, of whatever type and source.
    public func samples(syncIdentifier: String) throws -> [Sample] {
        let snapshot = snapshot
        return try snapshot.find(syncIdentifier: syncIdentifier).filter {
            !$0.isHidden
        }.map {
            try snapshot.sample($0.row, $0.lane.type)
        }
    }

    /// The samples of a group, such as the nutrients of a meal; of one source only if it is given, since another app may
    /// have chosen the same text.
    public func samples(group: String, source: SourceIdentity? = nil) throws -> [Sample] {
        let snapshot = snapshot
        return try snapshot.find(group: group, of: source.map { [$0] }).filter { !$0.isHidden }.map {
            try snapshot.sample($0.row, $0.lane.type)
        }
    }

    /// A type's times and values as arrays, decoded straight into them: the fastest way to a chart.
    ///
    /// Samples that start in `from..<to` are given; shadowed ones are left out. Values are in the canonical unit.
    public func series(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture
    ) throws -> Series {
        guard let number = try snapshot.askedNumber(of: type) else {
            return Series(times: [], values: [], unit: type.canonicalUnit)
        }
        return try snapshot.series(number, from: from, to: to)
    }

    /// Folds over a type's columns without copying them: `body` sees the times and values of one chunk after the other.
    ///
    /// ```swift
    /// let total = try store.read { txn in
    ///     try txn.fold(.stepCount, into: 0.0) { sum, _, values in
    ///         for index in values.indices { sum += values[index] }
    ///     }
    /// }
    /// ```
    ///
    /// Chunks come in order of time; a type that has both short and very long samples gives the short ones first.
    public func fold<Result>(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, into initial: Result,
        _ body: (inout Result, Span<Int64>, Span<Double>) throws -> Void
    ) throws -> Result {
        var result = initial
        guard from < to, let number = try snapshot.askedNumber(of: type) else { return result }
        try snapshot.foldColumns(number, from: from, to: to) { times, values in try body(&result, times, values) }
        return result
    }
}

extension Snapshot {
    /// Refuses a number that somebody passed and that is below what can be meant.
    func require(_ number: Int, _ least: Int, _ name: String) throws(StoreError) {
        try StoreError.require(number, least, name, path: context.path)
    }

    /// Counts picked rows: whole chunks by their headers where that is enough.
    func count(of type: UInt32, _ query: SampleQuery) throws -> Int {
        guard !query.range.isEmpty else { return 0 }
        var count = 0
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            let starts = query.starts(of: duration)
            let inner = (from: Point.at(query.range.from.nanoseconds), to: starts.to)
            try forEachChunk(lane, from: starts.from, to: starts.to) { chunk in
                // Samples that start inside and need not end inside are picked whatever they are.
                if query.rule != .strictEnd, inner.from <= chunk.key.lower, chunk.upper <= inner.to,
                    !mayHide(lane, chunk.key.lower.start...chunk.upper.start)
                {
                    count += chunk.rows - chunk.shadowed
                } else {
                    for row in try visibleRows(chunk) where query.picks(row) { count += 1 }
                }
                return true
            }
        }
        return count
    }
}
