import ColumnFormat
import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Returns the samples that a query selects, ordered by start, end and id.
    ///
    /// ```swift
    /// let newest = try store.read { txn in
    ///     try txn.samples(SampleQuery(.stepCount, rule: .strictStart, order: .descending, limit: 10))
    /// }
    /// ```
    public func samples(_ query: SampleQuery) throws -> [Sample] {
        var samples: [Sample] = []
        try forEachSample(query) { sample in
            samples.append(sample)
            return true
        }
        return samples
    }

    /// Returns the samples of a type in a range, ordered by start, end and id: the short form of ``samples(_:)``.
    ///
    /// ```swift
    /// let march = try store.read { try $0.samples(of: .bodyMass, from: a, to: b) }
    /// let newest = try store.read { try $0.samples(of: .stepCount, order: .descending, limit: 10) }
    /// let typed = try store.read { try $0.samples(of: .bodyMass, where: .isUserEntered) }
    /// ```
    public func samples(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture,
        order: SampleOrder = .ascending, limit: Int? = nil, where filter: SampleFilter? = nil
    ) throws -> [Sample] {
        try samples(SampleQuery(type, from: from, to: to, order: order, limit: limit, where: filter))
    }

    /// Calls `body` with each sample that a query selects, in turn, until it returns `false`. Memory use stays
    /// constant.
    public func forEachSample(_ query: SampleQuery, _ body: (Sample) throws -> Bool) throws {
        let snapshot = snapshot
        try snapshot.touching(query.type, query.range) {
            var left = try query.checkedLimit(in: snapshot)
            guard left > 0, let number = try NameTable.askedNumber(of: query.type, in: snapshot) else { return }
            try QueryRows.forEachRow(of: number, query, wanted: left, in: snapshot) { row, _ in
                left -= 1
                let sample = try NameTable.sample(row, number, in: snapshot)
                return try snapshot.calling { try body(sample) } && left > 0
            }
        }
    }

    /// Calls `body` with each sample of a type in a range until it returns `false`: the short form of
    /// ``forEachSample(_:_:)``.
    public func forEachSample(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture,
        order: SampleOrder = .ascending, _ body: (Sample) throws -> Bool
    ) throws {
        try forEachSample(SampleQuery(type, from: from, to: to, order: order), body)
    }

    /// Calls `body` with each readable sample that a query selects, in turn, until it returns `false`. Skips damaged
    /// chunks, and returns the ranges of time in which samples may therefore be missing.
    ///
    /// ```swift
    /// let lost = try store.read { txn in
    ///     try txn.forEachReadableSample(SampleQuery(.stepCount)) { sample in
    ///         print(sample.start)
    ///         return true
    ///     }
    /// }
    /// for part in lost { print(part.type, part.starts.from, part.starts.to) }
    /// ```
    public func forEachReadableSample(
        _ query: SampleQuery, _ body: (Sample) throws -> Bool
    ) throws -> [DamagedRange] {
        let snapshot = snapshot
        return try snapshot.touching(query.type, query.range) {
            var left = try query.checkedLimit(in: snapshot)
            guard left > 0, let number = try NameTable.askedNumber(of: query.type, in: snapshot) else { return [] }
            let log = DamageLog()
            try QueryRows.forEachRow(of: number, query, wanted: left, log, in: snapshot) { row, _ in
                left -= 1
                let sample = try NameTable.sample(row, number, in: snapshot)
                return try snapshot.calling { try body(sample) } && left > 0
            }
            return log.ranges(of: query.type)
        }
    }

    /// Returns the earliest sample of a type.
    public func first(of type: SampleType) throws -> Sample? { try samples(of: type, limit: 1).first }

    /// Returns the latest sample of a type, by start.
    public func latest(of type: SampleType) throws -> Sample? {
        let snapshot = snapshot
        return try snapshot.touching(type) {
            guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return nil }
            // Apps ask for it again and again, and within a snapshot it is the same.
            if let known = snapshot.context.latest[number] { return known }
            let found = try samples(of: type, order: .descending, limit: 1).first
            if !snapshot.context.isOfWriter { snapshot.context.latest[number] = found }
            return found
        }
    }

    /// Returns the number of samples that a query selects. Without a source and a filter, chunks that match as a whole
    /// are counted without being decoded.
    public func count(_ query: SampleQuery) throws -> Int {
        let snapshot = snapshot
        return try snapshot.touching(query.type, query.range) { try SampleCount.count(query, in: snapshot) }
    }

    /// Returns the number of samples of a type in a range, without shadowed ones: the short form of ``count(_:)``.
    public func count(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture,
        where filter: SampleFilter? = nil
    ) throws -> Int {
        try count(SampleQuery(type, from: from, to: to, where: filter))
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

    /// Returns the times and values of the samples that a query selects, in its order. Values are in the canonical
    /// unit.
    ///
    /// ```swift
    /// let series = try store.read { try $0.series(SampleQuery(.heartRate, from: a, to: b, limit: 500)) }
    /// ```
    ///
    /// A query that selects by start alone is decoded directly into the arrays, as by ``series(_:from:to:)``; any other
    /// is read row by row.
    public func series(_ query: SampleQuery) throws -> Series {
        let snapshot = snapshot
        // The unit of a type without a canonical one is that of all its samples.
        return try snapshot.touching(query.type, snapshot.unit(of: query.type) == nil ? .all : query.range) {
            let limit = try query.checkedLimit(in: snapshot)
            guard let number = try NameTable.askedNumber(of: query.type, in: snapshot) else {
                return Series(times: [], values: [], unit: snapshot.unit(of: query.type))
            }
            if query.selectsByStartAlone {
                return try ColumnReader.series(number, from: query.range.from, to: query.range.to, in: snapshot)
            }
            return try ColumnReader.series(number, query, limit: limit, in: snapshot)
        }
    }

    /// Returns a type's times and values as arrays, decoded directly into them: the fastest way to a chart.
    ///
    /// Includes samples that start in `from..<to`, without shadowed ones. Values are in the canonical unit.
    public func series(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture
    ) throws -> Series {
        try series(SampleQuery(type, from: from, to: to, rule: .strictStart))
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
        let snapshot = snapshot
        try snapshot.touching(type, snapshot.unit(of: type) == nil ? .all : TimeRange(from: from, to: to)) {
            guard from < to, let number = try NameTable.askedNumber(of: type, in: snapshot) else { return }
            try ColumnReader.foldColumns(number, from: from, to: to, in: snapshot) { times, values in
                try snapshot.calling { try body(&result, times, values) }
            }
        }
        return result
    }
}
