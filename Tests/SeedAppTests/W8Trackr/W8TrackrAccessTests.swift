import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Permission, enabling and disabling, and failures (documents 000, 001, 002).
@Suite struct W8TrackrAccessTests {
    private let weight = SampleType.bodyMass.identifier

    @Test("The request asks to read and to write weight, and nothing else")
    func request() {
        let request = SyncPlan.weightTracker.request(.all)
        #expect(request.read == [.bodyMass] && request.write == [.bodyMass])
    }

    @Test("Before the user was asked, nothing is read from Health or written to it")
    func askedFirst() async throws {
        try await withApp(.weightTracker, answer: nil) { bench in
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try await bench.sync.enable(AppBench.health)
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            let report = try await bench.refresh()
            #expect(report.issue?.code == .accessNotDetermined && report.issue?.recovery == .requestAccess)
            #expect(report.issue?.message == "Please grant Health access")
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
            #expect(bench.inHealth(.bodyMass).map(\.value) == [80])
            try await bench.sync.authorize(AppBench.health)
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).count == 2)
            #expect(bench.inHealth(.bodyMass).count == 2)
        }
    }

    @Test("Missing usage strings are reported before a request would end the process")
    func usageStrings() async throws {
        try await withApp(.weightTracker, answer: nil) { bench in
            bench.app.infoKeys = []
            let peer = HealthKitPeer(
                store: bench.app.healthStore, source: bench.app.source,
                hasInfoKey: { [app = bench.app] in app.infoKeys.contains($0) })
            #expect(
                Set(peer.setupProblems(reading: true, writing: true))
                    == [.missingReadingText, .missingWritingText])
            await #expect(throws: SyncIssue.self) { try await bench.sync.authorize(AppBench.health) }
        }
    }

    @Test("With reading and writing granted, both directions sync")
    func bothGranted() async throws {
        try await withApp(.weightTracker) { bench in
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            let report = try await bench.refresh()
            #expect(report.pulled.imported == 1 && report.pushed.done == 1 && report.issue == nil)
            #expect(try bench.status.authorization[.bodyMass]?.writing == .granted)
        }
    }

    @Test("With only writing granted, export works, import shows no data, and reading stays unknown")
    func writeOnly() async throws {
        let answer = SimulatedDevice.Answer.allowOnly(reading: [], sharing: [weight])
        try await withApp(.weightTracker, answer: answer) { bench in
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
            #expect(bench.inHealth(.bodyMass).count == 2)
            #expect(try bench.status.authorization[.bodyMass]?.reading == .unknown)
        }
    }

    @Test("With everything denied, the status advises to switch the sync off, and the issue has a message for the user")
    func bothDenied() async throws {
        try await withApp(.weightTracker, answer: .deny) { bench in
            let issue = try #require(try await bench.refresh().issue)
            #expect(issue.code == .accessDenied && issue.recovery == .openSettings)
            #expect(issue.message == "Health access not granted")
            #expect(try bench.status.issue == issue && bench.status.advisesSwitchingOff)
        }
    }

    @Test("A cancelled request has the effect of a denied one, and the app may ask again")
    func cancelled() async throws {
        try await withApp(.weightTracker, answer: nil) { bench in
            bench.device.answerRequests(.cancel)
            try await bench.sync.enable(AppBench.health)
            await #expect(throws: SyncIssue.self) { try await bench.sync.authorize(AppBench.health) }
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).isEmpty)
            bench.device.answerRequests(.allow)
            try await bench.sync.authorize(AppBench.health)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).count == 1)
        }
    }

    @Test("Sync can be switched off and on at any time, and entries logged in between are not missed")
    func switching() async throws {
        try await withApp(.weightTracker) { bench in
            try await bench.refresh()
            try await bench.sync.disable(AppBench.health)
            #expect(try bench.status.isEnabled == false)
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).map(\.value) == [80])
            #expect(try bench.samples(.bodyMass).count == 1)
            try await bench.sync.enable(AppBench.health)
            try await bench.refresh()
            #expect(bench.inHealth(.bodyMass).count == 2)
            #expect(try bench.samples(.bodyMass).count == 2)
        }
    }

    @Test("The first successful sync after enabling needs three calls, and no waiting")
    func enabling() async throws {
        try await withApp(.weightTracker, answer: nil) { bench in
            try await bench.sync.enable(AppBench.health)
            try await bench.sync.authorize(AppBench.health)
            try await bench.refresh()
            #expect(try bench.status.lastSync == bench.now)
        }
    }

    @Test("If access is revoked later, all local entries stay, and the app continues with them")
    func revoked() async throws {
        try await withApp(.weightTracker) { bench in
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try await bench.refresh()
            bench.device.setAccess(of: bench.app, to: weight, reading: .denied, sharing: .denied)
            #expect(try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now)) == .inserted)
            for _ in 0..<3 { try await bench.refresh() }
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [80, 72])
            #expect(try bench.status.parked == 1 && bench.status.issue?.recovery == .openSettings)
        }
    }

    @Test("On a device without Health the option must be hidden, and entries are kept locally")
    func unavailable() async throws {
        try await withApp(.weightTracker, answer: nil) { bench in
            bench.device.setAvailable(false)
            try await bench.sync.enable(AppBench.health)
            let issue = await #expect(throws: SyncIssue.self) { try await bench.sync.authorize(AppBench.health) }
            #expect(issue?.code == .unavailable && issue?.recovery == .hideOption)
            #expect(try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now)) == .inserted)
            #expect(try await bench.refresh().issue?.recovery == .hideOption)
            #expect(try bench.status.availability == .unavailable)
            #expect(try bench.samples(.bodyMass).count == 1)
        }
    }

    @Test("While the device is locked, saving continues, and reading is retried on the next foreground")
    func locked() async throws {
        try await withApp(.weightTracker) { bench in
            try await bench.refresh()
            bench.device.lock()
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            let issue = try #require(try await bench.refresh().issue)
            #expect(issue.message == "Health data unavailable" && issue.recovery == .retryOnForeground)
            #expect(bench.inHealth(.bodyMass).count == 2)
            #expect(try bench.samples(.bodyMass).count == 1)
            bench.device.unlock()
            try await bench.sync.enterForeground()
            #expect(try bench.samples(.bodyMass).count == 2 && bench.status.issue == nil)
        }
    }

    @Test("A timeout delays the sync, is reported as a delay, and loses nothing")
    func delayed() async throws {
        try await withApp(.weightTracker) { bench in
            try await bench.refresh()
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try bench.save(.weight(Quantity(72, .kilogram), at: try bench.now))
            bench.device.fail(.changes)
            let issue = try #require(try await bench.refresh().issue)
            #expect(issue.code == .delayed && issue.message == "Sync delayed" && issue.recovery == .wait)
            try await bench.refresh()
            #expect(try bench.status.issue == nil)
            #expect(try bench.samples(.bodyMass).count == 2)
            #expect(bench.inHealth(.bodyMass).count == 2)
        }
    }
}
