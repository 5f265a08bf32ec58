#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// The borders of calendar intervals as instants: interval i reaches from border i to border i + 1.
///
/// Everything is computed with day numbers and a zone's list of changes. Only months of calendars other than the
/// Gregorian one use the calendar.
struct BucketBorders: Sendable {
    /// Nanoseconds since 2001, strictly ascending. An interval that the clocks skip entirely has no border.
    private(set) var instants: [Int64] = []

    var count: Int { max(0, instants.count - 1) }

    /// More than any chart or table needs. A cell takes some eighty bytes, so this bounds the memory of a query.
    static let limit = 1 << 20

    /// Creates the intervals that share an instant with `from..<to`; `nil` if there are more than an answer can hold.
    init?(
        _ interval: StatisticsInterval, anchor: Instant?, calendar: Calendar, from: Instant, to: Instant
    ) {
        let from = max(from, Instant.earliest)
        let to = min(to, Instant.latest)
        guard from < to else { return }
        let (first, last) = (from.second, (to - 1).second)
        guard (last - first) / interval.shortestSeconds < BucketBorders.limit else { return nil }
        let reach = interval.longestSeconds
        let offsets = ZoneOffsets(
            calendar.timeZone, from: min(first, anchor?.second ?? first) - reach,
            to: max(last, anchor?.second ?? last) + reach)
        var builder = BorderBuilder(offsets: offsets, first: first, last: last)
        if interval.seconds != nil, interval.count == 1, anchor == nil {
            builder.addLocal(interval)
        } else if interval.seconds != nil {
            builder.addFixed(interval, anchor ?? LocalDay.firstOf2001(in: calendar.timeZone))
        } else if interval.months != nil, !BucketBorders.civil.contains(calendar.identifier) {
            builder.addMonths(interval, anchor, calendar)
        } else {
            builder.addCivil(interval, anchor, firstWeekday: calendar.firstWeekday)
        }
        instants = builder.instants(from: from, to: to)
    }

    /// Calendars with the Gregorian months, however they count the years.
    private static let civil: [Calendar.Identifier] = [.gregorian, .iso8601, .buddhist, .japanese, .republicOfChina]

    /// Creates intervals of about the same length. Intervals of half an hour or more meet at whole hours, which
    /// summaries can answer, so there may be half as many.
    init(pixels: Int, from: Instant, to: Instant) {
        guard from < to else { return }
        // The distance between the extreme instants exceeds a signed number of nanoseconds.
        let length = UInt64(bitPattern: to.nanoseconds &- from.nanoseconds)
        let count = UInt64(max(1, pixels))
        let grid = length / count >= UInt64(SummaryPeriod.hour / 2) ? SummaryPeriod.hour : 1
        instants = [from.nanoseconds]
        for pixel in 1..<count {
            let offset = count.dividingFullWidth(length.multipliedFullWidth(by: pixel)).quotient
            let border = (from.nanoseconds &+ Int64(bitPattern: offset)).dividedDown(by: grid) * grid
            if border > instants.last!, border < to.nanoseconds { instants.append(border) }
        }
        instants.append(to.nanoseconds)
    }

    /// Creates one interval of zero length, for an empty range.
    init(emptyAt instant: Instant) { instants = [instant.nanoseconds, instant.nanoseconds] }

    /// Creates intervals between given borders.
    init(at borders: [Instant]) { instants = borders.map(\.nanoseconds) }

    /// Creates one interval with given bounds.
    init(from: Instant, to: Instant) { if from < to { instants = [from.nanoseconds, to.nanoseconds] } }

    subscript(_ index: Int) -> Range<Int64> { instants[index]..<instants[index + 1] }
}

extension StatisticsInterval {
    fileprivate var shortestSeconds: Int64 { max(1, seconds ?? (days.map { Int64($0) * 82_800 } ?? 2_400_000)) }

    /// The length of an interval with its longest days, and two days more.
    fileprivate var longestSeconds: Int64 {
        (seconds ?? (days.map { Int64($0) * 90_000 } ?? Int64(months!) * 32 * 86_400)) + 2 * CivilTime.secondsPerDay
    }
}

extension Instant {
    /// The nanoseconds since the beginning of the second.
    fileprivate var fraction: Int64 {
        let rest = nanoseconds % Instant.nanosecondsPerSecond
        return rest < 0 ? rest + Instant.nanosecondsPerSecond : rest
    }
}

/// Collects borders in seconds, including some before the first wanted border and some after the last.
private struct BorderBuilder {
    let offsets: ZoneOffsets
    let first: Int64
    let last: Int64
    /// The fraction of the anchor within its second.
    var fraction: Int64 = 0
    var seconds: [Int64] = []

    init(offsets: ZoneOffsets, first: Int64, last: Int64) {
        self.offsets = offsets
        self.first = first
        self.last = last
    }

    /// Returns the borders from the one at or before `from` to the one at or after `to`.
    func instants(from: Instant, to: Instant) -> [Int64] {
        let borders = seconds.map { second in
            // An interval may reach beyond the representable instants.
            let (whole, isBeyond) = second.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
            return isBeyond ? second < 0 ? .min : .max : (Instant(nanoseconds: whole) + fraction).nanoseconds
        }
        let start = borders.lastIndex { $0 <= from.nanoseconds } ?? 0
        let end = borders.firstIndex { $0 >= to.nanoseconds } ?? borders.count - 1
        return start < end ? Array(borders[start...end]) : []
    }

