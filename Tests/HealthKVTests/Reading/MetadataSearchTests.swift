import Testing

@testable import HealthKV

/// Finding and deleting by metadata.
@Suite struct MetadataSearchTests {
    @Test("Samples are found by a metadata key and any of some values, among all types or some, through many chunks")
    func find() throws {
        try withStore { store in
            let samples = (0..<3_000).map { number -> Sample in
                let type: SampleType = number % 2 == 0 ? .dietaryProtein : .dietaryFiber
                var sample = Sample(type, 1, .gram, at: .day(number / 50, number % 50))
                guard number % 10 == 0 else { return sample }
                sample.metadata = ["log": .string(String(number % 40)), "n": .number(Double(number))]
                return sample
            }
            try store.write { _ = try $0.save(samples) }
            let found = try store.read { try $0.samples(metadataKey: "log", values: [.string("10"), .string("20")]) }
            let expected = samples.filter { $0.metadata["log"] == .string("10") || $0.metadata["log"] == .string("20") }
            #expect(Set(found.map(\.id)) == Set(expected.map(\.id)) && !found.isEmpty)
            let fiber = try store.read {
                try $0.samples(metadataKey: "n", values: [.number(7)], types: [.dietaryFiber])
            }
            #expect(fiber.isEmpty)
            #expect(try store.read { try $0.samples(metadataKey: "log", values: [.number(10)]) }.isEmpty)
            let deleted = try store.write { try $0.delete(.metadata("log", values: [.string("10")])) }
            #expect(deleted == samples.count { $0.metadata["log"] == .string("10") })
            #expect(try store.read { try $0.samples(metadataKey: "log", values: [.string("10")]) }.isEmpty)
            #expect(try store.read { try $0.count() } == samples.count - deleted)
        }
    }

    @Test("What is found is in the order of types, starts and ends, however long it lasts")
    func order() throws {
        try withStore { store in
            let day = 86_400 * Instant.nanosecondsPerSecond
            let lengths = [(1, day / 48), (2, day / 12), (3, day / 36), (4, 2 * day), (5, 0)]
            let samples = [SampleType.dietaryProtein, .stepCount, .dietaryFiber].flatMap { type in
                lengths.map { number, length in
                    Sample(
                        type, 1, type == .stepCount ? .count : .gram, from: .day(number), to: .day(number) + length,
                        metadata: ["plan": .string("A")])
                }
            }
            try store.write { _ = try $0.save(samples.reversed()) }
            let found = try store.read { try $0.samples(metadataKey: "plan", values: [.string("A")]) }
            let expected = samples.sorted { ($0.type, $0.start, $0.id) < ($1.type, $1.start, $1.id) }
            #expect(found.map(\.id) == expected.map(\.id))
        }
    }

    @Test("What a mass operation takes away is not found")
    func hidden() throws {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        try withStore(options: options) { store in
            let samples = (0..<3_000).map {
                Sample(.dietaryFiber, 1, .gram, at: .day($0), metadata: ["k": .bool(true)])
            }
            try store.write { _ = try $0.save(samples) }
            try store.write { _ = try $0.delete(.range(of: .dietaryFiber, to: .day(2_900))) }
            #expect(try store.read { try $0.samples(metadataKey: "k", values: [.bool(true)]) }.count == 100)
            #expect(try store.write { try $0.delete(.metadata("k", values: [.bool(true)])) } == 100)
        }
    }
}
