import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

@Suite("Meals in Health that move while they are incomplete")
struct MovedMealTests {
    @Test("A meal of which one nutrient may not be written moves as a whole, and leaves nothing when it is deleted")
    func movedWithDeniedNutrient() async throws {
        let bench = try await PeerBench()
        bench.device.setAccess(of: bench.app, to: SampleType.dietaryFiber.identifier, sharing: .denied)
        let first = try bench.porridge(at: -7_200, version: 1)
        #expect(await bench.save(first, group: first).count(where: \.isDone) == 2)
        #expect(bench.contents(.food).map(\.value) == [2])
        let moved = try bench.porridge(at: -3_600, version: 2)
        #expect(await bench.save(moved, group: moved).count(where: \.isDone) == 2)
        let start = try #require(bench.contents(.dietaryProtein).first).start
        #expect(bench.contents(.food).map(\.start) == [start])
        for sample in moved where sample.type != .dietaryFiber {
            #expect(await bench.delete(sample)?.isDone == true)
        }
        #expect(bench.contents(.food).isEmpty)
    }

    @Test(
        "A meal that grew and then moved has no part at its old time, and leaves nothing when it is deleted",
        arguments: [false, true])
    func grownAndMoved(deletingTakesMembers: Bool) async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = deletingTakesMembers
        let bench = try await PeerBench(options)
        let first = try bench.porridge(at: -7_200, version: 1)
        let begun = Array(first.dropLast())
        #expect(await bench.save(begun, group: begun).allSatisfy(\.isDone))
        #expect(await bench.save([first[2]], group: first).allSatisfy(\.isDone))
        #expect(bench.contents(.food).count == 2)
        let moved = try bench.porridge(at: -3_600, version: 2)
        #expect(await bench.save(moved, group: moved).allSatisfy(\.isDone))
        let start = try #require(bench.contents(.dietaryProtein).first).start
        #expect(bench.contents(.food).map(\.start) == [start])
        for type in [SampleType.dietaryProtein, .dietaryFiber] { #expect(bench.contents(type).map(\.start) == [start]) }
        for sample in moved { #expect(await bench.delete(sample)?.isDone == true) }
        #expect(bench.contents(.food).isEmpty)
    }

    @Test(
        "A25: a nutrient that may not be written any more does not vanish with a meal that is replaced",
        arguments: [1, 2, 3])
    func deniedLater(savedAtFirst: Int) async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = true
        let bench = try await PeerBench(options)
        let first = try bench.porridge(at: -7_200, version: 1)
        let begun = Array(first.prefix(savedAtFirst))
        #expect(await bench.save(begun, group: begun).allSatisfy(\.isDone))
        for sample in first.dropFirst(savedAtFirst) {
            #expect(await bench.save([sample], group: first).allSatisfy(\.isDone))
        }
        bench.device.setAccess(of: bench.app, to: SampleType.dietaryFiber.identifier, sharing: .denied)
        for version in [2, 3] as [Int64] {
            let moved = try bench.porridge(at: -3_600 + Double(version), version: version)
            #expect(await bench.save(moved, group: moved).count(where: \.isDone) == 2)
            for sample in first { #expect(bench.contents(sample.type).count == 1, "\(sample.type)") }
        }
    }

    @Test("A25: nutrients that may have vanished with a replaced meal are not reported as saved if saving again failed")
    func lostWithReplaced() async throws {
        let bench = try await PeerBench()
        let first = try bench.porridge(at: -7_200, version: 1)
        #expect(await bench.save(first, group: first).allSatisfy(\.isDone))
        let moved = try bench.porridge(at: -3_600, version: 2)
        // The queries before the save succeed, and no later one; so the members may have vanished.
        for number in 5...20 { bench.device.fail(.samples, number: number) }
        bench.device.fail(.save, number: 2)
        #expect(await bench.save(moved, group: moved).allSatisfy { !$0.isDone })
        bench.device.forgetFailures()
        #expect(await bench.save(moved, group: moved).allSatisfy(\.isDone))
        for sample in moved { #expect(bench.contents(sample.type).count == 1) }
        #expect(bench.contents(.food).count == 1)
    }

    @Test("A16: a meal that was moved while the device was locked is one meal at its new time once it is unlocked")
    func movedWhileLocked() async throws {
        let phone = try await Phone(.dietApp)
        try await phone.begin()
        func eat(at time: Instant) async throws {
            let meal = Meal(
                id: "log-19", at: time, name: "Porridge", energy: Quantity(310, .kilocalorie), protein: .grams(11),
                fat: .grams(6))
            try await phone.store.write { txn in for sample in meal.samples() { _ = try txn.save(sample) } }
        }
        func starts(_ type: SampleType) -> [Date] { phone.device.contents(of: type.identifier).map(\.start) }
        try await eat(at: try phone.at(-7_200))
        try await phone.settle()
        #expect(phone.device.contents(of: SampleType.food.identifier).map(\.value) == [3])
        let moved = try phone.at(-3_600)
        phone.device.lock()
        try await eat(at: moved)
        try await phone.engine.sync()
        phone.device.unlock()
        try await phone.settle()
        #expect(starts(.dietaryProtein).count == 1)
        #expect(starts(.food) == starts(.dietaryProtein))
        let held = try phone.store.blockingRead { try $0.samples(group: "log-19") }
        try await phone.store.write { txn in for sample in held { try txn.delete(id: sample.id) } }
        try await phone.settle()
        #expect(starts(.dietaryProtein).isEmpty)
        #expect(starts(.food).isEmpty)
    }
}
