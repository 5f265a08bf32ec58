import ColumnFormat
import Foundation
import Testing

@testable import HealthKV

/// Ranges and buckets at the ends of what can be asked.
@Suite struct StatisticsRangeTests {
    private func calendar(_ zone: String, _ identifier: Calendar.Identifier = .gregorian) -> Calendar {
        var calendar = Calendar(identifier: identifier)
        calendar.timeZone = TimeZone(identifier: zone)!
        return calendar
    }

    private static let hour: Int64 = 3_600_000_000_000

    @Test("Samples at both ends of all time are drawn and summed up")
    func wholeRange() throws {
        var options = SampleStore.Options()
        options.limits.thinSamples = 0
        try withStore(options: options) { store in
            let ends = [Instant.earliest, Instant(nanoseconds: 0), .latest + -1]
            for (number, start) in ends.enumerated() {
                try store.save(Sample(.stepCount, Double(number + 1), .count, from: start, to: start))
                try store.save(Sample(.bodyMass, Double(number + 1), .kilogram, at: start))
            }
            for isFresh in [false, true] {
                if isFresh { while try store.maintain() {} }
                for type in [SampleType.stepCount, .bodyMass] {
                    for points in [1, 2, 7, 1_000] {
                        let series = try store.read { try $0.series(type, points: points) }
                        #expect(series.reduce(0) { $0 + $1.count } == 3 && series.count == min(points, 3))
                        let all = try store.read { txn in
                            try txn.series(type, from: .distantPast + 1, to: .distantFuture + -1, points: points)
                        }
                        #expect(all.reduce(0) { $0 + $1.count } == 3)
                    }
                }
                let years = try store.read { try $0.statistics(.stepCount, by: .year, calendar: calendar("UTC")) }
                #expect(years.map(\.sum) == [1, 2, 3])
            }
        }
    }

    @Test("A range that ends before it begins is empty, wherever it lies")
    func inverted() throws {
        try withStore { store in
            try store.save(Sample(.stepCount, 5, .count, from: .day(1), to: .day(1, 60)))
            let bounds: [Instant] = [.distantPast, .earliest, .day(2), .latest, .distantFuture]
            for from in bounds {
                for to in bounds where to <= from {
                    let found = try store.read { try $0.statistics(of: .stepCount, from: from, to: to) }
                    #expect(!found.hasData && found.count == 0 && found.sum == 0)
                    let days = try store.read { txn in
                        try txn.statistics(
                            .stepCount, by: .day, from: from, to: to, calendar: calendar("UTC"),
                            fillsEmptyBuckets: true)
                    }
                    // Without bounds the samples' own range is meant.
                    #expect(days.isEmpty || from == .distantPast || to == .distantFuture)
                }
            }
        }
    }

    @Test("A time-weighted mean has an end also where the range has none")
    func openEnds() throws {
        try withStore { store in
            let weighted = DiscreteOptions(mean: .timeWeighted)
            func all() throws -> Double? {
                try store.read { try $0.statistics(of: .bodyMass, options: weighted).average }
            }
            func day() throws -> [Double?] {
                try store.read { txn in
                    try txn.statistics(.bodyMass, by: .day, calendar: calendar("UTC"), options: weighted)
                        .map(\.average)
                }
            }
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            #expect(try all() == 70)
            #expect(try day() == [70])
            // A quarter of the day is left; without days nothing says how long the last value holds.
            try store.save(Sample(.bodyMass, 80, .kilogram, at: .day(0, 18 * 3_600)))
            #expect(try all() == 70)
            #expect(try day() == [72.5])
            try store.save(Sample(.bodyMass, 90, .kilogram, at: .day(1)))
            #expect(try all() == 72.5)
            let sliced = try store.read { txn in
                var averages: [Double?] = []
                try txn.forEachStatistics(
                    StatisticsQuery(.bodyMass, by: .day, calendar: calendar("UTC"), options: weighted)
                ) { averages.append($0.average) }
                return averages
            }
            #expect(try sliced == [72.5, 90] && sliced == day())
        }
    }

