import HealthKV

#if canImport(Foundation)
    // The small Foundation knows no time zone by name.
    import Foundation
#endif

/// A sample as the oracle knows it.
struct OracleSample {
    var sample: Sample
    /// The place of its last change among all changes.
    var changed: Int

    var start: Int64 { sample.start.nanoseconds }
    /// An end that is not known yet counts as the start.
    var end: Int64 { sample.isOpenEnded ? start : sample.end.nanoseconds }
    var value: Double { sample.quantity.value }
    var source: SourceIdentity { sample.source.identity }
}

/// What the oracle says of one bucket.
struct OracleBucket: Equatable {
    var start: Int64
    var end: Int64
    var count = 0
    var sum = 0.0
    var duration: Int64 = 0
    var minimum: Double?
    var maximum: Double?
    var earliest: Int64?
    var latest: Int64?
    var average: Double?
    var earliestValue: Double?
    var latestValue: Double?

    var hasData: Bool { count > 0 || duration > 0 || sum != 0 }
}

/// Statistics by definition: for every instant at which anything begins or ends, who covers it and who wins. It is slow
/// and shares nothing with the engine but the rules.
struct StatisticsOracle {
    enum Contest { case merged, none }

    var samples: [OracleSample]
    /// Position of each (source, entered by the user): the least one wins.
    var rank: (SourceIdentity, Bool) -> Int
    var from: Int64
    var to: Int64
    var contest = Contest.merged
    var isStrict = false
    var isTimeWeighted = false

    private func rank(_ sample: OracleSample) -> Int {
        contest == .none ? 0 : rank(sample.source, sample.sample.isUserEntered)
    }

    /// Of a cumulative type.
    func cumulative(_ start: Int64, _ end: Int64) -> OracleBucket {
        var bucket = beginnings(start, end)
        let (low, high) = (max(start, from), min(end, to))
        for sample in samples {
            let startsHere = sample.start >= low && sample.start < high
            if sample.start == sample.end {
                if startsHere, !isCovered(sample) { bucket.sum += sample.value }
                continue
            }
            if isStrict, !startsHere { continue }
            let time = isStrict ? won(sample, .min, .max) : won(sample, low, high)
            guard time > 0 else { continue }
            bucket.duration += time
            bucket.sum += sample.value * Double(time) / Double(sample.end - sample.start)
        }
        return bucket
    }

    /// Whether something better covers the instant of a sample without length.
    private func isCovered(_ sample: OracleSample) -> Bool {
        samples.contains { other in
            guard rank(other) < rank(sample) else { return false }
            return other.start == other.end
                ? other.start == sample.start : other.start <= sample.start && sample.start < other.end
        }
    }

    /// How long a sample wins between two instants.
    private func won(_ sample: OracleSample, _ low: Int64, _ high: Int64) -> Int64 {
        let (from, to) = (max(low, sample.start), min(high, sample.end))
        guard from < to else { return 0 }
        let rivals = samples.filter { rank($0) < rank(sample) && $0.start < to && $0.end > from && $0.start < $0.end }
        let instants = Set([from, to] + rivals.flatMap { [$0.start, $0.end] }.filter { $0 > from && $0 < to }).sorted()
        var time: Int64 = 0
        for (begin, end) in zip(instants, instants.dropFirst())
        where !rivals.contains(where: { $0.start <= begin && begin < $0.end }) { time += end - begin }
        return time
    }

    /// Of a discrete type.
    func discrete(_ start: Int64, _ end: Int64) -> OracleBucket {
        var bucket = beginnings(start, end)
        let inside = picked(start, end)
        for sample in inside {
            bucket.sum += sample.value
            bucket.duration += sample.end - sample.start
        }
        guard !inside.isEmpty else { return bucket }
        bucket.average = bucket.sum / Double(inside.count)
        (bucket.earliestValue, bucket.latestValue) = (inside.first?.value, inside.last?.value)
        if isTimeWeighted {
            let ends = inside.dropFirst().map(\.start) + [min(end, to)]
            var (weighted, seconds) = (0.0, 0.0)
            for (sample, end) in zip(inside, ends) {
                weighted += sample.value * Double(end - sample.start)
                seconds += Double(end - sample.start)
            }
            bucket.average = weighted / seconds
        }
        return bucket
    }

    private func picked(_ start: Int64, _ end: Int64) -> [OracleSample] {
        samples.filter { $0.start >= max(start, from) && $0.start < min(end, to) }
            .sorted { ($0.start, $0.sample.end, $0.sample.id) < ($1.start, $1.sample.end, $1.sample.id) }
    }

    private func beginnings(_ start: Int64, _ end: Int64) -> OracleBucket {
        let inside = picked(start, end)
        return OracleBucket(
            start: start, end: end, count: inside.count, minimum: inside.map(\.value).min(),
            maximum: inside.map(\.value).max(), earliest: inside.first?.start, latest: inside.last?.start)
    }
}

/// Borders of calendar buckets, found by asking a calendar about every quarter of an hour.
struct CalendarOracle {
    let calendar: Calendar

