import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import TestSupport
import Testing

/// Two devices of one person, with everything that goes wrong between them at random.
@Suite struct SeededPhoneTests {
    @Test(
        "Whatever happened to two devices, in the end stores and HealthKits hold the same, nothing twice, and nothing waits",
        arguments: Array(1...6) + [UInt64.random(in: 7..<1_000_000_000)] as [UInt64])
    func converge(seed: UInt64) async throws {
        print("seed \(seed)")
        var day = try await TwoPhones(seed: seed)
        for _ in 0..<40 { try await day.step() }
        try await day.comeToRest()
        for phone in day.phones {
            #expect(try phone.weights() == phone.health)
            #expect(try phone.pending() == 0)
            #expect(try phone.store.check().isClean)
            let identifiers = phone.device.contents(of: SampleType.bodyMass.identifier).compactMap(\.syncIdentifier)
            #expect(Set(identifiers).count == identifiers.count)
        }
        #expect(day.phones[0].health == day.phones[1].health)
    }

    @Test(
        "C1, A7: a sample that is edited on two phones at once, with the cloud alone between them, is one edit on both, and they rest",
        arguments: [false, true], [1, 3])
    func editsAtOnce(equalVersionReplaces: Bool, editsOfOther: Int) async throws {
        let clock = SimulatedClock()
        var open = SimulationOptions()
        open.equalVersionReplaces = equalVersionReplaces
        let devices = (0..<2).map { _ in SimulatedDevice(clock: clock, options: open) }
        let cloud = SimulatedCloud(devices)
        var phones: [Phone] = []
        for device in devices { phones.append(try await Phone(clock: clock, device: device)) }
        for phone in phones { try await phone.begin() }
        let sample = try phones[0].weigh(70)
        try await phones[0].settle()
        cloud.sync()
        try await phones[1].settle()
        #expect(try phones[1].weights() == [70])
        // One is asleep and hears of nothing.
        devices[1].lock()
        try phones[0].edit(sample.id, to: 71)
        clock.advance(by: 1)
        for number in 0..<editsOfOther { try phones[1].edit(sample.id, to: 72 + Double(number)) }
        let last = 71 + Double(editsOfOther)
        try await phones[0].settle()
        cloud.sync()
        devices[1].unlock()
        for _ in 0..<4 {
            for phone in phones { try await phone.settle() }
            cloud.sync()
        }
        let saves = devices.map { $0.count(of: .save) }
        for phone in phones { try await phone.settle() }
        #expect(devices.map { $0.count(of: .save) } == saves)
        for phone in phones {
            #expect(try phone.weights() == [last] && phone.health == [last])
            #expect(try phone.pending() == 0)
        }
    }
}

/// What happens to them, step by step.
struct TwoPhones {
    private(set) var phones: [Phone]
    private let cloud: SimulatedCloud
    private var random: SeededGenerator
    private var entries = 0.0

    init(seed: UInt64) async throws {
        let clock = SimulatedClock()
        phones = [try await Phone(clock: clock), try await Phone(clock: clock)]
        cloud = SimulatedCloud(phones.map(\.device))
        random = SeededGenerator(seed: seed)
        for phone in phones { try await phone.begin() }
    }

    mutating func step() async throws {
        let phone = phones[random.number(0..<2)]
        entries += 1
        let authored = try phone.store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
            .filter { $0.origin == .authored }
        switch random.number(0..<14) {
        case 0, 1: try phone.weigh(60 + entries, at: entries)
        case 2:
            if !authored.isEmpty { try phone.edit(random.pick(authored).id, to: 60 + entries) }
        case 3:
            if !authored.isEmpty {
                let id = random.pick(authored).id
                try await phone.store.write { _ = try $0.delete(id: id) }
            }
        case 4:
            try phone.watch.record("BodyMass", 60 + entries, "kg", from: phone.clock.now.addingTimeInterval(entries))
        case 5:
            let held = phone.device.contents(of: SampleType.bodyMass.identifier)
            if !held.isEmpty { phone.device.userDeletes(random.pick(held.sorted { $0.start < $1.start }).uuid) }
        case 6: random.chance(percent: 50) ? phone.device.lock() : phone.device.unlock()
        case 7:
            let call = random.pick([SimulatedCall.save, .delete, .changes, .samples])
            phone.device.fail(call, number: random.number(1..<4), afterEffect: random.chance(percent: 50))
        case 8: cloud.sync()
        case 9:
            let sharing: SimulatedDevice.Sharing = random.chance(percent: 50) ? .denied : .granted
            phone.device.setAccess(of: phone.app, to: SampleType.bodyMass.identifier, sharing: sharing)
        case 10: if random.chance(percent: 30) { try await reinstall(phone) }
        default:
            phone.clock.advance(by: Double(random.number(1..<4_000)))
            try await phone.engine.sync()
        }
    }

    /// The app is deleted with its store, and installed again: what it had not sent is lost, and nothing else.
    private mutating func reinstall(_ phone: Phone) async throws {
        guard let index = phones.firstIndex(where: { $0.device === phone.device }) else { return }
        phones[index] = try await Phone(clock: phone.clock, device: phone.device)
        try await phones[index].begin()
    }

    /// Nothing fails any more, and everything is carried to everybody.
    func comeToRest() async throws {
        for phone in phones {
            phone.device.unlock()
            phone.device.forgetFailures()
            phone.device.setAccess(of: phone.app, to: SampleType.bodyMass.identifier, sharing: .granted)
            try await phone.engine.authorize("HealthKit", .all)
        }
        for _ in 0..<6 {
            for phone in phones { try await phone.settle() }
            cloud.sync()
        }
    }
}
