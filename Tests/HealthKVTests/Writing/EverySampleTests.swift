import Foundation
import Testing
import TestSupport

@testable import HealthKV

/// Whatever a sample can say survives every way that it can go, bit for bit.
@Suite struct EverySampleTests {
    /// Valid samples of random content, each of another identity.
    static func samples(_ count: Int, _ random: inout SeededGenerator) -> [Sample] {
        let pool = SamplePool(&random)
        var identities: Set<String> = []
        var samples: [Sample] = []
        while samples.count < count {
            var sample = pool.fresh(&random)
            if random.chance(0.1) {
                let route = RandomRoute.make(&random)
                (sample.type, sample.quantity) = (.workoutRoute, Quantity(Double(route.points.count), .count))
                (sample.workout, sample.original) = (nil, nil)
                sample.route = route
            }
            if sample.source == .thisApp { sample.source = pool.sources[0] }
            if sample.origin == .authored, sample.syncIdentifier == nil {
                sample.syncIdentifier = sample.id.description
            }
            sample.version = Int64(random.number(1..<5))
            sample.modified = ChangeClock(
                time: random.pick([.distantPast, .earliest, Instant(nanoseconds: Int64(random.number(0..<9_000_000)))]),
                replica: random.pick([0, 7, .max]))
            sample.multiplicity = random.pick([0, 0, 3])
            if let text = sample.syncIdentifier, !identities.insert(text).inserted { continue }
            samples.append(sample)
        }
        return samples
    }

    private func bytes(_ samples: [Sample]) -> [SampleID: [UInt8]] {
        Dictionary(uniqueKeysWithValues: samples.map { ($0.id, ReferenceModel.wholeBytes($0, ignoringShadow: true)) })
    }

    private func all(_ store: SampleStore) throws -> [Sample] {
        try store.read { txn in
            try txn.types().flatMap { try txn.samples(SampleQuery($0.type, includeShadowed: true)) }
        }
    }

    @Test("A sample reads back from JSON with its version, the first too, and that of an edit, which has none yet")
    func versions() throws {
        var sample = Sample(.bodyMass, 72, .kilogram, at: .day(1))
        sample.modified = ChangeClock(time: .day(2), replica: 3)
        for version: Int64 in 0..<3 {
            sample.version = version
            let read = try JSONDecoder().decode(Sample.self, from: JSONEncoder().encode(sample))
            #expect(read.version == version && read.modified == sample.modified)
        }
    }

    @Test("Merged one by one or imported as a batch, each sample reads back as it was", arguments: 0..<6)
    func roundTrip(_ run: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let samples = EverySampleTests.samples(150, &random)
        try withStore { store in
            if run % 2 == 0 {
                for sample in samples { #expect(try store.write { try $0.merge(sample) } == .inserted) }
            } else {
                var batch = SampleBatch()
                for sample in samples { batch.append(sample) }
                #expect(try store.importBatch(batch).inserted == samples.count)
            }
            #expect(try bytes(all(store)) == bytes(samples), "seed \(seed)")
            // Into a second store in another order, through what the first one says.
            let second = try SampleStore.temporary()
            for sample in try all(store).shuffled(using: &random) { try second.write { _ = try $0.merge(sample) } }
            #expect(try bytes(all(second)) == bytes(samples), "seed \(seed)")
            try second.expectClean()
        }
    }

    @Test("JSON of the model reads back bit for bit, alone and as a list")
    func json() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let samples = EverySampleTests.samples(400, &random)
        let data = try JSONEncoder().encode(samples)
        let decoded = try JSONDecoder().decode([Sample].self, from: data)
        for (sample, read) in zip(samples, decoded) where bytes([sample]) != bytes([read]) {
            Issue.record("seed \(seed): \(sample)\n\(read)")
        }
        let single = try JSONDecoder().decode(Sample.self, from: JSONEncoder().encode(samples[0]))
        #expect(ReferenceModel.wholeBytes(single) == ReferenceModel.wholeBytes(samples[0]))
    }

    @Test("An edit of any field is an edit; the same content again is none")
    func edits() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let changes: [(String, (inout Sample) -> Void)] = [
            ("value", { $0.quantity.value += 1 }), ("unit", { $0.quantity.unit = .pound }),
            ("end", { $0.end = .distantFuture }), ("user", { $0.isUserEntered.toggle() }), ("count", { $0.count += 1 }),
            ("device", { $0.device = Device(name: "Scale 2") }), ("metadata", { $0.metadata["k"] = .date(.earliest) }),
            ("group", { $0.group = "g2" }), ("zone", { $0.timeZone = "Asia/Tokyo" }), ("note", { $0.note = "other" }),
            ("body fat", { $0.bodyFat = 0.21 }), ("revision", { $0.source.version = "99" }),
        ]
        try withStore { store in
            for (name, change) in changes {
                var sample = Sample(
                    .bodyMass, 72, .kilogram, at: .day(random.number(0..<900)), id: SampleID(using: &random))
                (sample.note, sample.timeZone) = ("note", "Europe/Paris")
                try store.save(sample)
                sample = try #require(try store.read { try $0.sample(id: sample.id) })
                sample.version = 0
                #expect(try store.save(sample) == .unchanged, "\(name)")
                change(&sample)
                #expect(try store.save(sample) == .replaced, "\(name)")
                let read = try #require(try store.read { try $0.sample(id: sample.id) })
                #expect(read.version == 2 && read.contentBytes == sample.contentBytes, "\(name)")
            }
        }
    }

    @Test("Samples without the rare fields are encoded as they were before there were any")
    func canonicalForm() {
        let plain = Sample(
            .bodyMass, 72.5, .kilogram, at: Instant(nanoseconds: 5), source: Source(name: "S"),
            id: SampleID(high: 1, low: 2))
        var rest = plain
        #expect(plain.contentBytes.count == 105)
        rest.note = "n"
        #expect(rest.contentBytes.starts(with: plain.contentBytes))
        #expect(rest.contentBytes.dropFirst(plain.contentBytes.count).first == 28)
        rest.local = [:]
        #expect(rest.contentBytes == plain.contentBytes && rest == plain)
        var workout = Sample.workout(.running, from: .day(0), to: .day(1))
        let bytes = workout.contentBytes
        workout.workout!.energy = Quantity(1, .kilocalorie)
        #expect(workout.contentBytes != bytes)
    }
}
