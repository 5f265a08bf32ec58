import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Setting up, asking, and being woken (SEMANTICS A14, A15, A17, A26).
@Suite struct AccessTests {
    @Test("Missing usage strings are told, and asking throws instead of ending the process")
    func setupProblems() async throws {
        let bench = try await PeerBench(asking: false)
        bench.app.infoKeys = [SimulatedApp.readingKey]
        #expect(bench.peer.setupProblems(reading: true, writing: true) == [.missingWritingText])
        #expect(bench.peer.setupProblems(reading: true, writing: false).isEmpty)
        let misuse = await SimulatedMisuse.recording {
            await #expect(throws: PeerError.self) {
                try await bench.peer.requestAuthorization(AuthorizationRequest(write: [.bodyMass]))
            }
        }
        #expect(misuse.isEmpty)
    }

    @Test(
        "A25: correlations are never asked for, their members are; what cannot be shared is an error before it is asked"
    )
    func correlations() async throws {
        let bench = try await PeerBench(asking: false)
        let types: Set<SampleType> = [.food, .bloodPressure, .dietaryProtein]
        let misuse = try await SimulatedMisuse.recording {
            try await bench.peer.requestAuthorization(AuthorizationRequest(read: types, write: types))
            for type in [SampleType.appleStandTime, SampleType("Mood")] {
                await #expect(throws: PeerError.self) {
                    try await bench.peer.requestAuthorization(AuthorizationRequest(write: [type]))
                }
            }
        }
        #expect(misuse.isEmpty)
        #expect(await bench.peer.authorization(of: .bloodPressure).writing == .granted)
        #expect(await bench.peer.authorization(of: .dietaryProtein).writing == .granted)
    }

    @Test("A17: a cancelled request is an error, and nothing is determined")
    func cancelled() async throws {
        let bench = try await PeerBench(asking: false)
        bench.device.answerRequests(.cancel)
        await #expect(throws: PeerError.self) {
            try await bench.peer.requestAuthorization(AuthorizationRequest(write: [.bodyMass]))
        }
        #expect(await bench.peer.authorization(of: .bodyMass).writing == .notDetermined)
    }

    @Test("An app that only reads a type is told that nothing more is to be asked, though it never asked to share it")
    func readOnlyAdvice() async throws {
        let bench = try await PeerBench(asking: false)
        #expect(await bench.peer.authorization(of: .stepCount).advice == .shouldRequest)
        bench.device.answerRequests(.allow)
        try await bench.peer.requestAuthorization(AuthorizationRequest(read: [.stepCount]))
        #expect(await bench.peer.authorization(of: .stepCount).advice == .unnecessary)
    }

    @Test("A26: to be woken for nothing takes no query, and a disconnected app is woken no more") func wakingEnds()
        async throws
    {
        let bench = try await PeerBench()
        let misuse = await SimulatedMisuse.recording {
            let ends = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for await _ in bench.peer.wakeUps(for: []) {}
                    return !Task.isCancelled
                }
                group.addTask {
                    try? await Task.sleep(for: .seconds(20))
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
            #expect(ends)
        }
        #expect(misuse.isEmpty)
        let phone = try await Phone()
        try await phone.begin()
        phone.engine.start()
        while phone.device.count(of: .enableDelivery) == 0 { await Task.yield() }
        try await phone.engine.disconnect("HealthKit")
        #expect(phone.device.count(of: .enableDelivery) == 2)
        await phone.engine.stop()
    }

    @Test(
        "C24: when the question for access is cancelled, or all that may be shared is denied, the status advises to switch off"
    )
    func cancelledAdvice() async throws {
        let phone = try await Phone()
        phone.device.answerRequests(.cancel)
        try await phone.engine.enable("HealthKit")
        await #expect(throws: SyncIssue.self) { try await phone.engine.authorize("HealthKit", .all) }
        func advises() throws -> Bool { try phone.engine.status().peers["HealthKit"]?.advisesSwitchingOff == true }
        #expect(try advises())
        try await phone.settle()
        #expect(try advises())
        phone.device.answerRequests(.allow)
        try await phone.engine.authorize("HealthKit", .all)
        #expect(try !advises())
    }

    @Test("A15: a change wakes, and HealthKit is called back when the work is committed")
    func wakeUps() async throws {
        var options = SimulationOptions()
        options.observerFiresAtStart = false
        let bench = try await PeerBench(options)
        let peer = PeerBench.peer(of: bench.app) { try? await Task.sleep(for: .seconds(3_600)) }
        var wakeUps = peer.wakeUps(for: [.bodyMass, .stepCount]).makeAsyncIterator()
        try bench.watch.record("BodyMass", 70, "kg", from: bench.clock.now)
        let wakeUp = try #require(await wakeUps.next())
        #expect(wakeUp.types == [.bodyMass])
        #expect(bench.device.uncompletedCalls == 1)
        wakeUp.complete()
        wakeUp.complete()
        #expect(bench.device.uncompletedCalls == 0)
    }

    @Test(
        "A type that cannot be observed silences no other, and is observed again unless the user must be asked first",
        arguments: [HKError.Code.unknownError, .errorAuthorizationNotDetermined])
    func failedObserver(_ code: HKError.Code) async throws {
        var options = SimulationOptions()
        options.observerFiresAtStart = false
        let bench = try await PeerBench(options)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let app = bench.app
        let peer = HealthKitPeer(
            store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }, deadline: {},
            pause: { _ in for await _ in gate {} })
        bench.device.fail(.observe, code: code)
        // Body mass comes first, and fails.
        var wakeUps = peer.wakeUps(for: [.bodyMass, .stepCount]).makeAsyncIterator()
        try bench.watch.record("StepCount", 5, "count", from: bench.clock.now)
        #expect(await wakeUps.next()?.types == [.stepCount])
        #expect(bench.device.count(of: .observe) == 2)
        open.finish()
        if code == .unknownError {
            while bench.device.count(of: .observe) < 3 { await Task.yield() }
            try bench.watch.record("BodyMass", 70, "kg", from: bench.clock.now)
            #expect(await wakeUps.next()?.types == [.bodyMass])
        } else {
            for _ in 0..<100 { await Task.yield() }
            #expect(bench.device.count(of: .observe) == 2)
        }
    }

    @Test("A15: at the deadline HealthKit is called back whether or not the work is done")
    func deadline() async throws {
        let bench = try await PeerBench()
        let peer = PeerBench.peer(of: bench.app) {}
        var wakeUps = peer.wakeUps(for: [.bodyMass]).makeAsyncIterator()
        _ = await wakeUps.next()
        while bench.device.uncompletedCalls > 0 { await Task.yield() }
        #expect(!bench.device.isWakingStopped(bench.app, for: SampleType.bodyMass.identifier))
    }

    @Test("Nobody listens any more: the query is stopped")
    func stopped() async throws {
        let bench = try await PeerBench()
        let task = Task { for await wakeUp in bench.peer.wakeUps(for: [.bodyMass]) { wakeUp.complete() } }
        while bench.device.count(of: .enableDelivery) == 0 { await Task.yield() }
        task.cancel()
        await task.value
        try bench.watch.record("BodyMass", 70, "kg", from: bench.clock.now)
        #expect(bench.device.uncompletedCalls == 0)
    }
}
