import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

/// One store took an export, another one read the same samples from a health database. Where they meet, each
/// measurement is there once.
@Suite("Stores: exports that meet the samples of a health database")
struct ExportsMeetPeersTests {
    private static let scale = Source(bundle: "com.example.scale", name: "Scale")
    private let pair: HubPair
    private let tablet: SampleStore
    private let tabletEngine: SyncEngine

    init() async throws {
        pair = try await HubPair()
        tablet = try Bench.makeStore(pair.clock)
        tabletEngine = Bench.makeEngine(
            tablet, [SyncPeer(StorePeer(pair.hub, id: "hub", as: "tablet"), plan: .everything)], pair.clock)
        try await tabletEngine.enable("hub")
    }

    private func day(_ number: Int) -> Instant { Instant(nanoseconds: 799_000_000_000_000_000) - .days(number) }

    /// Imports records of an export: whole seconds, a name, and no ids.
    private func export(_ values: [Double], days: [Int], into store: SampleStore) async throws {
        let batch = try SampleBatch(
            .bodyMass, .kilogram, source: Source(name: "Scale"), starts: days.map { day($0) }, values: values)
        _ = try await store.write { try $0.importBatch(batch) }
    }

    /// Imports samples as a health database gives them.
    @discardableResult
    private func pull(
        _ values: [Double], days: [Int], into store: SampleStore, source: Source = scale
    ) async throws -> [SampleID] {
        var batch = SampleBatch()
        var ids: [SampleID] = []
        for (value, number) in zip(values, days) {
            let start = Instant(nanoseconds: day(number).nanoseconds + 250_000_000)
            ids.append(SampleID())
            var sample = Sample(.bodyMass, value, .kilogram, at: start, source: source, id: ids.last!)
            sample.origin = .imported
            batch.append(sample)
        }
        _ = try await store.write { [batch] in try $0.importFeed(batch, lastLook: nil) }
        return ids
    }

    private func syncAll() async throws {
        for _ in 0..<3 {
            pair.clock.advance(seconds: 60)
            try await pair.sync()
            #expect(try await tabletEngine.sync()["hub"]?.issue == nil)
        }
    }

    /// The samples of all three stores, which must be the same.
    private func samples() throws -> [Sample] {
        let all = try [pair.phone, pair.hub, tablet].map { store in
            try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
        }
        for other in all.dropFirst() { #expect(other.map(\.id) == all[0].map(\.id)) }
        #expect(try pair.isEqual)
        #expect(try tablet.read { try $0.syncDigest() } == pair.hub.read { try $0.syncDigest() })
        return all[0]
    }

    private func finish() throws {
        #expect(try tablet.check().findings.isEmpty)
        try tablet.close()
        try pair.finish()
    }

    @Test("C37: whichever of both comes to the hub first, the sample with its own id stays", arguments: [true, false])
    func eitherOrder(isExportFirst: Bool) async throws {
        try await export([72.5, 80], days: [1, 2], into: pair.phone)
        let ids = try await pull([72.5, 80.0001], days: [1, 2], into: tablet)
        for _ in 0..<2 {
            if isExportFirst { try await pair.sync() }
            #expect(try await tabletEngine.sync()["hub"]?.issue == nil)
            if !isExportFirst { try await pair.sync() }
        }
        try await syncAll()
        let held = try samples()
        #expect(held.map(\.quantity.value) == [80.0001, 72.5])
        #expect(Set(held.map(\.id)) == Set(ids))
        try finish()
    }

    @Test("C37: the hub may hold either of both from the beginning", arguments: [true, false])
    func hubHolds(isExport: Bool) async throws {
        let (exporting, pulling) = isExport ? (pair.hub, pair.phone) : (pair.phone, pair.hub)
        try await export([72.5], days: [1], into: exporting)
        let ids = try await pull([72.5], days: [1], into: pulling)
        try await syncAll()
        #expect(try samples().map(\.id) == ids)
        try await pair.engine.reconcile("hub")
        #expect(try samples().map(\.id) == ids)
        try finish()
    }

    @Test("C37: of equal records as many leave as samples with their own ids fit, in all stores the same")
    func twins() async throws {
        try await export([72.5, 72.5, 72.5], days: [1, 1, 1], into: pair.phone)
        try await pull([72.5], days: [1], into: tablet)
        try await syncAll()
        #expect(try samples().count == 3)
        #expect(try samples().count { !$0.source.bundle.isEmpty } == 1)
        try await pull([72.5], days: [1], into: tablet)
        try await syncAll()
        #expect(try samples().count { !$0.source.bundle.isEmpty } == 2)
        #expect(try samples().count == 3)
        try finish()
    }

    @Test("C37: an edit over the record lies over the sample that takes its place")
    func edited() async throws {
        try await export([72.5], days: [1], into: pair.phone)
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.first)
        _ = try await pair.phone.write { try $0.overlay(id: record.id) { $0.quantity = Quantity(71, .kilogram) } }
        try await syncAll()
        let ids = try await pull([72.5], days: [1], into: tablet)
        try await syncAll()
        let held = try samples()
        #expect(held.map(\.id) == ids && held.map(\.quantity.value) == [71])
        #expect(held.first?.original?.quantity.value == 72.5)
        try finish()
    }

