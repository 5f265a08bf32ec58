import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with each bucket of a query in the order of time. Computes the range in slices, so memory use stays
    /// constant however many buckets there are.
    ///
    /// ```swift
    /// try store.read { txn in
    ///     try txn.forEachStatistics(StatisticsQuery(.stepCount, by: .hour, calendar: calendar)) { hour in
    ///         print(hour.start, hour.sum ?? 0)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - query: the query whose buckets to compute.
    ///   - progress: called before each slice with the finished share of the time, 0 to 1.
    ///   - body: called with each bucket. If it throws, the call ends with the same error.
    public func forEachStatistics(
        _ query: StatisticsQuery, progress: (Double) throws -> Void = { _ in },
        _ body: (Statistics) throws -> Void
    ) throws {
        try forEachStatistics(query, sliceLimit: 8_192, progress: progress, body)
    }

    func forEachStatistics(
        _ query: StatisticsQuery, sliceLimit: Int, progress: (Double) throws -> Void,
        _ body: (Statistics) throws -> Void
    ) throws {
        let (from, to) = try StatisticsPlan.reach(of: query, snapshot, timeOfTotals(askedBy: query))
        guard query.borders == nil, let interval = query.interval, from < to else {
            try progress(0)
            for bucket in try statistics(query) { try body(bucket) }
            return try progress(1)
        }
        let (first, last) = (max(from, .earliest), min(to, .latest))
        // If the query has no end, the last bucket is whole.
        let end = query.to == .distantFuture ? Instant.latest : last
        let length = interval.sliceLength(sliceLimit, of: first, last)
        var part = query
        part.from = from
        var position = first
        // Report the start and the end of an empty range, too.
        if position >= last { try progress(0) }
        while position < last {
            try progress(last.distance(from: first, to: position))
            let borders = BucketBorders(
                interval, anchor: query.anchor, calendar: query.calendar, from: position,
                to: min(position + length, last))
            let next = borders?.instants.last.map { min(Instant(nanoseconds: $0), end) } ?? end
            part.to = max(next, position + 1)
            let found = try statistics(part)
            for bucket in found { try body(bucket) }
            // A type without canonical unit gets the unit of its first sample.
            if part.unit == nil { part.unit = found.unit }
            (part.from, position) = (part.to, part.to)
        }
        try progress(1)
    }
}

extension StatisticsInterval {
    /// Returns the length of a slice: about this many buckets. Short ranges also get several slices, so that work on
    /// many samples can be observed and stopped.
    fileprivate func sliceLength(_ buckets: Int, of from: Instant, _ to: Instant) -> Int64 {
        let bucket = (seconds ?? days.map { Int64($0) * 86_400 } ?? Int64(months!) * 2_629_746)
            .multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        let most = (bucket.overflow ? Int64.max : bucket.partialValue).multipliedReportingOverflow(by: Int64(buckets))
        let share = Int64(UInt64(bitPattern: to.nanoseconds &- from.nanoseconds) / 64)
        return max(1, min(most.overflow ? .max : most.partialValue, share))
    }
}

extension Instant {
    /// Returns the share of the way from `from` to this instant that another instant has covered.
    fileprivate func distance(from: Instant, to other: Instant) -> Double {
        let whole = Double(nanoseconds) - Double(from.nanoseconds)
        return max(0, min(1, (Double(other.nanoseconds) - Double(from.nanoseconds)) / whole))
    }
}
