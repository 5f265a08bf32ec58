import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Weight from W8Trackr to Apple Health (documents 000, 001, 002).
@Suite struct W8TrackrExportTests {
    @Test("A new entry is sent to Health as soon as it is logged, without a request or a delay")
    func newEntry() async throws {
        try await withApp(.weightTracker) { bench in
            bench.sync.start()
            try await eventually { try bench.status.lastSync != nil }
            for entry in 1...3 {
                try bench.save(.weight(Quantity(72.5, .kilogram), at: try bench.at(-entry)))
                try await eventually { bench.inHealth(.bodyMass).count == entry }
            }
            try await eventually { try bench.status.pending == 0 }
        }
    }

    @Test("An exported weight has its value in Health's unit, its date, a sync identifier and a version, and no note")
    func sample() async throws {
        try await withApp(.weightTracker) { bench in
            let entry = Sample.weight(
                Quantity(160, .pound), at: try bench.at(-600), note: "after the run", bodyFat: 0.18,
                syncIdentifier: "w8trackr-42")
            try bench.save(entry)
            #expect(try await bench.refresh().pushed.done == 1)
            let exported = try #require(bench.inHealth(.bodyMass).first)
            #expect(abs(exported.value - 72.5747792) < 1e-9)
            #expect(exported.start == bench.date(-600) && exported.end == exported.start)
            #expect(exported.syncIdentifier == "w8trackr-42" && exported.storeVersion == 1)
            #expect(exported.source == bench.app.bundle)
            let kept: Set = [
                HKMetadataKeySyncIdentifier, HKMetadataKeySyncVersion, HKMetadataKeyWasUserEntered, "HealthKVVersion",
            ]
            #expect(exported.metadataKeys.isSubset(of: kept))
            // Health's UUID is stored with the entry.
            let link = try bench.store.blockingRead { try $0.link(peer: AppBench.health, sample: entry.id) }
            #expect(link?.idAtPeer == SampleID(exported.uuid) && link?.version == exported.number)
            #expect(try bench.samples(.bodyMass).map(\.quantity) == [Quantity(160, .pound)])
        }
    }

    @Test("An edit replaces the entry in Health with a higher version, and sending an older version changes nothing")
    func editedEntry() async throws {
        try await withApp(.weightTracker) { bench in
            var entry = Sample.weight(Quantity(72.5, .kilogram), at: try bench.now, syncIdentifier: "w8trackr-1")
            try bench.save(entry)
            try await bench.refresh()
            entry.quantity = Quantity(71.5, .kilogram)
            #expect(try bench.save(entry) == .replaced)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [71.5])
            #expect(bench.inHealth(.bodyMass).map(\.storeVersion) == [2])
            entry.version = 1
            #expect(try bench.save(entry) == .older)
            #expect(try await bench.refresh().pushed == PushReport())
            #expect(bench.inHealth(.bodyMass).map(\.value) == [71.5])
        }
    }

    @Test("A deleted entry is removed from Health; deleting one that the user already deleted there is no error")
    func deletedEntry() async throws {
        try await withApp(.weightTracker) { bench in
            let entries = try (0..<2).map { Sample.weight(Quantity(72, .kilogram), at: try bench.at(-$0 * 60)) }
            for entry in entries { try bench.save(entry) }
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).count == 2)
            let other = try #require(bench.inHealth(.bodyMass).first { $0.start == bench.date(-60) })
            bench.device.userDeletes(other.uuid)
            try await bench.store.write { txn in for entry in entries { try txn.delete(id: entry.id) } }
            let report = try await bench.refresh()
            #expect(report.issue == nil)
            #expect(bench.inHealth(.bodyMass).isEmpty)
            #expect(try bench.samples(.bodyMass).isEmpty && bench.status.pending == 0)
            #expect(try bench.status.quarantined == 0)
        }
    }

    @Test("Deleting an entry that never reached Health causes no call of Health")
    func neverSent() async throws {
        try await withApp(.weightTracker) { bench in
            let entry = Sample.weight(Quantity(72, .kilogram), at: try bench.now)
            try bench.save(entry)
            try await bench.store.write { _ = try $0.delete(id: entry.id) }
            try await bench.refresh()
            #expect(bench.device.count(of: .save) == 0 && bench.device.count(of: .delete) == 0)
        }
    }

    @Test(
        "With access denied an entry is saved at once and without an error, and reaches Health once access is granted")
    func denied() async throws {
        try await withApp(.weightTracker, answer: .deny) { bench in
            #expect(try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now)) == .inserted)
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
            #expect(bench.inHealth(.bodyMass).isEmpty)
            let waiting = try bench.store.blockingRead { try $0.pending(for: AppBench.health) }
            #expect(waiting.map(\.state) == [.parked] && waiting.map(\.attempts) == [0])
            #expect(try bench.status.issue?.message == "Health access not granted")
            bench.device.setAccess(
                of: bench.app, to: SampleType.bodyMass.identifier, reading: .granted, sharing: .granted)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [72])
            #expect(try bench.status.parked == 0 && bench.status.issue == nil)
        }
    }

    @Test(
        "A failed save is retried, one with unknown outcome doubles nothing, and none is lost"
    )
    func retries() async throws {
        try await withApp(.weightTracker) { bench in
            for day in 0..<5 {
                try bench.save(.weight(Quantity(70 + Double(day), .kilogram), at: try bench.at(-day * 86_400)))
            }
            bench.device.fail(.save)
            bench.device.fail(.save, number: 2, afterEffect: true)
            for _ in 0..<4 {
                try await bench.refresh()
                bench.clock.advance(by: 3_600)
            }
            #expect(bench.inHealth(.bodyMass).map(\.value) == [74, 73, 72, 71, 70])
            #expect(try bench.status.pending == 0 && bench.samples(.bodyMass).count == 5)
        }
    }

    @Test("Entries logged while the app could not sync are still queued after a restart")
    func restart() async throws {
        try await withApp(.weightTracker) { bench in
            bench.device.lock()
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            try await bench.restart()
            #expect(try bench.status.pending == 1)
            bench.device.unlock()
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [72])
        }
    }
}
