import ColumnFormat
import HealthModel

/// Hours whose summaries are no longer valid, by type.
struct StaleHours: Sendable {
    private var marks: [UInt32: Marks] = [:]

    var isEmpty: Bool { marks.isEmpty }

    var types: Dictionary<UInt32, Marks>.Keys { marks.keys }

    /// Returns the hours of a type, unsorted.
    func ranges(of type: UInt32) -> [ClosedRange<Int64>]? { marks[type]?.ranges }

    /// Returns the hours of a type as they are stored: condensed if there are many ranges, because each range is a
    /// record and is summarized separately.
    func condensedRanges(of type: UInt32) -> [ClosedRange<Int64>] {
        guard var marks = marks[type] else { return [] }
        if marks.ranges.count > 8 { marks.condense() }
        return marks.ranges
    }

    /// Marks the hours that a range of time touches.
    mutating func mark(_ type: UInt32, _ start: Int64, _ end: Int64) {
        marks[type, default: Marks()].mark(start, end)
    }

    /// Marks the hours that rows touch. The rows must be sorted by start; adjacent hours are marked as one range.
    mutating func mark(_ type: UInt32, _ rows: ArraySlice<StoredRow>) {
        let hour = DurationClass.hour.longest
        // Remove the marks from the dictionary while they change: a lookup for each range would cost more than
        // everything else.
        var marked = marks.removeValue(forKey: type) ?? Marks()
        let span = rows.span
        var from = span[0].start
        var to = from
        /// Starts before this limit fall into the hours up to `to`, or into the hour after them.
        var limit = from
        for index in 0..<span.count {
            let start = span[index].start
            let end = span[index].end == .max ? start : span[index].end
            if start >= limit {
                if index > 0 { marked.mark(from, to) }
                (from, to) = (start, start)
            } else if end <= to {
                continue
            }
            to = max(to, end)
            if to >= limit - hour { limit = (to.dividedDown(by: hour) + 2) * hour }
        }
        marked.mark(from, to)
        marks[type] = marked
    }

    /// The stale hours of one type. If there are many, nearby ranges are merged: then more hours than necessary are
    /// recomputed, never fewer.
    struct Marks: Sendable {
        private(set) var ranges: [ClosedRange<Int64>] = []
        private var limit = 64

        private static let most = 128

        mutating func mark(_ start: Int64, _ end: Int64) {
            let hour = DurationClass.hour.longest
            let first = start.dividedDown(by: hour)
            let last = end == .max ? first : max(first, end.dividedDown(by: hour))
            if let newest = ranges.last, first >= newest.lowerBound, last <= newest.upperBound { return }
            ranges.append(first...last)
            if ranges.count > limit { condense() }
        }

        mutating func condense() {
            ranges.sort { $0.lowerBound < $1.lowerBound }
            // Within a block, summarizing only some of the hours saves hardly anything.
            join { $0 <= SummaryPeriod.hoursPerBlock }
            if ranges.count > Marks.most {
                let gaps = zip(ranges, ranges.dropFirst()).map { $1.lowerBound - $0.upperBound }.sorted()
                let least = gaps[gaps.count - Marks.most / 2]
                join { $0 < least }
            }
            limit = max(64, 2 * ranges.count)
        }

        /// Joins overlapping ranges, and neighbours whose distance is small enough.
        private mutating func join(_ isNear: (Int64) -> Bool) {
            var joined: [ClosedRange<Int64>] = []
            for range in ranges {
                if let last = joined.last,
                    range.lowerBound <= last.upperBound || isNear(range.lowerBound - last.upperBound)
                {
                    joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
                } else {
                    joined.append(range)
                }
            }
            ranges = joined
        }
    }
}
