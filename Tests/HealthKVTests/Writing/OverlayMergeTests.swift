import TestSupport
import Testing

@testable import HealthKV

/// Stores that hold an import in different states merge what was imported and what lies over it apart (SEMANTICS C1,
/// C7).
@Suite struct OverlayMergeTests {
    private let pulled: Sample = {
        var sample = Sample(
            .bodyMass, 80, .kilogram, from: .day(1), to: .day(1),
            source: Source(bundle: "com.example.scale", name: "Scale"), id: SampleID(high: 7, low: 9), version: 1,
            origin: .imported)
        sample.modified = ChangeClock(time: .day(2), replica: 1)
        return sample
    }()

    /// The sample as another store imported it again, a day later for each version.
    private func imported(_ version: Int64, _ value: Double) -> Sample {
        var sample = pulled
        (sample.version, sample.quantity.value) = (version, value)
        sample.modified = ChangeClock(time: .day(2 + Int(version)), replica: 2)
        return sample
    }

    private func held(_ store: SampleStore) throws -> Sample {
        try #require(try store.read { try $0.sample(id: pulled.id) })
    }

    @Test(
        "C7: a newer import of another store goes beneath an edit, whatever their versions, and the edit beneath no import"
    )
    func newerImport() throws {
        for version in [2, 3, 9] as [Int64] {
            try withStore { store in
                _ = try store.write { try $0.merge(pulled) }
                _ = try store.write { try $0.overlay(id: pulled.id) { $0.quantity.value = 79 } }
                let edited = try held(store)
                let newer = imported(version, 81)
                #expect(try store.write { try $0.merge(newer) } == .replaced)
                let read = try held(store)
                #expect(read.quantity.value == 79 && read.original?.quantity.value == 81)
                #expect(read.original?.version == version && read.version == 2)
                #expect(try store.write { try $0.merge(newer) } == .older)
                try withStore { other in
                    _ = try other.write { try $0.merge(newer) }
                    #expect(try other.write { try $0.merge(edited) } == .replaced)
                    #expect(try held(other) == read)
                    #expect(try other.write { try $0.merge(read) } == .unchanged)
                }
            }
        }
    }

    @Test(
        "C7: an edit that was taken off does not come back from another store that still has it, and a later one does")
    func takenOff() throws {
        try withStore { store in
            _ = try store.write { try $0.merge(pulled) }
            _ = try store.write { try $0.overlay(id: pulled.id) { $0.quantity.value = 79 } }
            let edited = try held(store)
            _ = try store.write { try $0.removeOverlay(id: pulled.id) }
            let bare = try held(store)
            #expect(try store.write { try $0.merge(edited) } == .older)
            #expect(try held(store) == bare)
            try withStore { other in
                // One that has heard of a newer import too.
                let newer = imported(5, 81)
                for sample in [edited, newer, bare] { _ = try other.write { try $0.merge(sample) } }
                let merged = try held(other)
                #expect(merged.original == nil && merged.quantity.value == 81 && merged.version == 5)
                _ = try other.write { try $0.overlay(id: pulled.id) { $0.quantity.value = 78 } }
                let again = try held(other)
                #expect(try store.write { try $0.merge(again) } == .replaced)
                #expect(try held(store).quantity.value == 78)
            }
        }
    }

    @Test("C22: a deletion takes an import and the edit over it, or neither") func deletion() throws {
        try withStore { store in
            _ = try store.write { try $0.merge(pulled) }
            _ = try store.write { try $0.overlay(id: pulled.id) { $0.quantity.value = 79 } }
            let newer = imported(5, 81)
            _ = try store.write { try $0.merge(newer) }
            func deletion(_ version: Int64) -> DeletedSample {
                DeletedSample(
                    id: pulled.id, type: .bodyMass, source: pulled.source.identity, syncIdentifier: nil,
                    version: version,
                    modified: ChangeClock(time: .day(900), replica: 3))
            }
            let early = deletion(4)
            #expect(try store.write { try $0.merge(early) } == false)
            let edited = try held(store)
            #expect(try store.write { try $0.delete(id: pulled.id, version: 0) })
            #expect(try store.read { try $0.deletedSample(id: pulled.id) }?.version == 5)
            #expect(try store.write { try $0.merge(edited) } == .vetoed)
            try withStore { other in
                _ = try other.write { try $0.merge(early) }
                #expect(try other.write { try $0.merge(edited) } == .inserted)
                #expect(try held(other) == edited)
            }
        }
    }

    @Test("C1, C7: states of an import merge into one, in whatever order and groups they meet") func anyOrder() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<2_000 {
            // A store costs more than the merge that it carries out.
            let usesStores = round < 8
            let states = (0..<random.number(2..<7)).map { _ in state(&random) }
            var results: [Sample] = []
            for _ in 0..<3 {
                var groups = states.shuffled(using: &random).map { [$0] }
                // Twice the same says nothing new.
                if random.chance(percent: 50) { groups.append([random.pick(states)]) }
                var merged = try groups.map { try merge($0, inStore: usesStores) }
                while merged.count > 1 {
                    let one = merged.remove(at: random.number(0..<merged.count))
                    let other = random.number(0..<merged.count)
                    merged[other] = try merge([merged[other], one], inStore: usesStores)
                }
                results.append(merged[0])
            }
            let first = record(results[0])
            #expect(results.allSatisfy { record($0) == first }, "seed \(seed), round \(round): \(states)")
        }
    }

    /// A state that a store may hold the sample in. Few versions and clocks, so that they meet; content says what made
    /// it.
    private func state(_ random: inout SeededGenerator) -> Sample {
        var sample = imported(Int64(random.number(1..<4)), Double(random.number(1..<4)))
        sample.modified = clock(&random)
        if random.chance(percent: 20) { sample.device = Device(name: random.pick(["Scale", "Ring"])) }
        switch random.number(0..<3) {
        case 0:
            sample.original = Sample.Original(of: sample)
            sample.quantity.value = Double(random.number(10..<13))
            (sample.version, sample.modified) = (Int64(random.number(2..<5)), clock(&random))
            if random.chance(percent: 30) { sample.note = random.pick(["a", "b"]) }
        case 1:
            sample.reversion = Sample.Reversion(version: Int64(random.number(2..<5)), modified: clock(&random))
            if random.chance(percent: 30) { sample.note = random.pick(["a", "b"]) }
        default: break
        }
        return sample
    }

    private func clock(_ random: inout SeededGenerator) -> ChangeClock {
        ChangeClock(time: .day(random.number(3..<5)), replica: UInt32(random.number(1..<3)))
    }

    /// What a store holds after it met some states in their order.
    private func merge(_ states: [Sample], inStore: Bool) throws -> Sample {
        var merged = OverlaidImport(states[0])
        for state in states.dropFirst() { merged = merged.merged(with: OverlaidImport(state)) }
        guard inStore else { return merged.sample }
        var read = merged.sample
        try withStore { store in
            for state in states { _ = try store.write { try $0.merge(state) } }
            read = try held(store)
        }
        #expect(record(read) == record(merged.sample))
        return read
    }

    private func record(_ sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        return encoder.bytes
    }
}