    private mutating func append(_ second: Int64) {
        if seconds.last.map({ $0 < second }) ?? true { seconds.append(second) }
    }

    /// Adds hours and minutes at a fixed distance from an anchor.
    mutating func addFixed(_ interval: StatisticsInterval, _ anchor: Instant) {
        let length = interval.seconds!
        fraction = anchor.fraction
        let start = (first - 1 - anchor.second).dividedDown(by: length)
        let end = (last + 1 - anchor.second).dividedDown(by: length) + 1
        for number in start...end { append(anchor.second + number * length) }
    }

    /// Adds hours and minutes of the local clock.
    mutating func addLocal(_ interval: StatisticsInterval) {
        let length = interval.seconds!
        for index in offsets.index(at: first - 2 * length)...offsets.index(at: last + 2 * length) {
            let offset = offsets.offsets[index]
            let start = max(offsets.starts[index], first - 2 * length)
            let end = min(offsets.end(index), last + 2 * length)
            // A clock change begins a new hour, so that no hour is longer than an hour.
            if index > 0, start == offsets.starts[index] { append(start) }
            var next = ((start + offset - 1).dividedDown(by: length) + 1) * length - offset
            while next < end {
                append(next)
                next += length
            }
        }
        append(max(last + 1, (seconds.last ?? first) + length))
    }

    /// Adds days, weeks and months of the Gregorian calendar: from midnight, or from the anchor's time of day.
    mutating func addCivil(_ interval: StatisticsInterval, _ anchor: Instant?, firstWeekday: Int) {
        var anchorDay = 0
        var time: Int64 = 0
        if let anchor {
            fraction = anchor.fraction
            anchorDay = offsets.day(at: anchor.second)
            time = anchor.second + offsets.offset(at: anchor.second) - Int64(anchorDay) * CivilTime.secondsPerDay
        } else if interval.unit == .week {
            // 2001 began on a Monday; Foundation numbers weekdays from Sunday as 1.
            anchorDay = firstWeekday - 2
        }
        let days = (offsets.day(at: first), offsets.day(at: last))
        var cursor = LocalCursor(offsets)
        /// Returns the first instant at which the local clock shows a time. The anchor is a border even if the clock
        /// shows its time for a second time then.
        func border(_ number: Int, _ local: Int64) -> Int64 {
            let first = cursor.first(local)
            return number == 0 ? anchor?.second ?? first : first
        }
        if let step = interval.days {
            let start = (days.0 - anchorDay).dividedDown(by: step) - 1
            let end = (days.1 - anchorDay).dividedDown(by: step) + 2
            seconds.reserveCapacity(end - start + 1)
            for number in start...end {
                append(border(number, Int64(anchorDay + number * step) * CivilTime.secondsPerDay + time))
            }
        } else if let step = interval.months {
            let anchorDate = CivilTime.date(anchorDay)
            func months(_ day: Int) -> Int {
                let date = CivilTime.date(day)
                return (date.year - anchorDate.year) * 12 + date.month - anchorDate.month
            }
            let start = months(days.0).dividedDown(by: step) - 1
            let end = months(days.1).dividedDown(by: step) + 2
            for number in start...end {
                let day = CivilTime.day(anchorDay, addingMonths: number * step)
                append(border(number, Int64(day) * CivilTime.secondsPerDay + time))
            }
        }
    }

    /// Adds months of other calendars, as the calendar itself counts them: from the anchor, or from the beginning of
    /// the calendar's year that contains the beginning of 2001.
    mutating func addMonths(_ interval: StatisticsInterval, _ anchor: Instant?, _ calendar: Calendar) {
        let unit: Calendar.Component = interval.unit == .year ? .year : .month
        let step = interval.unit == .quarter ? 3 * interval.count : interval.count
        let middle = Date(timeIntervalSinceReferenceDate: Double(first))
        let origin = Date(timeIntervalSinceReferenceDate: Double(anchor?.second ?? 0))
        fraction = anchor?.fraction ?? 0
        let start = anchor == nil ? calendar.dateInterval(of: .year, for: origin)?.start ?? origin : origin
        let passed = calendar.dateComponents([unit], from: start, to: middle).value(for: unit) ?? 0
        var number = passed.dividedDown(by: step) - 1
        while true {
            guard let date = calendar.date(byAdding: unit, value: number * step, to: start) else { return }
            let second = Int64(date.timeIntervalSinceReferenceDate.rounded(.down))
            append(second)
            if second > last { return }
            number += 1
        }
    }
}

/// Finds the first instant at which the local clock has reached a time, for ascending times.
struct LocalCursor {
    private let offsets: ZoneOffsets
    private var index: Int

    /// Creates a cursor that returns no instant before the change of the clocks before `second`.
    init(_ offsets: ZoneOffsets, from second: Int64? = nil) {
        self.offsets = offsets
        index = second.map { offsets.index(at: $0) } ?? 0
    }

    mutating func first(_ local: Int64) -> Int64 {
        while index + 1 < offsets.count, local - offsets.offsets[index] >= offsets.end(index) { index += 1 }
        return max(offsets.starts[index], local - offsets.offsets[index])
    }
}
