import Foundation
import Testing

@testable import HealthKV

/// Each rule of statistics by an example that can be checked by head.
@Suite struct StatisticsRulesTests {
    private static let phone = Source(bundle: "com.apple.health.phone", name: "Phone", product: "iPhone17,1")
    private static let watch = Source(bundle: "com.apple.health.watch", name: "Watch", product: "Watch7,1")
    private static let app = Source(bundle: "a", name: "App")

    private func steps(
        _ value: Double, _ from: Int, _ to: Int, _ source: Source = phone, isUserEntered: Bool = false
    ) -> Sample {
        Sample(
            .stepCount, value, .count, from: .day(0, from), to: .day(0, to), source: source,
            isUserEntered: isUserEntered)
    }

    private func calendar(_ zone: String) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone)!
        return calendar
    }

    private func sum(_ samples: [Sample], _ options: CumulativeOptions = CumulativeOptions()) throws -> Double? {
        var sum: Double?
        try withStore { store in
            try store.write { txn in for sample in samples { try txn.save(sample) } }
            sum = try store.read { try $0.statistics(of: .stepCount, options: options).sum }
        }
        return sum
    }

    @Test("B, D: where phone and watch overlap the watch counts, and the phone only for the rest of its time")
    func mergedSources() throws {
        let both = [steps(100, 0, 100), steps(120, 50, 110, Self.watch)]
        #expect(try sum(both) == 50 + 120)
        #expect(try sum(both, CumulativeOptions(sources: .unmergedCountingOverlapsTwice)) == 220)
        #expect(
            try sum(both, CumulativeOptions(sources: .mergedInOrder([RankedSource(Self.phone.identity)]))) == 100 + 20)
    }

    @Test("B: samples of one source that overlap each other all count")
    func oneSource() throws { #expect(try sum([steps(100, 0, 100), steps(40, 50, 70)]) == 140) }

    @Test("B: a sample of no length counts whole unless a better source covers its instant")
    func instants() throws {
        #expect(try sum([steps(5, 10, 10), steps(100, 0, 100)]) == 105)
        #expect(try sum([steps(5, 10, 10), steps(100, 0, 100, Self.watch)]) == 100)
        // At its end a sample no longer covers.
        #expect(try sum([steps(5, 100, 100), steps(100, 0, 100, Self.watch)]) == 105)
        #expect(try sum([steps(5, 10, 10), steps(7, 10, 10, Self.watch)]) == 7)
        #expect(try sum([steps(5, 10, 10, Self.watch), steps(100, 0, 100)]) == 105)
    }

    @Test("A20: what a person typed in wins, then watch, phone, and of others the one met last")
    func defaultOrder() throws {
        // An app names the phone that it runs on as its product, and is an app all the same.
        let other = Source(bundle: "b", name: "Later App", product: "iPhone17,1")
        let all = [
            steps(1, 0, 100, Self.app), steps(2, 0, 100, other), steps(4, 0, 100, Self.phone),
            steps(8, 0, 100, Self.watch), steps(16, 0, 100, Self.app, isUserEntered: true),
        ]
        for count in 1...5 { #expect(try sum(Array(all.prefix(count))) == [1, 2, 4, 8, 16][count - 1]) }
        try withStore { store in
            try store.write { txn in for sample in all { try txn.save(sample) } }
            let order = try store.read { try $0.rankedSources(of: .stepCount) }
            #expect(order.suffix(4).map(\.source.name) == ["Watch", "Phone", "Later App", "App"])
            #expect(order.prefix(4).allSatisfy { $0.isUserEntered == true })
        }
    }

    @Test("A priority that is set changes answers at once, with summaries kept, and is taken back")
    func priority() throws {
        var options = SampleStore.Options()
        options.limits.thinSamples = 0
        try withStore(options: options) { store in
            try store.write { [self] txn in
                try txn.save(steps(100, 0, 100))
                try txn.save(steps(120, 50, 110, Self.watch))
            }
            func sum() throws -> Double? {
                try store.read { txn in
                    try txn.statistics(.stepCount, by: .day, from: .day(0), to: .day(1), calendar: calendar("UTC"))
                        .first?.sum
                }
            }
            for isFresh in [false, true] {
                if isFresh { while try store.maintain() {} }
                let blocks = try store.read { txn in
                    try SummaryTable.summarizedBlocks(
                        NameTable.number(of: .stepCount, in: txn.snapshot)!, in: txn.snapshot
                    ).count
                }
                #expect((blocks > 0) == isFresh)
                #expect(try sum() == 50 + 120)
                try store.write { try $0.setPriority([RankedSource(Self.phone.identity)], of: .stepCount) }
                #expect(try sum() == 100 + 20)
                if isFresh { while try store.maintain() {} }
                #expect(try store.read { try $0.priority(of: .stepCount)?.map(\.source.name) } == ["Phone"])
                #expect(try sum() == 100 + 20)
                try store.write { try $0.setPriority(nil, of: .stepCount) }
            }
        }
    }

    @Test("C31: a place of a priority without a bundle is that of the name, unless another names the source")
    func prioritiesByName() throws {
        let named = RankedSource(SourceIdentity(name: "Phone"))
        let both = [steps(100, 0, 100), steps(120, 50, 110, Self.watch)]
        #expect(try sum(both, CumulativeOptions(sources: .mergedInOrder([named]))) == 100 + 20)
        // An export gives names only: its source has the place of the one that it was exported from.
        let exported = [steps(100, 0, 100, Source(name: "Phone")), steps(120, 50, 110, Self.watch)]
        #expect(
            try sum(exported, CumulativeOptions(sources: .mergedInOrder([RankedSource(Self.phone.identity)]))) == 100
                + 20)
        let exact = [named, RankedSource(Self.watch.identity), RankedSource(Self.phone.identity)]
        #expect(try sum(both, CumulativeOptions(sources: .mergedInOrder(exact))) == 50 + 120)
        let other = RankedSource(SourceIdentity(bundle: "other", name: "Phone"))
        #expect(try sum(both, CumulativeOptions(sources: .mergedInOrder([other]))) == 50 + 120)
    }

    @Test(
        "C31: of several sources that share a place of a priority by their name the one that the store met last wins, always"
    )
    func sharedPlace() throws {
        let named = RankedSource(SourceIdentity(name: "Phone"))
        let sources = ["a", "b", "c"].map { Source(bundle: $0, name: "Phone") }
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let samples = order.map { steps(Double(100 + $0), 0, 100, sources[$0]) }
            try withStore { store in
                try store.write { txn in
                    for sample in samples { try txn.save(sample) }
                    try txn.setPriority([named], of: .stepCount)
                }
                for _ in 0..<8 {
                    let ranked = try store.read { try $0.rankedSources(of: .stepCount) }
                    let measured = ranked.filter { $0.isUserEntered == false }.map(\.source)
                    #expect(measured == order.reversed().map { sources[$0].identity })
                    #expect(try store.read { try $0.statistics(of: .stepCount).sum } == samples[2].quantity.value)
                    try store.maintain()
                }
            }
        }
    }

    @Test(
        "C31: a filter without a bundle takes all sources of the name; a deletion does so where it can mean nothing else"
    )
    func filtersByName() throws {
        let name = SourceIdentity(name: "Phone")
        let samples = [
            steps(1, 0, 10), steps(2, 20, 30, Source(bundle: "q", name: "Phone")), steps(4, 40, 50, Self.watch),
        ]
        try withStore { store in
            try store.write { txn in for sample in samples { try txn.save(sample) } }
            func values(_ source: SourceIdentity) throws -> [Double] {
                try store.read { try $0.samples(SampleQuery(.stepCount, source: source)).map(\.quantity.value) }
            }
            func sum(_ source: SourceIdentity) throws -> Double? {
                try store.read { try $0.statistics(of: .stepCount, sources: [source]).sum }
            }
            #expect(try values(name) == [1, 2] && sum(name) == 3)
            #expect(try values(Self.phone.identity) == [1] && sum(Self.phone.identity) == 1)
            #expect(try values(SourceIdentity(name: "None")).isEmpty)
            try store.save(steps(8, 60, 70, Source(name: "Phone")))
            #expect(try values(name) == [1, 2, 8] && sum(name) == 11)
            let summaries = try store.read { try $0.sources() }
            #expect(summaries.map(\.last) == [.day(0, 0), .day(0, 20), .day(0, 40), .day(0, 60)])
            #expect(try store.write { try $0.delete(.source(name)) } == 1)
            #expect(try values(name) == [1, 2])
            #expect(try store.write { try $0.purge(.source(SourceIdentity(name: "Watch"))) } == 1)
            #expect(try values(name) == [1, 2] && values(Self.watch.identity).isEmpty)
        }
    }

    @Test("C31: a name without a bundle makes no two samples one, whichever comes first, and no time counts twice")
    func identityByName() throws {
        for bundles in [["", "p"], ["p", ""], ["", "p", "q"], ["q", "", "p"]] {
            try withStore { store in
                for bundle in bundles {
                    var sample = steps(100, 0, 100, Source(bundle: bundle, name: "Phone"))
                    (sample.syncIdentifier, sample.origin) = ("walk", .imported)
                    #expect(try store.save(sample) == .inserted)
                }
                #expect(try store.read { try $0.samples(syncIdentifier: "walk").count } == bundles.count)
                let day = try store.read { try $0.statistics(of: .stepCount) }
                #expect(day.sum == 100 && day.count == bundles.count)
            }
        }
    }

    @Test("A21, D: days have 23 and 25 hours at clock changes, and a day that clocks skipped is none")
    func dayLengths() throws {
        func hours(_ zone: String, _ from: String, _ days: Int) -> [Double] {
            let start = LocalDay.firstInstant(CivilTime.day(from)!, in: TimeZone(identifier: zone)!)!
            let end = LocalDay.firstInstant(CivilTime.day(from)! + days, in: TimeZone(identifier: zone)!)!
            let borders = BucketBorders(.day, anchor: nil, calendar: calendar(zone), from: start, to: end)!
            return (0..<borders.count).map { Double(borders[$0].count) / 3.6e12 }
        }
        #expect(hours("America/New_York", "2026-03-07", 3) == [24, 23, 24])
        #expect(hours("America/New_York", "2026-10-31", 3) == [24, 25, 24])
        #expect(hours("Australia/Lord_Howe", "2026-04-04", 3) == [24, 24.5, 24])
        #expect(hours("Pacific/Apia", "2011-12-29", 3) == [24, 24])
        #expect(hours("Asia/Kathmandu", "1985-12-31", 2) == [24, 23.75])
    }

    @Test("Without bounds the buckets end where the samples end, whatever their length")
    func endOfSamples() throws {
        func buckets(_ samples: [Sample], _ interval: StatisticsInterval) throws -> Int {
            var count = 0
            try withStore { store in
                try store.write { _ = try $0.save(samples) }
                count = try store.read { txn in
                    try txn.statistics(
                        StatisticsQuery(.stepCount, by: interval, calendar: calendar("UTC"), fillsEmptyBuckets: true)
                    ).count
                }
            }
            return count
        }
        let late = steps(10, 84_600, 85_200)
        #expect(try buckets([late], .day) == 1)
        #expect(try buckets([late], .hour) == 1)
        #expect(try buckets([steps(10, 3_600, 93_600)], .day) == 2, "of the lane of a month")
        #expect(try buckets([steps(10, 85_000, 86_400)], .day) == 1, "an end at midnight is not in the next day")
        #expect(try buckets([steps(10, 86_400, 86_400)], .day) == 1)
        #expect(try buckets([steps(10, 0, 60), steps(10, 86_400, 86_400)], .day) == 2)
        #expect(
            try buckets([steps(10, 0, 50 * 3_600), steps(10, 3_600, 3_700)], .day) == 3, "the longer one ends later")
        try withStore { store in
            try store.write { _ = try $0.save([late, steps(1, 85_100, 85_200)]) }
            let series = try store.read { try $0.series(.stepCount, points: 10) }
            #expect(series.map(\.start) == [.day(0, 84_600), .day(0, 85_080)], "ten minutes, a minute each")
        }
    }

    @Test("An anchor is a border, at the second time too that the clock shows its hour")
    func repeatedAnchor() throws {
        let zone = calendar("America/New_York")
        // Half past one in winter time, on the day on which the clocks went back at two.
        let anchor = try Instant(Date(timeIntervalSince1970: 1_793_514_600))
        for interval in [StatisticsInterval.day, .every(2, .day), .week, .month, .year] {
            let borders = BucketBorders(
                interval, anchor: anchor, calendar: zone, from: anchor + -90_000_000_000_000,
                to: anchor + 90_000_000_000_000)!
            #expect(borders.instants.contains(anchor.nanoseconds), "\(interval)")
        }
    }

    @Test("A22: a sample that crosses midnight is split between the days in proportion to time")
    func acrossMidnight() throws {
        try withStore { store in
            try store.write { try $0.save([steps(90, -1_800, 3_600), steps(30, 7_200, 7_260)]) }
            let days = try store.read {
                try $0.statistics(
                    .stepCount, by: .day, from: .day(-1, 0), to: .day(1, 0), calendar: calendar("UTC"))
            }
            #expect(days.map(\.sum) == [30, 90])
            // It counts where it starts, once.
            #expect(days.map(\.count) == [1, 1])
        }
    }

    @Test("Intervals of several units tile both ways from an anchor")
    func anchors() throws {
        let zone = calendar("Europe/London")
        let anchor = try Instant(Date(timeIntervalSince1970: 1_774_771_200))
        for interval in [StatisticsInterval.every(3, .day), .every(2, .week), .every(5, .month), .every(7, .hour)] {
            let borders = BucketBorders(
                interval, anchor: anchor, calendar: zone, from: anchor + -9_000_000_000_000_000,
                to: anchor + 9_000_000_000_000_000)!
            #expect(borders.instants.contains(anchor.nanoseconds), "\(interval)")
            let component: Calendar.Component =
                interval.unit == .month ? .month : interval.unit == .hour ? .hour : .day
            let count = interval.unit == .week ? 14 : interval.count
            let next = zone.date(byAdding: component, value: count, to: anchor.date)!
            #expect(borders.instants.contains(try Instant(next).nanoseconds), "\(interval)")
        }
    }

    @Test("Intervals longer than all time are answered, whatever their unit and anchor")
    func endlessIntervals() throws {
        try withStore { store in
            let samples = [steps(1, 0, 10), steps(400, 0, 20)]
            try store.write { _ = try $0.save(samples) }
            for unit in StatisticsInterval.Unit.allCases {
                for anchor in [nil, Instant.earliest, .latest + -1] {
                    let all = try store.read {
                        try $0.statistics(
                            .stepCount, by: .every(.max, unit), from: .earliest, to: .latest,
                            calendar: calendar("Europe/London"), anchor: anchor)
                    }
                    #expect(all.reduce(0) { $0 + ($1.sum ?? 0) } == 401, "\(unit) \(String(describing: anchor))")
                    #expect(all.count <= 2)
                }
            }
        }
    }

    @Test("A19: Options and units of another kind than the type's are an error")
    func unsuitable() throws {
        try withStore { store in
            try store.save(steps(1, 0, 10))
            expectError(.unsuitableQuery) {
                try store.read { try $0.statistics(of: .stepCount, options: DiscreteOptions(mean: .timeWeighted)) }
            }
            expectError(.unsuitableQuery) {
                try store.read { try $0.statistics(of: .bodyMass, options: CumulativeOptions()) }
            }
            expectError(.unsuitableQuery) { try store.read { try $0.statistics(of: .stepCount, unit: .kilogram) } }
            expectError(.unsuitableQuery) {
                try store.read { try $0.statistics(.stepCount, by: .every(1, .minute), from: .earliest, to: .latest) }
            }
        }
    }

    @Test("A21: A single statistic without data says so; results come in any unit of the dimension")
    func coverage() throws {
        try withStore { store in
            let none = try store.read { try $0.statistics(of: .stepCount, from: .day(0), to: .day(1)) }
            #expect(!none.hasData && none.count == 0 && none.sum == 0 && none.earliest == nil)
            try store.save(Sample(.bodyMass, 160, .pound, at: .day(0, 5)))
            let pounds = try store.read { try $0.statistics(of: .bodyMass, unit: .pound) }
            #expect(pounds.minimum == 160 && pounds.average == 160 && pounds.unit == .pound)
            #expect(pounds.latestValue == 160 && pounds.latest == .day(0, 5))
        }
    }
}
