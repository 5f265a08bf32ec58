import Testing
import TestSupport

@testable import HealthKV

/// Reads of a type and range: rules, orders, limits, sources, long and shadowed samples, what a mass operation hides.
@Suite struct RangeTests {
    private static let phone = Source(bundle: "org.example.phone", name: "Phone")
    private static let watch = Source(bundle: "org.example.watch", name: "Watch")

    /// Samples of all lengths, from an instant to years and without an end, from two sources.
    private static func history(_ random: inout SeededGenerator) -> [Sample] {
        (0..<400).map { _ in
            let start = Instant.day(random.number(0..<900), random.number(0..<86_400) / 600 * 600)
            let lengths = [0, 60, 3_600, 7_200, 86_400, 5 * 86_400, 40 * 86_400, 800 * 86_400]
            let end = random.chance(0.02) ? Instant.distantFuture : start + Int64(random.pick(lengths)) * 1_000_000_000
            return Sample(
                .stepCount, Double(random.number(0..<100)), .count, from: start, to: end,
                source: random.chance(0.3) ? watch : phone, id: SampleID(using: &random))
        }
    }

    private static func sorted(_ samples: [Sample]) -> [Sample] {
        samples.sorted { ($0.start, $0.end, $0.id) < ($1.start, $1.end, $1.id) }
    }

    @Test(
        "A range gives exactly what the rule picks, long samples that began before it included", arguments: [1, 2, 3])
    func rules(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let history = Self.history(&random)
        try withStore(options: tightOptions()) { store throws in
            try store.write { try $0.save(history) }
            for _ in 0..<60 {
                let from = random.chance(0.1) ? Instant.distantPast : .day(random.number(0..<900))
                let to =
                    random.chance(0.1)
                    ? Instant.distantFuture : from + Int64(random.number(0..<50)) * 86_400_000_000_000
                let range = TimeRange(from: from, to: to)
                for rule in RangeRule.allCases {
                    let source = random.chance(0.5) ? Self.watch.identity : nil
                    let wanted = Self.sorted(history).filter {
                        range.picks(start: $0.start, end: $0.end, by: rule)
                            && (source == nil || $0.source.identity == source)
                    }.map(\.id)
                    let limit = random.chance(0.5) ? random.number(0..<20) : nil
                    try store.read { txn in
                        let up = try txn.samples(
                            SampleQuery(.stepCount, from: from, to: to, rule: rule, limit: limit, source: source))
                        let down = try txn.samples(
                            SampleQuery(
                                .stepCount, from: from, to: to, rule: rule, order: .descending, limit: limit,
                                source: source))
                        #expect(up.map(\.id) == Array(wanted.prefix(limit ?? .max)), "seed \(seed)")
                        #expect(down.map(\.id) == Array(wanted.reversed().prefix(limit ?? .max)), "seed \(seed)")
                        if source == nil {
                            let count = try txn.count(SampleQuery(.stepCount, from: from, to: to, rule: rule))
                            #expect(count == wanted.count)
                        }
                    }
                }
            }
        }
    }

    @Test("An inverted or empty range is empty in every read, and no trap") func inverted() throws {
        try withStore { store throws in
            try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
            try store.read { txn in
                for (from, to) in [
                    (Instant.day(2), Instant.day(0)), (.day(1), .day(1)), (.distantFuture, .distantPast),
                ] {
                    for rule in RangeRule.allCases {
                        let samples = try txn.samples(SampleQuery(.stepCount, from: from, to: to, rule: rule))
                        let count = try txn.count(SampleQuery(.stepCount, from: from, to: to, rule: rule))
                        #expect(samples.isEmpty && count == 0)
                    }
                    let series = try txn.series(.stepCount, from: from, to: to)
                    #expect(series.count == 0)
                }
            }
            #expect(try store.write { try $0.delete(.range(of: .stepCount, from: .day(2), to: .day(0))) } == 0)
        }
    }

    @Test("A range that ends at a sample's start leaves it out; one that begins there takes it") func borders() throws {
        try withStore { store throws in
            let sample = Sample(.stepCount, 1, .count, from: .day(1), to: .day(2))
            let point = Sample(.stepCount, 2, .count, at: .day(3))
            try store.write { try $0.save([sample, point]) }
            func ids(_ from: Instant, _ to: Instant, _ rule: RangeRule = .overlap) throws -> [SampleID] {
                try store.read { try $0.samples(SampleQuery(.stepCount, from: from, to: to, rule: rule)).map(\.id) }
            }
            #expect(try ids(.day(0), .day(1)).isEmpty)
            #expect(try ids(.day(1), .day(1, 1)) == [sample.id])
            #expect(try ids(.day(1, 5), .day(1, 6)) == [sample.id])
            #expect(try ids(.day(2), .day(3)).isEmpty, "a sample does not cover its end")
            #expect(try ids(.day(3), .day(4)) == [point.id])
            #expect(try ids(.day(1, 5), .day(3), .strictStart).isEmpty)
            #expect(try ids(.day(1), .day(2), .strictEnd).isEmpty)
            #expect(try ids(.day(1), .day(2, 1), .strictEnd) == [sample.id])
        }
    }

