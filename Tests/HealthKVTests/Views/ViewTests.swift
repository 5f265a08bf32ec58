import Foundation
import Testing

@testable import HealthKV

@Suite struct AppViewTests {
    private func calendar(_ zone: String) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone)!
        return calendar
    }

    @Test("The walking app gets every day, zeros where there is nothing, none for a skipped day")
    func steps() throws {
        try withStore { store in
            try store.save(Sample(.stepCount, 1_000.4, .count, from: .day(1, 0), to: .day(1, 60)))
            try store.save(Sample(.distanceWalkingRunning, 0.7, .kilometer, from: .day(1, 0), to: .day(1, 60)))
            let days = try store.read { txn in
                try txn.dailySteps(
                    from: "2026-01-01", to: "2026-01-03", calendar: calendar("UTC"), source: "healthkit")
            }
            #expect(days.map(\.date) == ["2026-01-01", "2026-01-02", "2026-01-03"])
            #expect(days.map(\.stepCount) == [0, 1_000, 0] && days.map(\.distanceMeters) == [0, 700, 0])
            #expect(days.map(\.hasData) == [false, true, false])
            // What this app wrote is not Health's.
            #expect(days.map(\.source) == ["", store.ownSource.identity.name, ""])
            let apia = try store.read { txn in
                try txn.dailySteps(
                    from: "2011-12-29", to: "2011-12-31", calendar: calendar("Pacific/Apia"), source: "s")
            }
            #expect(apia.map(\.date) == ["2011-12-29", "2011-12-31"])
        }
    }

    @Test("Days on which no sample can lie are refused, and end no process")
    func days() throws {
        try withStore { store in
            for (first, last) in [
                ("0001-01-01", "2026-01-01"), ("1707-01-01", "1708-01-01"), ("2026-01-01", "9999-12-31"),
                ("2294-01-01", "2294-01-02"),
            ] {
                expectError(.invalidArgument) {
                    try store.read { try $0.dailySteps(from: first, to: last, calendar: calendar("UTC"), source: "s") }
                }
            }
            for instant in [Instant.distantPast, .distantFuture] {
                expectError(.invalidArgument) {
                    try store.read { try $0.today(at: instant, calendar: calendar("UTC")) }
                }
            }
            #expect(LocalDay(CivilTime.day("9999-12-31")!, in: .gmt).bounds == nil)
            let last = try store.read { txn in
                try txn.dailySteps(from: "2289-12-30", to: "2290-01-01", calendar: calendar("UTC"), source: "s")
            }
            #expect(last.map(\.date) == ["2289-12-30", "2289-12-31"])
        }
    }

    @Test("A trend is the same from wherever it is asked for, with any window")
    func trendFromAnywhere() throws {
        try withStore { store in
            for day in 0..<40 where day % 3 != 1 {
                try store.save(
                    Sample(.bodyMass, 80 + Double(day * day % 7), .kilogram, at: .day(day, 7_200 * (day % 11))))
            }
            for window in [1, 7, 30, .max] {
                let all = try store.read { try $0.weightTrend(calendar: calendar("Europe/Berlin"), window: window) }
                for from in [Instant.day(3), .day(12, 7_000), .day(20, 50_000), .day(39)] {
                    let part = try store.read {
                        try $0.weightTrend(from: from, calendar: calendar("Europe/Berlin"), window: window)
                    }
                    #expect(part == all.filter { $0.sample.start >= from } && !part.isEmpty)
                }
            }
        }
    }

    @Test("Where clocks go back across midnight no day is shown twice")
    func midnights() throws {
        try withStore { store in
            // On 2009-11-01, a minute after midnight, it was 23:01 again.
            let midnight = Instant(nanoseconds: (Int64(CivilTime.day("2009-11-01")!) * 86_400 + 9_000) * 1_000_000_000)
            for (second, value) in [(-3_600, 70.0), (30, 71), (1_800, 72), (40_000, 73)] {
                try store.save(Sample(.bodyMass, value, .kilogram, at: midnight + Int64(second) * 1_000_000_000))
            }
            let trend = try store.read { try $0.weightTrend(calendar: calendar("America/St_Johns")) }
            #expect(trend.map(\.date) == ["2009-10-31", "2009-11-01"] && trend.map(\.value) == [70, 73])
        }
    }

    @Test("A day's steps are a number whatever the samples hold")
    func absurdSteps() throws {
        try withStore { store in
            for (day, value) in [Double.greatestFiniteMagnitude, 0, 1e300, -1e300].enumerated() {
                try store.save(Sample(.stepCount, value, .count, from: .day(day, 0), to: .day(day, 60)))
            }
            let first = LocalDay(of: .day(0), in: .gmt).text
            let last = LocalDay(of: .day(3), in: .gmt).text
            let days = try store.read { txn in
                try txn.dailySteps(from: first, to: last, calendar: calendar("UTC"), source: "s")
            }
            #expect(days.map(\.stepCount) == [.max, 0, .max, .min])
        }
    }

    @Test("C2, C3: a day's weight is its last visible entry; trend and rate follow the picks")
    func weights() throws {
        try withStore { store in
            for day in 0..<14 {
                try store.save(Sample(.bodyMass, 80 - 0.1 * Double(day) + 1, .kilogram, at: .day(day, 3_600)))
                try store.save(Sample(.bodyMass, 80 - 0.1 * Double(day), .kilogram, at: .day(day, 7_200)))
            }
            // The later change wins the same instant.
            try store.save(Sample(.bodyMass, 90, .kilogram, at: .day(13, 7_200)))
            try store.save(Sample(.bodyMass, 78.7, .kilogram, at: .day(13, 7_200)))
            let trend = try store.read { try $0.weightTrend(calendar: calendar("UTC")) }
            #expect(trend.count == 14 && trend[13].date == "2026-01-14" && trend[13].value == 78.7)
            #expect(abs(trend[13].movingAverage - 79) < 1e-9)
            #expect(abs(trend[13].weeklyRate! + 0.7) < 1e-9 && trend[0].weeklyRate == nil)
        }
    }

    @Test("C3: The most recently modified entry stands for its day, and the last start where that is asked for")
    func dayEntry() throws {
        let clock = TestClock(Instant.day(3, 9 * 3_600).nanoseconds)
        var options = SampleStore.Options()
        options.clock = { clock.now }
        try withStore(options: options) { store in
            var early = Sample(.bodyMass, 80, .kilogram, at: .day(3, 8 * 3_600))
            try store.save(early)
            clock.advance(by: 60_000_000_000)
            try store.save(Sample(.bodyMass, 81, .kilogram, at: .day(3, 9 * 3_600)))
            let before = try store.read { try $0.weightTrend(calendar: calendar("UTC")) }
            #expect(before.map(\.value) == [81])
            clock.advance(by: 11 * 3_600_000_000_000)
            early.quantity.value = 79
            #expect(try store.save(early) == .replaced)
            let trend = try store.read { try $0.weightTrend(calendar: calendar("UTC")) }
            #expect(trend.map(\.value) == [79] && trend[0].movingAverage == 79)
            let last = try store.read { try $0.weightTrend(calendar: calendar("UTC"), entry: .lastStart) }
            #expect(last.map(\.value) == [81] && last[0].movingAverage == 81)
        }
    }

    @Test("Nutrition by day and by meal, today's energy and workouts")
    func nutrition() throws {
        try withStore { store in
            for (group, hour) in [("breakfast", 8), ("lunch", 12)] {
                for (type, value, unit) in [
                    (SampleType.dietaryEnergyConsumed, 500.0, HealthUnit.kilocalorie), (.dietaryProtein, 20, .gram),
                    (.dietarySodium, 300, .milligram),
                ] {
                    try store.save(
                        Sample(type, value, unit, at: .day(3, hour * 3_600), group: group))
                }
            }
            try store.save(Sample(.dietaryWater, 0.3, .liter, at: .day(3, 9 * 3_600)))
            try store.save(Sample(.activeEnergyBurned, 60, .kilocalorie, from: .day(2, 86_340), to: .day(3, 60)))
            let (days, meals, today) = try store.read { txn in
                (
                    try txn.nutrition(from: .day(3), to: .day(4), calendar: calendar("UTC")),
                    try txn.meals(from: .day(3), to: .day(4)),
                    try txn.today(at: .day(3, 50_000), calendar: calendar("UTC"))
                )
            }
            #expect(days.map(\.date) == ["2026-01-04"] && days[0].amounts[.dietaryEnergyConsumed] == 1_000)
            #expect(days[0].amounts[.dietarySodium].map { abs($0 - 0.6) < 1e-9 } == true)
            #expect(meals.map(\.group) == ["breakfast", "lunch"], "a glass of water is no meal")
            #expect(days[0][.dietaryWater] == .milliliters(300) && meals[0][.dietaryProtein] == .grams(20))
            #expect(days[0][.dietaryZinc] == nil && meals[0].name == nil)
            let (one, none) = try store.read { txn in
                (
                    try txn.nutrition(on: .day(3, 50_000), calendar: calendar("UTC")),
                    try txn.nutrition(on: .day(9), calendar: calendar("UTC"))
                )
            }
            #expect(one == days[0] && none.amounts.isEmpty && none.date == "2026-01-10")
            var stew = Meal(
                id: "stew", at: .day(3, 60_000), name: "Stew", energy: .kilocalories(400), fat: .grams(9),
                more: [.dietaryVitaminC: .milligrams(60), .dietaryWater: .milliliters(200)])
            stew[.dietaryFiber] = .grams(7)
            let dinner = stew
            _ = try store.write { try $0.save(dinner) }
            let last = try #require(try store.read { try $0.meals(from: .day(3), to: .day(4)) }.last)
            #expect(last.name == "Stew" && last.samples.count == 5 && last[.dietaryWater] == .milliliters(200))
            #expect(meals[0].amounts[.dietaryProtein] == 20 && meals[0].samples.count == 3)
            #expect(today.dietaryEnergy == 1_000 && today.activeEnergy == 30 && today.activeEnergyStrict == 0)
            #expect(today.workouts.isEmpty)
        }
    }
}
