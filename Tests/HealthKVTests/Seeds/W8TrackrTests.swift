import Foundation
import Testing

@testable import HealthKV

/// W8Trackr: weight both ways, in pounds or kilograms, with a note (documents 000, 001, 002).
@Suite("Seed W8Trackr") struct W8TrackrTests {
    private let app = Source(bundle: "com.example.w8trackr", name: "W8Trackr", version: "1.0", product: "iPhone17,1")
    private let scale = Source(bundle: "com.example.scale", name: "Smart Scale", product: "iPhone17,1")

    @Test(
        "C4: A weight in pounds with its note is written with a stable sync identifier and version, and keeps value and unit"
    )
    func writeWeight() throws {
        try withStore { store in
            let entry = Sample.weight(
                Quantity(160.4, .pound), at: .day(10, 25_200), note: "after the run", bodyFat: 0.184, source: app,
                syncIdentifier: "w8trackr-42")
            #expect(try store.save(entry) == .inserted)
            let read = try #require(try store.read { try $0.sample(id: entry.id) })
            #expect(read.quantity == Quantity(160.4, .pound) && read.version == 1)
            #expect(read.syncIdentifier == "w8trackr-42" && read.isUserEntered && read.source == app)
            #expect(read.note == "after the run" && read.bodyFat == 0.184)
            #expect(try abs(read.value(in: .kilogram) - 72.756216148) < 1e-12)
            #expect(read.quantity.formatted() == "160.4 lb")
            // Neither note nor body fat leaves for HealthKit.
            #expect(read.shared.local.isEmpty && read.shared.quantity == read.quantity)
        }
    }

    @Test("An edit raises the version, a retry of the same changes nothing, and an older version changes nothing")
    func editWeight() throws {
        try withStore { store in
            var entry = Sample.weight(Quantity(72.5, .kilogram), at: .day(1), source: app, syncIdentifier: "w8trackr-1")
            try store.save(entry)
            entry.quantity = Quantity(160, .pound)
            #expect(try store.save(entry) == .replaced)
            #expect(try store.save(entry) == .unchanged)
            entry.version = 1
            entry.note = "old"
            #expect(try store.save(entry) == .older)
            let read = try #require(try store.read { try $0.sample(id: entry.id) })
            #expect(read.version == 2 && read.quantity == Quantity(160, .pound) && read.note == nil)
        }
    }

    @Test("FR-006, FR-010: weights imported from Health keep their source, are told from own ones, and none is lost")
    func importWeights() throws {
        try withStore { store in
            var pulled = Sample(
                .bodyMass, 71.9, .kilogram, from: .day(2), to: .day(2), source: scale, origin: .imported,
                device: Device(name: "Scale", manufacturer: "Example", model: "S2"),
                metadata: ["HKWasUserEntered": .bool(false), "HKTimeZone": .string("America/New_York")])
            pulled.timeZone = "America/New_York"
            let second = Sample(.bodyMass, 72.3, .kilogram, at: .day(2, 3_600), source: app)
            try store.save(pulled)
            try store.save(second)
            let weights = try store.read { try $0.samples(of: .bodyMass) }
            #expect(weights.map(\.origin) == [.imported, .authored])
            #expect(weights.map(\.source.name) == ["Smart Scale", "W8Trackr"])
            #expect(weights[0].device?.model == "S2" && weights[0].timeZone == "America/New_York")
        }
    }

    @Test(
        "Duplicates at one timestamp: the newest shows, none is lost, and body fat and lean mass follow the same rule")
    func duplicates() throws {
        try withStore { store in
            for (type, unit) in [
                (SampleType.bodyMass, HealthUnit.pound), (.leanBodyMass, .kilogram), (.bodyFatPercentage, .percent),
            ] {
                try store.save(Sample(type, 0.5, unit, at: .day(3), source: scale))
                try store.save(Sample(type, 0.75, unit, at: .day(3), source: app))
                #expect(try store.read { try $0.samples(of: type) }.map(\.quantity.value) == [0.75])
                #expect(try store.read { try $0.samples(SampleQuery(type, includeShadowed: true)) }.count == 2)
            }
        }
    }

    @Test("FR-005: a deleted entry stays deleted, also when a peer offers it again")
    func deleteWeight() throws {
        try withStore { store in
            let entry = Sample.weight(Quantity(72, .kilogram), at: .day(4), source: app, syncIdentifier: "w8trackr-9")
            try store.save(entry)
            #expect(
                try store.write {
                    try $0.delete(.syncIdentifier("w8trackr-9", of: .bodyMass, source: app.identity)) > 0
                })
            #expect(try store.save(entry) == .vetoed)
        }
    }
}
