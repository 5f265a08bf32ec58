import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// From the store to HealthKit (SEMANTICS A2, A3, A5, A6, A10, A16, A26, C5, C6, C12, C13).
@Suite struct PushTests {
    @Test("A24: a weight goes out as it was entered, with sync identifier and version, and without its note")
    func asEntered() async throws {
        let bench = try await PeerBench()
        var sample = Sample.weight(Quantity(160.4, .pound), at: try bench.instant(0), note: "secret", bodyFat: 0.2)
        (sample.syncIdentifier, sample.version, sample.timeZone) = ("w-1", 3, "Asia/Kathmandu")
        #expect(await bench.save([sample]).allSatisfy(\.isDone))
        let held = try #require(bench.contents(.bodyMass).first)
        #expect(abs(held.value - 160.4 * 0.45359237) < 1e-12)
        #expect(held.syncIdentifier == "w-1")
        #expect(held.version == 3)
        #expect(
            held.metadataKeys == [
                HKMetadataKeySyncIdentifier, HKMetadataKeySyncVersion, HKMetadataKeyWasUserEntered,
                HKMetadataKeyTimeZone,
            ])
    }

    @Test("A5, A6: a greater version replaces, the same again is success with the same UUID, a lower one is superseded")
    func versions() async throws {
        let bench = try await PeerBench()
        let first = await bench.save([try bench.weight(70, "w", version: 2)])
        let again = await bench.save([try bench.weight(70, "w", version: 2)])
        #expect(first == again)
        #expect(await bench.save([try bench.weight(60, "w", version: 1)]) == [.superseded])
        let next = await bench.save([try bench.weight(71, "w", version: 3)])
        #expect(next != first)
        #expect(bench.contents(.bodyMass).map(\.value) == [71])
    }

    @Test("A26: what HealthKit would refuse is refused with a reason, nothing is misused, and the rest is saved")
    func validation() async throws {
        let bench = try await PeerBench()
        let at = try bench.instant(0)
        func named(_ sample: Sample, _ change: (inout Sample) -> Void = { _ in }) -> Sample {
            var sample = sample
            sample.syncIdentifier = "id-\(sample.id)"
            sample.version = 1
            change(&sample)
            return sample
        }
        let plain = Sample(.bodyMass, 70, .kilogram, at: at)
        let good = named(plain)
        let bad: [Sample] = [
            named(plain) { $0.start = at + 1 }, named(plain) { $0.quantity = Quantity(7, .meter) },
            named(plain) { $0.quantity.value = .nan }, named(plain) { $0.syncIdentifier = nil },
            named(plain) { $0.metadata = ["HKTimeZone": .number(3)] },
            named(plain) { $0.metadata = ["HKNew": .bool(true)] },
            named(plain) { $0.metadata = ["HealthKVGroup": .string("g")] },
            named(plain) { $0.metadata = ["x": .number(.infinity)] },
            named(Sample(.stepCount, 5, .count, from: at, to: at + 345_601 * Instant.nanosecondsPerSecond)),
            named(Sample(.appleStandTime, 5, .minute, at: at)), named(Sample(SampleType("Mood"), 5, .count, at: at)),
            named(Sample(category: .sleepAnalysis, 9, from: at, to: at)),
            named(Sample(category: .menstrualFlow, 1, from: at, to: at)), named(Sample(.food, 1, .count, at: at)),
            named(Sample(.workout, 60, .second, at: at)),
            named(.workout(.running, from: at, to: at + 60)) { sample in
                sample.workout?.events = [WorkoutEvent(.pause, from: at - 5, to: at - 5)]
            },
        ]
        let misuse = await SimulatedMisuse.recording {
            let outcomes = await bench.save(bad + [good])
            for (sample, outcome) in zip(bad, outcomes) { #expect(outcome.isRefused, "\(sample.type) \(outcome)") }
            #expect(outcomes.last?.isDone == true)
        }
        #expect(misuse == [])
        #expect(bench.contents(.bodyMass).count == 1)
        #expect(bench.device.count(of: .save) == 1)
    }

    @Test("A26: no random sample, however wrong, misuses HealthKit", arguments: [1, 2, 3] as [UInt64])
    func randomSamples(seed: UInt64) async throws {
        let bench = try await PeerBench()
        var random = RandomSamples(seed: seed, start: try bench.instant(0))
        print("seed \(seed)")
        let types = SampleType.catalog
        try await bench.peer.requestAuthorization(
            AuthorizationRequest(write: Set(types.filter { $0.isShareable && $0.kind != .correlation })))
        let misuse = await SimulatedMisuse.recording {
            for _ in 0..<30 {
                let samples = (0..<20).map { _ in random.sample() }
                let outcomes = await bench.save(samples)
                #expect(outcomes.count == samples.count)
                #expect(outcomes.allSatisfy { $0.isDone || $0.isRefused })
            }
        }
        #expect(misuse == [])
    }

    @Test("A permanent refusal is found by halves: one bad sample blocks none of the others")
    func bisection() async throws {
        let bench = try await PeerBench()
        bench.device.earliestPermittedDate = bench.clock.now.addingTimeInterval(-100)
        let samples = try (0..<20).map { try bench.weight(70, "w-\($0)", at: $0 == 13 ? -1_000 : Double($0)) }
        let outcomes = await bench.save(samples)
        #expect(outcomes.enumerated().allSatisfy { $0.offset == 13 ? $0.element.isRefused : $0.element.isDone })
        #expect(bench.contents(.bodyMass).count == 19)
    }

    @Test("C12: without permission the whole batch is parked, types that are allowed are not")
    func unauthorized() async throws {
        let bench = try await PeerBench(asking: false)
        #expect(await bench.save([try bench.weight(70, "w")]) == [.parked(.unauthorized)])
        bench.device.answerRequests(.allowOnly(reading: [], sharing: [SampleType.stepCount.identifier]))
        try await bench.peer.requestAuthorization(AuthorizationRequest(write: [.bodyMass, .stepCount]))
        var steps = Sample(.stepCount, 5, .count, at: try bench.instant(0), syncIdentifier: "s")
        steps.version = 1
        let outcomes = await bench.save([try bench.weight(70, "w"), steps])
        #expect(outcomes[0] == .parked(.unauthorized))
        #expect(outcomes[1].isDone)
    }

    @Test("A16: while the device is locked saves succeed; deletions wait")
    func locked() async throws {
        let bench = try await PeerBench()
        bench.device.lock()
        let sample = try bench.weight(70, "w")
        #expect(await bench.save([sample]).allSatisfy(\.isDone))
        #expect(await bench.delete(sample) == .parked(.locked))
        #expect(await bench.peer.availability() == .locked)
        bench.device.unlock()
        #expect(await bench.delete(sample)?.isDone == true)
        #expect(bench.contents(.bodyMass).isEmpty)
    }

    @Test("Where health data is unavailable or restricted everything is parked")
    func unavailable() async throws {
        let bench = try await PeerBench()
        bench.device.setRestricted(true)
        #expect(await bench.save([try bench.weight(70, "w")]) == [.parked(.unavailable)])
        #expect(await bench.peer.availability() == .restricted)
        bench.device.setRestricted(false)
        bench.device.setAvailable(false)
        #expect(await bench.save([try bench.weight(70, "w")]) == [.parked(.unavailable)])
        #expect(await bench.peer.availability() == .unavailable)
    }

    @Test("After a save of which nobody knows whether it happened, the same push again doubles nothing")
    func unknownOutcome() async throws {
        let bench = try await PeerBench()
        bench.device.fail(.save, afterEffect: true)
        let sample = try bench.weight(70, "w")
        guard case .unknown = await bench.save([sample]).first else {
            Issue.record("the outcome is known")
            return
        }
        #expect(await bench.save([sample]).allSatisfy(\.isDone))
        #expect(bench.contents(.bodyMass).count == 1)
    }

    @Test("C6: a deletion goes by sync identifier, else by UUID; not found is success; a greater version stays")
    func deletions() async throws {
        let bench = try await PeerBench()
        let sample = try bench.weight(70, "w", version: 2)
        _ = await bench.save([sample])
        var older = sample
        older.version = 1
        #expect(await bench.delete(older) == .superseded)
        #expect(await bench.delete(sample, idAtPeer: SampleID())?.isDone == true)
        #expect(bench.contents(.bodyMass).isEmpty)
        #expect(await bench.delete(sample)?.isDone == true)
        let uuid = try bench.app.record("BodyMass", 71, "kg", from: bench.clock.now)
        #expect(await bench.delete(sample, idAtPeer: SampleID(uuid), synced: false)?.isDone == true)
        #expect(bench.contents(.bodyMass).isEmpty)
    }

    @Test("Foreign samples are never deleted, even under the same sync identifier")
    func foreignSamplesStay() async throws {
        let bench = try await PeerBench()
        let metadata: [String: Any] = [HKMetadataKeySyncIdentifier: "w", HKMetadataKeySyncVersion: 1]
        try bench.watch.record("BodyMass", 71, "kg", from: bench.clock.now, metadata: metadata)
        #expect(await bench.delete(try bench.weight(70, "w"))?.isDone == true)
        #expect(bench.contents(.bodyMass).count == 1)
    }

    @Test("Operations about one sample keep their order in one push")
    func orderPerSample() async throws {
        let bench = try await PeerBench()
        let sample = try bench.weight(70, "w")
        var newer = sample
        (newer.quantity.value, newer.version) = (71, 2)
        let deleted = DeletedSample(
            id: sample.id, type: .bodyMass, source: sample.source.identity, syncIdentifier: "w", version: 1,
            modified: ChangeClock(time: sample.start, replica: 1))
        let kinds: [PushOperation.Kind] = [.save(sample), .delete(deleted), .save(newer)]
        let outcomes = await bench.peer.push(
            kinds.enumerated().map { PushOperation(sequence: UInt64($0), kind: $1) })
        #expect(outcomes.filter(\.isDone).count == 3)
        #expect(bench.contents(.bodyMass).map(\.value) == [71])
    }
}
