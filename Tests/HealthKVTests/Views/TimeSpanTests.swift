import Foundation
import HealthKV
import TestSupport
import Testing

/// Apps ask with the dates that they have.
@Suite("Ranges of dates")
struct TimeSpanTests {
    private static let zone = TimeZone(identifier: "Europe/Berlin")!

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = Self.zone
        return calendar
    }

    private func date(_ day: Int, hour: Int = 0) -> Date {
        calendar.date(from: DateComponents(year: 2026, month: 3, day: day, hour: hour))!
    }

    private func store() throws -> SampleStore {
        let store = try SampleStore.temporary()
        try store.write { txn in
            for day in 1...10 {
                for hour in [8, 20] {
                    try txn.save(Sample(.stepCount, Double(day * 100 + hour), .count, at: date(day, hour: hour)))
                }
            }
        }
        return store
    }

    @Test("A date interval, ranges of dates and of instants, and a range of the store ask the same") func forms() throws
    {
        let store = try store()
        let (from, to) = (date(3), date(6))
        let (first, last) = (try Instant(from), try Instant(to))
        let forms: [any TimeSpan] = [
            DateInterval(start: from, end: to), from..<to, first..<last, TimeRange(from: first, to: last),
        ]
        let expected = try store.read { try $0.samples(of: .stepCount, from: first, to: last) }
        #expect(expected.count == 6)
        for form in forms {
            #expect(form.timeRange == TimeRange(from: first, to: last))
            #expect(TimeRange(form) == form.timeRange)
            try store.read { txn in
                #expect(try txn.samples(of: .stepCount, in: form) == expected)
                #expect(try txn.samples(of: .stepCount, in: form, order: .descending, limit: 1) == [expected[5]])
                #expect(try txn.count(of: .stepCount, in: form) == 6)
                #expect(try txn.count(SampleQuery(.stepCount, in: form, rule: .strictStart)) == 6)
                #expect(try txn.series(.stepCount, in: form).values == expected.map(\.quantity.value))
                let sum = expected.reduce(0) { $0 + $1.quantity.value }
                #expect(try txn.statistics(of: .stepCount, in: form).sum == sum)
                let days = try txn.statistics(.stepCount, by: .day, in: form, calendar: calendar)
                #expect(days.map { $0.sum } == [628, 828, 1028])
            }
        }
    }

    @Test("Ranges with one bound go on for ever") func partial() throws {
        let store = try store()
        #expect(try store.read { try $0.count(of: .stepCount, in: date(8)...) } == 6)
        #expect(try store.read { try $0.count(of: .stepCount, in: ..<date(3)) } == 4)
        #expect((date(8)...).timeRange.to == .distantFuture && (..<date(3)).timeRange.from == .distantPast)
    }

    @Test("Dates that no sample can have bound nothing, and all of time is asked for with Foundation's own bounds")
    func extremes() throws {
        let store = try store()
        let all = Date.distantPast..<Date.distantFuture
        #expect(all.timeRange == .all)
        #expect(try store.read { try $0.count(of: .stepCount, in: all) } == 20)
        #expect(Date(timeIntervalSinceReferenceDate: .infinity).boundingInstant == .distantFuture)
        #expect(Date(timeIntervalSinceReferenceDate: -.infinity).boundingInstant == .distantPast)
        // Such a date is still no time of a sample.
        #expect(throws: ModelError.self) { try Instant(Date.distantPast) }
    }

    @Test("A range of dates selects what to delete, and now is the time of the system") func deletion() throws {
        let store = try store()
        try store.write { txn in try txn.delete(.range(of: .stepCount, in: date(1)..<date(4))) }
        #expect(try store.read { try $0.count(of: .stepCount) } == 14)
        let before = try Instant(Date())
        #expect(Instant.now >= before - Instant.nanosecondsPerSecond)
        #expect(Instant.now <= before + 600 * Instant.nanosecondsPerSecond)
    }

    @Test("A sample is made of dates as of instants, and .now is an instant") func samples() throws {
        let before = Instant.now
        let now = Sample(.bodyMass, 72.4, .kilogram, at: .now)
        #expect(now.start >= before && now.start <= Instant.now)
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        let instant = try Instant(date)
        let id = SampleID()
        let one = try Sample(.bodyMass, .kilograms(72.4), at: date, id: id, isUserEntered: true, group: "a")
        #expect(one == Sample(.bodyMass, 72.4, .kilogram, at: instant, id: id, isUserEntered: true, group: "a"))
        let long = try Sample(.stepCount, 100, .count, from: date, to: date + 60, id: id)
        #expect(long == Sample(.stepCount, 100, .count, from: instant, to: instant + 60_000_000_000, id: id))
        #expect(throws: ModelError.self) { try Sample(.bodyMass, 72.4, .kilogram, at: Date.distantPast) }
    }

    @Test("What apps write takes dates as it takes instants") func entries() throws {
        let (from, to) = (date(3, hour: 8), date(3, hour: 9))
        let (first, last) = (try Instant(from), try Instant(to))
        let id = SampleID()
        #expect(
            try Sample(.stepCount, .count(70), from: from, to: to, id: id)
                == Sample(.stepCount, 70, .count, from: first, to: last, id: id))
        #expect(
            Sample(.stepCount, .count(70), from: first, to: last, id: id)
                == Sample(.stepCount, 70, .count, from: first, to: last, id: id))
        let sleep = try Sample(category: .sleepAnalysis, 3, from: from, to: to, id: id)
        #expect(sleep == Sample(category: .sleepAnalysis, 3, from: first, to: last, id: id))
        let weight = try Sample.weight(.kilograms(71), at: from, note: "morning")
        #expect(weight.start == first && weight.note == "morning" && weight.isUserEntered)
        let water = try Sample.water(.liters(0.5), at: from)
        #expect(try water.start == first && water.value(in: .milliliter) == 500)
        let walk = try Sample.walking(steps: 700, meters: 500, from: from, to: to)
        #expect(walk.map(\.end) == [last, last])
        let run = try Sample.workout(.running, from: from, to: to, energy: .kilocalories(300))
        #expect(run.start == first && run.duration == 3_600)
        let event = try WorkoutEvent(.pause, from: from, to: to)
        #expect(event == WorkoutEvent(.pause, from: first, to: last))
        let part = try WorkoutActivity(.running, from: from, to: to, id: id)
        #expect(part == WorkoutActivity(.running, from: first, to: last, id: id))
        var workout = Workout(.running)
        workout.activities = [part]
        #expect(try Sample.workout(workout, from: from, to: to).workout == workout)
        let meal = try Meal(id: "lunch", at: from, protein: .grams(30))
        #expect(meal.at == first)
        let source = Source(bundle: "scale", name: "Scale")
        let batch = try SampleBatch(
            .stepCount, .count, source: source, starts: [from, from], ends: [to, to], values: [1, 2], ids: [id, id])
        #expect(batch.count == 2)
        #expect(throws: ModelError.self) { try Meal(id: "lunch", at: Date.distantPast) }
    }

    @Test("Statistics and views answer to dates as they do to instants") func views() throws {
        let store = try store()
        try store.write { txn in
            for day in 1...10 {
                try txn.save(.weight(.kilograms(70 + Double(day)), at: date(day, hour: 7)))
                try txn.save(try Meal(id: "meal \(day)", at: date(day, hour: 12), protein: .grams(Double(day))))
            }
        }
        let (from, to, noon) = (date(3), date(6), date(5, hour: 12))
        let (first, last, now) = (try Instant(from), try Instant(to), try Instant(noon))
        let (span, calendar) = (from..<to, calendar)
        let late = SampleFilter.value(in: 1_001...2_000, .count)
        try store.read { txn in
            let query = StatisticsQuery(.stepCount, by: .day, in: span, calendar: calendar, anchor: from)
            #expect((query.from, query.to, query.anchor) == (first, last, first))
            #expect(try txn.statistics(query).map(\.sum) == [628, 828, 1028])
            let strict = CumulativeOptions(borders: .strictStart)
            #expect(
                try txn.statistics(.stepCount, by: .day, in: span, calendar: calendar, options: strict).map(\.sum)
                    == [628, 828, 1028])
            #expect(try txn.statistics(of: .stepCount, in: from..<date(11), where: late).sum == 1_008 + 1_020)
            #expect(
                try txn.series(.stepCount, in: span, points: 3).map(\.mean)
                    == txn.series(.stepCount, from: first, to: last, points: 3).map(\.mean))
            let sum = try txn.fold(.stepCount, in: span, into: 0.0) { sum, _, values in
                for index in values.indices { sum += values[index] }
            }
            #expect(sum == 628 + 828 + 1_028)
            var count = 0
            try txn.forEachSample(of: .stepCount, in: span) { _ in
                count += 1
                return count < 4
            }
            #expect(count == 4)
            #expect(try txn.nutrition(in: span, calendar: calendar).map { $0[.dietaryProtein]?.value } == [3, 4, 5])
            #expect(try txn.nutrition(on: noon, calendar: calendar)[.dietaryProtein]?.value == 5)
            #expect(try txn.meals(in: span).map(\.group) == ["meal 3", "meal 4", "meal 5"])
            #expect(try txn.weightTrend(in: span, calendar: calendar).map(\.value) == [73, 74, 75])
            #expect(try txn.today(at: noon, calendar: calendar) == txn.today(at: now, calendar: calendar))
            let week = try txn.comparison(of: .stepCount, by: .day, until: noon, calendar: calendar)
            #expect(week.later.sum == 508 && week.earlier.sum == 408)
            let days = try txn.statistics(.stepCount, by: .day, in: date(1)..<date(9), calendar: calendar)
            let goal = Goal.atLeast(500)
            #expect(
                days.streaks(of: \.sum, meeting: goal, until: noon)
                    == days.streaks(of: \.sum, meeting: goal, until: now))
        }
    }
}
