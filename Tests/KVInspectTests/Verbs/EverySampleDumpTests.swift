import Foundation
import HealthKV
import Testing

@testable import kvinspect

/// Every field of a sample survives dump and load, and the lines have the shape of the model's own JSON.
@Suite struct EverySampleDumpTests {
    /// One sample with each of the fields, of several kinds.
    private var samples: [Sample] {
        let source = Source(bundle: "com.example.app", name: "App", version: "1", product: "iPhone17,1", system: "18.0")
        var weight = Sample.weight(
            Quantity(160.4, .pound), at: Instant("2026-02-01T07:00:00.000000001Z")!, note: "a \"note\"\n",
            bodyFat: 0.25,
            source: source, syncIdentifier: "w-1")
        weight.timeZone = "Asia/Kathmandu"
        weight.device = Device(name: "Scale", udiDeviceIdentifier: "00")
        weight.metadata = [
            "text": .string("é"), "number": .number(-0.0), "least": .number(.leastNonzeroMagnitude),
            "flag": .bool(true),
            "past": .date(.distantPast), "future": .date(.distantFuture), "date": .date(.earliest - 1),
            "level": .quantity(Quantity(1.0 / 3, .milligramPerDeciliter)),
        ]
        weight.count = 3
        var pulled = Sample(
            .heartRate, 61, .countPerMinute, from: weight.start, to: .distantFuture, source: Source(name: "Watch"),
            version: 4, origin: .imported, group: "g")
        pulled.original = Sample.Original(
            start: weight.start, end: weight.start + 5, quantity: Quantity(1, try! HealthUnit(symbol: "Hz")),
            isUserEntered: true, metadata: ["k": .bool(false)], version: 3)
        var workout = Workout(
            .swimBikeRun, energy: Quantity(812, .kilocalorie), distance: Quantity(1e-7, .mile),
            strokes: Quantity(900, .count), flights: Quantity(.greatestFiniteMagnitude, .count))
        let (start, end) = (weight.start, weight.start + 3_600_000_000_000)
        workout.statistics = [
            WorkoutStatistics(
                .heartRate, from: start, to: end, sum: nil, average: Quantity(140, .countPerMinute),
                minimum: Quantity(90, .countPerMinute), maximum: Quantity(1e300, .countPerMinute))
        ]
        workout.events = [WorkoutEvent(.lap, from: start, to: end, metadata: ["n": .number(1)])]
        workout.activities = [
            WorkoutActivity(
                WorkoutActivityType(rawValue: 4_242), from: start, to: .distantFuture, duration: Quantity(20, .minute),
                metadata: ["m": .date(.distantFuture)], statistics: workout.statistics, events: workout.events)
        ]
        let swim = Sample.workout(workout, from: start, to: end, duration: 3_000.25, source: source)
        let sleep = Sample(category: .sleepAnalysis, 3, from: start, to: end, source: source)
        let unknown = Sample(SampleType("org.example.pain"), 2, try! HealthUnit(symbol: "D"), at: start, source: source)
        var point = WorkoutRoute.Point(at: start, latitude: -0.0, longitude: 1.0 / 3, altitude: 1e-7)
        let bare = point
        (point.horizontalAccuracy, point.course) = (3, 359.9)
        let route = Sample(route: WorkoutRoute([point, bare, point]), source: source)!
        return [weight, pulled, swim, sleep, unknown, route]
    }

    private func bytes(_ samples: [Sample]) -> [SampleID: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: samples.map { sample in
                var encoder = CanonicalEncoder()
                encoder.encode(sample)
                return (sample.id, encoder.bytes)
            })
    }

    @Test("Load reads the output of dump bit for bit, and the hashes are equal")
    func dumpAndLoad() throws {
        let bench = try Workbench()
        let store = try SampleStore.open(at: bench.path("S"))
        let samples = samples
        try store.write { _ = try $0.save(samples) }
        let stored = try samples.map { sample in try #require(try store.read { try $0.sample(id: sample.id) }) }
        try store.close()
        let dump = try bench.run("dump", "S")
        #expect(dump.code == 0 && dump.output.split(separator: "\n").count == samples.count)
        #expect(try bench.run("load", "T", input: dump.output).code == 0)
        #expect(try bench.run("dump", "T").output == dump.output)
        #expect(try bench.run("hash", "T").output == bench.run("hash", "S").output)
        // The model's own JSON decoder reads the same lines.
        let lines = dump.output.split(separator: "\n").map { Data($0.utf8) }
        let decoded = try lines.map { try JSONDecoder().decode(Sample.self, from: $0) }
        #expect(bytes(decoded) == bytes(stored))
        // And load reads the output of the model's encoder.
        for (name, formatting) in [("U", JSONEncoder.OutputFormatting.sortedKeys), ("V", []), ("W", [])] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = formatting
            let encoded = try stored.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
            let load = try bench.run("load", name, input: encoded.joined(separator: "\n"))
            #expect(load.code == 0, "\(load.errors)")
            #expect(try bytes(read(bench.path(name))) == bytes(stored))
        }
    }

    private func read(_ folder: String) throws -> [Sample] {
        let store = try SampleStore.open(at: folder)
        defer { try? store.close() }
        return try store.read { txn in
            try txn.types().flatMap { try txn.samples(SampleQuery($0.type, includeShadowed: true)) }
        }
    }

    @Test("get shows the parts of a workout, and scan converts units that only the store numbers")
    func getAndScan() throws {
        let bench = try Workbench()
        let store = try SampleStore.open(at: bench.path("S"))
        let samples = samples
        try store.write { _ = try $0.save(samples) }
        try store.close()
        let card = try bench.run("get", "S", samples[2].id.description, "--format", "table")
        #expect(card.output.contains("workout.activity") && card.output.contains("swimBikeRun"))
        #expect(card.output.contains("workout.energy.value"))
        let json = try bench.run("get", "S", samples[0].id.description, "--format", "json")
        #expect(json.output.contains("Asia/Kathmandu") && json.output.contains("\"local\""))
        let pulse = try bench.run("scan", "S", "--type", "heartRate", "--unit", "Hz", "--format", "jsonl")
        #expect(try pulse.lines()[0]["unit"] as? String == "Hz")
        #expect(try bench.run("types", "S", "--format", "table").output.contains("D"))
    }

    @Test("A bad workout, a category with a fraction, and a workout in a weight are refused with their reason")
    func refusals() throws {
        let bench = try Workbench()
        let head = #"{"start":"2026-01-01","type":"#
        let lines = [
            (head + #""workout","value":1,"unit":"s","workout":{"activity":"flying"}}"#, "workout"),
            (head + #""workout","value":1,"unit":"s","workout":{"energy":5}}"#, "workout: its shape"),
            (
                head + #""workout","value":1,"unit":"s","workout":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}"#,
                "nest too deeply"
            ),
            (head + #""sleepAnalysis","value":1.5,"unit":"count"}"#, "whole number"),
            (head + #""bodyMass","value":1,"unit":"kg","workout":{"activity":"running"}}"#, "has no workout"),
            (
                head
                    + #""bodyMass","value":1,"unit":"kg","origin":"authored","original":{"start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:00Z","value":1,"unit":"kg"}}"#,
                "has no original"
            ),
            (head + #""bodyMass","value":1,"unit":"mmHg"}"#, "mmHg cannot be converted to kg"),
        ]
        for (line, reason) in lines {
            let run = try bench.run("load", "S", input: line)
            #expect(run.code == 1 && run.errors.contains(reason), "\(line): \(run.errors)")
        }
    }
}
