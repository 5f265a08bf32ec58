import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

@Suite("Observations of FHIR")
struct ObservationTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private typealias JSON = [String: Any]

    /// Exports the store and returns its bundles.
    private func bundles(_ task: HealthExport = HealthExport(), pageSize: Int = 100) throws -> [JSON] {
        var bundles: [JSON] = []
        try task.observations(of: bench.store, subject: "Patient/7", pageSize: pageSize) { bundle in
            bundles.append(try #require(try JSONSerialization.jsonObject(with: Data(bundle)) as? JSON))
        }
        return bundles
    }

    private func observations(_ bundles: [JSON]) throws -> [JSON] {
        try bundles.flatMap { bundle in
            try #require(bundle["entry"] as? [JSON]).map { try #require($0["resource"] as? JSON) }
        }
    }

    private func codes(_ concept: Any?) -> [String] {
        ((concept as? JSON)?["coding"] as? [JSON] ?? []).compactMap { $0["code"] as? String }
    }

    @Test("Values have the codes of LOINC and UCUM, and times their offset and fractions")
    func quantities() throws {
        let start = try #require(Instant("2024-05-01T06:00:00.25Z"))
        let source = Source(name: "Scale & Co")
        let second = Instant.nanosecondsPerSecond
        let weight = Sample(
            .bodyMass, 72.4, .kilogram, from: start, to: start, source: source, device: Device(name: "S200"))
        try bench.store.write { txn in
            try txn.save(weight)
            try txn.save(Sample(.oxygenSaturation, 0.56, .percent, at: start, source: source))
            try txn.save(
                Sample(.stepCount, 120, .count, from: start, to: start + 60 * second, source: source))
            try txn.save(Sample(.heartRate, 61, .countPerMinute, at: start, source: source))
            let moles = try HealthUnit(symbol: "mmol<180.1558800000541>/L")
            try txn.save(Sample(.bloodGlucose, 5.5, moles, at: start, source: source))
            try txn.save(Sample(.bloodGlucose, 99, HealthUnit(symbol: "mg/dL"), at: start + second, source: source))
        }
        var task = HealthExport()
        task.secondsFromGMT = 5 * 3_600 + 45 * 60
        let all = try observations(try bundles(task))
        #expect(all.count == 6)
        func one(_ code: String) throws -> JSON { try #require(all.first { codes($0["code"]).contains(code) }) }
        let mass = try one("29463-7")
        #expect(mass["resourceType"] as? String == "Observation" && mass["status"] as? String == "final")
        #expect(mass["id"] as? String == weight.id.description.lowercased())
        #expect(mass["effectiveDateTime"] as? String == "2024-05-01T11:45:00.25+05:45")
        #expect((mass["subject"] as? JSON)?["reference"] as? String == "Patient/7")
        #expect((mass["device"] as? JSON)?["display"] as? String == "S200 (Scale & Co)")
        #expect(codes(mass["code"]) == ["29463-7", "HKQuantityTypeIdentifierBodyMass"])
        #expect(codes((mass["category"] as? [Any])?.first) == ["vital-signs"])
        func amount(_ code: String) throws -> (Double?, String?, String?) {
            let amount = try #require(try one(code)["valueQuantity"] as? JSON)
            return (amount["value"] as? Double, amount["unit"] as? String, amount["code"] as? String)
        }
        #expect(try amount("29463-7") == (72.4, "kg", "kg"))
        // HealthKit's percent is a fraction.
        #expect(try amount("59408-5") == (56, "%", "%"))
        #expect(try amount("8867-4") == (61, "count/min", "{count}/min"))
        #expect(try amount("15074-8") == (5.5, "mmol/L", "mmol/L"))
        #expect(try amount("2339-0") == (99, "mg/dL", "mg/dL"))
        let steps = try one("55423-8")
        let period = try #require(steps["effectivePeriod"] as? [String: String])
        #expect(period["start"] == "2024-05-01T11:45:00.25+05:45" && period["end"] == "2024-05-01T11:46:00.25+05:45")
    }

    @Test("A blood pressure is one Observation; categories and workouts say what they are")
    func kinds() throws {
        let start = try #require(Instant("2024-05-01T06:00:00Z"))
        let mercury = try HealthUnit(symbol: "mmHg")
        let minute = 60 * Instant.nanosecondsPerSecond
        let upper = Sample(.bloodPressureSystolic, 121, mercury, at: start, group: "a")
        let lower = Sample(.bloodPressureDiastolic, 79, mercury, at: start, group: "a")
        try bench.store.write { txn in
            for sample in [
                upper, lower, Sample(.bloodPressureDiastolic, 70, mercury, at: start + minute, group: "b"),
                Sample(.sleepAnalysis, 5, .count, from: start, to: .distantFuture),
                Sample.workout(
                    Workout(.cycling, energy: Quantity(210, .kilocalorie), distance: Quantity(9.5, .kilometer)),
                    from: start, to: start + 30 * minute, duration: 1_700),
            ] {
                try txn.save(sample)
            }
        }
        let all = try observations(try bundles())
        #expect(all.count == 4)
        let panel = try #require(all.first { codes($0["code"]).contains("85354-9") })
        let parts = try #require(panel["component"] as? [JSON])
        #expect(parts.map { codes($0["code"]).first } == ["8480-6", "8462-4"])
        #expect(parts.map { ($0["valueQuantity"] as? JSON)?["value"] as? Double } == [121, 79])
        #expect(parts.map { ($0["valueQuantity"] as? JSON)?["code"] as? String } == ["mm[Hg]", "mm[Hg]"])
        let ids = (panel["identifier"] as? [[String: String]] ?? []).compactMap { $0["value"] }
        #expect(ids == [upper, lower].map { "urn:uuid:\($0.id.description.lowercased())" })
        let sleep = try #require(all.first { $0["valueCodeableConcept"] != nil })
        #expect(codes(sleep["valueCodeableConcept"]) == ["HKCategoryValueSleepAnalysisAsleepREM"])
        #expect((sleep["effectivePeriod"] as? JSON)?.keys.sorted() == ["start"])
        let ride = try #require(all.first { codes($0["code"]).contains("HKWorkoutTypeIdentifier") })
        #expect((ride["valueQuantity"] as? JSON)?["value"] as? Double == 1_700)
        let details = try #require(ride["component"] as? [JSON])
        #expect(codes(details[0]["valueCodeableConcept"]) == ["HKWorkoutActivityTypeCycling"])
        #expect(details.dropFirst().map { ($0["valueQuantity"] as? JSON)?["code"] as? String } == ["kcal", "km"])
    }

    @Test("Control characters of a name, which FHIR forbids, are left out and counted")
    func controlCharacters() throws {
        let source = Source(name: "Ä\u{07} \u{1B}[31mB\tC")
        let sample = Sample(.stepCount, 5, .count, at: Instant(nanoseconds: 0), source: source)
        try bench.store.write { _ = try $0.save(sample) }
        let found = try observations(try bundles())
        #expect((found[0]["device"] as? JSON)?["display"] as? String == "Ä [31mB\tC")
        let report = try HealthExport().write(bench.store, to: bench.folder.path + "/a.ndjson")
        #expect(report.samples == 1 && report.charactersLost == 2)
    }

    @Test("What an Observation has no place for is counted: metadata, notes, groups, routes")
    func losses() throws {
        let source = Source(name: "Scale")
        let plain = Sample(.stepCount, 5, .count, at: Instant(nanoseconds: 0), source: source)
        var noted = Sample(.stepCount, 6, .count, at: Instant(nanoseconds: 1), source: source)
        noted.metadata = ["meal": .string("lunch")]
        let pressures = [SampleType.bloodPressureSystolic, .bloodPressureDiastolic].map {
            Sample($0, 100, .millimeterOfMercury, at: Instant(nanoseconds: 2), source: source)
        }
        let nutrients = [SampleType.dietaryProtein, .dietaryFatTotal].map {
            Sample($0, 3, .gram, at: Instant(nanoseconds: 3), source: source)
        }
        let tagged = noted
        try bench.store.write { txn in
            try txn.save([plain, tagged])
            try txn.save(group: "pressure", pressures)
            try txn.save(group: "meal", nutrients)
        }
        let report = try HealthExport().write(bench.store, to: bench.folder.path + "/a.ndjson")
        #expect(report.samples == 5 && report.detailsLost == 1 && report.groupsLost == 1, "\(report)")
    }

    @Test("Pages have the size that was asked for, filters hold, and the same store gives the same bytes")
    func pages() throws {
        try bench.take((1...25).flatMap { [Export.weight("7\($0 % 10).5", day: $0), Export.steps("9", day: $0)] })
        var pages: [Int] = []
        let count = try HealthExport().observations(of: bench.store, pageSize: 20) { bundle in
            let json = try JSONSerialization.jsonObject(with: Data(bundle)) as? JSON
            pages.append((json?["entry"] as? [Any])?.count ?? 0)
        }
        #expect(count == 50 && pages == [20, 20, 10])
        var task = HealthExport()
        task.types = [.bodyMass]
        #expect(try observations(try bundles(task)).count == 25)
        let (first, second) = (bench.folder.path + "/a.ndjson", bench.folder.path + "/b.ndjson")
        let report = try task.write(bench.store, to: first)
        try task.write(bench.store, to: second)
        let text = try String(contentsOfFile: first, encoding: .utf8)
        #expect(report.samples == 25 && report.bytes == text.utf8.count && text.hasSuffix("\n"))
        #expect(try text == String(contentsOfFile: second, encoding: .utf8))
        #expect(text.split(separator: "\n").count == 1)
        // The caller's error ends the export.
        struct Stop: Error {}
        #expect(throws: Stop.self) { try task.observations(of: bench.store) { _ in throw Stop() } }
    }

    @Test(
        "Units have the codes of UCUM, and a unit without one has none",
        arguments: [
            ("mL/min·kg", "mL/(min.kg)"), ("kcal/hr·kg", "kcal/(h.kg)"), ("m/s", "m/s"), ("mcg", "ug"),
            ("degC", "Cel"), ("lb", "[lb_av]"), ("fl_oz_us", "[foz_us]"), ("1/min", "/min"), ("dBASPL", "dB[SPL]"),
            ("m^2", "m2"), ("IU", "[iU]"), ("mcS", "uS"), ("ms", "ms"), ("cup_imp", nil), ("mi", "[mi_i]"),
        ] as [(String, String?)])
    func units(symbol: String, code: String?) throws {
        #expect(try UnitCode.code(of: HealthUnit(symbol: symbol)) == code)
    }

    @Test("Every unit of the catalog's types has a code")
    func catalog() {
        for type in SampleType.catalog {
            guard let unit = type.canonicalUnit else { continue }
            #expect(UnitCode.code(of: unit) != nil, "\(unit.symbol)")
        }
    }
}
