import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Lets engines run by themselves, as in apps, while users write and clouds sync; then nobody writes any more, and all must come to rest and agree.
struct LiveRun {
    private let scratch: String
    private let seed: UInt64
    private let seconds: Double
    private let plant: Plant?
    private let traces: Bool
    /// How long it may take to come to rest.
    private let patience: Duration

    /// How much faster the world's clock goes than the machine's: retries and leases are waited for.
    private static let pace = 20.0
    /// How long nothing may happen before it counts as rest, and then must not.
    private static let rest = Duration.seconds(3)

    init(_ arguments: Arguments) throws {
        scratch = try arguments.text("scratch")
        seed = try arguments.number("seed", default: 1)
        seconds = Double(try arguments.number("seconds", default: 20))
        plant = Plant(rawValue: arguments.text("plant", default: ""))
        traces = arguments.has("trace")
        patience = .seconds(Int(try arguments.number("patience", default: 90)))
    }

    func run() async throws {
        let folder = "\(scratch)/live"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let world = try await World(seed: seed, scratch: folder, plant: plant, isLive: true)
        let clock = world.clock
        let ticks = Task {
            var last = ContinuousClock.now
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(5))
                let now = ContinuousClock.now
                clock.advance(by: (now - last) / .seconds(1) * LiveRun.pace)
                last = now
            }
        }
        var findings: [String] = []
        do {
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end {
                try await world.liveStep()
                try await Task.sleep(for: .milliseconds(world.random.number(1..<40)))
            }
            world.note("nobody writes any more")
            findings = try await atRest(world)
        } catch { findings = ["\(error)"] }
        if !findings.isEmpty {
            for site in world.sites {
                world.note("store\(site.number): \((try? site.engine?.status()).debugDescription)")
            }
        }
        for site in world.sites { await site.engine?.stop() }
        ticks.cancel()
        let traffic = try world.traffic()
        if traces { for line in world.trace { print(line) } }
        for finding in findings { print("seed \(seed): \(finding)") }
        let events = world.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        complain(events)
        print(
            "live seed \(seed) stores \(world.sites.count) commits \(traffic.commits) saves \(traffic.saves) "
                + "findings \(findings.count)")
        world.close()
        if !findings.isEmpty { exit(1) }
    }

    /// Waits until nothing happens any more, and judges what is left and whether it stays so.
    private func atRest(_ world: World) async throws -> [String] {
        let limit = ContinuousClock.now + patience
        var (last, since) = (try world.traffic(), ContinuousClock.now)
        while ContinuousClock.now - since < LiveRun.rest {
            if ContinuousClock.now > limit { throw Finding("it does not come to rest") }
            try await Task.sleep(for: .milliseconds(100))
            world.cloud?.sync()
            let now = try world.traffic()
            if now != last { (last, since) = (now, ContinuousClock.now) }
        }
        let findings = try world.findings()
        try await Task.sleep(for: LiveRun.rest)
        let after = try world.traffic()
        if after == last { return findings }
        return findings + [
            "at rest there were \(after.commits - last.commits) commits and \(after.saves - last.saves) saves"
        ]
    }
}

/// What stores and HealthKits were asked to write.
struct Traffic: Equatable {
    var commits: UInt64 = 0
    var saves = 0
}

extension World {
    func traffic() throws -> Traffic {
        var traffic = Traffic()
        for site in sites {
            traffic.commits += try site.store.info().commit
            if let health = site.health { traffic.saves += health.count(of: .save) + health.count(of: .delete) }
        }
        return traffic
    }

    /// One thing that happens while engines run: users write, and what carries it is late, and loses and doubles calls.
    func liveStep() async throws {
        let site = random.pick(sites)
        switch random.number(0..<100) {
        case 0..<20: try await write(site)
        case 20..<45: try await edit(site)
        case 45..<50: try await editOnTwo()
        case 50..<58: try await delete(site)
        case 58..<64: try foreignWrite()
        case 64..<67: userDeletes()
        case 67..<71: try await writeWorkout(site)
        case 71..<75: try await writeMeal(site)
        case 75..<80: try await changeMeal(site)
        case 80..<82: try await deleteMeal(site)
        case 82..<84: userDeletesCompound()
        case 84..<88: try await overlay(site)
        case 88..<92: cloud?.sync(percent: 50, using: &later)
        case 92..<96: cloud?.sync()
        default: site.wire.plan(random.pick([.lost, .answerLost, .doubled]), after: random.number(0..<3))
        }
    }
}
