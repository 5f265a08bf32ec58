import Foundation
import HealthKV
import TestSupport
import Testing

/// Reads with filters, in the order of values and page by page, against the same done in memory.
@Suite("Filters, orders and pages")
struct FilteredReadTests {
    private static var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    private static func instant(_ minutes: Int) -> Instant { Instant(nanoseconds: Int64(minutes) * 60_000_000_000) }

    /// Samples of one type from several sources and devices, some with metadata and groups, with equal values and
    /// times among them.
    private static func samples(
        _ type: SampleType, _ units: [HealthUnit], _ count: Int, using random: inout SeededGenerator
    ) -> [Sample] {
        (0..<count).map { _ in
            let start = random.number(0..<6_000)
            let length = random.pick([0, 0, 5, 30, 3_000])
            var sample = Sample(
                type, Double(random.number(1..<40)) / 4, random.pick(units), from: instant(start),
                to: instant(start + length),
                source: Source(bundle: random.pick(["", "com.a", "com.b"]), name: random.pick(["A", "B"])),
                isUserEntered: random.chance(percent: 30),
                device: random.pick([nil, Device(name: "Watch"), Device(model: "Scale")]))
            if random.chance(percent: 40) {
                sample.metadata = ["k": random.pick([.string("v"), .number(2), .bool(true)])]
            }
            if random.chance(percent: 20) { sample.group = random.pick(["g", "h"]) }
            return sample
        }
    }

    private static func filter(using random: inout SeededGenerator, depth: Int = 2) -> SampleFilter {
        switch random.number(0..<(depth > 0 ? 12 : 9)) {
        case 0: .source(bundle: random.pick(["com.a", "com.b", "com.c"]))
        case 1: .device(random.pick(["Watch", "Scale", "none"]))
        case 2: .value(random.pick(SampleFilter.Comparison.allCases), Double(random.number(1..<40)) / 4, .kilogram)
        case 3: .value(random.pick(SampleFilter.Comparison.allCases), Double(random.number(1..<40)) / 4, .pound)
        case 4: .duration(random.pick(SampleFilter.Comparison.allCases), seconds: random.pick([0, 300, 1_800]))
        case 5: .hasMetadata(random.pick(["k", "l"]))
        case 6: .metadata("k", random.pick([.string("v"), .number(2), .bool(false)]))
        case 7: .group(random.pick(["g", "i"]))
        case 8: .isUserEntered
        case 9: .not(filter(using: &random, depth: depth - 1))
        case 10: .all((0..<random.number(0..<3)).map { _ in filter(using: &random, depth: depth - 1) })
        default: .any((0..<random.number(0..<3)).map { _ in filter(using: &random, depth: depth - 1) })
        }
    }

    @Test("A filter selects in the store what it selects in memory", arguments: [UInt64.random(in: 0 ... .max)])
    func filters(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try SampleStore.temporary()
        let new = Self.samples(.bodyMass, [.kilogram, .pound, .gram], 700, using: &random)
        try store.write { txn in for sample in new { _ = try txn.save(sample) } }
        let all = try store.read { try $0.samples(of: .bodyMass) }
        for _ in 0..<150 {
            let filter = Self.filter(using: &random)
            let (from, to) = (Self.instant(random.number(0..<6_000)), Self.instant(random.number(0..<9_000)))
            let range = TimeRange(from: min(from, to), to: max(from, to))
            let rule = random.pick(RangeRule.allCases)
            let wanted = all.filter {
                range.picks(start: $0.start, end: $0.end, by: rule) && filter.matches($0)
            }
            var query = SampleQuery(.bodyMass, from: range.from, to: range.to, rule: rule, where: filter)
            try store.read { (txn: borrowing ReadTransaction) throws in
                #expect(try txn.samples(query) == wanted, "seed \(seed), \(filter)")
                #expect(try txn.count(query) == wanted.count)
                #expect(try txn.series(query).times == wanted.map(\.start.nanoseconds))
                query.order = .descending
                query.limit = random.number(0..<20)
                #expect(try txn.samples(query) == Array(wanted.reversed().prefix(query.limit!)))
                #expect(try txn.count(query) == min(wanted.count, query.limit!))
            }
        }
        try store.close()
    }

