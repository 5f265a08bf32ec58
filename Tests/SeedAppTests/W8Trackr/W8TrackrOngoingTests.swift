import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Sync in both directions, day by day (documents 000, 001, 002).
@Suite struct W8TrackrOngoingTests {
    @Test("A running app shows a weight that a scale writes to Health, and calls Health's completion handler")
    func observed() async throws {
        try await withApp(.weightTracker) { bench in
            bench.sync.start()
            try await eventually { bench.device.count(of: .enableDelivery) > 0 }
            try bench.scale.record("BodyMass", 79, "kg", from: bench.clock.now)
            try await eventually { try bench.samples(.bodyMass).map(\.quantity.value) == [79] }
            try await eventually { bench.device.uncompletedCalls == 0 }
            try await eventually { try bench.status.lastWake == bench.now }
            // In the background the frequency counts: each entry comes at once, and not with the next hour.
            bench.app.enterBackground()
            for number in 1...2 {
                try bench.scale.record("BodyMass", 79, "kg", from: bench.date(-60 * number))
                try await eventually { try bench.samples(.bodyMass).count == 1 + number }
            }
        }
    }

    @Test("Changes that the observer missed while the app was closed are imported at its next start")
    func foreground() async throws {
        try await withApp(.weightTracker) { bench in
            try await bench.refresh()
            bench.device.dropObserverCalls(1_000)
            bench.app.terminate()
            for day in 0..<20 { try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-day * 86_400)) }
            bench.clock.advance(by: 40 * 86_400)
            try await bench.restart()
            try await bench.sync.enterForeground()
            #expect(try bench.samples(.bodyMass).count == 20)
        }
    }

    @Test("Only new changes are read: the anchor survives a restart, and echoes of own entries change nothing")
    func incremental() async throws {
        try await withApp(.weightTracker) { bench in
            for day in 1...10 { try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-day * 86_400)) }
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            #expect(try await bench.refresh().pulled.imported == 10)
            let anchors = try bench.store.blockingRead { try $0.anchors(of: AppBench.health) }
            #expect(anchors.map(\.type) == [.bodyMass])
            try await bench.restart()
            #expect(try bench.store.blockingRead { try $0.anchors(of: AppBench.health) } == anchors)
            try bench.scale.record("BodyMass", 81, "kg", from: bench.date(-60))
            let report = try await bench.refresh()
            #expect(report.pulled.imported == 1 && report.pushed == PushReport())
            #expect(try bench.samples(.bodyMass).count == 12)
            #expect(bench.inHealth(.bodyMass).count == 12)
        }
    }

    @Test("A feed that starts over, as after `kvinspect anchors reset`, doubles nothing")
    func anchorReset() async throws {
        try await withApp(.weightTracker) { bench in
            for day in 1...10 { try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-day * 86_400)) }
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            try await bench.refresh()
            try await bench.store.write { txn in
                for anchor in try txn.anchors(of: AppBench.health) {
                    try txn.removeAnchor(peer: anchor.peer, type: anchor.type, scope: anchor.scope)
                }
            }
            try bench.scale.record("BodyMass", 81, "kg", from: bench.date(-60))
            #expect(try await bench.refresh().pulled.imported == 1)
            #expect(try bench.samples(.bodyMass).count == 12)
            #expect(bench.inHealth(.bodyMass).count == 12)
        }
    }

    @Test("Of two entries of one time the newest shows; the other is kept, and shows when the newest is deleted")
    func sameTime() async throws {
        try await withApp(.weightTracker) { bench in
            let (time, date) = (try bench.at(-60), bench.date(-60))
            let mine = Sample.weight(Quantity(72, .kilogram), at: time)
            try bench.save(mine)
            bench.clock.advance(by: 60)
            // Sync after the entry, so that the changes of the next sync count as written later.
            try await bench.refresh()
            bench.clock.advance(by: 60)
            try bench.scale.record("BodyMass", 72.4, "kg", from: date)
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72.4])
            #expect(
                try bench.store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.count
                    == 2)
            let winner = try #require(try bench.samples(.bodyMass).first)
            try await bench.store.write { _ = try $0.hide(id: winner.id) }
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
        }
    }

    @Test("Two entries of one day at different times are both kept, and the last modified represents the day")
    func sameDay() async throws {
        try await withApp(.weightTracker) { bench in
            var entry = Sample.weight(Quantity(72, .kilogram), at: try bench.at(3_600))
            try bench.save(entry)
            try bench.scale.record("BodyMass", 73, "kg", from: bench.date(7_200))
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).count == 2)
            let days = try bench.store.blockingRead { try $0.weightTrend(calendar: .utc) }
            #expect(days.map(\.value) == [73])
            bench.clock.advance(by: 14_400)
            entry.quantity = Quantity(72.5, .kilogram)
            try bench.save(entry)
            let edited = try bench.store.blockingRead { try $0.weightTrend(calendar: .utc) }
            #expect(edited.map(\.value) == [72.5])
        }
    }

    @Test("The trend includes entries of all sources")
    func trend() async throws {
        try await withApp(.weightTracker) { bench in
            try bench.scale.record("BodyMass", 70, "kg", from: bench.date(-86_400))
            try bench.save(.weight(Quantity(74, .kilogram), at: try bench.now))
            try await bench.refresh()
            let days = try bench.store.blockingRead { try $0.weightTrend(calendar: .utc) }
            #expect(days.map(\.value) == [70, 74] && days.last?.movingAverage == 72)
        }
    }

    @Test("If the same app on another phone edited the entry further, the higher version wins on both")
    func higherVersionWins() async throws {
        try await withApp(.weightTracker) { bench in
            var entry = Sample.weight(Quantity(72, .kilogram), at: try bench.at(-60), syncIdentifier: "w8trackr-7")
            try bench.save(entry)
            try await bench.refresh()
            entry.quantity = Quantity(72.2, .kilogram)
            try bench.save(entry)
            let number = PeerNumber.next(version: 3, ChangeClock(time: entry.start, replica: 1), above: 0)
            let keys: [String: Any] = [HKMetadataKeySyncIdentifier: "w8trackr-7", HKMetadataKeySyncVersion: number]
            try bench.app.record("BodyMass", 71, "kg", from: bench.date(-60), metadata: keys)
            try await bench.refresh()
            let held = try #require(try bench.samples(.bodyMass).first)
            #expect(held.version == 3 && held.quantity == Quantity(71, .kilogram))
            #expect(bench.inHealth(.bodyMass).map(\.value) == [71])
            // The edit that lost is kept, and can be restored.
            let conflict = try #require(try bench.store.blockingRead { try $0.conflicts() }.first)
            #expect(conflict.displaced.quantity == Quantity(72.2, .kilogram))
            try await bench.store.write { _ = try $0.restore(conflict) }
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [72.2])
        }
    }

    @Test("An edit of an entry that was edited elsewhere before gets a still higher version")
    func editOnTop() async throws {
        try await withApp(.weightTracker) { bench in
            var entry = Sample.weight(Quantity(72, .kilogram), at: try bench.at(-60), syncIdentifier: "w8trackr-8")
            try bench.save(entry)
            try await bench.refresh()
            let number = PeerNumber.next(version: 5, ChangeClock(time: entry.start, replica: 1), above: 0)
            let keys: [String: Any] = [HKMetadataKeySyncIdentifier: "w8trackr-8", HKMetadataKeySyncVersion: number]
            try bench.app.record("BodyMass", 71, "kg", from: bench.date(-60), metadata: keys)
            try await bench.refresh()
            entry = try #require(try bench.samples(.bodyMass).first)
            entry.quantity = Quantity(70, .kilogram)
            try bench.save(entry)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [70])
            #expect(bench.inHealth(.bodyMass).map(\.storeVersion) == [6])
        }
    }

    @Test("An entry that is deleted in Health is deleted here too, own or imported, and does not return")
    func deletedInHealth() async throws {
        try await withApp(.weightTracker) { bench in
            let foreign = try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-120))
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.at(-60)))
            try await bench.refresh()
            try await bench.refresh()
            let own = try #require(bench.inHealth(.bodyMass).last)
            bench.device.userDeletes(foreign)
            bench.device.userDeletes(own.uuid)
            #expect(try await bench.refresh().pulled.deleted == 2)
            #expect(try bench.samples(.bodyMass).isEmpty)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).isEmpty)
        }
    }

    @Test("After a reinstall, the app's earlier samples are adopted, not doubled")
    func reinstalled() async throws {
        try await withApp(.weightTracker) { bench in
            let keys: [String: Any] = [HKMetadataKeySyncIdentifier: "w8trackr-1", HKMetadataKeySyncVersion: 4]
            try bench.app.record("BodyMass", 72, "kg", from: bench.date(-60), metadata: keys)
            try await bench.refresh()
            try await bench.refresh()
            let own = try #require(try bench.samples(.bodyMass).first)
            #expect(own.origin == .authored && own.version == 4 && own.syncIdentifier == "w8trackr-1")
            #expect(bench.inHealth(.bodyMass).count == 1 && bench.device.count(of: .save) == 0)
        }
    }
}

extension Calendar {
    /// Days in UTC.
    static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "UTC")!
        return calendar
    }
}