    /// The borders of buckets from the one that holds `from` to the one that holds the instant before `to`.
    func borders(_ interval: StatisticsInterval, anchor: Int64?, from: Int64, to: Int64) -> [Int64] {
        if interval.count == 1, anchor == nil { return borders(interval.unit, from: from, to: to) }
        let second: Int64 = 1_000_000_000
        let start = anchor.map { $0 / second }
        var number = -1
        var borders = [border(0, interval, start)]
        while borders[0] * second > from {
            borders.insert(border(number, interval, start), at: 0)
            number -= 1
        }
        number = 1
        while borders.last! * second < to {
            borders.append(border(number, interval, start))
            number += 1
        }
        // An interval that clocks skip is none.
        borders = Set(borders).sorted().map { $0 * second }
        let first = borders.lastIndex { $0 <= from }!
        let last = borders.firstIndex { $0 >= to }!
        return Array(borders[first...last])
    }

    /// The border so many intervals behind the anchor, in seconds since 2001.
    private func border(_ number: Int, _ interval: StatisticsInterval, _ anchor: Int64?) -> Int64 {
        let count = number * interval.count
        switch interval.unit {
        case .minute: return (anchor ?? reaching(0)) + Int64(count) * 60
        case .hour: return (anchor ?? reaching(0)) + Int64(count) * 3_600
        case .day, .week, .month, .quarter, .year: break
        }
        // The anchor is a border even where the local clock shows its time for the second time.
        if number == 0, let anchor { return anchor }
        let local = anchor.map { $0 + offset($0) } ?? 0
        var day = Int((Double(local) / 86_400).rounded(.down))
        let time = local - Int64(day) * 86_400
        switch interval.unit {
        case .day: day += count
        case .week:
            // The first day of 2001 was a Monday, the second day of a week that begins with Sunday.
            if anchor == nil { day = (calendar.firstWeekday - 2) }
            day += 7 * count
        default:
            var plain = Calendar(identifier: .gregorian)
            plain.timeZone = TimeZone(secondsFromGMT: 0)!
            let months = count * (interval.unit == .year ? 12 : interval.unit == .quarter ? 3 : 1)
            // Not by the calendar's own addition, which counts back from a 30th or 31st to the 28th of some Februaries
            // with 29 days.
            let parts = plain.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSinceReferenceDate: Double(day) * 86_400))
            let month = parts.year! * 12 + parts.month! - 1 + months
            let first = plain.date(from: DateComponents(year: month / 12, month: month % 12 + 1, day: 1))!
            let length = plain.range(of: .day, in: .month, for: first)!.count
            day = Int(first.timeIntervalSinceReferenceDate / 86_400) + min(parts.day!, length) - 1
        }
        return reaching(Int64(day) * 86_400 + time)
    }

    private func offset(_ second: Int64) -> Int64 {
        Int64(calendar.timeZone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: Double(second))))
    }

    /// The first quarter of an hour at which the local clock has reached a time.
    private func reaching(_ local: Int64) -> Int64 {
        if let known = cache.reached[local] { return known }
        // No clock is farther from UTC, and none skips more than a day.
        var second = local / 900 * 900 - 30 * 3_600
        while second + offset(second) < local { second += 900 }
        cache.reached[local] = second
        return second
    }

    /// Of single units, by asking what every quarter of an hour belongs to.
    func borders(_ unit: StatisticsInterval.Unit, from: Int64, to: Int64) -> [Int64] {
        let step: Int64 = 900
        let second: Int64 = 1_000_000_000
        // A leap year of the Hebrew calendar has up to 385 days.
        let margin: Int64 = unit == .year ? 400 * 86_400 : unit == .quarter ? 95 * 86_400 : 35 * 86_400
        var borders: [Int64] = []
        var greatest: Int?
        var time = (from / second - margin) / step * step
        while true {
            let key = key(unit, time)
            if let known = greatest, known < key {
                borders.append(time * second)
                if time * second >= to { break }
            }
            greatest = max(greatest ?? key, key)
            time += step
        }
        let first = borders.lastIndex { $0 <= from } ?? 0
        return Array(borders[first...])
    }

    /// Ascends with time, and is the same within a bucket.
    private func key(_ unit: StatisticsInterval.Unit, _ second: Int64) -> Int {
        let date = Date(timeIntervalSinceReferenceDate: Double(second))
        let offset = calendar.timeZone.secondsFromGMT(for: date)
        let local = Int(second) + offset
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        switch unit {
        case .minute: return Int(second) / 60
        // Hours that clocks show twice are two.
        case .hour: return (day * 24 + (local - day * 86_400) / 3_600) * 200_000 + 100_000 - offset
        case .day: return day
        case .week, .month, .quarter, .year: break
        }
        let parts = parts(day, date)
        switch unit {
        case .week: return day - (parts.weekday! - calendar.firstWeekday + 7) % 7
        case .month: return parts.year! * 20 + parts.month!
        case .quarter: return parts.year! * 4 + (parts.month! - 1) / 3
        default: return parts.year!
        }
    }

    /// A calendar is slow: each day is asked for once.
    private func parts(_ day: Int, _ date: Date) -> DateComponents {
        if let known = cache.parts[day] { return known }
        let parts = calendar.dateComponents([.year, .month, .weekday], from: date)
        cache.parts[day] = parts
        return parts
    }

    private final class Cache {
        var parts: [Int: DateComponents] = [:]
        var reached: [Int64: Int64] = [:]
    }
    private let cache = Cache()

    init(calendar: Calendar) { self.calendar = calendar }
}
