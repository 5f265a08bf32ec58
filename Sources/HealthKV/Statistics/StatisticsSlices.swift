import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with each bucket of a query in the order of time. The range is answered in slices, so memory stays flat however
    /// many buckets there are.
    ///
    /// ```swift
    /// try store.read { txn in
    ///     try txn.forEachStatistics(StatisticsQuery(.stepCount, by: .hour, calendar: calendar)) { hour in
    ///         print(hour.start, hour.sum ?? 0)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter progress: called before each slice with the share that is done, 0 to 1.
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
        let whole = try StatisticsPlan(query, snapshot, separately: false)
        let borders = whole.borders
        // Short answers too come in some slices, so that work on many samples can be watched and stopped.
        let length = min(sliceLimit, max(1, borders.count / 64))
        var part = query
        var first = 0
        while first < borders.count {
            try progress(Double(first) / Double(borders.count))
            let end = min(first + length, borders.count)
            part.from = max(whole.from, Instant(nanoseconds: borders[first].lowerBound))
            part.to = min(whole.to, Instant(nanoseconds: borders[end - 1].upperBound))
            let found = try statistics(part)
            for bucket in found { try body(bucket) }
            // A type without canonical unit has that of its first sample.
            if part.unit == nil { part.unit = found.unit }
            first = end
        }
        try progress(1)
    }
}
