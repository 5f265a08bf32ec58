import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

@testable import HealthKitPeer

/// From HealthKit to the store (SEMANTICS A8, A12, A17, A24, A27, C15, C21, C22, C26).
@Suite struct PullTests {
    @Test("A24: a foreign sample comes in the catalog's unit, with source, device, count and what it says of itself")
    func foreignSample() async throws {
        let bench = try await PeerBench()
        let hardware = HKDevice(
            name: "Scale", manufacturer: "Maker", model: nil, hardwareVersion: nil, firmwareVersion: "2",
            softwareVersion: nil, localIdentifier: nil, udiDeviceIdentifier: nil)
        let metadata: [String: Any] = [
            HKMetadataKeyWasUserEntered: true, HKMetadataKeyTimeZone: "Europe/Berlin", "note": "x", "flag": false,
            "number": 3, "length": HKQuantity(unit: HKUnit(from: "ft"), doubleValue: 1),
            "share": HKQuantity(unit: HKUnit(from: "%"), doubleValue: 0.4),
            "laps": HKQuantity(unit: HKUnit(from: "count"), doubleValue: 8), "for ever": Date.distantFuture,
            "since": Date.distantPast,
        ]
        let uuid = try bench.watch.record(
            "BodyMass", 100, "lb", from: bench.clock.now, metadata: metadata, device: hardware)
        let pulled = try #require(try await bench.pullAll(.bodyMass).added.first)
        let sample = pulled.sample
        #expect(!pulled.isOwn)
        #expect(sample.id == SampleID(uuid))
        #expect(sample.quantity == Quantity(45.359237, .kilogram))
        #expect(sample.origin == .imported)
        #expect(sample.version == 0)
        #expect(
            sample.source
                == Source(
                    bundle: "com.apple.health.watch", name: "Watch", version: "1.0", product: "Watch7,1",
                    system: "18.0.0"))
        #expect(sample.device == Device(name: "Scale", manufacturer: "Maker", firmwareVersion: "2"))
        #expect(sample.isUserEntered)
        #expect(sample.timeZone == "Europe/Berlin")
        #expect(
            sample.metadata == [
                "note": .string("x"), "flag": .bool(false), "number": .number(3),
                "length": .quantity(Quantity(0.3048, .meter)), "share": .quantity(Quantity(0.4, .percent)),
                "laps": .quantity(Quantity(8, .count)), "for ever": .date(.distantFuture), "since": .date(.distantPast),
            ])
    }

    @Test("A24: where HealthKit takes a count for a percentage, metadata is read as a percentage")
    func percentFirst() throws {
        let percent = try #require(MetadataUnits.all.firstIndex(of: .percent))
        let count = try #require(MetadataUnits.all.firstIndex(of: .count))
        #expect(percent < count)
    }

    @Test(
        "A8, A12: pages bring every addition and deletion once, an own sample is known as such, and the last page is empty"
    )
    func pages() async throws {
        let bench = try await PeerBench()
        for second in 0..<10 {
            try bench.watch.record("BodyMass", 70, "kg", from: bench.clock.now.addingTimeInterval(Double(second)))
        }
        let first = await bench.save([try bench.weight(70, "w", at: 50)])
        let second = await bench.save([try bench.weight(71, "w", at: 50, version: 2)])
        let all = try await bench.pullAll(.bodyMass)
        #expect(all.added.count == 11)
        let own = try #require(all.added.first { $0.isOwn })
        #expect(second == [.done(idAtPeer: own.idAtPeer)])
        #expect(own.sample.syncIdentifier == "w")
        #expect(own.sample.version == 2)
        #expect(all.deleted.map(\.version) == [1])
        #expect(all.deleted.map { PushOutcome.done(idAtPeer: $0.idAtPeer) } == first)
    }

    @Test("A window leaves out what starts before it")
    func fromADate() async throws {
        let bench = try await PeerBench()
        for second in [-100.0, -50, 0, 50] {
            try bench.watch.record("BodyMass", 70, "kg", from: bench.clock.now.addingTimeInterval(second))
        }
        let page = try await bench.peer.pull(
            PullRequest(type: .bodyMass, from: try bench.instant(-50)))
        #expect(page.additions.count == 3)
    }

    @Test("A16, A17: locked, not asked and unknown types are told apart by the error's code")
    func errors() async throws {
        let bench = try await PeerBench(asking: false)
        func code(_ type: SampleType) async -> PeerError.Code? {
            do throws(PeerError) {
                _ = try await bench.peer.pull(PullRequest(type: type))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await code(.bodyMass) == .notDetermined)
        #expect(await bench.peer.authorization(of: .bodyMass).advice == .shouldRequest)
        try await bench.peer.requestAuthorization(AuthorizationRequest(read: [.bodyMass], write: [.bodyMass]))
        let known = await bench.peer.authorization(of: .bodyMass)
        #expect(known == TypeAuthorization(writing: .granted, reading: .unknown, advice: .unnecessary))
        #expect(await code(SampleType("Mood")) == .invalid)
        bench.device.lock()
        #expect(await code(.bodyMass) == .locked)
    }

    @Test("C26: an enumeration gives the latest first, and parts no samples that start together")
    func enumeration() async throws {
        let bench = try await PeerBench()
        for second in [0.0, 1, 2, 2, 2, 2, 2, 3, 4] {
            try bench.watch.record("BodyMass", second, "kg", from: bench.clock.now.addingTimeInterval(second))
        }
        var seen = Set<SampleID>()
        var latest: [Instant] = []
        var cursor: [UInt8]?
        repeat {
            let request = EnumerationRequest(type: .bodyMass, cursor: cursor, limit: 3)
            let page = try await bench.peer.enumerate(request)
            for sample in page.samples {
                seen.insert(sample.idAtPeer)
                latest.append(sample.sample.start)
            }
            cursor = page.cursor
        } while cursor != nil
        #expect(seen.count == 9)
        let newest = try bench.instant(4)
        #expect(latest.first == newest)
    }

    @Test("C15: daily totals are HealthKit's own, merged over sources; days without data have none")
    func dailyTotals() async throws {
        let bench = try await PeerBench()
        let zone = "Europe/Berlin"
        let phone = bench.device.install(bundle: "com.apple.health.phone", name: "Phone", kind: .phone)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        func date(_ day: Int, _ hour: Int) throws -> Date {
            try #require(calendar.date(from: DateComponents(year: 2026, month: 3, day: day, hour: hour)))
        }
        for app in [bench.watch, phone] {
            try app.record("StepCount", 100, "count", from: date(28, 23), to: date(29, 1))
            try app.record("StepCount", 40, "count", from: date(31, 9), to: date(31, 10))
        }
        let days = ["2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"]
        let readings = try await bench.peer.dailyTotals(DailyTotalRequest(type: .stepCount, days: days, zone: zone))
        #expect(readings.map(\.day) == days)
        #expect(readings.map(\.quantity?.value) == [50, 50, nil, 40])
        await #expect(throws: PeerError.self) {
            try await bench.peer.dailyTotals(DailyTotalRequest(type: .bodyMass, days: days, zone: zone))
        }
    }

    @Test("A27: a condensed sample counts more than one, and its parts are deleted")
    func condensed() async throws {
        let bench = try await PeerBench()
        for minute in 0..<4 {
            let start = bench.clock.now.addingTimeInterval(Double(minute) * 60)
            try bench.watch.record("StepCount", 10, "count", from: start, to: start.addingTimeInterval(60))
        }
        let end = bench.clock.now.addingTimeInterval(300)
        bench.device.condense(
            SampleType.stepCount.identifier, of: bench.watch.bundle, from: bench.clock.now, to: end)
        let all = try await bench.pullAll(.stepCount)
        #expect(all.added.map(\.sample.count) == [4])
        #expect(all.added.map(\.sample.quantity.value) == [40])
        #expect(all.deleted.count == 4)
    }
}
