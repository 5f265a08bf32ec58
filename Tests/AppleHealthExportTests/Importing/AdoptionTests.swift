import HealthKV
import Testing

@testable import AppleHealthExport

/// Real ids win: a sample that an export brought is the one that a peer shows later.
@Suite("Exports and peers")
struct AdoptionTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private static let scale = Source(bundle: "com.example.scale", name: "Scale")

    /// A weight as a peer gives it, with a fraction of a second.
    private func pulled(_ value: Double, day: Int, source: Source = scale) throws -> Sample {
        let start = try #require(Instant("2024-05-\(day < 10 ? "0" : "")\(day)T06:00:00.25Z"))
        return Sample(.bodyMass, value, .kilogram, from: start, to: start, source: source, origin: .imported)
    }

    @discardableResult
    private func pull(_ samples: [Sample], _ bench: ImportBench) throws -> ImportReport {
        var batch = SampleBatch()
        for sample in samples { batch.append(sample) }
        return try bench.store.write { [batch] in try $0.importFeed(batch, lastLook: nil) }
    }

    @Test("A pulled sample takes the place of the one from an export, in one commit")
    func adopted() throws {
        try bench.take([Export.weight("159.835", "lb", day: 1), Export.weight("80", day: 2)])
        let old = try bench.samples(.bodyMass)
        let token = try bench.store.blockingRead { $0.currentToken }
        let new = try pulled(72.5, day: 1)
        try pull([new], bench)
        #expect(Set(try bench.samples(.bodyMass).map(\.id)) == [new.id, old[1].id])
        let page = try bench.store.blockingRead { try $0.changes(since: token) }
        let deleted = page.changes.compactMap { if case .deleted(let gone) = $0.kind { gone.id } else { nil } }
        let saved = page.changes.compactMap { if case .saved(let sample) = $0.kind { sample.id } else { nil } }
        #expect(deleted == [old[0].id] && saved == [new.id])
        #expect(try bench.take([Export.weight("159.835", "lb", day: 1), Export.weight("80", day: 2)]).unchanged == 2)
        try pull([new], bench)
        #expect(try bench.samples(.bodyMass).count == 2)
    }

    @Test("Export then pull, and pull then export, give the same samples")
    func bothOrders() throws {
        let elements =
            (1...20).map { Export.weight("\(60 + $0).\($0 % 10)", day: $0) } + [Export.weight("61.1", day: 1)]
        let samples = try (1...20).map { try pulled(60 + Double($0) + Double($0 % 10) / 10 + 0.01, day: $0) }
        let twin = try pulled(61.11, day: 1)
        let first = try ImportBench()
        try first.take(elements)
        try pull(samples, first)
        try pull([twin], first)
        let second = try ImportBench()
        try pull(samples + [twin], second)
        #expect(try second.take(elements).unchanged == 21)
        let (left, right) = (try first.samples(.bodyMass), try second.samples(.bodyMass))
        #expect(left.count == 21 && Set(left.map(\.id)) == Set(right.map(\.id)))
        #expect(left.map(\.quantity) == right.map(\.quantity) && left.map(\.source) == right.map(\.source))
    }

    @Test("What was edited over a sample from an export lies over the pulled one")
    func overlay() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        let old = try #require(try bench.samples(.bodyMass).first).id
        try bench.store.write { transaction in
            _ = try transaction.overlay(id: old) { sample in
                sample.quantity = Quantity(71, .kilogram)
                sample.local["note"] = .string("after breakfast")
            }
        }
        let new = try pulled(72.51, day: 1)
        try pull([new], bench)
        let shown = try bench.samples(.bodyMass)
        #expect(shown.map(\.id) == [new.id] && shown.map(\.quantity.value) == [71])
        #expect(
            shown.first?.original?.quantity.value == 72.51 && shown.first?.local["note"] == .string("after breakfast"))
    }

    @Test("A sample from an export that was deleted here does not come back with its real id")
    func deleted() throws {
        try bench.take([Export.weight("72.5", day: 1), Export.weight("80", day: 2)])
        let old = try #require(try bench.samples(.bodyMass).first).id
        try bench.store.write { _ = try $0.delete(id: old) }
        let new = try pulled(72.5, day: 1)
        try pull([new], bench)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [80])
        try pull([new], bench)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [80])
        // Another source of the same name was not meant.
        try pull([try pulled(72.5, day: 1, source: Source(bundle: "com.example.other", name: "Scale"))], bench)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72.5, 80])
    }

    @Test("One deleted sample is one of the peer's at most, though two of one time fit")
    func deletedOnce() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        let old = try #require(try bench.samples(.bodyMass).first).id
        try bench.store.write { _ = try $0.delete(id: old) }
        try pull([try pulled(72.5, day: 1), try pulled(80.1, day: 1)], bench)
        #expect(try bench.samples(.bodyMass).count == 1)
    }

    @Test("What another store deleted takes no sample that the peer shows here: that store finds it by itself")
    func deletedElsewhere() throws {
        let other = try ImportBench()
        try other.take([Export.weight("72.5", day: 1)])
        let old = try #require(try other.samples(.bodyMass).first).id
        try other.store.write { _ = try $0.delete(id: old) }
        let deleted = try #require(try other.store.blockingRead { try $0.deletedSample(id: old) })
        #expect(deleted.start != nil)
        // The name is known here, too.
        try bench.take([Export.weight("60", day: 9)])
        try bench.store.write { _ = try $0.merge(deleted) }
        try pull([try pulled(73, day: 1)], bench)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [73, 60])
    }

    @Test("If two sources have the name and both fit, neither is adopted")
    func ambiguous() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        let other = Source(bundle: "com.example.other", name: "Scale")
        try pull([try pulled(72.5, day: 1), try pulled(72.5, day: 1, source: other)], bench)
        #expect(try bench.samples(.bodyMass).count == 3)
    }

    @Test("Another value, time or name is another sample")
    func others() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        try pull([try pulled(72.6, day: 1)], bench)
        try pull([try pulled(72.5, day: 2)], bench)
        try pull([try pulled(72.5, day: 1, source: Source(bundle: "com.example.scale.new", name: "Balance"))], bench)
        #expect(try bench.samples(.bodyMass).count == 4)
    }
}
