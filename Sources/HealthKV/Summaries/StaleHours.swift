import ColumnFormat
import HealthModel

/// Hours of some types whose summaries no longer hold, by type.
struct StaleHours: Sendable {
    private(set) var ranges: [UInt32: [ClosedRange<Int64>]] = [:]

    var isEmpty: Bool { ranges.isEmpty }

    /// Marks the hours that a stretch of time touches.
    mutating func mark(_ type: UInt32, _ start: Int64, _ end: Int64) {
        StaleHours.mark(start, end, in: &ranges[type, default: []])
    }

    private static func mark(_ start: Int64, _ end: Int64, in marked: inout [ClosedRange<Int64>]) {
        let hour = DurationClass.hour.longest
        let first = start.dividedDown(by: hour)
        let last = end == .max ? first : max(first, end.dividedDown(by: hour))
        if let newest = marked.last, first >= newest.lowerBound, last <= newest.upperBound { return }
        marked.append(first...last)
        guard marked.count > 32 else { return }
        // A hull is coarser but still right: too much is recomputed, never too little.
        let hull = marked.reduce(first...last) { min($0.lowerBound, $1.lowerBound)...max($0.upperBound, $1.upperBound) }
        marked.removeAll(keepingCapacity: true)
        marked.append(hull)
    }

    /// Marks the hours that rows, in order of their starts, touch; hours side by side are marked as one stretch.
    mutating func mark(_ type: UInt32, _ rows: ArraySlice<StoredRow>) {
        let hour = DurationClass.hour.longest
        // Taken out while it grows: to look it up for each stretch would cost more than all else.
        var marked = ranges.removeValue(forKey: type) ?? []
        let span = rows.span
        var from = span[0].start
        var to = from
        /// Starts before this fall into the hours up to `to`, or the one behind them.
        var limit = from
        for index in 0..<span.count {
            let start = span[index].start
            let end = span[index].end == .max ? start : span[index].end
            if start >= limit {
                if index > 0 { StaleHours.mark(from, to, in: &marked) }
                (from, to) = (start, start)
            } else if end <= to {
                continue
            }
            to = max(to, end)
            if to >= limit - hour { limit = (to.dividedDown(by: hour) + 2) * hour }
        }
        StaleHours.mark(from, to, in: &marked)
        ranges[type] = marked
    }
}
