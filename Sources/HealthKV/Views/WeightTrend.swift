#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import ColumnFormat
import HealthModel

/// A day's weight, with the trend of the days before it.
public struct WeightDay: Sendable, Hashable {
    /// `YYYY-MM-DD`
    public let date: String
    /// The entry that represents the day: see ``DayEntry``. Shadowed entries take no part.
    public let sample: Sample
    /// The entry's value in the requested unit.
    public let value: Double
    /// The mean of the days with an entry within the window, including this day.
    public let movingAverage: Double
    /// The change of the weight per week, by the least-squares line through the entries of the window; `nil` with fewer
    /// than two.
    public let weeklyRate: Double?
}

/// Which of several entries represents a day (SEMANTICS C3).
public enum DayEntry: Sendable, Hashable {
    /// The one that was modified last: written or edited here, or written elsewhere as far as that is known.
    case lastModified
    /// The one that starts last.
    case lastStart
}

extension DayEntry {
    /// Returns the entry of each day that has any. The rows must ascend.
    static func picks(
        _ rows: [StoredRow], _ type: UInt32, _ calendar: Calendar, _ entry: DayEntry, in snapshot: Snapshot
    ) throws -> [(day: Int, sample: Sample)] {
        guard let first = rows.first.map({ Instant(nanoseconds: $0.start) }),
            let last = rows.last.map({ Instant(nanoseconds: $0.start) }),
            let borders = BucketBorders(.day, anchor: nil, calendar: calendar, from: first, to: last + 1)
        else { return [] }
        let offsets = ZoneOffsets(calendar.timeZone, from: first.second, to: last.second)
        // If the clocks go back across midnight, entries count for the day that had already begun.
        var days: [(day: Int, rows: [StoredRow])] = []
        var bucket = 0
        for row in rows {
            while bucket + 1 < borders.count, borders[bucket].upperBound <= row.start { bucket += 1 }
            let day = offsets.day(at: Instant(nanoseconds: borders[bucket].lowerBound).second)
            if days.last?.day == day { days[days.count - 1].rows.append(row) } else { days.append((day, [row])) }
        }
        return try days.map { day in
            (day.day, try NameTable.sample(try pick(day.rows, type, entry, in: snapshot), type, in: snapshot))
        }
    }

    /// Returns the row that represents a day. Among rows modified at the same time it is the one that starts last.
    private static func pick(_ rows: [StoredRow], _ type: UInt32, _ entry: DayEntry, in snapshot: Snapshot) throws
        -> StoredRow
    {
        let last = rows[rows.count - 1]
        var priorities: PriorityRecord?
        guard entry == .lastModified, rows.count > 1,
            let winner = try ShadowMarks.winner(of: rows, type, &priorities, in: snapshot)
        else { return last }
        return rows.last { $0.written == winner.written && $0.start > winner.start } ?? winner
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns one weight per day with its trend.
    ///
    /// ```swift
    /// let trend = try store.read { try $0.weightTrend(from: a, to: b, calendar: calendar, unit: .kilogram) }
    /// print(trend.last?.movingAverage ?? 0, trend.last?.weeklyRate ?? 0)
    /// ```
    ///
    /// Entries before `from` within the window count in averages and rates, but get no day of their own.
    ///
    /// - Parameters:
    ///   - type: the type of the weight samples.
    ///   - from: the start of the range, inclusive.
    ///   - to: the end of the range, exclusive.
    ///   - calendar: the calendar whose time zone determines when a day begins.
    ///   - unit: the unit of the results; it has the same dimension as the units of the samples.
    ///   - window: the number of days for the moving average and the rate, at least 1.
    ///   - entry: which of several entries represents a day.
    public func weightTrend(
        of type: SampleType = .bodyMass, from: Instant = .distantPast, to: Instant = .distantFuture,
        calendar: Calendar = .current, unit: HealthUnit = .kilogram, window: Int = 7,
        entry: DayEntry = .lastModified
    ) throws -> [WeightDay] {
        let snapshot = snapshot
        try snapshot.require(window, 1, "window")
        // Limit the window to the number of days that exist; the longest days have 25 hours.
        let window = min(window, LocalDay.numbers.count)
        let (reach, isEndless) = (Int64(window) * 90_000).multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        let range = TimeRange(from: isEndless || from == .distantPast ? .distantPast : from - reach, to: to)
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return [] }
        var rows: [StoredRow] = []
        try RowReader.forEachRow(of: number, RowQuery(range: range, rule: .strictStart), in: snapshot) { row in
            if row.value.isFinite { rows.append(row) }
            return true
        }
        let picks = try DayEntry.picks(rows, number, calendar, entry, in: snapshot)
        let values = try picks.map { try $0.sample.value(in: unit) }
        var lower = 0
        return picks.indices.compactMap { index in
            guard picks[index].sample.start >= from else { return nil }
            while picks[lower].day <= picks[index].day - window { lower += 1 }
            let days = picks[lower...index].map { Double($0.day) }
            let recent = Array(values[lower...index])
            return WeightDay(
                date: CivilTime.text(picks[index].day), sample: picks[index].sample, value: values[index],
                movingAverage: recent.reduce(0, +) / Double(recent.count),
                weeklyRate: LeastSquares(days, recent).map { $0.slope * 7 })
        }
    }
}
