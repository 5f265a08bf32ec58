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
        if let day = lastDay(isComplete: false), day < line.day(of: date), last < read + DailyTotal.nanosecondsOfDay,
            let lastSecond = ActivitySummaries.time(86_399, of: day, line)
        {
            return lastSecond
        }
        if let day = lastDay(isComplete: true), day >= line.day(of: date) {
            return ActivitySummaries.time(86_400, of: day, line) ?? date
        }
        return date
    }

    /// Returns the last day that has totals which are complete, or such that are not.
    private func lastDay(isComplete: Bool) -> String? {
        days.filter { $0.value.values.contains { $0.isComplete == isComplete } }.keys.max()
    }

    /// Returns the time of a second of a day in the zone of the export.
    private static func time(_ second: Int64, of day: String, _ line: ExportLine) -> Instant? {
        DailyTotal.start(of: day).map { $0 + (second - Int64(line.offset)) * Instant.nanosecondsPerSecond }
    }

    /// Writes the days in their order. What was incomplete is written only in an export of that day.
    mutating func write(to writer: inout SampleWriter, exportDay: String) {
        for day in days.keys.sorted() {
            guard let totals = days[day] else { continue }
            let told = totals.filter { $0.value.isComplete || day >= exportDay }
            lost += totals.count - told.count
            if !told.isEmpty { writer.append(summaryOf: day, told) }
        }
    }
}
