import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Permission, its loss, and the removal that follows (document 003).
@Suite struct WalkingAccessTests {
    private func walk(_ bench: AppBench, days: Int) throws {
        for day in 1...days {
            let (from, to) = (bench.date(-day * 86_400), bench.date(-day * 86_400 + 3_600))
            try bench.phone.record("StepCount", 1_000, "count", from: from, to: to)
            try bench.phone.record("DistanceWalkingRunning", 750, "m", from: from, to: to)
        }
    }

    private func enter(_ bench: AppBench) throws {
        var entered = Sample.walking(steps: 900, from: try bench.at(-7_200), to: try bench.at(-3_600))
        entered[0].isUserEntered = true
        let samples = entered
        try bench.store.write { _ = try $0.save(samples) }
    }

    private func setReading(_ bench: AppBench, _ reading: SimulatedDevice.Reading) {
        for type in [SampleType.stepCount, .distanceWalkingRunning] {
            bench.device.setAccess(of: bench.app, to: type.identifier, reading: reading)
        }
    }

    @Test("Without Health the app gets the document's message, and steps can be entered by hand")
    func unavailable() async throws {
        try await withApp(.walkingApp, answer: nil) { bench in
            bench.device.setAvailable(false)
            try await bench.sync.enable(AppBench.health)
            let issue = await #expect(throws: SyncIssue.self) { try await bench.sync.authorize(AppBench.health) }
            #expect(issue?.code == .unavailable)
            #expect(
                issue?.message
                    == "Automatic step tracking is not available on this device. You can enter steps manually.")
            try enter(bench)
            #expect(try bench.samples(.stepCount).count == 1)
        }
    }

    @Test("Steps and distance are in one request, and the answer survives restarts")
    func authorization() async throws {
        try await withApp(.walkingApp, answer: nil) { bench in
            try await bench.sync.enable(AppBench.health)
            try await bench.refresh()
            #expect(bench.device.count(of: .requestAuthorization) == 0)
            try await bench.sync.authorize(AppBench.health)
            #expect(bench.device.count(of: .requestAuthorization) == 1)
            let known = try bench.status.authorization
            #expect(Set(known.keys) == [.stepCount, .distanceWalkingRunning])
            try await bench.restart()
            #expect(try bench.status.authorization == known && bench.status.isEnabled)
        }
    }

    @Test("A denied request leaves manual entry, has the document's message, and can be granted later in Settings")
    func denied() async throws {
        try await withApp(.walkingApp, answer: .deny) { bench in
            try walk(bench, days: 3)
            try enter(bench)
            try await bench.refresh()
            #expect(try bench.samples(.stepCount).map(\.quantity.value) == [900])
            // HealthKit does not reveal the denial: for a day it looks as if there were no data.
            #expect(
                try bench.status.reading == [.stepCount: .noDataOrDenied, .distanceWalkingRunning: .noDataOrDenied])
            #expect(try bench.status.issue == nil && !bench.status.advisesSwitchingOff)
            bench.clock.advance(by: 25 * 3_600)
            try await bench.sync.enterForeground()
            let issue = try #require(try bench.status.issue)
            #expect(issue.code == .accessDenied && issue.recovery == .openSettings)
            #expect(
                issue.message
                    == "Health access is disabled. You can enter steps manually or enable Health access in Settings.")
            #expect(try bench.status.advisesSwitchingOff && bench.status.access == .denied)
            // In Settings, where no app takes part. The next steps of the phone show it, and bring the earlier ones.
            setReading(bench, .granted)
            bench.clock.advance(by: 3_600)
            try walk(bench, days: 1)
            try await bench.sync.enterForeground()
            #expect(try bench.samples(.stepCount).count == 5)
            #expect(try bench.status.issue == nil && !bench.status.advisesSwitchingOff)
            #expect(try bench.status.reading[.stepCount] == .readable && bench.status.access == .authorized)
        }
    }

    @Test("C36: the status distinguishes four states of access: not asked, authorized, denied, and not available")
    func states() async throws {
        try await withApp(.walkingApp, answer: nil) { bench in
            try walk(bench, days: 1)
            try await bench.sync.enable(AppBench.health)
            try await bench.sync.enterForeground()
            #expect(try bench.status.access == .notDetermined)
            #expect(try bench.status.reading[.stepCount] == .notDetermined)
            try await bench.sync.authorize(AppBench.health)
            try await bench.sync.enterForeground()
            #expect(try bench.status.access == .authorized)
            bench.device.setAvailable(false)
            try await bench.sync.enterForeground()
            #expect(try bench.status.access == .notAvailable)
        }
    }

    @Test(
        "C11, C36: revoked reading is suspected at the second foreground after an hour, with the document's message"
    )
    func revoked() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 5)
            try await bench.refresh()
            #expect(try bench.status.reading[.stepCount] == .readable)
            setReading(bench, .denied)
            var reads: [Int] = []
            for foreground in 0..<3 {
                // Two foregrounds within an hour count as one.
                bench.clock.advance(by: foreground == 1 ? 600 : 3_700)
                try await bench.sync.enterForeground()
                reads.append(try bench.status.issue?.code == .accessRevoked ? 1 : 0)
            }
            #expect(reads == [0, 0, 1])
            #expect(try bench.status.reading[.stepCount] == .suspectedRevoked && bench.status.access == .denied)
            let words = "Health access was disabled. Your synced health data will be removed. "
            #expect(try bench.status.issue?.message == words + "You can continue with manual entry.")
            let notice = try bench.status.notices.first { $0.code == .readingRevoked }
            #expect(notice?.message == "Health access has been disabled. Your synced health data will be removed.")
            // One call removes it, as the message says.
            #expect(try await bench.sync.disconnect(AppBench.health) == 10)
            #expect(try bench.samples(.stepCount).isEmpty)
        }
    }

    @Test("C11: samples that show again end the suspicion, and a restart in between does not reset it")
    func shownAgain() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 5)
            try await bench.refresh()
            setReading(bench, .denied)
            bench.clock.advance(by: 3_700)
            try await bench.sync.enterForeground()
            try await bench.restart()
            bench.clock.advance(by: 3_700)
            try await bench.sync.enterForeground()
            #expect(try bench.status.issue?.code == .accessRevoked)
            setReading(bench, .granted)
            bench.clock.advance(by: 3_700)
            try await bench.sync.enterForeground()
            #expect(try bench.status.issue == nil && bench.status.reading[.stepCount] == .readable)
            #expect(try bench.samples(.stepCount).count == 5)
        }
    }

    @Test("The app works without Health: nothing is requested and nothing is read")
    func skipped() async throws {
        try await withApp(.walkingApp, answer: nil) { bench in
            try walk(bench, days: 3)
            try enter(bench)
            try await bench.refresh()
            #expect(bench.device.count(of: .requestAuthorization) == 0 && bench.device.count(of: .changes) == 0)
            #expect(try bench.samples(.stepCount).map(\.quantity.value) == [900])
        }
    }

    @Test("Revoked access is suspected when everything was missing twice, and is reported with the document's message")
    func detected() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 5)
            try await bench.refresh()
            setReading(bench, .denied)
            for _ in 0..<2 { try await bench.sync.reconcile(AppBench.health) }
            let issue = try #require(try bench.status.issue)
            #expect(issue.code == .accessRevoked && issue.recovery == .openSettings)
            let words = "Health access was disabled. Your synced health data will be removed. "
            #expect(issue.message == words + "You can continue with manual entry.")
            // A suspicion removes nothing, and is reported until it is over.
            #expect(try await bench.refresh().issue?.code == .accessRevoked)
            #expect(try bench.samples(.stepCount).count == 5)
            setReading(bench, .granted)
            try await bench.sync.reconcile(AppBench.health)
            #expect(try await bench.refresh().issue == nil)
        }
    }

    @Test("Disconnecting removes all samples from Health, returns their number, and keeps those entered by hand")
    func disconnected() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 9)
            try enter(bench)
            try await bench.refresh()
            #expect(try await bench.sync.disconnect(AppBench.health) == 18)
            let left = try bench.samples(.stepCount)
            #expect(left.map(\.quantity.value) == [900] && left.allSatisfy(\.isUserEntered))
            #expect(try bench.samples(.distanceWalkingRunning).isEmpty)
            #expect(try bench.status.isEnabled == false)
            #expect(try bench.store.blockingRead { try $0.anchors(of: AppBench.health) }.isEmpty)
            #expect(try bench.store.blockingRead { try $0.totals(of: .stepCount, peer: AppBench.health) }.isEmpty)
            // Nothing was deleted in Health.
            #expect(bench.inHealth(.stepCount).count == 9 && bench.device.count(of: .delete) == 0)
        }
    }

    @Test("Disconnecting again removes nothing more and is no error; access can be granted again at any time")
    func again() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 4)
            try await bench.refresh()
            #expect(try await bench.sync.disconnect(AppBench.health) == 8)
            #expect(try await bench.sync.disconnect(AppBench.health) == 0)
            try await bench.sync.enable(AppBench.health)
            try await bench.sync.authorize(AppBench.health)
            try await bench.refresh()
            #expect(try bench.samples(.stepCount).count == 4)
        }
    }

    @Test("A locked Health database is read again on the next foreground, and one that stays locked is reported")
    func locked() async throws {
        try await withApp(.walkingApp) { bench in
            try await bench.refresh()
            try walk(bench, days: 2)
            bench.device.lock()
            #expect(try await bench.refresh().pulled.imported == 0)
            bench.clock.advance(by: 25 * 3_600)
            try await bench.refresh()
            #expect(try bench.status.availability == .locked)
            #expect(try bench.status.notices.map(\.code) == [.lockedForLong])
            bench.device.unlock()
            try await bench.sync.enterForeground()
            #expect(try bench.samples(.stepCount).count == 2)
        }
    }

    @Test("An inverted range of dates is logged as an error and gives an empty list; an invalid date is an error")
    func wrongDates() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 3)
            try await bench.refresh()
            #expect(bench.log.isEmpty)
            try bench.store.blockingRead { txn in
                let inverted = try txn.dailySteps(from: "2026-02-01", to: "2026-01-01", source: "healthkit")
                #expect(inverted.isEmpty)
            }
            // What a Swift logger takes: a level by its name, a message, and metadata of texts. Neither says who walked
            // when, how far, or where the store is.
            let entry = try #require(bench.log.first)
            #expect(bench.log.count == 1 && entry.level.rawValue == "error")
            #expect(entry.message == "Daily steps were asked for with a last date before the first")
            #expect(entry.metadata == ["notice": "invertedRange"])
            let levels: Set = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
            #expect(SyncLogEntry.Level.allCases.allSatisfy { levels.contains($0.rawValue) })
            #expect(throws: (any Error).self) {
                try bench.store.read { try $0.dailySteps(from: "2026-13-01", to: "2026-01-01", source: "healthkit") }
            }
        }
    }

    @Test("A Health database that a profile forbids is treated as unavailable")
    func restricted() async throws {
        try await withApp(.walkingApp) { bench in
            bench.device.setRestricted(true)
            #expect(try await bench.refresh().issue?.code == .unavailable)
            #expect(try bench.status.availability == .restricted)
            try enter(bench)
            #expect(try bench.samples(.stepCount).count == 1)
        }
    }

    @Test("Health tracking is switched off and on; synced samples stay until the app disconnects")
    func switching() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, days: 3)
            try await bench.refresh()
            try await bench.sync.disable(AppBench.health)
            try bench.phone.record("StepCount", 50, "count", from: bench.date(-60), to: bench.clock.now)
            try await bench.refresh()
            #expect(try bench.samples(.stepCount).count == 3 && bench.status.isEnabled == false)
            try await bench.sync.enable(AppBench.health)
            try await bench.refresh()
            #expect(try bench.samples(.stepCount).count == 4 && bench.status.isEnabled)
        }
    }
}
