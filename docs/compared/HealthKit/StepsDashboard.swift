import Foundation
import HealthKit

/// The dashboard of steps of `SmallApps` on HealthKit alone: the last days with their mean of seven, streaks, the usual
/// day and the week so far. It sees what HealthKit holds and the user lets it read, and nothing on a locked device.
public struct StepsDashboard: Sendable {
    public struct Content: Sendable {
        public var days: [(start: Date, steps: Double, average: Double?)] = []
        public var streak = 0
        public var byHour: [Double] = []
        public var againstLastWeek: Double?
        public var sources: [String: Double] = [:]
    }

    private let store: HKHealthStore
    private let calendar: Calendar
    private let goal: Double
    private static let type = HKQuantityType(.stepCount)

    public init(_ store: HKHealthStore, calendar: Calendar = .current, goal: Double = 10_000) {
        (self.store, self.calendar, self.goal) = (store, calendar, goal)
    }

    public func authorize() async throws {
        try await store.requestAuthorization(toShare: [], read: [Self.type])
    }

    /// The content now, and again whenever HealthKit says that steps may have changed.
    public func contents() -> AsyncThrowingStream<Content, any Error> {
        AsyncThrowingStream { stream in
            let descriptor = HKQueryDescriptor(sampleType: Self.type, predicate: nil)
            let query = HKObserverQuery(queryDescriptors: [descriptor]) { _, _, completion, error in
                if let error { return stream.finish(throwing: error) }
                Task {
                    do { stream.yield(try await content(until: .now)) } catch { stream.finish(throwing: error) }
                    completion()
                }
            }
            store.execute(query)
            stream.onTermination = { _ in store.stop(query) }
        }
    }

    public func content(until now: Date) async throws -> Content {
        let from = calendar.startOfDay(for: now - 30 * 86_400)
        let sums = try await statistics(from, now, DateComponents(day: 1), [.cumulativeSum, .separateBySource])
        var (content, day, last) = (Content(), from, [Double]())
        while day < now {
            let sum = steps(sums.statistics(for: day)?.sumQuantity())
            last = last.suffix(6) + [sum]
            content.days.append((day, sum, last.reduce(0, +) / Double(last.count)))
            let isToday = calendar.isDate(day, inSameDayAs: now)
            content.streak = sum >= goal ? content.streak + 1 : isToday ? content.streak : 0
            day = calendar.date(byAdding: .day, value: 1, to: day)!
        }
        for day in sums.statistics() {
            for source in day.sources ?? [] {
                content.sources[source.name, default: 0] += steps(day.sumQuantity(for: source))
            }
        }
        var hours = [Double](repeating: 0, count: 24)
        for hour in try await statistics(from, now, DateComponents(hour: 1), .cumulativeSum).statistics() {
            hours[calendar.component(.hour, from: hour.startDate)] += steps(hour.sumQuantity())
        }
        content.byHour = hours.map { $0 / Double(max(1, content.days.count)) }
        let week = calendar.dateInterval(of: .weekOfYear, for: now)!.start
        let this = try await sum(week, now)
        let before = try await sum(week - 7 * 86_400, now - 7 * 86_400)
        content.againstLastWeek = before > 0 ? this / before - 1 : nil
        return content
    }

    private func predicate(_ from: Date, _ to: Date) -> HKSamplePredicate<HKQuantitySample> {
        let range = HKQuery.predicateForSamples(withStart: from, end: to, options: .strictStartDate)
        return .quantitySample(type: Self.type, predicate: range)
    }

    private func statistics(
        _ from: Date, _ to: Date, _ interval: DateComponents, _ options: HKStatisticsOptions
    ) async throws -> HKStatisticsCollection {
        try await HKStatisticsCollectionQueryDescriptor(
            predicate: predicate(from, to), options: options, anchorDate: from, intervalComponents: interval
        ).result(for: store)
    }

    private func sum(_ from: Date, _ to: Date) async throws -> Double {
        do {
            let query = HKStatisticsQueryDescriptor(predicate: predicate(from, to), options: .cumulativeSum)
            return steps(try await query.result(for: store)?.sumQuantity())
        } catch let error as HKError where error.code == .errorNoData {
            return 0
        }
    }

    private func steps(_ quantity: HKQuantity?) -> Double { quantity?.doubleValue(for: .count()) ?? 0 }
}