    @Test("C37: where both forms were edited the later edit shows, and the audit record of some store holds the other")
    func bothEdited() async throws {
        try await export([72.5], days: [1], into: pair.phone)
        let ids = try await pull([72.5], days: [1], into: tablet)
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.first)
        let id = ids[0]
        _ = try await tablet.write { txn in
            try txn.overlay(id: id) {
                $0.quantity = Quantity(69, .kilogram)
                $0.local["note"] = .string("before breakfast")
            }
        }
        pair.clock.advance(seconds: 600)
        _ = try await pair.phone.write { try $0.overlay(id: record.id) { $0.quantity = Quantity(71, .kilogram) } }
        try await syncAll()
        let held = try samples()
        #expect(held.map(\.id) == ids && held.map(\.quantity.value) == [71])
        let displaced = try [pair.phone, pair.hub, tablet].flatMap { store in
            try store.blockingRead { try $0.conflicts() }.map(\.displaced.quantity.value)
        }
        #expect(displaced.contains(69), "\(displaced)")
        #expect(try tablet.blockingRead { try $0.sample(id: id) }?.local["note"] == .string("before breakfast"))
        try finish()
    }

    @Test("C37: a record that was undeleted after its sample was deleted stays when another sample comes to its place")
    func undeleted() async throws {
        try await export([72.5], days: [1], into: pair.phone)
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.first)
        _ = try await pair.phone.write { try $0.delete(id: record.id) }
        try await pull([72.5], days: [1], into: tablet)
        try await syncAll()
        #expect(try samples().isEmpty)
        _ = try await pair.phone.write { try $0.undelete(id: record.id) }
        try await pull([80], days: [1], into: tablet)
        try await pair.sync()
        #expect(try await tabletEngine.sync()["hub"]?.issue == nil)
        try await pair.sync()
        let held = try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
        #expect(Set(held.map(\.quantity.value)) == [72.5, 80])
        try finish()
    }

    @Test("C37: what was deleted under the id of a record stays away under its own id")
    func deleted() async throws {
        try await export([72.5, 80], days: [1, 2], into: pair.phone)
        try await syncAll()
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.last)
        _ = try await pair.phone.write { try $0.delete(id: record.id) }
        let gone = record.quantity.value
        try await pull([72.5, 80], days: [1, 2], into: tablet)
        try await syncAll()
        let held = try samples()
        #expect(held.count == 1 && held.first?.quantity.value != gone && held.first?.source == Self.scale)
        try finish()
    }

    @Test("C37: of two samples of one second only the one leaves whose record was deleted", arguments: [true, false])
    func deletedBeside(isJoinedFirst: Bool) async throws {
        for _ in 0..<3 {
            let start = Int.random(in: 1..<1_000)
            try await export([200, 350], days: [start, start], into: pair.phone)
            if isJoinedFirst { try await syncAll() }
            let records = try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
            let wrong = try #require(records.first { $0.quantity.value == 350 && DerivedID.isDerived($0.id) })
            _ = try await pair.phone.write { try $0.delete(id: wrong.id) }
            let ids = try await pull([200, 350], days: [start, start], into: tablet)
            try await syncAll()
            let held = try samples()
            #expect(held.contains { $0.id == ids[0] } && !held.contains { $0.id == ids[1] })
            #expect(!held.contains { DerivedID.isDerived($0.id) })
        }
        try finish()
    }

    @Test("C37: a sample that an app wrote again where a record was deleted stays")
    func writtenAgain() async throws {
        try await export([72.5], days: [1], into: pair.phone)
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.first)
        _ = try await pair.phone.write { try $0.delete(id: record.id) }
        let again = Sample(.bodyMass, 72.5, .kilogram, at: day(1), source: Self.scale)
        _ = try await tablet.write { try $0.save(again) }
        try await syncAll()
        #expect(try samples().map(\.id) == [again.id])
        try finish()
    }

    @Test("C37: what was deleted under its own id does not come back as a record of an export")
    func deletedUnderOwnID() async throws {
        try await export([72.5, 80], days: [1, 2], into: pair.phone)
        let ids = try await pull([72.5, 80], days: [1, 2], into: tablet)
        _ = try await tablet.write { try $0.delete(id: ids[0]) }
        try await syncAll()
        #expect(try samples().map(\.id) == [ids[1]])
        try finish()
    }

    @Test("C37: a record of a name and one without it join those that have the same", arguments: [true, false])
    func named(isExportFirst: Bool) async throws {
        func batch(_ ids: Bool) throws -> SampleBatch {
            var batch = SampleBatch()
            for (number, name) in ["a", "b"].enumerated() {
                var sample = Sample(
                    .bodyMass, 72.5, .kilogram, at: day(1), source: ids ? Self.scale : Source(name: "Scale"))
                (sample.origin, sample.metadata) = (.imported, ["HKExternalUUID": .string(name)])
                if !ids {
                    let prefix = DerivedID.Prefix(type: .bodyMass, source: SourceIdentity(name: "Scale"))
                    sample.multiplicity = DerivedID.multiplicity(named: name, isSyncIdentifier: false)
                    let (start, end) = (sample.start.nanoseconds, sample.end.nanoseconds)
                    sample.id = DerivedID.id(
                        prefix, start: start, end: end, value: 72.5, multiplicity: sample.multiplicity)
                }
                if !ids || number == 0 { batch.append(sample) }
            }
            return batch
        }
        let (records, known) = (try batch(false), try batch(true))
        _ = try await pair.phone.write { try $0.importBatch(records) }
        if isExportFirst { try await syncAll() }
        _ = try await tablet.write { try $0.importFeed(known, lastLook: nil) }
        try await syncAll()
        let held = try samples()
        #expect(held.count == 2 && Set(held.map { $0.metadata["HKExternalUUID"] }) == [.string("a"), .string("b")])
        #expect(held.first { $0.metadata["HKExternalUUID"] == .string("a") }?.source == Self.scale)
        try finish()
    }

    @Test("C37: an edit of the time hides neither form from the other", arguments: [true, false])
    func movedRecord(isRecordMoved: Bool) async throws {
        try await export([72.5], days: [1], into: pair.phone)
        let ids = try await pull([72.5], days: [1], into: tablet)
        let record = try #require(try await pair.phone.read { try $0.samples(SampleQuery(.bodyMass)) }.first)
        let (store, id) = isRecordMoved ? (pair.phone, record.id) : (tablet, ids[0])
        let moved = day(1) - .days(2)
        _ = try await store.write { txn in
            try txn.overlay(id: id) { ($0.start, $0.end) = (moved, moved) }
        }
        try await syncAll()
        let held = try samples()
        #expect(held.map(\.id) == ids && held.map(\.start) == [moved])
        try finish()
    }

    @Test("C37: where two sources of one name fit, or the value is another one, nothing leaves")
    func others() async throws {
        try await export([72.5, 80], days: [1, 2], into: pair.phone)
        try await pull([72.5, 80.1], days: [1, 2], into: tablet)
        try await pull([72.5], days: [1], into: tablet, source: Source(bundle: "com.example.other", name: "Scale"))
        try await syncAll()
        #expect(try samples().count == 5)
        try finish()
    }

    @Test(
        "C37: in whatever order exports and samples come to three stores, each measurement is there once at the end",
        arguments: 0..<12)
    func anyOrder(part: Int) async throws {
        /// A value at a time, of which there may be several.
        struct Cell: Hashable {
            let day: Int
            let value: Double
        }
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed), part \(part)")
        var random = SeededGenerator(seed: seed, part: part)
        let cells = (0..<3).flatMap { day in [70.25, 71.5].map { Cell(day: day, value: $0) } }
        let stores = [pair.phone, pair.hub, tablet]
        var (records, known): ([Cell: Int], [Cell: Int]) = ([:], [:])
        var exporting = [true, true, false]
        for _ in 0..<8 {
            let which = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where exporting[which]:
                exporting[which] = false
                var rows: [Cell] = []
                for cell in cells {
                    let count = Int.random(in: 0..<3, using: &random)
                    records[cell] = max(records[cell] ?? 0, count)
                    rows += Array(repeating: cell, count: count)
                }
                try await export(rows.map(\.value), days: rows.map(\.day), into: stores[which])
            case 1:
                let cell = cells.randomElement(using: &random)!
                known[cell, default: 0] += 1
                try await pull([cell.value], days: [cell.day], into: stores[which])
            case 2: try await pair.sync()
            default: #expect(try await tabletEngine.sync()["hub"]?.issue == nil)
            }
            pair.clock.advance(seconds: 60)
        }
        try await syncAll()
        let held = try samples()
        for cell in cells {
            let same = held.filter { $0.start.isSameSecond(as: day(cell.day)) && $0.quantity.value == cell.value }
            let wanted = max(records[cell] ?? 0, known[cell] ?? 0)
            #expect(same.count == wanted, "seed \(seed), \(cell): \(same.map(\.source.bundle))")
            #expect(same.count { !$0.source.bundle.isEmpty } == known[cell] ?? 0, "seed \(seed), \(cell)")
        }
        try finish()
    }
}

extension Instant {
    fileprivate func isSameSecond(as other: Instant) -> Bool { abs(nanoseconds - other.nanoseconds) < 1_000_000_000 }
}
