import HealthModel

/// What a number of each bucket should reach, such as 10,000 steps a day.
public enum Goal: Sendable, Hashable {
    /// At least this much.
    case atLeast(Double)
    /// At most this much. A bucket without data does not meet it.
    case atMost(Double)
    /// From the lower bound to the upper one.
    case within(ClosedRange<Double>)

    /// Returns `true` if a number meets the goal.
    public func isMet(by number: Double) -> Bool {
        switch self {
        case .atLeast(let least): number >= least
        case .atMost(let most): number <= most
        case .within(let range): range.contains(number)
        }
    }

    /// Whether a number that still grows may go from meeting the goal to missing it, or back.
    func isOpen(at number: Double?) -> Bool {
        guard let number else { return true }
        return switch self {
        case .atLeast(let least): number < least
        case .atMost(let most): number <= most
        case .within(let range): number <= range.upperBound
        }
    }
}

/// Buckets in a row that met a goal.
public struct Streaks: Sendable, Hashable {
    /// One row of buckets.
    public struct Streak: Sendable, Hashable {
        /// The start of the first bucket.
        public let start: Instant
        /// The end of the last bucket.
        public let end: Instant
        /// The number of buckets.
        public let count: Int
    }

    /// The row that still goes on; `nil` if there is none.
    public let current: Streak?
    /// The longest row, of several the last; `nil` if the goal was never met.
    public let longest: Streak?
    /// How many buckets met the goal.
    public let met: Int
    /// How many buckets there are from the first to the last with data.
    public let total: Int
}

extension StatisticsCollection {
    /// Returns the rows of buckets in which a number met a goal. A bucket without data ends a row, also if the
    /// collection does not return it.
    ///
    /// ```swift
    /// let days = try store.read { try $0.statistics(.stepCount, by: .day, from: a, to: b, calendar: calendar) }
    /// print(days.streaks(of: \.sum, meeting: .atLeast(10_000)).current?.count ?? 0)
    /// ```
    ///
    /// - Parameters:
    ///   - value: the number of a bucket.
    ///   - goal: what it must meet.
    ///   - lastIsOpen: whether the number of the last bucket, such as today, may still grow. The bucket belongs to the
    ///     current row once it meets the goal for good, ends it once it misses the goal for good, and until then does
    ///     neither. So a day within an upper limit counts when it is over.
    ///   - now: buckets that begin then or later are left out. Give the query an end of now or later: without one, the
    ///     last bucket is the last with data, however long ago that was.
    public func streaks(
        of value: (Statistics) -> Double?, meeting goal: Goal, lastIsOpen: Bool = true,
        until now: Instant = .distantFuture
    ) -> Streaks {
        let cells = cells[..<borders.instants.dropLast().prefix { $0 < now.nanoseconds }.count]
        guard let first = cells.firstIndex(where: { !$0.isEmpty }), let last = cells.lastIndex(where: { !$0.isEmpty })
        else { return Streaks(current: nil, longest: nil, met: 0, total: 0) }
        // Without data since, a row is over, unless only the open bucket is empty.
        let end = lastIsOpen && last == cells.count - 2 ? last : cells.count - 1
        var (longest, met, begin): (Range<Int>?, Int, Int?) = (nil, 0, nil)
        var current: Range<Int>?
        for index in first...Swift.max(end, last) {
            let bucket = bucket(index)
            if lastIsOpen, index == cells.count - 1, goal.isOpen(at: bucket.hasData ? value(bucket) : nil) { break }
            let isMet = bucket.hasData && (value(bucket).map { goal.isMet(by: $0) } ?? false)
            if isMet {
                met += 1
                begin = begin ?? index
                let row = begin!..<index + 1
                if row.count >= longest?.count ?? 0 { longest = row }
                current = row
            } else {
                (begin, current) = (nil, nil)
            }
        }
        return Streaks(
            current: current.map(streak), longest: longest.map(streak), met: met, total: last - first + 1)
    }

    private func streak(_ row: Range<Int>) -> Streaks.Streak {
        Streaks.Streak(start: bucket(row.lowerBound).start, end: bucket(row.upperBound - 1).end, count: row.count)
    }
}
