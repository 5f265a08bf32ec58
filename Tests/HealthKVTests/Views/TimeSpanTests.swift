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
}
