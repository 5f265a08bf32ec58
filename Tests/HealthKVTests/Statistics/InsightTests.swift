import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// What people ask of statistics, each beside a plain computation of the same.
@Suite("Distributions, bands, trends, rhythms, streaks and days of travel")
struct InsightTests {
    private static let minute: Int64 = 60_000_000_000
    private static let hour = 60 * minute
    private static let day = 24 * hour

    private static func calendar(_ zone: String = "Europe/Berlin") -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone)!
        return calendar
    }

    private static func instant(_ text: String) -> Instant { Instant(text)! }

    /// Samples of several sources that overlap, over some weeks with a change of the clocks.
    private static func store(
        _ type: SampleType, _ unit: HealthUnit, _ count: Int, using random: inout SeededGenerator
    ) throws -> (SampleStore, [Sample]) {
        let store = try SampleStore.temporary()
        let base = instant("2024-03-10T00:00:00Z")
        let samples = (0..<count).map { _ in
            let start = base + Int64(random.number(0..<40 * 24 * 60)) * minute
            return Sample(
                type, Double(random.number(1..<400)) / 4, unit, from: start,
                to: start + random.pick([0, 5, 40, 90]) * minute,
                source: Source(name: random.pick(["Phone", "Watch", "App"])))
        }
        try store.write { txn in for sample in samples { _ = try txn.save(sample) } }
        return (store, try store.read { try $0.samples(of: type) })
    }

    @Test("Percentiles are those of linear interpolation, as other programs compute them") func percentiles() throws {
        // The figures are of PostgreSQL's percentile_cont and of Python's statistics.quantiles(method: inclusive).
        let few = Distribution([15, 20, 35, 40, 50])
        #expect([0, 5, 30, 40, 50, 95, 100].map { few.percentile($0)! } == [15, 16, 23, 29, 35, 48, 50])
        #expect(few.median == 35 && few.mean == 32 && few.minimum == 15 && few.maximum == 50)
        #expect(abs(few.standardDeviation! - 14.404860290887933) < 1e-12)
        #expect(few.share(in: 20...40) == 0.6 && few.share(in: 51...60) == 0)
        #expect(Distribution([1, 2, 3, 4]).median == 2.5)
        let none = Distribution([.nan])
        #expect(none.count == 0 && none.median == nil && none.mean == nil && none.share(in: 0...1) == 0)
        #expect(few.percentile(-1) == nil && few.percentile(101) == nil && few.percentile(.nan) == nil)
        var random = SeededGenerator()
        for _ in 0..<200 {
            let values = (0..<random.number(1..<60)).map { _ in Double(random.number(0..<50)) }
            let found = Distribution(values)
            let percent = Double(random.number(0..<101))
            // Independent of the code: weights by distance to the place between ranks.
            let place = percent / 100 * Double(values.count - 1)
            let expected = values.sorted().enumerated().reduce(0.0) {
                $0 + $1.element * max(0, 1 - abs(Double($1.offset) - place))
            }
            #expect(abs(found.percentile(percent)! - expected) < 1e-9)
            let range = Double(random.number(0..<25))...Double(random.number(25..<50))
            #expect(found.share(in: range) == Double(values.filter(range.contains).count) / Double(values.count))
        }
        let store = try SampleStore.temporary()
        try store.write { txn in
            for (index, value) in [150.0, 160, 170].enumerated() {
                _ = try txn.save(Sample(.bodyMass, value, .pound, at: Instant(nanoseconds: Int64(index))))
            }
        }
        let pounds = try store.read { try $0.distribution(SampleQuery(.bodyMass), unit: .pound) }
        #expect(abs(pounds.median! - 160) < 1e-9 && pounds.unit == .pound)
        let kilograms = try store.read { try $0.distribution(SampleQuery(.bodyMass)) }
        #expect(abs(kilograms.median! - 72.5747792) < 1e-6 && kilograms.unit == .kilogram)
        try store.close()
    }

    @Test("Time in bands is what a clock sees that looks every minute") func bands() throws {
        var random = SeededGenerator()
        let unit = try HealthUnit(symbol: "mg/dL")
        for round in 0..<12 {
            let (store, samples) = try Self.store(.bloodGlucose, unit, round * 40, using: &random)
            let base = Self.instant("2024-03-10T00:00:00Z")
            let from = base + Int64(random.number(0..<10 * 24 * 60)) * Self.minute
            let to = from + Int64(random.number(0..<20 * 24 * 60)) * Self.minute
            let hold = Int64(random.pick([0, 15, 600])) * Self.minute
            let borders = [20.0, 60, 90].prefix(random.number(0..<4)).map { $0 }
            let query = SampleQuery(.bloodGlucose, from: from, to: to, order: .descending, limit: 3)
            let found = try store.read {
                try $0.timeInBands(query, borders: borders, unit: unit, hold: .nanoseconds(hold))
            }
            var minutes = Array(repeating: 0, count: borders.count + 1)
            let inside = samples.filter {
                TimeRange(from: from, to: to).picks(start: $0.start, end: $0.end, by: .overlap)
            }
            var now = from
            while now < to {
                if let last = samples.last(where: { $0.start <= now }), now < last.end + hold {
                    minutes[borders.filter { $0 <= last.quantity.value }.count] += 1
                }
                now = now + Self.minute
            }
            #expect(found.bands.map(\.nanoseconds) == minutes.map { Int64($0) * Self.minute })
            #expect(found.bands.map(\.count).reduce(0, +) == inside.count)
            #expect(found.nanoseconds == 0 || abs(found.bands.map(\.share).reduce(0, +) - 1) < 1e-9)
            #expect(found.bands.map(\.lower) == [nil] + borders.map { $0 })
            try store.close()
        }
        let store = try SampleStore.temporary()
        #expect(throws: StoreError.self) {
            try store.read { try $0.timeInBands(SampleQuery(.bodyMass), borders: [2, 1]) }
        }
        try store.close()
    }

    @Test("A trend is the line of least squares") func trend() throws {
        let base = Self.instant("2024-03-10T00:00:00Z")
        let exact = try #require(Trend((0..<9).map { (base + Int64($0) * Self.day, 80 - 0.5 * Double($0)) }))
        #expect(abs(exact.perDay + 0.5) < 1e-12 && abs(exact.value(at: base) - 80) < 1e-9 && exact.fit == 1)
        #expect(Trend([(base, 1), (base, 2)]) == nil && Trend([]) == nil)
        #expect(Trend([(base, 3), (base + 1, 3)])?.fit == 1)
        var random = SeededGenerator()
        for _ in 0..<50 {
            let points = (0..<random.number(2..<40)).map { _ in
                (time: base + Int64(random.number(0..<90)) * Self.day, value: Double(random.number(0..<100)))
            }
            guard let trend = Trend(points) else { continue }
            func error(_ perDay: Double, _ shift: Double) -> Double {
                points.reduce(0) {
                    let day = Double($1.time.nanoseconds - trend.center.nanoseconds) / Double(Self.day)
                    let miss = $1.value - (trend.centerValue + shift + perDay * day)
                    return $0 + miss * miss
                }
            }
            // No line nearby fits better.
            let least = error(trend.perDay, 0)
            for (slope, shift) in [(0.001, 0.0), (-0.001, 0), (0, 0.01), (0, -0.01), (0.001, -0.01)] {
                #expect(error(trend.perDay + slope, shift) >= least - 1e-9)
            }
        }
    }

    @Test("Moving averages, streaks and goals count days as a person does, also days without data") func days() throws {
        let calendar = Self.calendar()
        var random = SeededGenerator()
        for _ in 0..<60 {
            let store = try SampleStore.temporary()
            // Days of March with a change of the clocks, some without data.
            let sums: [Int: Double] = (1...31).reduce(into: [:]) { days, day in
                if random.chance(percent: 75) { days[day] = Double(random.number(1..<10)) }
            }
            try store.write { txn in
                for (day, sum) in sums {
                    let noon = calendar.date(from: DateComponents(year: 2024, month: 3, day: day, hour: 12))!
                    _ = try txn.save(Sample(.stepCount, sum, .count, at: Instant(noon)))
                }
            }
            let first = try Instant(calendar.date(from: DateComponents(year: 2024, month: 3, day: 1))!)
            let last = try Instant(calendar.date(from: DateComponents(year: 2024, month: 4, day: 1))!)
            let (least, isOpen, fills) = (
                Double(random.number(1..<10)), random.chance(percent: 50), random.chance(percent: 50)
            )
            let days = try store.read {
                try $0.statistics(
                    .stepCount, by: .day, from: first, to: last, calendar: calendar, fillsEmptyBuckets: fills)
            }
            let averages = days.movingAverage(of: \.sum, over: 7)
            let listed = fills ? Array(1...31) : sums.keys.sorted()
            #expect(averages.count == listed.count)
            for (day, average) in zip(listed, averages) {
                let known = (max(1, day - 6)...day).compactMap { sums[$0] }
                #expect(average == (known.isEmpty ? nil : known.reduce(0, +) / Double(known.count)))
            }
            let found = days.streaks(of: \.sum, meeting: .atLeast(least), lastIsOpen: isOpen)
            var (rows, row): ([ClosedRange<Int>], ClosedRange<Int>?) = ([], nil)
            for day in 1...31 {
                if let sum = sums[day], sum >= least {
                    row = (row?.lowerBound ?? day)...day
                    if day == 31 { rows.append(row!) }
                } else {
                    if let row { rows.append(row) }
                    if !(day == 31 && isOpen) { row = nil }
                }
            }
            #expect(found.current?.count == row?.count)
            #expect(found.longest?.count == rows.map(\.count).max())
            #expect(found.met == sums.values.filter { $0 >= least }.count)
            if let row {
                let start = calendar.date(from: DateComponents(year: 2024, month: 3, day: row.lowerBound))!
                #expect(try found.current?.start == Instant(start))
            }
            try store.close()
        }
        let store = try SampleStore.temporary()
        try store.write { txn in
            for day in 1...3 {
                let noon = calendar.date(from: DateComponents(year: 2024, month: 3, day: day, hour: 12))!
                _ = try txn.save(Sample(.stepCount, 5, .count, at: Instant(noon)))
            }
        }
        func day(_ number: Int) throws -> Instant {
            try Instant(calendar.date(from: DateComponents(year: 2024, month: 3, day: number))!)
        }
        let (from, to) = (try day(1), try day(31))
        let month = try store.read { try $0.statistics(.stepCount, by: .day, from: from, to: to, calendar: calendar) }
        // Days of the future end no row; days without data do.
        #expect(month.streaks(of: \.sum, meeting: .atLeast(5)).current == nil)
        #expect(month.streaks(of: \.sum, meeting: .atLeast(5), until: try day(4) - 1).current?.count == 3)
        #expect(month.streaks(of: \.sum, meeting: .atLeast(5), until: try day(5) - 1).current?.count == 3)
        #expect(month.streaks(of: \.sum, meeting: .atLeast(5), until: try day(6) - 1).current == nil)
        // An upper limit is kept when the day is over, and missed at once.
        for (limit, isOpen, expected) in [(5.0, true, 2), (5, false, 3), (4, true, nil), (4, false, nil)] {
            let found = month.streaks(
                of: \.sum, meeting: .atMost(limit), lastIsOpen: isOpen, until: try day(4) - 1)
            #expect(found.current?.count == expected && found.met == (expected ?? 0), "\(limit) \(isOpen)")
            let within = month.streaks(
                of: \.sum, meeting: .within(1...limit), lastIsOpen: isOpen, until: try day(4) - 1)
            #expect(within.current?.count == expected, "\(limit) \(isOpen)")
        }
        try store.close()
        #expect(Goal.within(1...2).isMet(by: 2) && !Goal.atMost(1).isMet(by: 2) && Goal.atLeast(2).isMet(by: 2))
    }

    @Test("What each source contributes adds up to the merged sum") func contributions() throws {
        var random = SeededGenerator()
        for _ in 0..<8 {
            let (store, samples) = try Self.store(.stepCount, .count, 300, using: &random)
            let query = StatisticsQuery(.stepCount, by: .day, calendar: Self.calendar(), fillsEmptyBuckets: true)
            try store.read { txn in
                let merged = try txn.statistics(query)
                let parts = try txn.statisticsBySource(query, competing: true)
                #expect(Set(parts.keys) == Set(samples.map(\.source.identity)))
                for index in merged.indices {
                    let sum = parts.values.reduce(0.0) { $0 + ($1[index].sum ?? 0) }
                    #expect(abs(sum - (merged[index].sum ?? 0)) < 1e-9 * max(1, sum))
                    #expect(parts.values.reduce(0) { $0 + $1[index].count } == merged[index].count)
                }
                // The best source keeps all that it has alone.
                let best = try txn.rankedSources(of: .stepCount)[0].source
                let alone = try txn.statisticsBySource(query)
                for index in merged.indices {
                    #expect(abs((alone[best]![index].sum ?? 0) - (parts[best]![index].sum ?? 0)) < 1e-9)
                }
            }
            try store.close()
        }
    }

    @Test("Rhythms group by the local clock, also when it changes") func rhythms() throws {
        var random = SeededGenerator()
        for (type, unit) in [(SampleType.stepCount, HealthUnit.count), (.bodyMass, .kilogram)] {
            let (store, samples) = try Self.store(type, unit, 500, using: &random)
            let calendar = Self.calendar(random.pick(["Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]))
            let query = StatisticsQuery(type, by: nil, calendar: calendar)
            let (hours, weekdays) = try store.read {
                (try $0.rhythm(query, of: .hourOfDay), try $0.rhythm(query, of: .dayOfWeek))
            }
            #expect(hours.slots.map(\.number) == Array(0..<24))
            #expect(weekdays.slots.map(\.number) == (0..<7).map { ($0 + calendar.firstWeekday - 1) % 7 + 1 })
            for (rhythm, component) in [(hours, Calendar.Component.hour), (weekdays, .weekday)] {
                for slot in rhythm.slots {
                    let mine = samples.filter { calendar.component(component, from: $0.start.date) == slot.number }
                    #expect(slot.count == mine.count)
                    guard type == .bodyMass, !mine.isEmpty else { continue }
                    let values = mine.map(\.quantity.value)
                    #expect(abs(slot.average! - values.reduce(0, +) / Double(values.count)) < 1e-9)
                    #expect(slot.minimum == values.min() && slot.maximum == values.max())
                }
            }
            if type == .stepCount {
                let total = try store.read { try $0.statistics(of: type).sum! }
                #expect(abs(hours.slots.compactMap(\.sum).reduce(0, +) - total) < 1e-6)
                #expect(hours.slots.allSatisfy { $0.average == $0.sum! / Double($0.occurrences) })
            }
            try store.close()
        }
    }

    @Test("Periods are compared up to the same local time") func periods() throws {
        let calendar = Self.calendar()
        let store = try SampleStore.temporary()
        @Sendable func at(_ day: Int, _ hour: Int) -> Instant {
            try! Instant(calendar.date(from: DateComponents(year: 2024, month: 3, day: day, hour: hour))!)
        }
        // The clocks change on the 31st, a Sunday, at 2.
        try store.write { txn in
            for (day, hour, steps) in [
                (24, 9, 10.0), (24, 15, 100), (31, 9, 30), (31, 15, 500), (30, 9, 7), (30, 15, 70),
            ] {
                _ = try txn.save(Sample(.stepCount, steps, .count, at: at(day, hour)))
            }
        }
        try store.read { txn in
            let day = try txn.comparison(of: .stepCount, by: .day, until: at(31, 12), calendar: calendar)
            #expect(day.earlier.sum == 7 && day.later.sum == 30)
            #expect(day.earlier.end == at(30, 12))
            #expect(day.change(of: \.sum) == 23)
            let week = try txn.comparison(of: .stepCount, by: .week, until: at(31, 12), calendar: calendar)
            #expect(week.earlier.start == at(calendar.firstWeekday == 1 ? 24 : 18, 0))
            #expect(week.later.sum == (calendar.firstWeekday == 1 ? 30 : 107))
            let two = try txn.comparison(of: .stepCount, at(24, 0)..<at(25, 0), with: at(31, 0)...)
            #expect(two.ratio(of: \.sum) == 530.0 / 110)
            #expect(
                try txn.comparison(of: .bodyMass, at(24, 0)..<at(25, 0), with: at(31, 0)...).change(of: \.average)
                    == nil)
        }
        try store.close()
    }

    @Test("A part of a period that ends in a skipped hour ends where the clock goes on") func skippedHour() throws {
        let store = try SampleStore.temporary()
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "America/New_York")!
        calendar.firstWeekday = 1
        // The clock goes from 2 to 3 on the 8th, a Sunday.
        let start = Instant("2026-03-08T05:00:00Z")!
        for (half, steps) in [(3, 10.0), (4, 100)] {
            try store.save(Sample(.stepCount, steps, .count, at: start + .seconds(half * 1_800 - 600)))
        }
        let now = Instant("2026-03-15T06:30:00.25Z")!
        let week = try store.read { try $0.comparison(of: .stepCount, by: .week, until: now, calendar: calendar) }
        #expect(week.earlier.start == start && week.earlier.end == start + .seconds(7_200))
        #expect(week.earlier.sum == 110)
        try store.close()
    }

    @Test("A part of a period in or behind an hour that comes twice begins where the period does")
    func repeatedHour() throws {
        let store = try SampleStore.temporary()
        let calendar = Self.calendar()
        // The clock goes from 3 back to 2 at 01:00 UTC.
        let change = Self.instant("2026-10-25T01:00:00Z")
        for (minute, steps) in [(-55, 1.0), (5, 10), (30, 100)] {
            try store.save(Sample(.stepCount, steps, .count, at: change + Int64(minute) * Self.minute))
        }
        try store.read { txn in
            let hour = try txn.comparison(
                of: .stepCount, by: .hour, until: change + 80 * Self.minute, calendar: calendar)
            #expect(hour.earlier.start == change && hour.earlier.end == change + 20 * Self.minute)
            #expect(hour.earlier.sum == 10)
            let now = change + 30 * Self.minute + 30_000_000_000
            let minute = try txn.comparison(of: .stepCount, by: .minute, until: now, calendar: calendar)
            #expect(minute.earlier.start == change + 29 * Self.minute)
            #expect(minute.earlier.end == change + 29 * Self.minute + 30_000_000_000 && minute.later.sum == 100)
        }
        try store.close()
    }

    @Test(
        "A comparison up to an absurd instant ends no process",
        arguments: [Instant.distantPast, .earliest, .latest, .distantFuture, Instant("2150-01-01T00:00:00Z")!])
    func absurdComparison(now: Instant) throws {
        let store = try SampleStore.temporary()
        try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
        for zone in ["Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
            for unit in StatisticsInterval.Unit.allCases {
                _ = try store.read {
                    try $0.comparison(of: .stepCount, by: unit, until: now, calendar: Self.calendar(zone))
                }
            }
        }
        try store.close()
    }

    @Test("The last day of a range ends at its midnight, also where a journey begins before it")
    func journeyAtTheEnd() throws {
        let days = TravelDays([
            TravelDays.Stay(from: Self.instant("2024-01-01T00:00:00Z"), zone: TimeZone(identifier: "Europe/Berlin")!),
            TravelDays.Stay(
                from: Self.instant("2024-02-10T22:30:00Z"), zone: TimeZone(identifier: "America/Los_Angeles")!),
        ])
        let borders = days.borders(from: Self.instant("2024-02-09T00:00:00Z"), to: Self.instant("2024-02-10T12:00:00Z"))
        #expect(
            borders == ["2024-02-08T23:00:00Z", "2024-02-09T23:00:00Z", "2024-02-11T08:00:00Z"].map(Self.instant))
        let within = days.borders(from: Self.instant("2024-02-10T10:05:00Z"), to: Self.instant("2024-02-10T10:15:00Z"))
        #expect(within == ["2024-02-09T23:00:00Z", "2024-02-11T08:00:00Z"].map(Self.instant))
    }

    @Test("Days of a person who travels tile time, and none has the date of another") func travel() throws {
        let zones = ["Europe/Berlin", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "Pacific/Pago_Pago"]
        var random = SeededGenerator()
        for _ in 0..<12 {
            var now = Self.instant("2024-03-01T00:00:00Z")
            let stays = (0..<random.number(1..<8)).map { _ in
                now = now + Int64(random.number(1..<96 * 60)) * Self.minute
                return TravelDays.Stay(from: now, zone: TimeZone(identifier: random.pick(zones))!)
            }
            let (from, to) = (Self.instant("2024-03-05T00:00:00Z"), Self.instant("2024-03-25T00:00:00Z"))
            let borders = TravelDays(stays).borders(from: from, to: to)
            #expect(borders.first! <= from && borders.last! >= to)
            // Another way: look at the date every minute, from long before.
            var (date, expected): (String, [Instant]) = ("", [])
            var minute = Self.instant("2024-02-28T00:00:00Z")
            while minute < borders.last! + Self.minute {
                let zone = (stays.last { $0.from <= minute } ?? stays[0]).zone
                let offset = Int64(zone.secondsFromGMT(for: minute.date))
                let local = String((minute + offset * 1_000_000_000).description.prefix(10))
                if local > date {
                    date = local
                    expected.append(minute)
                }
                minute = minute + Self.minute
            }
            #expect(borders == expected.filter { $0 >= borders[0] })
            let lengths = zip(borders, borders.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
            #expect(lengths.allSatisfy { $0 <= 50 * Self.hour })
        }
        // The longest day and a short one: across the date line right after midnight, and where the clocks go forward.
        func lengths(_ stays: [(String, String)], from: String, to: String) -> [Int64] {
            let days = TravelDays(
                stays.map { TravelDays.Stay(from: Self.instant($0.0), zone: TimeZone(identifier: $0.1)!) })
            let borders = days.borders(from: Self.instant(from), to: Self.instant(to))
            return zip(borders, borders.dropFirst()).map { ($1.nanoseconds - $0.nanoseconds) / (Self.hour / 2) }
        }
        let west = [("2024-01-01T00:00:00Z", "Pacific/Kiritimati"), ("2024-03-09T10:30:00Z", "Pacific/Pago_Pago")]
        #expect(lengths(west, from: "2024-03-09T11:00:00Z", to: "2024-03-09T12:00:00Z") == [2 * 49])
        let east = [("2024-01-01T00:00:00Z", "Pacific/Pago_Pago"), ("2024-03-10T11:30:00Z", "Pacific/Kiritimati")]
        #expect(lengths(east, from: "2024-03-10T11:00:00Z", to: "2024-03-10T12:00:00Z") == [1, 2 * 22 + 1])
        let berlin = [("2024-01-01T00:00:00Z", "Europe/Berlin")]
        #expect(lengths(berlin, from: "2024-03-31T01:00:00Z", to: "2024-03-31T02:00:00Z") == [2 * 23])
        // Berlin to Los Angeles on the 10th: 33 hours, and the steps of both evenings are of one day.
        let store = try SampleStore.temporary()
        @Sendable func step(_ text: String, _ zone: String, _ value: Double) -> Sample {
            var sample = Sample(.stepCount, value, .count, at: Self.instant(text))
            sample.timeZone = zone
            return sample
        }
        try store.write { txn in
            for sample in [
                step("2024-02-09T10:00:00Z", "Europe/Berlin", 1), step("2024-02-10T10:00:00Z", "Europe/Berlin", 2),
                step("2024-02-10T22:30:00Z", "America/Los_Angeles", 3),
                step("2024-02-11T20:00:00Z", "America/Los_Angeles", 4),
            ] { _ = try txn.save(sample) }
        }
        try store.read { txn in
            let days = try txn.travelDays(of: .stepCount, fallback: .gmt)
            #expect(days.stays.count == 2)
            let borders = days.borders(
                from: Self.instant("2024-02-09T00:00:00Z"), to: Self.instant("2024-02-12T00:00:00Z"))
            let sums = try txn.statistics(StatisticsQuery(.stepCount, borders: borders))
            #expect(sums.map(\.sum) == [1, 5, 4])
            #expect(sums[1].end.nanoseconds - sums[1].start.nanoseconds == 33 * Self.hour)
            #expect(sums.streaks(of: \.sum, meeting: .atLeast(1)).current?.count == 3)
        }
        #expect(throws: StoreError.self) {
            try store.read {
                try $0.statistics(
                    StatisticsQuery(.stepCount, borders: [Instant(nanoseconds: 2), Instant(nanoseconds: 1)]))
            }
        }
        try store.close()
    }

    @Test("Samples that are centuries apart end nothing") func centuries() throws {
        let store = try SampleStore.temporary()
        let (first, last) = (Self.instant("1711-01-01T00:00:00Z"), Self.instant("2289-01-01T00:00:00Z"))
        try store.write { txn in
            _ = try txn.save(Sample(.bodyMass, 1, .kilogram, at: first))
            for index in 0..<40 { _ = try txn.save(Sample(.bodyMass, 2, .kilogram, at: last + Int64(index))) }
        }
        try store.read { txn in
            let query = SampleQuery(.bodyMass)
            let trend = try #require(try txn.trend(query))
            #expect(trend.perDay > 0 && trend.count == 41)
            let bands = try txn.timeInBands(query, borders: [1.5], hold: .seconds(Int64.max))
            #expect(bands.nanoseconds > 0 && bands.bands.map(\.count) == [1, 40])
            #expect(try txn.series(.bodyMass).largestTriangles(10).count == 10)
            #expect(try txn.distribution(query).median == 2)
        }
        try store.close()
    }

    @Test("The largest triangles keep the ends, the order and the peaks") func triangles() {
        var random = SeededGenerator()
        for _ in 0..<100 {
            let count = random.number(0..<400)
            var times: [Int64] = []
            for _ in 0..<count { times.append((times.last ?? -1_000) + Int64(random.number(0..<50))) }
            let values = (0..<count).map { _ in Double(random.number(0..<1_000)) }
            let series = Series(times: times, values: values, unit: nil)
            let wanted = random.number(2..<60)
            let found = series.largestTriangles(wanted)
            #expect(found.count == min(count, wanted))
            guard count > wanted else { continue }
            #expect(found.times.first == times.first && found.times.last == times.last)
            #expect(found.times == found.times.sorted())
            // Every point is one of the series.
            let all = Set(zip(times, values).map { "\($0) \($1)" })
            #expect(zip(found.times, found.values).allSatisfy { all.contains("\($0) \($1)") })
        }
        // A flat line with one peak keeps the peak.
        var flat = Series(times: (0..<1_000).map { Int64($0) }, values: Array(repeating: 1, count: 1_000), unit: nil)
        flat.values[617] = 50
        #expect(flat.largestTriangles(10).values.contains(50))
    }
}
