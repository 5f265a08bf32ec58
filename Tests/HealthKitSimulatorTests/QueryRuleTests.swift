import Foundation
import HealthKitSimulator
import Synchronization
import Testing

/// Anchors, observers, locks, authorization and predicates (SEMANTICS A12 to A18).
@Suite struct QueryRuleTests {
    @Test(
        "A12: pages follow the order of writing and lose nothing, whatever the limit counts", arguments: [false, true])
    func pagesLoseNothing(limitCountsDeletions: Bool) async throws {
        var options = SimulationOptions()
        options.limitCountsDeletions = limitCountsDeletions
        let bench = try await Bench(options)
        let samples = (0..<20).map { bench.sample(Double($0), at: Double(20 - $0)) }
        for sample in samples { try await bench.store.save([sample]) }
        try await bench.store.delete([samples[3]])
        try await bench.store.delete([samples[11]])
        var anchor: HKQueryAnchor?
        var added: [UUID] = []
        var deleted: [UUID] = []
        while true {
            let page = try await bench.changes(after: anchor, limit: 3)
            if page.addedSamples.isEmpty, page.deletedObjects.isEmpty { break }
            added += page.addedSamples.map(\.uuid)
            deleted += page.deletedObjects.map(\.uuid)
            anchor = page.newAnchor
        }
        #expect(added == samples.map(\.uuid).filter { $0 != samples[3].uuid && $0 != samples[11].uuid })
        #expect(deleted == [samples[3].uuid, samples[11].uuid])
    }

    @Test("A12: a page that is exactly full, without deletions, is not the last", arguments: [false, true])
    func fullPages(limitCountsDeletions: Bool) async throws {
        var options = SimulationOptions()
        options.limitCountsDeletions = limitCountsDeletions
        let bench = try await Bench(options)
        for second in 0..<7 { try await bench.store.save([bench.sample(70, at: Double(second))]) }
        var anchor: HKQueryAnchor?
        var counts: [Int] = []
        while counts.last != 0 {
            let page = try await bench.changes(after: anchor, limit: 3)
            counts.append(page.addedSamples.count)
            anchor = page.newAnchor
        }
        #expect(counts == [3, 3, 1, 0])
    }

