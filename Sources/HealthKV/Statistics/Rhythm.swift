#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// How values are spread over the hours of the day or the days of the week.
public struct Rhythm: Sendable, Hashable {
    /// What repeats.
    public enum Cycle: String, Sendable, Hashable, CaseIterable {
        /// The 24 hours of the local clock.
        case hourOfDay
        /// The seven days of the week.
        case dayOfWeek
    }

    /// An hour of the day or a day of the week.
    public struct Slot: Sendable, Hashable {
        /// The hour, 0 to 23, or the day of the week as `Calendar` counts: 1 is Sunday.
        public let number: Int
        /// How often it occurred from the first to the last bucket with data. When the clocks change, an hour may occur
        /// twice, or not at all.
        public let occurrences: Int
        /// The number of samples that start in it.
        public let count: Int
        /// For a cumulative type: the sum of all occurrences. `nil` for others.
        public let sum: Double?
        /// For a cumulative type: the mean sum of an occurrence. For others: the mean value of the samples. `nil`
        /// without any.
        public let average: Double?
        /// For a discrete type: the minimum value. `nil` for others, and without samples.
        public let minimum: Double?
        /// For a discrete type: the maximum value. `nil` for others, and without samples.
        public let maximum: Double?
    }

    /// All hours from 0 to 23, or all days of the week, beginning with the first of the calendar.
    public let slots: [Slot]
    /// The unit of the values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
}

extension SampleReading where Self: ~Copyable {
    /// Returns statistics by the hour of the day or the day of the week.
    ///
    /// ```swift
    /// let day = try store.read { txn in
    ///     try txn.rhythm(StatisticsQuery(.stepCount, by: nil, from: a, to: b, calendar: calendar), of: .hourOfDay)
    /// }
    /// for hour in day.slots { print(hour.number, hour.average ?? 0) }
    /// ```
    ///
    /// The interval and the anchor of the query do not matter; hours and days are those of its calendar's time zone.
    public func rhythm(_ query: StatisticsQuery, of cycle: Rhythm.Cycle) throws -> Rhythm {
        if (query.options as? DiscreteOptions)?.mean == .timeWeighted {
            throw StoreError(
                .unsuitableQuery, path: snapshot.path, "A rhythm has arithmetic means, and no time-weighted ones")
        }
        var query = query
        query.interval = cycle == .hourOfDay ? .hour : .day
        (query.anchor, query.borders, query.fillsEmptyBuckets) = (nil, nil, true)
        let buckets = try statistics(query)
        let cells = buckets.cells
        let size = cycle == .hourOfDay ? 24 : 7
        var sums = Array(repeating: StatisticsCell(), count: size)
        var occurrences = Array(repeating: 0, count: size)
        if let first = cells.firstIndex(where: { !$0.isEmpty }), let last = cells.lastIndex(where: { !$0.isEmpty }) {
            let borders = buckets.borders.instants
            let seconds = borders[first...last + 1].map { $0.dividedDown(by: Instant.nanosecondsPerSecond) }
            let offsets = ZoneOffsets(query.calendar.timeZone, from: seconds.first!, to: seconds.last!)
            for index in first...last {
                let second = seconds[index - first]
                let place: Int
                if cycle == .hourOfDay {
                    let local = second + offsets.offset(at: second)
                    place = Int((local - local.dividedDown(by: 86_400) * 86_400) / 3_600)
                } else {
                    // Day 0 of the count is 2001-01-01, a Monday, which Calendar counts as 2.
                    let day = offsets.day(at: second)
                    place = (day + 1) - (day + 1).dividedDown(by: 7) * 7
                }
                occurrences[place] += 1
                let cell = cells[index]
                sums[place].count += cell.count
                sums[place].sum += cell.sum
                sums[place].minimum = min(sums[place].minimum, cell.minimum)
                sums[place].maximum = max(sums[place].maximum, cell.maximum)
            }
        }
        let isDiscrete = buckets.aggregation == .discrete
        let slots = (0..<size).map { place -> Rhythm.Slot in
            let place = cycle == .hourOfDay ? place : (place + query.calendar.firstWeekday - 1) % 7
            let cell = sums[place]
            let divisor = isDiscrete ? Int(cell.count) : occurrences[place]
            return Rhythm.Slot(
                number: cycle == .hourOfDay ? place : place + 1, occurrences: occurrences[place],
                count: Int(cell.count), sum: isDiscrete ? nil : cell.sum,
                average: divisor > 0 ? cell.sum / Double(divisor) : nil,
                minimum: isDiscrete && cell.count > 0 ? cell.minimum : nil,
                maximum: isDiscrete && cell.count > 0 ? cell.maximum : nil)
        }
        return Rhythm(slots: slots, unit: buckets.unit)
    }
}
