#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel
import LMDB

/// A zone's offsets from UTC over a range of time, in seconds, as a list of changes.
///
/// A calendar computes one date at a time and takes microseconds for each. Queries often need the borders of ten years
/// of days, so the changes are computed once per zone and year and cached.
struct ZoneOffsets: Sendable, Equatable {
    /// The time from which each offset applies, in seconds since 2001; ascending.
    private(set) var starts: [Int64] = []
    private(set) var offsets: [Int64] = []

    /// Creates a fixed offset.
    init(fixed offset: Int64 = 0) {
        starts = [.min]
        offsets = [offset]
    }

    /// Creates changes at given times, in order, for tests.
    init(changes: [(start: Int64, offset: Int64)]) {
        starts = changes.map(\.start)
        offsets = changes.map(\.offset)
    }

    /// Creates the offsets of a zone from `from` to `to`, both in seconds since 2001, and slightly beyond.
    init(_ zone: TimeZone, from: Int64, to: Int64) {
        let first = from.dividedDown(by: ZoneYear.length) - 1
        let last = max(from, to).dividedDown(by: ZoneYear.length) + 1
        let identifier = zone.identifier
        // Copy the years and not the dictionary: if the dictionary were also referenced outside the lock, the next
        // insertion would have to copy it.
        let known = ZoneOffsets.cache.withLock { cache in
            let years = cache[identifier]
            return (first...last).map { years?[$0] }
        }
        var added: [Int64: ZoneYear] = [:]
        for (number, cached) in zip(first...last, known) {
            let year = cached ?? ZoneYear(zone, number)
            if cached == nil { added[number] = year }
            for change in year.changes where offsets.last != change.offset {
                starts.append(change.start)
                offsets.append(change.offset)
            }
        }
        starts[0] = .min
        guard !added.isEmpty else { return }
        ZoneOffsets.cache.withLock { cache in cache[identifier, default: [:]].merge(added) { old, _ in old } }
    }

    private static let cache = Monitor<[String: [Int64: ZoneYear]]>([:])

    var count: Int { starts.count }

    /// Returns the time at which the offset at an index stops to apply.
    func end(_ index: Int) -> Int64 { index + 1 < starts.count ? starts[index + 1] : .max }

    /// Returns the index of the offset that applies at a time.
    func index(at second: Int64) -> Int {
        max(0, (0..<starts.count).firstIndex(notPreceding: { starts[$0] <= second }) - 1)
    }

    func offset(at second: Int64) -> Int64 { offsets[index(at: second)] }

    /// Returns the local day of a time.
    func day(at second: Int64) -> Int { Int((second + offset(at: second)).dividedDown(by: CivilTime.secondsPerDay)) }
}

/// About a year of a zone's offsets. They are found by checking every day, because no zone changes its clocks and back
/// within one day.
private struct ZoneYear: Sendable {
    static let length: Int64 = 366 * CivilTime.secondsPerDay

    var changes: [(start: Int64, offset: Int64)]

    init(_ zone: TimeZone, _ number: Int64) {
        func offset(_ second: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: Double(second))))
        }
        let from = number * ZoneYear.length
        var known = offset(from)
        changes = [(from, known)]
        for day in stride(from: from, to: from + ZoneYear.length, by: Int(CivilTime.secondsPerDay)) {
            let next = day + CivilTime.secondsPerDay
            let later = offset(next)
            guard later != known else { continue }
            // The change is after `low` and not after `high`.
            var (low, high) = (day, next)
            while high - low > 1 {
                let middle = (low + high) / 2
                if offset(middle) == known { low = middle } else { high = middle }
            }
            // A change at the end of the year belongs to the next year.
            if high < from + ZoneYear.length { changes.append((high, later)) }
            known = later
        }
    }
}