    @Test("Statistics with a filter are those of a store with the matching samples alone")
    func statistics() throws {
        var random = SeededGenerator()
        for (type, units) in [
            (SampleType.stepCount, [HealthUnit.count]), (.bodyMass, [.kilogram, .pound]),
            (.dietaryWater, [.liter, .milliliter]),
        ] {
            let store = try SampleStore.temporary()
            let new = Self.samples(type, units, 400, using: &random)
            // The usual order depends on which source came first.
            let order = Set(new.map(\.source.identity)).sorted().map { RankedSource($0) }
            try store.write { txn in
                for sample in new { _ = try txn.save(sample) }
                try txn.setPriority(order, of: type)
            }
            let kept = try store.read { try $0.samples(of: type) }
            for _ in 0..<12 {
                var filter = Self.filter(using: &random)
                // A unit of mass says nothing of steps, and is refused.
                while (try? store.read { try $0.count(SampleQuery(type, where: filter)) }) == nil {
                    filter = Self.filter(using: &random)
                }
                let matching = kept.filter { filter.matches($0) }
                let other = try SampleStore.temporary()
                try other.write { txn in
                    for sample in matching { _ = try txn.save(sample) }
                    try txn.setPriority(order, of: type)
                }
                for interval in [StatisticsInterval.hour, .day] {
                    var query = StatisticsQuery(type, by: interval, calendar: Self.calendar)
                    let expected = try other.read { try Array($0.statistics(query)) }
                    query.filter = filter
                    let found = try store.read { try Array($0.statistics(query)) }
                    #expect(found.map(\.count) == expected.map(\.count), "\(filter)")
                    #expect(found.map(\.start) == expected.map(\.start))
                    for (one, two) in zip(found, expected) {
                        #expect(abs((one.sum ?? 0) - (two.sum ?? 0)) < 1e-9 * max(1, abs(two.sum ?? 0)))
                        #expect(abs((one.average ?? 0) - (two.average ?? 0)) < 1e-9)
                        #expect(one.minimum == two.minimum && one.maximum == two.maximum)
                    }
                }
                try other.close()
            }
            try store.close()
        }
    }

    @Test("Samples come in the order of their values, whatever their units")
    func valueOrder() throws {
        var random = SeededGenerator()
        let store = try SampleStore.temporary()
        let new = Self.samples(.bodyMass, [.kilogram, .pound, .gram], 900, using: &random)
        try store.write { txn in for sample in new { _ = try txn.save(sample) } }
        let all = try store.read { try $0.samples(of: .bodyMass) }
        let sorted = try all.enumerated().sorted { one, two in
            let (left, right) = (try one.element.value(in: .kilogram), try two.element.value(in: .kilogram))
            return left == right ? one.offset < two.offset : left < right
        }.map(\.element)
        try store.read { (txn: borrowing ReadTransaction) throws in
            var query = SampleQuery(.bodyMass, by: .value)
            #expect(try txn.samples(query) == sorted)
            #expect(try txn.series(query).times == sorted.map(\.start.nanoseconds))
            query.order = .descending
            for limit in [0, 1, 7, 600, 2_000] {
                query.limit = limit
                #expect(try txn.samples(query) == Array(sorted.reversed().prefix(limit)))
            }
            query.filter = .isUserEntered
            query.limit = 5
            #expect(try txn.samples(query) == Array(sorted.reversed().filter(\.isUserEntered).prefix(5)))
        }
        try store.close()
    }

    @Test("Pages tile the answer, also after their place was stored as text and its sample deleted")
    func pages() async throws {
        var random = SeededGenerator()
        let store = try SampleStore.temporary()
        let new = Self.samples(.bodyMass, [.kilogram, .pound], 500, using: &random)
        try await store.write { txn in for sample in new { _ = try txn.save(sample) } }
        for sort in SampleSort.allCases {
            for order in [SampleOrder.ascending, .descending] {
                let query = SampleQuery(.bodyMass, order: order, where: .not(.group("g")), by: sort)
                let all = try await store.read { try $0.samples(query) }
                for size in [1, 7, all.count - 1, all.count, all.count + 1] {
                    var found: [Sample] = []
                    var place: SamplePlace?
                    repeat {
                        let page = try store.blockingRead { try $0.page(query, size: size, after: place) }
                        #expect(!page.samples.isEmpty)
                        #expect(page.next == nil || page.samples.count == size)
                        found += page.samples
                        place = try page.next.map {
                            try JSONDecoder().decode(SamplePlace.self, from: JSONEncoder().encode($0))
                        }
                    } while place != nil
                    #expect(found == all, "\(sort) \(order) \(size)")
                }
                var streamed: [Sample] = []
                for try await page in store.pages(query, size: 33) { streamed += page }
                #expect(streamed == all)
            }
        }
        let query = SampleQuery(.bodyMass)
        let first = try await store.read { try $0.page(query, size: 10) }
        let gone = first.samples[9].id
        try await store.write { _ = try $0.delete(id: gone) }
        let next = first.next
        let second = try await store.read { try $0.page(query, size: 10, after: next) }
        let rest = try await store.read { try $0.samples(query) }
        #expect(second.samples == Array(rest[9..<19]))
        #expect(throws: StoreError.self) { try store.blockingRead { try $0.page(query, size: 0) } }
        try store.close()
    }

    @Test("A unit that cannot express the type is refused by name of the unit, not of the value") func refused() throws
    {
        let store = try SampleStore.temporary()
        _ = try store.write { try $0.save(Sample(.bodyMass, 72, .kilogram, at: Instant(nanoseconds: 0))) }
        let filter = SampleFilter.not(.value(.less, 12_345, .kilocalorie))
        for read in [
            { (txn: borrowing ReadTransaction) in _ = try txn.samples(of: .bodyMass, where: filter) },
            { (txn: borrowing ReadTransaction) in
                _ = try txn.statistics(StatisticsQuery(.bodyMass, by: .day, where: filter))
            },
        ] {
            let error = #expect(throws: StoreError.self) { try store.read(read) }
            #expect(error?.code == .unsuitableQuery)
            #expect(error?.description.contains("kcal") == true)
            #expect(error?.description.contains("12345") == false)
        }
        try store.close()
    }
}
