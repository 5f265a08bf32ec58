import Foundation
import HealthKV
import TestSupport
import Testing

@testable import kvinspect

/// Lines from cached pieces must equal lines from whole samples.
@Suite("Lines of a dump")
struct DumpLineWriterTests {
    private static let start = Instant("2024-02-28T23:59:00Z")!

    private func sample(_ random: inout SeededGenerator) -> Sample {
        let type: SampleType = random.pick([.stepCount, .bodyMass, SampleType("org.example.\"odd\"\u{1}")])
        let units: [HealthUnit] = type == .bodyMass ? [.kilogram, .pound] : [.count]
        let start = DumpLineWriterTests.start + Int64(random.number(0..<4_000)) * 60_000_000_000 + fraction(&random)
        let end =
            random.chance(0.05)
            ? .distantFuture : start + Int64(random.number(0..<90)) * 1_000_000_000 + fraction(&random)
        let source = Source(
            bundle: random.pick(["", "com.example.\u{301}"]), name: random.pick(["Phone", "a \"b\"\n", ""]),
            version: random.pick([nil, "1", "2"]), product: random.pick([nil, "iPhone17,1"]))
        var sample = Sample(
            type, value(&random), random.pick(units), from: start, to: end, source: source,
            id: SampleID(using: &random),
            syncIdentifier: random.pick([nil, nil, nil, "s\\\(random.number(0..<1_000_000))"]),
            version: Int64(random.pick([0, 0, 0, 1, 5, 1 << 40])),
            origin: random.pick([.imported, .imported, .authored]),
            isUserEntered: random.chance(0.2),
            device: random.pick([nil, nil, Device(name: "Scale", model: "S\"1"), Device(udiDeviceIdentifier: "00")]),
            group: random.pick([nil, nil, "g\u{7}", "meal"]))
        if random.chance(0.05) { sample.syncIdentifier = sample.id.description }
        sample.modified = ChangeClock(
            time: DumpLineWriterTests.start + Int64(random.pick([1, 1, 1, 2, random.number(0..<1 << 40)])),
            replica: UInt32(random.pick([1, 1, 4_294_967_295])))
        sample.count = random.pick([1, 1, 1, 7])
        sample.multiplicity = random.pick([0, 0, 0, 3])
        if random.chance(0.3) {
            sample.metadata = [
                "n": .number(random.pick([1, -0.0, .leastNonzeroMagnitude, 1e300])),
                "t\"": .string(random.pick(["x", "é\u{0}"])),
                "d": .date(random.pick([.distantPast, DumpLineWriterTests.start])), "b": .bool(random.chance(0.5)),
            ]
        }
        if random.chance(0.1) { sample.timeZone = "Asia/Kathmandu" }
        if random.chance(0.1) { sample.local = ["note": .string("x")] }
        if random.chance(0.1), sample.origin == .imported {
            sample.original = Sample.Original(
                start: start, end: start, quantity: sample.quantity, isUserEntered: false, metadata: [:], version: 1)
        }
        return sample
    }

    private func fraction(_ random: inout SeededGenerator) -> Int64 {
        Int64(random.pick([0, 0, 0, 500_000_000, 1, random.number(0..<1_000_000_000)]))
    }

    /// The double with these bits, or 0.5 if not every unit can express it.
    private func finite(_ bits: UInt64) -> Double {
        let number = Double(bitPattern: bits)
        return abs(number) <= 1e200 ? number : 0.5
    }

    private func value(_ random: inout SeededGenerator) -> Double {
        let scale = random.pick([1.0, 1e3, 1e9, 1e15, 1e17, 1e-7])
        return random.pick([
            Double(random.number(0..<1_000)), -0.0, 0, 1e200, -1e200, .leastNonzeroMagnitude,
            9_007_199_254_740_991,
            9_007_199_254_740_992, -9_007_199_254_740_994, Double.random(in: 0..<scale, using: &random),
            (Double.random(in: -scale..<scale, using: &random) * 1_000).rounded() / 1_000,
            finite(random.next()),
        ])
    }

    @Test("Cached pieces give the same bytes as whole samples", arguments: 0..<4)
    func sameBytes(part: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed, part: part)
        let bench = try Workbench()
        let store = try SampleStore.open(at: bench.path("S"))
        for _ in 0..<3 {
            let samples = (0..<700).map { _ in sample(&random) }
            try store.write { txn in for sample in samples { try txn.merge(sample) } }
        }
        let saved = (0..<20).map { _ in sample(&random) }
        try store.write { txn in for sample in saved { try txn.save(sample) } }
        try store.read { txn in
            for type in try txn.liveTypes() {
                var lines = DumpLineWriter(type)
                var (pieces, wholes) = (JSONWriter(), JSONWriter())
                _ = try txn.forEachStored(of: type, skippingDamage: part % 2 == 1) { samples, whole in
                    for index in samples.indices {
                        try lines.write(samples[index], to: &pieces) { try whole(index) }
                        pieces.newline()
                    }
                    return true
                }
                try txn.forEachSample(SampleQuery(type, includeShadowed: true)) { sample in
                    SampleRecord(sample: sample, detail: .lossless).write(to: &wholes)
                    wholes.newline()
                    return true
                }
                #expect(pieces.bytes == wholes.bytes, "seed \(seed), part \(part), \(type.identifier)")
                #expect(!wholes.bytes.isEmpty)
            }
        }
        try store.close()
    }
}
