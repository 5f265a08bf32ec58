import ColumnFormat
import HealthModel

/// Finds out whether commits changed anything in what was read.
enum TouchingChanges {
    /// Returns `true` if commits since a token may have changed samples of these types in these ranges.
    static func touch(
        _ ranges: [SampleType: TimeRange], since token: ChangeToken, in snapshot: Snapshot
    ) throws -> Bool {
        guard try ChangeLog.fit(of: token, in: snapshot) == .fits, token.commit >= snapshot.header.prunedCommit else {
            return true
        }
        var numbers: [UInt32: TimeRange] = [:]
        for (type, range) in ranges {
            // The store has still not met the type.
            guard let number = try NameTable.number(of: type, in: snapshot) else { continue }
            numbers[number] = range
        }
        var isTouched = false
        try ChangeLog.forEachRecord(from: token.commit + 1, in: snapshot) { record in
            isTouched = touches(record, numbers)
            return !isTouched
        }
        return isTouched
    }

    private static func touches(_ record: ChangeRecord, _ ranges: [UInt32: TimeRange]) -> Bool {
        let isAnySpan = record.spans.contains { span in
            guard let range = ranges[span.lane.type], span.starts.lowerBound < range.to.nanoseconds else {
                return false
            }
            // The longest samples may reach from anywhere to anywhere.
            if span.lane.duration == .long { return true }
            let longest = span.lane.duration.longest
            return Instant(nanoseconds: span.starts.upperBound) + longest >= range.from
        }
        return isAnySpan
            || record.removals.contains { removal in
                switch removal.scope {
                case .range(let type, let first, _): ranges[type].map { first < $0.to.nanoseconds } ?? false
                case .source: true
                }
            }
    }
}
