import HealthKV
import HealthModel

/// The daily totals that an import took from activity summaries, as the days of an export.
struct ActivitySummaries {
    private var days: [String: [SampleType: DailyTotal]] = [:]
    /// When the latest of them was read.
    private var read: Instant?
    /// Totals of types that no ring shows.
    private(set) var lost = 0

    init(in transaction: borrowing ReadTransaction, where includes: (DailyTotal) -> Bool = { _ in true }) throws {
        try transaction.forEachTotal { total in
            guard total.peer == .appleHealthExport, total.zone == DailyTotal.floatingZone, includes(total) else {
                return
            }
            guard SummaryReader.rings.contains(where: { $0.type == total.type }) else {
                lost += 1
                return
            }
            days[total.day, default: [:]][total.type] = total
            read = max(read ?? total.time, total.time)
        }
    }

    /// Returns the date of an export whose last sample starts at a time. An import takes the days before it as
    /// complete and no others, so it is behind each complete day, and on the last incomplete one unless later samples
    /// show that the day is over.
    func exportDate(after last: Instant, _ line: ExportLine) -> Instant {
        guard let read else { return last }
        let date = max(last, read)
        func end(of day: String) -> Instant? {
            DailyTotal.start(of: day).map {
                $0 + (DailyTotal.nanosecondsOfDay - Int64(line.offset) * Instant.nanosecondsPerSecond)
            }
        }
        if let day = days.filter({ $0.value.values.contains { !$0.isComplete } }).keys.max(), day < line.day(of: date),
            last < read + DailyTotal.nanosecondsOfDay, let end = end(of: day)
        {
            return end + (0 - Instant.nanosecondsPerSecond)
        }
        if let day = days.filter({ $0.value.values.contains(where: \.isComplete) }).keys.max(),
            day >= line.day(of: date), let end = end(of: day)
        {
            return end
        }
        return date
    }

    /// Writes the days in their order. What was incomplete is written only in an export of that day.
    mutating func write(to writer: inout SampleWriter, exportDay: String) {
        for day in days.keys.sorted() {
            guard var totals = days[day] else { continue }
            let whole = totals.filter { $0.value.isComplete || $0.value.day >= exportDay }
            lost += totals.count - whole.count
            totals = whole
            if !totals.isEmpty { writer.append(summaryOf: day, totals) }
        }
    }
}
