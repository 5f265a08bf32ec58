import HealthKV
import TestSupport
import Testing

@testable import AppleHealthExport

/// Apple writes each record of a correlation twice: at the top level, and far behind it within the correlation.
@Suite("Copies of records in one file")
struct CopiesInOneFileTests {
    /// A moment of May, in minutes.
    private static func moment(_ minute: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return Export.date(1 + minute / 1_440, "\(two(minute / 60 % 24)):\(two(minute % 60)):00")
    }

    private static func pressure(
        _ upper: Int, _ lower: Int, at minute: Int, source: String = "Cuff", indent: String = " "
    ) -> [String] {
        [("Systolic", upper), ("Diastolic", lower)].map { name, value in
            Export.record(
                "HKQuantityTypeIdentifierBloodPressure\(name)", "\(value)", "mmHg", moment(minute), source: source,
                indent: indent)
        }
    }

    private static func correlation(_ records: [String], at minute: Int, source: String = "Cuff") -> String {
        let date = moment(minute)
        return
            " <Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" sourceName=\"\(source)\" "
            + "creationDate=\"\(date)\" startDate=\"\(date)\" endDate=\"\(date)\">\n"
            + records.joined(separator: "\n") + "\n </Correlation>"
    }

    /// One version of a sample with a sync identifier. Its content follows from both.
    private static func glucose(_ name: Int, version: Int) -> String {
        Export.record(
            "HKQuantityTypeIdentifierBloodGlucose", "\(90 + version)", "mg/dL", moment(name * 5 + version % 2),
            source: "Meter",
            metadata: [("HKMetadataKeySyncIdentifier", "s\(name)"), ("HKMetadataKeySyncVersion", "\(version)")])
    }

    /// Two parts of a random history: records, and behind them what repeats some of them.
    private static func history(_ random: inout SeededGenerator) -> (records: [String], copies: [String]) {
        var (records, copies): ([String], [String]) = ([], [])
        for _ in 0..<random.number(1..<30) {
            let (upper, lower, minute) = (random.number(118..<121), random.number(78..<81), random.number(0..<12))
            let source = random.pick(["Cuff", "Other"])
            records += pressure(upper, lower, at: minute, source: source)
            guard random.chance(0.7) else { continue }
            copies.append(
                correlation(
                    pressure(upper, lower, at: minute, source: source, indent: "  "), at: minute, source: source))
        }
        for _ in 0..<random.number(0..<20) {
            let record = glucose(random.number(0..<6), version: random.number(1..<4))
            if random.chance(0.5) { records.append(record) } else { copies.append(record) }
        }
        return (records, copies)
    }

    /// What a person sees of a store, without ids and versions, in an order of its own.
    private static func content(_ bench: ImportBench) throws -> [String] {
        let types: [SampleType] = [.bloodPressureSystolic, .bloodPressureDiastolic, .bloodGlucose]
        return try types.flatMap { try bench.samples($0) }.map { sample in
            "\(sample.type.identifier) \(sample.start.nanoseconds) \(sample.end.nanoseconds) \(sample.quantity.value) "
                + "\(sample.quantity.unit.symbol) \(sample.source.name) \(sample.syncIdentifier ?? "-") "
                + "\(sample.group ?? "-") \(sample.metadata.sorted { $0.key < $1.key })"
        }.sorted()
    }

    @Test(
        "One file comes to what two files come to that hold its halves, whichever half is first, and so says a dry run",
        arguments: 0..<12)
    func oneFileOrTwo(round: Int) throws {
        var random = SeededGenerator(seed: SeededGenerator().seed, part: round)
        let (records, copies) = Self.history(&random)
        let (first, second) = round % 2 == 0 ? (records, copies) : (copies, records)
        let (one, two) = try (ImportBench(), ImportBench())
        var task = HealthImport()
        task.isDryRun = true
        let dry = try one.take(first + second, task)
        let report = try one.take(first + second)
        try two.take(first)
        try two.take(second)
        let place: Comment = "seed \(random.seed), round \(round)"
        #expect(dry == report, place)
        let content = try Self.content(one)
        #expect(try content == Self.content(two), place)
        #expect(report.inserted == content.count && report.quarantined == 0, place)
        #expect(report.inserted + report.replaced + report.unchanged == report.read, place)
        let again = try one.take(first + second)
        #expect(again.inserted == 0 && again.read == report.read, place)
        #expect(try one.store.check().isClean && two.store.check().isClean, place)
    }

    @Test("Records in front of the correlations that repeat them cost little more than the correlations alone")
    func cost() throws {
        let count = 1_000
        let correlations = (0..<count).map { minute in
            Self.correlation(Self.pressure(120, 80, at: minute * 10, indent: "  "), at: minute * 10)
        }
        // Apple writes one type behind the other.
        let pairs = (0..<count).map { Self.pressure(120, 80, at: $0 * 10) }
        let whole = pairs.map { $0[0] } + pairs.map { $0[1] } + correlations
        func duration(of elements: [String], replaced: Int) throws -> Duration {
            let bench = try ImportBench()
            let begun = ContinuousClock.now
            let report = try bench.take(elements)
            let duration = ContinuousClock.now - begun
            #expect(report.inserted == 2 * count && report.replaced == replaced)
            return duration
        }
        // Other tests run at the same time, so one good attempt is enough. It took fifty times as long.
        var ratios: [Double] = []
        while ratios.count < 6, ratios.allSatisfy({ $0 > 8 }) {
            let nested = try duration(of: correlations, replaced: 0)
            ratios.append(try duration(of: whole, replaced: 2 * count) / nested)
        }
        #expect(ratios.contains { $0 <= 8 }, "\(ratios)")
    }
}