    @Test("A13: an archived anchor continues at its position")
    func anchorsArchive() async throws {
        let bench = try await Bench()
        try await bench.store.save([bench.sample(70)])
        let anchor = try await bench.changes().newAnchor
        let bytes = try NSKeyedArchiver.archivedData(withRootObject: anchor, requiringSecureCoding: true)
        let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: HKQueryAnchor.self, from: bytes)
        try await bench.store.save([bench.sample(71, at: 1)])
        #expect(try await bench.changes(after: again).addedSamples.count == 1)
    }

    @Test("A14: wake-ups come at most once a period, for steps at most hourly, for correlations never")
    func wakeUpsAreRare() async throws {
        let bench = try await Bench()
        let calls = Calls()
        bench.store.execute(calls.query([bench.weight, bench.steps]))
        try await bench.store.enableBackgroundDelivery(for: bench.weight, frequency: .immediate)
        try await bench.store.enableBackgroundDelivery(for: bench.steps, frequency: .immediate)
        bench.app.enterBackground()
        let before = calls.count
        for second in 1...10 {
            bench.clock.advance(by: 60)
            try bench.watch.record("StepCount", 5, "count", from: bench.at(-Double(second)))
        }
        #expect(calls.count == before)
        bench.clock.advance(by: 3_600)
        #expect(calls.count == before + 1)
        try bench.watch.record("BodyMass", 70, "kg", from: bench.at(0))
        #expect(calls.count == before + 2)
        let food = HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood"))
        #expect(
            await code { try await bench.store.enableBackgroundDelivery(for: food, frequency: .hourly) }
                == .errorInvalidArgument)
    }

    @Test("A15: missing calls of the completion handler make HealthKit back off, and stop after three")
    func uncalledCompletionsStop() async throws {
        let bench = try await Bench()
        let calls = Calls(completes: false)
        bench.store.execute(calls.query([bench.weight]))
        try await bench.store.enableBackgroundDelivery(for: bench.weight, frequency: .immediate)
        bench.app.enterBackground()
        let before = calls.count
        for _ in 0..<10 {
            try bench.watch.record("BodyMass", 70, "kg", from: bench.at(0))
            bench.clock.advance(by: 3_600)
        }
        #expect(calls.count == before + 3)
        #expect(bench.device.isWakingStopped(bench.app, for: Bench.weight))
        #expect(bench.device.uncompletedCalls == calls.count)
    }

    @Test("A15: Apple leaves open whether the handler is called at the start", arguments: [false, true])
    func handlerAtStart(fires: Bool) async throws {
        var options = SimulationOptions()
        options.observerFiresAtStart = fires
        let bench = try await Bench(options)
        let calls = Calls()
        bench.store.execute(calls.query([bench.weight]))
        #expect(calls.count == (fires ? 1 : 0))
    }

    @Test("A15: calls of observers can be lost, delayed and doubled; a stopped query receives none")
    func lostLateDoubled() async throws {
        let bench = try await Bench()
        let calls = Calls()
        let query = calls.query([bench.weight])
        bench.store.execute(query)
        let start = calls.count
        bench.device.dropObserverCalls(1)
        try await bench.store.save([bench.sample(70)])
        #expect(calls.count == start)
        bench.device.repeatObserverCalls(2)
        try await bench.store.save([bench.sample(71)])
        #expect(calls.count == start + 2)
        bench.device.repeatObserverCalls(1)
        bench.device.delayObserverCalls(by: 10)
        try await bench.store.save([bench.sample(72)])
        #expect(calls.count == start + 2)
        bench.clock.advance(by: 10)
        #expect(calls.count == start + 3)
        bench.store.stop(query)
        try await bench.store.save([bench.sample(73)])
        bench.clock.advance(by: 60)
        #expect(calls.count == start + 3)
    }

    @Test("A16: while the device is locked, queries fail as inaccessible and saves succeed")
    func locked() async throws {
        let bench = try await Bench()
        bench.device.lock()
        try await bench.store.save([bench.sample(70)])
        #expect(await code { _ = try await bench.changes() } == .errorDatabaseInaccessible)
        #expect(await code { _ = try await bench.values() } == .errorDatabaseInaccessible)
        bench.device.unlock()
        #expect(try await bench.values() == [70])
    }

    @Test("A17: with reading denied an app sees only its own samples, and the status reports sharing only")
    func deniedReading() async throws {
        let bench = try await Bench(asking: false)
        #expect(await code { _ = try await bench.changes() } == .errorAuthorizationNotDetermined)
        #expect(await code { try await bench.store.save([bench.sample(70)]) } == .errorAuthorizationNotDetermined)
        let status = try await bench.store.statusForAuthorizationRequest(toShare: [bench.weight], read: [bench.weight])
        #expect(status == .shouldRequest)
        bench.device.answerRequests(.allowOnly(reading: [], sharing: [Bench.weight]))
        try await bench.store.requestAuthorization(toShare: [bench.weight, bench.steps], read: [bench.weight])
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(0))
        try await bench.store.save([bench.sample(70)])
        #expect(try await bench.values() == [70])
        #expect(bench.store.authorizationStatus(for: bench.weight) == .sharingAuthorized)
        #expect(bench.store.authorizationStatus(for: bench.steps) == .sharingDenied)
        let after = try await bench.store.statusForAuthorizationRequest(toShare: [bench.weight], read: [bench.weight])
        #expect(after == .unnecessary)
    }

    @Test("A17: a recent window hides older foreign samples; anchors pass them or not", arguments: [true, false])
    func recentWindow(passes: Bool) async throws {
        var options = SimulationOptions()
        options.anchorsPassInvisible = passes
        let bench = try await Bench(options, asking: false)
        bench.device.answerRequests(.allowSince(bench.at(-100)))
        try await bench.store.requestAuthorization(toShare: [bench.weight], read: [bench.weight])
        try bench.watch.record("BodyMass", 60, "kg", from: bench.at(-50))
        try bench.watch.record("BodyMass", 71, "kg", from: bench.at(-1_000))
        let page = try await bench.changes()
        #expect(page.addedSamples.count == 1)
        bench.device.setAccess(of: bench.app, to: Bench.weight, reading: .granted)
        #expect(try await bench.changes(after: page.newAnchor).addedSamples.count == (passes ? 0 : 1))
        #expect(try await bench.changes().addedSamples.count == 2)
    }

    @Test("A17: a cancelled request is an error and decides nothing")
    func cancelled() async throws {
        let bench = try await Bench(asking: false)
        bench.device.answerRequests(.cancel)
        let cancelled = await code { try await bench.store.requestAuthorization(toShare: [bench.weight], read: []) }
        #expect(cancelled == .errorUserCanceled)
        #expect(bench.store.authorizationStatus(for: bench.weight) == .notDetermined)
    }

    @Test("A18: plain dates select by overlap, strict start by the start, strict end by the end")
    func predicates() async throws {
        let bench = try await Bench()
        for (start, end, steps) in [(-10.0, 5.0, 1.0), (0, 5, 2), (5, 15, 3), (10, 20, 4)] {
            try bench.watch.record("StepCount", steps, "count", from: bench.at(start), to: bench.at(end))
        }
        func found(_ options: HKQueryOptions) async throws -> [Double] {
            let predicate = HKQuery.predicateForSamples(withStart: bench.at(0), end: bench.at(10), options: options)
            return try await bench.values(of: bench.steps, predicate)
        }
        #expect(try await found([]) == [1, 2, 3])
        #expect(try await found(.strictStartDate) == [2, 3])
        #expect(try await found(.strictEndDate) == [1, 2])
    }
}

/// Counts the calls of an observer.
final class Calls: Sendable {
    private let counted = Mutex(0)
    private let completes: Bool

    init(completes: Bool = true) { self.completes = completes }

    var count: Int { counted.withLock { $0 } }

    func query(_ types: [HKSampleType]) -> HKObserverQuery {
        HKObserverQuery(queryDescriptors: types.map { HKQueryDescriptor(sampleType: $0, predicate: nil) }) {
            [self] _, _, completion, _ in
            counted.withLock { $0 += 1 }
            if completes { completion() }
        }
    }
}