    @Test("Several hours tile from the first midnight of 2001, whatever range is asked for")
    func hoursFromOneAnchor() throws {
        for zone in ["Europe/London", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"] {
            for interval in [StatisticsInterval.every(7, .hour), .every(90, .minute), .every(48, .hour)] {
                func borders(_ from: Int, _ to: Int) -> Set<Int64> {
                    Set(
                        BucketBorders(
                            interval, anchor: nil, calendar: calendar(zone), from: .day(from), to: .day(to))!.instants)
                }
                let all = borders(0, 365)
                // In summer and in winter.
                for start in [20, 190] { #expect(borders(start, start + 20).isSubset(of: all), "\(zone)") }
                let midnight = LocalDay.firstOf2001(in: TimeZone(identifier: zone)!).nanoseconds
                #expect(all.allSatisfy { ($0 - midnight) % (interval.seconds! * 1_000_000_000) == 0 }, "\(zone)")
            }
        }
    }

    @Test("Slices of several hours are those of the whole answer")
    func slicedHours() throws {
        try withStore { store in
            try store.write { txn in
                for day in 0..<300 {
                    try txn.save(Sample(.stepCount, 1, .count, from: .day(day, 9_000), to: .day(day, 9_060)))
                }
            }
            for interval in [StatisticsInterval.every(7, .hour), .every(2, .month), .every(3, .day)] {
                for identifier in [Calendar.Identifier.gregorian, .hebrew] {
                    let query = StatisticsQuery(
                        .stepCount, by: interval, from: .day(10, 5), calendar: calendar("Europe/London", identifier),
                        fillsEmptyBuckets: true)
                    try store.read { txn in
                        var sliced: [Statistics] = []
                        try txn.forEachStatistics(query, sliceLimit: 5, progress: { _ in }) { sliced.append($0) }
                        #expect(try Array(txn.statistics(query)) == sliced)
                    }
                }
            }
        }
    }

    @Test("Months of other calendars begin where their calendar says, whatever range is asked for")
    func otherMonths() throws {
        let identifiers: [Calendar.Identifier] = [
            .buddhist, .japanese, .republicOfChina, .hebrew, .islamicCivil, .islamicUmmAlQura, .persian, .coptic,
        ]
        for identifier in identifiers {
            let calendar = calendar("Europe/Berlin", identifier)
            let civil = identifier == .buddhist || identifier == .japanese || identifier == .republicOfChina
            let months = BucketBorders(
                .month, anchor: nil, calendar: calendar, from: .day(9, 77), to: .day(700, 5))!
            for index in 0..<months.count {
                let month = calendar.dateInterval(
                    of: .month, for: Date(timeIntervalSinceReferenceDate: Double(months[index].lowerBound) / 1e9 + 60))!
                #expect(try Instant(month.start).nanoseconds == months[index].lowerBound, "\(identifier)")
                #expect(try Instant(month.end).nanoseconds == months[index].upperBound, "\(identifier)")
            }
            let years = BucketBorders(.year, anchor: nil, calendar: calendar, from: .day(9), to: .day(1_500))!
            if !civil {
                for index in 0..<years.count {
                    let year = calendar.dateInterval(
                        of: .year, for: Date(timeIntervalSinceReferenceDate: Double(years[index].lowerBound) / 1e9 + 60)
                    )!
                    #expect(try Instant(year.start).nanoseconds == years[index].lowerBound, "\(identifier)")
                }
            }
            for interval in [StatisticsInterval.every(5, .month), .quarter, .every(3, .year)] {
                func borders(_ from: Int, _ to: Int) -> [Int64] {
                    BucketBorders(interval, anchor: nil, calendar: calendar, from: .day(from), to: .day(to))!.instants
                }
                #expect(Set(borders(100, 900)).isSubset(of: borders(-4_000, 2_000)), "\(identifier) \(interval)")
                #expect(Set(borders(-9_999, -8_888)).isSubset(of: borders(-12_000, 10)), "\(identifier) \(interval)")
            }
            if civil {
                let gregorian = BucketBorders(
                    .quarter, anchor: nil, calendar: self.calendar("Europe/Berlin"), from: .day(9), to: .day(700))!
                let quarters = BucketBorders(.quarter, anchor: nil, calendar: calendar, from: .day(9), to: .day(700))!
                #expect(quarters.instants == gregorian.instants)
            }
            // An anchor within a second is a border itself.
            let anchor = Instant.day(44, 5) + 123_456_789
            let anchored = BucketBorders(.month, anchor: anchor, calendar: calendar, from: .day(0), to: .day(90))!
            #expect(anchored.instants.contains(anchor.nanoseconds), "\(identifier)")
        }
    }

    @Test("More buckets than an answer can hold are an error, and come one by one")
    func manyBuckets() throws {
        try withStore { store in
            for day in [0, 400, 800] {
                try store.save(Sample(.stepCount, 3, .count, from: .day(day, 30), to: .day(day, 90)))
            }
            let minutes = StatisticsQuery(
                .stepCount, by: .every(1, .minute), from: .day(0), to: .day(801), calendar: calendar("UTC"))
            expectError(.unsuitableQuery) { try store.read { try $0.statistics(minutes) } }
            var sums: [Double] = []
            try store.read { txn in try txn.forEachStatistics(minutes) { sums.append($0.sum ?? 0) } }
            #expect(sums == [1.5, 1.5, 1.5, 1.5, 1.5, 1.5])
            // The limit holds for the sources together.
            for number in 0..<4 {
                try store.save(
                    Sample(.stepCount, 1, .count, from: .day(1), to: .day(1, 1), source: Source(name: "S\(number)")))
            }
            var fewer = minutes
            fewer.to = .day(600)
            #expect(try store.read { try $0.statistics(fewer) }.count == 5)
            expectError(.unsuitableQuery) { try store.read { try $0.statisticsBySource(fewer) } }
        }
    }

    private struct OwnOptions: StatisticsOptions { static let aggregation = SampleType.Aggregation.cumulative }

    @Test("Options of a type that statistics do not know are an error")
    func unknownOptions() throws {
        try withStore { store in
            expectError(.unsuitableQuery) {
                try store.read { try $0.statistics(of: .stepCount, options: OwnOptions()) }
            }
        }
    }

    @Test("From when to when the samples reach is told without their details")
    func extent() throws {
        let store = try SampleStore.temporary()
        let day = 24 * Self.hour
        let start = Instant.day(10)
        try store.save(Sample(.stepCount, 100, .count, from: start, to: start + 100 * day))
        try store.save(Sample(.stepCount, 1, .count, from: start + day, to: start + 2 * day))
        let all = try store.read {
            try ChunkExtent.extent(of: NameTable.number(of: .stepCount, in: $0.snapshot)!, in: $0.snapshot)
        }
        // The end is not part of it.
        #expect(all == start.nanoseconds...(start + 100 * day).nanoseconds - 1)
        try store.core.onWriter { [core = store.core] in
            _ = try core.transact { txn in
                let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
                for duration in DurationClass.allCases {
                    let lane = Lane(type: type, duration: duration)
                    for key in try ChunkTable.chunkKeys(lane, in: txn.snapshot) { try txn.remove(.details, key.bytes) }
                }
            }
        }
        let again = try store.read {
            try ChunkExtent.extent(of: NameTable.number(of: .stepCount, in: $0.snapshot)!, in: $0.snapshot)
        }
        #expect(again == all)
        try store.close()
    }

    @Test("Without samples a range without bounds has no buckets, filled or not")
    func boundlessRangeOfNothing() throws {
        try withStore { store in
            func count(_ from: Instant, _ to: Instant) throws -> Int {
                try store.read {
                    try $0.statistics(
                        .dietaryWater, by: .day, from: from, to: to, calendar: calendar("America/New_York"),
                        fillsEmptyBuckets: true
                    ).count
                }
            }
            for _ in 0..<2 {
                #expect(try count(.distantPast, .distantFuture) == 0)
                #expect(try count(.distantPast, .day(9_000)) == 0)
                #expect(try count(.day(-4_000), .distantFuture) == 0)
                #expect(try count(.day(0, 5 * 3_600), .day(2, 5 * 3_600)) == 2)
                try store.save(Sample(.stepCount, 1, .count, from: .day(1), to: .day(1, 60)))
            }
        }
    }

    @Test("A sample over four centuries counts as much in one bucket as in its years together")
    func centuries() throws {
        try withStore { store in
            let century = Int64(36_525 * 86_400) * 1_000_000_000
            let (from, to) = (Instant(nanoseconds: -2 * century), Instant(nanoseconds: 2 * century))
            try store.save(Sample(.stepCount, 1_000, .count, from: from, to: to))
            #expect(try store.read { try $0.statistics(of: .stepCount).sum } == 1_000)
            let years = try store.read { try $0.statistics(.stepCount, by: .year, calendar: calendar("UTC")) }
            #expect(abs(years.reduce(0) { $0 + ($1.sum ?? 0) } - 1_000) < 1e-6)
        }
    }

    @Test("Of a type without a unit of its own the first sample that is asked for says which unit the answer has")
    func unitOfUnknownType() throws {
        let type = SampleType("com.example.grip")
        try withStore { store in
            let (one, other) = (Source(bundle: "a", name: "One"), Source(bundle: "b", name: "Other"))
            try store.save(Sample(type, 4, .kilogram, at: .day(0), source: one))
            try store.save(Sample(type, 5, .count, at: .day(31), source: other))
            let late = try store.read { try $0.statistics(of: type, from: .day(10), to: .day(60)) }
            #expect(late.average == 5 && late.unit == .count)
            let own = try store.read { try $0.statistics(of: type, sources: [other.identity]) }
            #expect(own.average == 5 && own.unit == .count)
            #expect(try store.read { try $0.statistics(of: type, to: .day(10)).unit } == .kilogram)
            let error = #expect(throws: StoreError.self) { try store.read { try $0.statistics(of: type) } }
            #expect(error?.code == .mixedUnits)
        }
    }

    @Test("Many scattered changes leave what lies between them as it was")
    func scatteredMarks() {
        var generator = SystemRandomNumberGenerator()
        let hour = Self.hour
        var marks = StaleHours.Marks()
        for year in (0..<100).shuffled() { marks.mark(Int64(year) * 8_766 * hour, Int64(year) * 8_766 * hour + 5) }
        #expect(marks.ranges.map { Int($0.upperBound - $0.lowerBound) }.max()! < 400 && marks.ranges.count == 100)
        marks = StaleHours.Marks()
        let times = (0..<20_000).map { _ in Int64.random(in: -900_000...900_000, using: &generator) }
        for time in times { marks.mark(time * hour, time * hour + hour / 2) }
        #expect(marks.ranges.count <= 512, "it does not grow without end")
        #expect(times.allSatisfy { time in marks.ranges.contains { $0.contains(time) } })
    }
}
