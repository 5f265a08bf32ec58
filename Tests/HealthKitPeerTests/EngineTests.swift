import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// The engine with the adapter and the simulator: what an app sees (SEMANTICS A16, A17, A25, C5, C21, C22, C23, C25).
@Suite struct EngineTests {
    @Test(
        "C25: what the app writes reaches HealthKit once, what others write reaches the store, and no echo goes round")
    func bothWays() async throws {
        let phone = try await Phone()
        try await phone.begin()
        let sample = try phone.weigh(70)
        try phone.watch.record("BodyMass", 71, "kg", from: phone.clock.now.addingTimeInterval(60))
        try await phone.engine.sync()
        #expect(phone.health == [70, 71])
        #expect(try phone.weights() == [70, 71])
        try await phone.settle()
        #expect(phone.device.count(of: .save) == 1)
        try phone.edit(sample.id, to: 69)
        try await phone.settle()
        #expect(phone.health == [69, 71])
        #expect(try phone.weights() == [69, 71])
        #expect(phone.device.count(of: .save) == 2)
        try await phone.store.write { _ = try $0.delete(id: sample.id) }
        try await phone.settle()
        #expect(phone.health == [71])
        #expect(try phone.pending() == 0)
    }

    @Test("C22: a deletion in the Health app reaches the store, of own samples and foreign ones")
    func deletedThere() async throws {
        let phone = try await Phone()
        try await phone.begin()
        try phone.weigh(70)
        try phone.watch.record("BodyMass", 71, "kg", from: phone.clock.now.addingTimeInterval(60))
        try await phone.settle()
        for sample in phone.device.contents(of: SampleType.bodyMass.identifier) {
            phone.device.userDeletes(sample.uuid)
        }
        try await phone.settle()
        #expect(try phone.weights() == [])
        #expect(phone.health == [])
    }

    @Test("A16: while the device is locked the app's entries go out, and others' come when it is unlocked")
    func locked() async throws {
        let phone = try await Phone()
        try await phone.begin()
        phone.device.lock()
        try phone.weigh(70)
        try phone.watch.record("BodyMass", 71, "kg", from: phone.clock.now.addingTimeInterval(60))
        try await phone.settle()
        #expect(phone.health == [70, 71])
        #expect(try phone.weights() == [70])
        phone.device.unlock()
        try await phone.settle()
        #expect(try phone.weights() == [70, 71])
    }

    @Test("A17, C12: without permission entries wait, and go when it is given; C23: what may then be read comes")
    func grantedLater() async throws {
        let phone = try await Phone()
        phone.device.answerRequests(.deny)
        try await phone.begin()
        try phone.weigh(70)
        try phone.watch.record("BodyMass", 71, "kg", from: phone.clock.now.addingTimeInterval(60))
        try await phone.settle()
        #expect(phone.health == [71])
        #expect(try phone.weights() == [70])
        #expect(try phone.pending() == 1)
        phone.device.setAccess(
            of: phone.app, to: SampleType.bodyMass.identifier, reading: .granted, sharing: .granted)
        try await phone.engine.authorize("HealthKit", .all)
        try await phone.settle()
        #expect(phone.health == [70, 71])
        #expect(try phone.weights() == [70, 71])
        #expect(try phone.pending() == 0)
    }

    @Test("C21: after a reinstall what the app wrote is adopted, and nothing is doubled on either side")
    func reinstalled() async throws {
        let first = try await Phone()
        try await first.begin()
        let sample = try first.weigh(70)
        try first.watch.record("BodyMass", 71, "kg", from: first.clock.now.addingTimeInterval(60))
        try await first.settle()
        let second = try await Phone(clock: first.clock, device: first.device)
        try await second.begin()
        try await second.settle()
        #expect(try second.weights() == [70, 71])
        #expect(second.health == [70, 71])
        try second.edit(sample.id, to: 69)
        try await second.settle()
        #expect(second.health == [69, 71])
    }

