#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// The origin of the number of a day (SEMANTICS C35).
public enum DayAnswer: Sendable, Hashable, Codable {
    /// A complete total that a peer gave, and the samples of some sources that were written here and that the peer does
    /// not hold; the sources are in the order of their names.
    case total(peer: PeerID, besides: [SourceIdentity])
    /// Merged samples of some sources; the sources are in the order of their names.
    case samples([SourceIdentity])
    /// There is no data.
    case none
}

/// A day as a walking app shows it.
public struct DailyStepData: Sendable, Hashable, Codable {
    /// `YYYY-MM-DD`, a Gregorian date in the time zone of the query's calendar.
    public let date: String
    /// Whole steps, rounded.
    public let stepCount: Int
    /// Metres, sources merged.
    public let distanceMeters: Double
    /// The caller's name for data of a health database, if a peer's total or imported samples are in the numbers. For a
    /// day with data of this app only, the name of the source that wrote it; empty if there is no data.
    public let source: String
    /// The origin of the steps.
    public let steps: DayAnswer
    /// The origin of the distance.
    public let distance: DayAnswer
    /// Whether any sample belongs to the day; otherwise the numbers are zero.
    public let hasData: Bool
}

extension SampleReading where Self: ~Copyable {
    /// Returns steps and distance of each day from one date to another, both included: a peer's complete total if there
    /// is one, otherwise the merged sum of the samples. Days without data are zeros; a day that the clocks skipped is
    /// left out.
    ///
    /// ```swift
    /// let week = try store.read { txn in
    ///     try txn.dailySteps(from: "2026-03-01", to: "2026-03-07", calendar: calendar, source: "healthkit")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - first: the first date, `YYYY-MM-DD`.
    ///   - last: the last date, `YYYY-MM-DD`. If it is before the first, the result is empty, and
    ///     the store posts the notice ``StoreNotice/Code/invertedRange``.
    ///   - calendar: the calendar whose time zone determines when a day begins.
    ///   - source: the name for data of a health database.
    public func dailySteps(
        from first: String, to last: String, calendar: Calendar = .current, source: String
    ) throws -> [DailyStepData] {
        let (firstDay, lastDay) = (
            try LocalDay.number(first, field: "date"), try LocalDay.number(last, field: "date")
        )
        if firstDay > lastDay {
            let context = snapshot.context
            context.notices?.post(
                .invertedRange, context.path, "Daily steps were asked for with a last date before the first")
            return []
        }
        guard let from = LocalDay.firstInstant(firstDay, in: calendar.timeZone) else { return [] }
        guard let to = LocalDay.firstInstant(lastDay + 1, in: calendar.timeZone) else { return [] }
        let range = TimeRange(from: from, to: to)
        let steps = try answers(.stepCount, range, calendar)
        let distances = try answers(.distanceWalkingRunning, range, calendar)
        return zip(steps, distances).map { day, distance in
            let isOfHealth = day.isOfHealth || distance.isOfHealth
            let written = [day.answer, distance.answer].compactMap(\.sources.first?.name).first
            return DailyStepData(
                date: LocalDay(of: day.statistics.start, in: calendar.timeZone).text,
                stepCount: LocalDay.wholeNumber(day.statistics.sum ?? 0),
                distanceMeters: distance.statistics.sum ?? 0, source: isOfHealth ? source : written ?? "",
                steps: day.answer, distance: distance.answer,
                hasData: day.answer != .none || distance.answer != .none)
        }
    }

    /// Returns the days of a range and the origin of their numbers.
    private func answers(
        _ type: SampleType, _ range: TimeRange, _ calendar: Calendar
    ) throws -> [(statistics: Statistics, answer: DayAnswer, isOfHealth: Bool)] {
        var query = StatisticsQuery(
            type, by: .day, from: range.from, to: range.to, calendar: calendar, fillsEmptyBuckets: true,
            options: CumulativeOptions(sources: .authoritative))
        let days = try statistics(query)
        // Of two sources that counted at the same time one is not in the number.
        query.options = nil
        let bySource = try statisticsBySource(query, competing: true).sorted { $0.key < $1.key }
        return try days.enumerated().map { index, day in
            if let peer = day.totalsOf.first {
                return (day, .total(peer: peer, besides: day.sourcesBesideTotals), true)
            }
            let present = bySource.filter { $0.value[index].hasData }
            let counted = present.filter { $0.value[index].sum ?? 0 != 0 }
            let sources = (counted.isEmpty ? present : counted).map(\.key)
            guard !sources.isEmpty else { return (day, .none, false) }
            let isOfHealth = try sources.contains { try hasImported(type, day, from: $0) }
            return (day, .samples(sources), isOfHealth)
        }
    }

    /// Returns `true` if a day has an imported sample of a source.
    private func hasImported(_ type: SampleType, _ day: Statistics, from source: SourceIdentity) throws -> Bool {
        guard let number = try NameTable.number(of: type, in: snapshot) else { return false }
        var query = RowQuery(range: TimeRange(from: day.start, to: day.end))
        query.source = source
        var isImported = false
        try RowReader.forEachRow(of: number, query, in: snapshot) { row in
            isImported = row.flags.contains(.imported)
            return !isImported
        }
        return isImported
    }
}

extension DayAnswer {
    fileprivate var sources: [SourceIdentity] { if case .samples(let sources) = self { sources } else { [] } }
}

extension LocalDay {
    /// Returns the nearest whole number, limited to the range of `Int`: a sample may have any value.
    fileprivate static func wholeNumber(_ value: Double) -> Int {
        Int(exactly: value.rounded()) ?? (value > 0 ? .max : value < 0 ? .min : 0)
    }

    /// Returns the first instant of a day, or of the next day that the clocks did not skip.
    static func firstInstant(_ day: Int, in zone: TimeZone) -> Instant? {
        for later in 0..<3 {
            if let bounds = LocalDay(day + later, in: zone).bounds { return bounds.from }
        }
        return nil
    }
}