    @Test("Of several samples at one time only the winner shows, all on request, and the next when it goes (C2)")
    func shadowed() throws {
        try withStore(options: tightOptions()) { store throws in
            let rivals = (0..<4).map { Sample(.bodyMass, 70 + Double($0), .kilogram, at: .day(1)) }
            let later = (0..<60).map { Sample(.bodyMass, 80, .kilogram, at: .day(2, $0)) }
            for rival in rivals { try store.save(rival) }
            try store.write { try $0.save(later) }
            for winner in rivals.reversed() {
                try store.read { txn in
                    let shown = try txn.samples(of: .bodyMass, to: .day(2))
                    #expect(shown.map(\.id) == [winner.id])
                    let first = try txn.first(of: .bodyMass)
                    #expect(first?.id == winner.id)
                    let all = try txn.samples(SampleQuery(.bodyMass, to: .day(2), includeShadowed: true))
                    #expect(all.filter(\.isShadowed).count == all.count - 1)
                    let (count, series) = (
                        try txn.count(of: .bodyMass, to: .day(2)), try txn.series(.bodyMass, to: .day(2))
                    )
                    #expect(count == 1)
                    #expect(series.values == [winner.quantity.value])
                    let summary = try #require(try txn.types().first)
                    #expect(summary.samples == all.count + 60)
                    #expect(summary.shadowed == all.count - 1)
                }
                #expect(try store.write { try $0.delete(id: winner.id) })
            }
        }
    }

    @Test("What a mass operation took away shows in no read from its commit on") func hidden() throws {
        try withStore(options: tightOptions()) { store throws in
            let samples = (0..<200).map {
                Sample(
                    .stepCount, Double($0), .count, at: .day(0, $0 * 60), source: $0 % 2 == 0 ? Self.phone : Self.watch)
            }
            try store.write { try $0.save(samples) }
            let gone = Self.phone.identity
            #expect(try store.write { try $0.delete(.source(gone)) } == 100)
            #expect(try store.info().unfinished == 1)
            let left = samples.filter { $0.source == Self.watch }
            for _ in 0..<2 {
                try store.read { txn in
                    let shown = try txn.samples(of: .stepCount)
                    #expect(shown.map(\.id) == left.map(\.id))
                    let (count, series) = (try txn.count(of: .stepCount), try txn.series(.stepCount))
                    #expect(count == 100)
                    #expect(series.values == left.map(\.quantity.value))
                    let (first, byID) = (try txn.first(of: .stepCount), try txn.sample(id: samples[0].id))
                    #expect(first?.id == left[0].id)
                    #expect(byID == nil)
                    let folded = try txn.fold(.stepCount, into: 0) { sum, times, _ in sum += times.count }
                    #expect(folded == 100)
                    let sources = try txn.sources().filter { $0.samples > 0 }.map(\.source)
                    #expect(sources == [Self.watch.identity])
                }
                try store.expectClean()
                while try store.maintain() {}
            }
            #expect(try store.info().unfinished == 0)
        }
    }

    @Test("Pages give the same samples as one read, in either order, by any size", arguments: [1, 7, 100, 1_000])
    func pages(size: Int) async throws {
        var random = SeededGenerator(seed: 5)
        let history = Self.history(&random)
        let store = try SampleStore.temporary(options: tightOptions())
        try await store.write { _ = try $0.save(history) }
        for order in [SampleOrder.ascending, .descending] {
            for rule in RangeRule.allCases {
                let whole = try store.blockingRead {
                    try $0.samples(SampleQuery(.stepCount, from: .day(100), to: .day(700), rule: rule, order: order))
                }
                var paged: [Sample] = []
                for try await page in store.pages(
                    SampleQuery(.stepCount, from: .day(100), to: .day(700), rule: rule, order: order), size: size)
                {
                    #expect(page.count <= size && !page.isEmpty)
                    paged += page
                }
                #expect(paged == whole)
            }
        }
        try store.expectClean()
        try store.close()
    }

    @Test("A page sees what was written since the page before where it is still to come") func livePages() async throws
    {
        let store = try SampleStore.temporary()
        let samples = (0..<10).map { Sample(.stepCount, Double($0), .count, at: .day($0)) }
        try await store.write { _ = try $0.save(samples) }
        var iterator = store.pages(SampleQuery(.stepCount), size: 4).makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first?.map(\.id) == samples[..<4].map(\.id))
        let ahead = Sample(.stepCount, 1, .count, at: .day(20))
        let behind = Sample(.stepCount, 1, .count, at: .day(-20))
        let gone = samples[5].id
        try await store.write { txn in
            try txn.save([ahead, behind])
            try txn.delete(id: gone)
        }
        var rest: [SampleID] = []
        while let page = try await iterator.next() { rest += page.map(\.id) }
        #expect(rest == samples[4...].map(\.id).filter { $0 != gone } + [ahead.id])
        try store.close()
    }
}
