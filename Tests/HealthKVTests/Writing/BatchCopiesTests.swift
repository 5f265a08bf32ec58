import HealthKV
import TestSupport
import Testing

/// A batch may hold a sample several times: as an export does with the records of a correlation, or in versions.
@Suite struct BatchCopiesTests {
    private static let types: [SampleType] = [.stepCount, .bodyMass]
    private static let ids = (0..<8).map { SampleID(high: UInt64($0 + 1) << 32 | 0x4000, low: 1 << 63) }

    /// An import of few identities, so that many meet: by id, by an id that derives from content, or by sync
    /// identifier.
    private static func sample(_ random: inout SeededGenerator) -> Sample {
        let type = random.pick(types)
        let unit: HealthUnit = type == .bodyMass ? .kilogram : .count
        let (source, value) = (Source(name: random.pick(["Phone", "Watch"])), Double(random.number(1..<4)))
        let start = Instant(nanoseconds: Int64(random.number(0..<4)) * 60_000_000_000)
        let derived = DerivedID.id(
            DerivedID.Prefix(type: type, source: source.identity), start: start.nanoseconds, end: start.nanoseconds,
            value: DerivedID.canonical(value, unit, of: type), multiplicity: 0)
        var sample = Sample(
            type, value, unit, at: start, source: source, id: random.chance(0.7) ? derived : random.pick(ids))
        sample.origin = .imported
        sample.version = Int64(random.number(0..<4))
        sample.modified = ChangeClock(
            time: Instant(nanoseconds: Int64(random.number(1..<4)) * 1_000_000_000),
            replica: UInt32(random.number(1..<3)))
        if random.chance(0.4) { sample.syncIdentifier = "s-\(random.number(0..<6))" }
        if random.chance(0.03) { sample.syncIdentifier = random.pick(ids).description }
        if random.chance(0.3) { sample.group = "g-\(random.number(0..<3))" }
        if random.chance(0.2) { sample.metadata = ["k": .bool(random.chance(0.5))] }
        if random.chance(0.1) { sample.isUserEntered = true }
        return sample
    }

    private func contents(_ store: SampleStore) throws -> [Sample] {
        try store.read { txn in
            try BatchCopiesTests.types.flatMap { type in
                try txn.samples(SampleQuery(type, includeShadowed: true)).map { sample in
                    var sample = sample
                    // Which twin of a time is shown hangs on the order in which sources were met.
                    sample.isShadowed = false
                    return sample
                }
            }
        }
    }

    @Test("A batch whose rows meet comes to what its rows come to in batches of their own", arguments: 0..<40)
    func rowsThatMeet(part: Int) throws {
        let seed = SeededGenerator().seed
        var random = SeededGenerator(seed: seed, part: part)
        let folder = TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let (whole, single) = try (
            SampleStore.open(at: folder.path + "/whole"), SampleStore.open(at: folder.path + "/single")
        )
        for round in 0..<4 {
            let samples = (0..<random.number(1..<16)).map { _ in BatchCopiesTests.sample(&random) }
            var batch = SampleBatch()
            for sample in samples { batch.append(sample) }
            let report = try whole.importBatch(batch)
            var sum = ImportReport()
            for sample in samples {
                var row = SampleBatch()
                row.append(sample)
                sum += try single.importBatch(row)
            }
            #expect(report == sum, "seed \(seed), part \(part), round \(round)")
            #expect(try contents(whole) == contents(single), "seed \(seed), part \(part), round \(round)")
            if round == 1, let gone = try contents(single).randomElement(using: &random) {
                for store in [whole, single] { _ = try store.write { try $0.delete(id: gone.id) } }
            }
        }
        for store in [whole, single] {
            let findings = try store.check().findings
            #expect(findings.isEmpty, "\(findings), seed \(seed), part \(part)")
            try store.close()
        }
    }

    @Test("A later version in the same batch keeps the first id, is found by it, and is told once")
    func versions() throws {
        let folder = TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let store = try SampleStore.open(at: folder.path + "/store")
        var batch = SampleBatch()
        let source = Source(name: "Scale")
        let kind = batch.kind(.bodyMass, .kilogram, source: source)
        var ids: [SampleID] = []
        for version in 1...3 {
            let (start, value) = (Int64(version) * 60_000_000_000, 70 + Double(version))
            ids.append(
                DerivedID.id(
                    DerivedID.Prefix(type: .bodyMass, source: source.identity), start: start, end: start,
                    value: value, multiplicity: 0))
            let instant = Instant(nanoseconds: start)
            batch.append(
                kind: kind, start: instant, end: instant, value: value, id: ids[version - 1],
                modified: ChangeClock(time: instant, replica: 1))
            var extras = SampleBatch.Extras()
            (extras.syncIdentifier, extras.version) = ("weight", Int64(version))
            extras.modified = ChangeClock(time: instant, replica: 1)
            batch.setExtras(extras, row: version - 1)
        }
        let token = try store.read { $0.currentToken }
        let report = try store.importBatch(batch)
        #expect(report.inserted == 1 && report.replaced == 2 && report.total == 3)
        let held = try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
        let first = ids[0]
        #expect(held.map(\.id) == [first] && held.map(\.quantity.value) == [73] && held.map(\.version) == [3])
        #expect(try store.read { try $0.sample(id: first) } == held.first)
        #expect(try store.read { try $0.changes(since: token) }.changes.count == 1)
        #expect(try store.importBatch(batch).older == 2)
        #expect(try store.check().isClean)
        try store.close()
    }
}