    @Test(
        "One app on two devices under a cloud: entries, edits and deletions on both come together, and nothing is doubled"
    )
    func twoDevices() async throws {
        let clock = SimulatedClock()
        let here = try await Phone(clock: clock)
        let there = try await Phone(clock: clock)
        let cloud = SimulatedCloud([here.device, there.device])
        try await here.begin()
        try await there.begin()
        func meet() async throws {
            for _ in 0..<4 {
                try await here.settle()
                cloud.sync()
                try await there.settle()
                cloud.sync()
            }
        }
        let first = try here.weigh(70)
        let second = try there.weigh(80, at: 60)
        try await meet()
        #expect(try here.weights() == [70, 80])
        #expect(try there.weights() == [70, 80])
        try there.edit(first.id, to: 71)
        try await here.store.write { _ = try $0.delete(id: second.id) }
        try await meet()
        for phone in [here, there] {
            #expect(try phone.weights() == [71])
            #expect(phone.health == [71])
            #expect(try phone.pending() == 0)
        }
    }

    @Test("C6, C21: an entry from before there were sync identifiers is edited and deleted in HealthKit too")
    func unnamed() async throws {
        let phone = try await Phone()
        try await phone.engine.authorize("HealthKit", .all)
        for seconds in [0.0, 60] {
            try phone.app.record("BodyMass", 70 + seconds, "kg", from: phone.clock.now.addingTimeInterval(seconds))
        }
        try await phone.begin()
        let held = try phone.store.blockingRead { try $0.samples(of: .bodyMass) }
        #expect(held.map(\.quantity.value) == [70, 130])
        try phone.edit(held[0].id, to: 69)
        try await phone.store.write { _ = try $0.delete(id: held[1].id) }
        try await phone.settle()
        #expect(phone.health == [69])
        #expect(try phone.weights() == [69])
        try phone.edit(held[0].id, to: 68)
        try await phone.settle()
        #expect(phone.health == [68])
        #expect(try phone.pending() == 0)
    }

    @Test(
        "C6: an entry without a sync identifier whose edit ended before the old version was deleted is there once in the end"
    )
    func unnamedHalfway() async throws {
        let phone = try await Phone()
        try await phone.engine.authorize("HealthKit", .all)
        try phone.app.record("BodyMass", 70, "kg", from: phone.clock.now)
        try await phone.begin()
        let held = try #require(try phone.store.blockingRead { try $0.samples(of: .bodyMass) }.first)
        try phone.edit(held.id, to: 69)
        phone.device.fail(.delete)
        try await phone.engine.sync()
        #expect(phone.health == [69, 70])
        try await phone.settle()
        #expect(phone.health == [69])
        #expect(try phone.weights() == [69])
        #expect(try phone.pending() == 0)
    }

    @Test("A crash of the call after its effect doubles nothing")
    func lostAnswers() async throws {
        let phone = try await Phone()
        try await phone.begin()
        phone.device.fail(.save, afterEffect: true)
        try phone.weigh(70)
        try await phone.settle()
        try await phone.settle()
        #expect(phone.health == [70])
        #expect(try phone.pending() == 0)
    }

    @Test(
        "C5: a meal that is saved as a group is one meal in HealthKit, and is found again as a group after a reinstall")
    func meal() async throws {
        let first = try await Phone(.dietApp)
        try await first.begin()
        let meal = Meal(
            id: "log-17", at: try first.at(0), name: "Porridge", energy: Quantity(310, .kilocalorie),
            protein: .grams(11),
            carbohydrates: .grams(54), fat: .grams(6))
        try await first.store.write { txn in for sample in meal.samples() { _ = try txn.save(sample) } }
        try await first.settle()
        #expect(first.device.contents(of: SampleType.food.identifier).map(\.value) == [4])
        #expect(try first.pending() == 0)
        let second = try await Phone(.dietApp, clock: first.clock, device: first.device)
        try await second.begin()
        let found = try second.store.blockingRead { try $0.samples(group: "log-17") }
        #expect(found.count == 4)
        #expect(Meal(found)?.name == "Porridge")
    }
}
