import Foundation
import HealthKV

/// A dashboard of steps: the last days with their mean of seven, streaks, the usual day and the week so far.
public struct StepsDashboard: Sendable {
    public struct Content: Sendable {
        public var days: [(start: Date, steps: Double, average: Double?)] = []
        public var streak = 0
        public var byHour: [Double] = []
        public var againstLastWeek: Double?
        public var sources: [String: Double] = [:]
    }

    private let store: SampleStore
    private let calendar: Calendar
    private let goal: Double

    public init(_ store: SampleStore, calendar: Calendar = .current, goal: Double = 10_000) {
        (self.store, self.calendar, self.goal) = (store, calendar, goal)
    }

    /// The content now, and again whenever steps of these days are written, by this process or another. Ask again when
    /// a new day begins.
    public func contents(now: @escaping @Sendable () -> Date = { .now }) -> StoreValues<Content> {
        let first = calendar.startOfDay(for: now() - 30 * 86_400)
        let tomorrow = calendar.dateInterval(of: .day, for: now())!.end
        let query = StatisticsQuery(
            .stepCount, by: .day, in: first..<tomorrow, calendar: calendar, fillsEmptyBuckets: true)
        return store.values { [calendar, goal] txn in
            let days = try txn.statistics(query)
            var content = Content()
            content.days = zip(days, days.movingAverage(of: \.sum, over: 7)).map { ($0.start.date, $0.sum ?? 0, $1) }
            content.streak = days.streaks(of: \.sum, meeting: .atLeast(goal)).current?.count ?? 0
            content.byHour = try txn.rhythm(query, of: .hourOfDay).slots.map { $0.average ?? 0 }
            content.againstLastWeek = try txn.comparison(
                of: .stepCount, by: .week, until: now(), calendar: calendar
            ).ratio(of: \.sum).map { $0 - 1 }
            for (source, days) in try txn.statisticsBySource(query, competing: true) {
                content.sources[source.name] = days.reduce(0) { $0 + ($1.sum ?? 0) }
            }
            return content
        }
    }
}
