import Foundation
import SyncSupport
import Synchronization
import TestSupport
import Testing

@testable import HealthKVSync

/// Devices with a store each, a health database each, the same app on all of them; crashes, locks, denials, reinstalls,
/// other apps.
///
/// `HEALTHKV_SEED` runs one history again, `HEALTHKV_SEQUENCES` sets how many there are, `HEALTHKV_LONG` runs hundreds.
@Suite("Simulated years of syncing")
struct SimulationTests {
    private final class Device: Sendable {
        let store: SampleStore
        let health: MemoryHealth
        let crash = Mutex<(step: SyncStep, left: Int)?>(nil)

        init(_ clock: ManualClock, _ health: MemoryHealth) throws {
            store = try Bench.makeStore(clock)
            self.health = health
        }

        /// An engine as after a start of the app.
        func engine(_ clock: ManualClock, _ neighbours: [(Int, SampleStore)], number: Int) -> SyncEngine {
            let stores = neighbours.map { other, store in
                SyncPeer(StorePeer(store, name: "device\(other)", as: "device\(number)"), plan: .everything)
            }
            return Bench.makeEngine(store, [SyncPeer(MemoryHealthPeer(health), plan: .weightTracker)] + stores, clock) {
                options in
                (options.pageSize, options.pushSize) = (5, 4)
                options.atStep = { [self] step in
                    let isHere = crash.withLock { crash in
                        guard let planned = crash, planned.step == step else { return false }
                        crash = planned.left > 0 ? (step, planned.left - 1) : nil
                        return planned.left == 0
                    }
                    if isHere { throw CancellationError() }
                }
            }
        }
    }

    private struct World {
        let clock = ManualClock()
        var devices: [Device] = []
        var generator: SeededGenerator
        var authored: [SampleID] = []
        var foreign: [(device: Int, id: SampleID)] = []

        init(seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            for number in 1...2 { devices.append(try Device(clock, MemoryHealth(seed: seed &+ UInt64(number) &* 977))) }
        }

        func engine(_ number: Int) -> SyncEngine {
            let neighbours = devices.indices.filter { $0 != number }.map { ($0, devices[$0].store) }
            return devices[number].engine(clock, neighbours, number: number)
        }

        func sample(_ id: SampleID, _ value: Double, hour: Int) -> Sample {
            Sample(
                .bodyMass, value, .kilogram,
                at: Instant(nanoseconds: 799_000_000_000_000_000 + Int64(hour) * 3_600_000_000_000), id: id)
        }

        mutating func step() async throws {
            let number = generator.number(0..<devices.count)
            let device = devices[number]
            clock.advance(seconds: generator.number(1..<7_200))
            switch generator.number(0..<12) {
            case 0...3:
                let isNew = authored.isEmpty || generator.chance(percent: 50)
                let id = isNew ? SampleID(using: &generator) : generator.pick(authored)
                if isNew { authored.append(id) }
                let edit = sample(id, Double(generator.number(50..<90)), hour: generator.number(0..<300))
                _ = try await device.store.write { try $0.save(edit) }
            case 4:
                guard !authored.isEmpty else { return }
                let id = generator.pick(authored)
                _ = try await device.store.write { try $0.delete(id: id) }
            case 5, 6:
                var scale = sample(SampleID(using: &generator), 60, hour: generator.number(0..<300))
                (scale.source, scale.origin) = (Source(name: "Scale"), .imported)
                foreign.append((number, device.health.save(scale)))
            case 7:
                guard let gone = foreign.randomElement(using: &generator) else { return }
                devices[gone.device].health.delete(gone.id)
            case 8:
                let step = generator.pick(SyncStep.allCases)
                device.crash.withLock { $0 = (step, Int.random(in: 0..<3, using: &generator)) }
            case 9:
                device.health.set(availability: generator.pick([.available, .available, .locked]))
                let writing = generator.pick([TypeAuthorization.Writing.granted, .granted, .denied])
                device.health.set(writing: writing, of: .bodyMass)
            case 10 where generator.chance(percent: 20): try await reinstall(number)
            default: break
            }
            if generator.chance(percent: 60) { _ = try? await engine(number).sync() }
        }

        /// The app is removed with its store, and installed again.
        mutating func reinstall(_ number: Int) async throws {
            try devices[number].store.close()
            devices[number] = try Device(clock, devices[number].health)
            let engine = engine(number)
            for peer in engine.peers { try await engine.enable(peer) }
        }

        /// Everything works again, and everybody tells everybody.
        mutating func settle() async throws {
            for device in devices {
                device.crash.withLock { $0 = nil }
                device.health.set(availability: .available)
                device.health.set(writing: .granted, of: .bodyMass)
            }
            for _ in 0..<5 {
                clock.advance(seconds: 7_200)
                for number in devices.indices { _ = try await engine(number).sync() }
            }
        }
    }

    @Test(
        "After crashes at every step, locks and denials the stores agree, queues are empty, and nothing is lost, doubled or back"
    )
    func converge() async throws {
        let environment = ProcessInfo.processInfo.environment
        let given = environment["HEALTHKV_SEED"].flatMap { UInt64($0) }
        var seeds = SeededGenerator()
        let usual = environment["HEALTHKV_LONG"] != nil ? 500 : 4
        let count = environment["HEALTHKV_SEQUENCES"].flatMap { Int($0) } ?? usual
        for _ in 0..<(given != nil ? 1 : count) {
            let seed = given ?? seeds.next()
            var world = try World(seed: seed)
            for number in world.devices.indices {
                let engine = world.engine(number)
                for peer in engine.peers { try await engine.enable(peer) }
            }
            for _ in 0..<40 { try await world.step() }
            try await world.settle()
            try judge(world, seed)
        }
    }

    private func judge(_ world: World, _ seed: UInt64) throws {
        let digests = try world.devices.map { try $0.store.read { try $0.syncDigest() } }
        #expect(digests[0] == digests[1], "seed \(seed)")
        for device in world.devices {
            let waiting = try device.store.read { try $0.pending() }
            #expect(waiting.isEmpty, "seed \(seed)")
            let own = try device.store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
                .filter { $0.origin == .authored }
            let there = device.health.live.filter { $0.app == "app" }.map(\.sample)
            #expect(own.count == there.count, "seed \(seed)")
            for sample in own {
                let held = there.filter { $0.syncIdentifier == sample.id.description }
                #expect(held.count == 1 && held[0].isSameMeasurement(as: sample), "seed \(seed)")
            }
            // Foreign samples that live at a database live in the stores.
            for entry in device.health.live where entry.app != "app" {
                let isHeld = try device.store.read { try $0.sample(id: entry.sample.id) } != nil
                #expect(isHeld, "seed \(seed)")
            }
            let report = try device.store.check()
            #expect(report.findings.isEmpty, "seed \(seed): \(report.findings)")
        }
        for device in world.devices { try device.store.close() }
    }
}
