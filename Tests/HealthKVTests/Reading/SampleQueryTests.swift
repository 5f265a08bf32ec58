import TestSupport
import Testing

@testable import HealthKV

/// One query is one question: every read that takes it selects the same samples.
@Suite struct SampleQueryTests {
    private static let phone = Source(bundle: "org.example.phone", name: "Phone")
    private static let watch = Source(bundle: "org.example.watch", name: "Watch")

    private static func history(_ random: inout SeededGenerator) -> [Sample] {
        (0..<300).map { _ in
            let start = Instant.day(random.number(0..<30), random.number(0..<86_400) / 3_600 * 3_600)
            let length = random.pick([0, 60, 86_400, 5 * 86_400, 40 * 86_400])
            return Sample(
                .stepCount, Double(random.number(0..<100)), .count, from: start,
                to: start + Int64(length) * 1_000_000_000, source: random.chance(0.4) ? watch : phone,
                id: SampleID(using: &random))
        }
    }

    @Test("List, walk, number, series and pages of a query agree", arguments: [1, 2, 3])
    func reads(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let history = Self.history(&random)
        let store = try SampleStore.temporary(options: tightOptions())
        defer { try? store.close() }
        try await store.write { _ = try $0.save(history) }
        for _ in 0..<80 {
            var query = SampleQuery(.stepCount)
            if random.chance(0.7) { query.range.from = .day(random.number(0..<30)) }
            if random.chance(0.7) { query.range.to = .day(random.number(0..<40)) }
            query.rule = random.pick(RangeRule.allCases)
            query.order = random.pick([.ascending, .descending])
            if random.chance(0.5) { query.limit = random.number(0..<40) }
            if random.chance(0.5) { query.source = random.pick([Self.phone, Self.watch]).identity }
            query.includeShadowed = random.chance(0.5)
            let asked = query
            let all = try store.blockingRead { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)) }
            var expected = all.filter { sample in
                asked.range.picks(start: sample.start, end: sample.end, by: asked.rule)
                    && (asked.includeShadowed || !sample.isShadowed)
                    && (asked.source == nil || asked.source == sample.source.identity)
            }
            if asked.order == .descending { expected.reverse() }
            if let limit = asked.limit { expected = Array(expected.prefix(limit)) }
            let wanted = expected
            try store.blockingRead { txn in
                #expect(try txn.samples(asked) == wanted, "seed \(seed), \(asked)")
                #expect(try txn.count(asked) == wanted.count, "seed \(seed), \(asked)")
                let series = try txn.series(asked)
                #expect(series.times == wanted.map(\.start.nanoseconds), "seed \(seed), \(asked)")
                #expect(series.values == wanted.map(\.quantity.value), "seed \(seed), \(asked)")
                var readable: [Sample] = []
                let lost = try txn.forEachReadableSample(asked) { sample in
                    readable.append(sample)
                    return true
                }
                #expect(lost.isEmpty && readable == wanted, "seed \(seed), \(asked)")
            }
            var paged: [Sample] = []
            for try await page in store.pages(asked, size: 7) { paged += page }
            #expect(paged == wanted, "seed \(seed), \(asked)")
        }
    }

    @Test("A limit below zero is refused by every read, with the number and what is allowed")
    func limits() async throws {
        let store = try SampleStore.temporary()
        defer { try? store.close() }
        let query = SampleQuery(.stepCount, limit: -2)
        expectError(.invalidArgument) { try store.read { try $0.samples(query) } }
        expectError(.invalidArgument) { try store.read { try $0.count(query) } }
        expectError(.invalidArgument) { try store.read { try $0.series(query).count } }
        expectError(.invalidArgument) { try store.read { try $0.forEachReadableSample(query) { _ in true }.count } }
        await #expect(throws: StoreError.self) { for try await _ in store.pages(query) {} }
        do {
            _ = try store.blockingRead { try $0.count(query) }
        } catch let error as StoreError {
            #expect(error.detail == "The limit is -2, and must be at least 0")
        }
    }
}
