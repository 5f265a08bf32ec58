import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Lets engines run by themselves, as in apps, while users write and clouds sync. After the last write, all stores must
/// come to rest and agree.
struct LiveRun {
    private let scratch: String
    private let seed: UInt64
    private let seconds: Double
    private let plant: Plant?
    private let traces: Bool
    /// The time limit for coming to rest, by the world's clock.
    private let patience: Double

    /// The speed of the world's clock relative to real time, because the run waits for retries and leases.
    private static let pace = 20.0
    /// The maximum advance of the world's clock at once. On a busy machine the clock slows down with the engines, so
    /// that engines waiting for a processor do not count as at rest.
    private static let longestTick = 0.02
    /// The time without events, by the world's clock, that counts as rest, and during which nothing may happen then. It
    /// is longer than a lease and the first retries.
    private static let rest = 90.0

    init(_ arguments: Arguments) throws {
        scratch = try arguments.text("scratch")
        seed = try arguments.number("seed", default: 1)
        seconds = Double(try arguments.number("seconds", default: 20))
        plant = Plant(rawValue: arguments.text("plant", default: ""))
        traces = arguments.has("trace")
        patience = Double(try arguments.number("patience", default: 90)) * LiveRun.pace
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
                clock.advance(by: min((now - last) / .seconds(1), LiveRun.longestTick) * LiveRun.pace)
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
            try await world.mend()
            // Operations that failed too often are retried only an hour later.
            clock.advance(by: 7_200)
            // Calls of HealthKit that were disturbed do not come again; the user opens the apps.
            for site in world.sites { try await world.engine(site).enterForeground() }
            world.note("nobody writes any more")
            if world.needsComparing {
                _ = try await comeToRest(world)
                try await world.compare()
            }
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
        for line in traces ? world.trace : story(of: findings, in: world) { print(line) }
        for finding in findings { print("seed \(seed): \(finding)") }
        let events = world.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        complain(events)
        print(
            "live seed \(seed) stores \(world.sites.count) commits \(traffic.commits) saves \(traffic.saves) "
                + "findings \(findings.count)")
        world.close()
        if !findings.isEmpty { exit(1) }
    }

    /// Waits for rest. Returns the traffic up to then.
    private func comeToRest(_ world: World) async throws -> Traffic {
        let limit = world.clock.now.addingTimeInterval(patience)
        var (last, since) = (try world.traffic(), world.clock.now)
        while world.clock.now < since.addingTimeInterval(LiveRun.rest) {
            if world.clock.now > limit { throw Finding("it does not come to rest") }
            try await Task.sleep(for: .milliseconds(100))
            world.syncCloud()
            let now = try world.traffic()
            if now != last { (last, since) = (now, world.clock.now) }
        }
        return last
    }

    /// Waits for rest, judges the state, and checks that the state does not change afterwards.
    private func atRest(_ world: World) async throws -> [String] {
        let last = try await comeToRest(world)
        world.forgetCrossed()
        let findings = try world.findings()
        note(findings, world)
        let end = world.clock.now.addingTimeInterval(LiveRun.rest)
        while world.clock.now < end { try await Task.sleep(for: .milliseconds(100)) }
        let after = try world.traffic()
        if after == last { return findings }
        return findings + [
            "at rest there were \(after.commits - last.commits) commits and \(after.saves - last.saves) saves"
        ]
    }

    /// Returns what the trace says of the samples that findings name. The engines run by themselves, so the same seed
    /// rarely finds the same again.
    private func story(of findings: [String], in world: World) -> [String] {
        world.ledger.ids.filter { id in findings.contains { $0.contains(id.description) } }.flatMap { id in
            let values = Set(
                world.ledger.entries[id]!.acts.compactMap { act -> Substring? in
                    if case .save(let value) = act.kind { "\(value)" } else { nil }
                })
            return world.trace.filter { line in
                line.contains(id.description) || line.split { !$0.isNumber }.contains { values.contains($0) }
            }
        }
    }

    /// Adds the state of each sample that a finding names to the trace.
    private func note(_ findings: [String], _ world: World) {
        for id in world.ledger.ids where findings.contains(where: { $0.contains(id.description) }) {
            world.note("\(id) in the end, with \(world.ledger.entries[id]!.acts.suffix(4)):")
            world.watch(id)
        }
    }
}

/// The number of writes to stores and HealthKits.
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

    /// One event while engines run: users write, the cloud is late, wires lose and double calls.
    func liveStep() async throws {
        let site = random.pick(sites)
        switch random.number(0..<100) {
        case 0..<18: try await write(site)
        case 18..<40: try await edit(site)
        case 40..<44: try await editOnTwo()
        case 44..<51: try await delete(site)
        case 51..<57: try foreignWrite()
        case 57..<60: userDeletes()
        case 60..<63: try await writeWorkout(site)
        case 63..<67: try await writeMeal(site)
        case 67..<71: try await changeMeal(site)
        case 71..<73: try await deleteMeal(site)
        case 73..<75: userDeletesCompound()
        case 75..<79: try await overlay(site)
        case 79..<83: syncCloud(percent: 50)
        case 83..<86: syncCloud()
        case 86..<87: skewByAYear(site)
        case 87..<91: site.wire.plan(random.pick([.lost, .answerLost, .doubled]), after: random.number(0..<3))
        case 91..<92: meetBadPeer(site)
        case 92..<93: stepFifth()
        case 93..<95: lock(site)
        case 95..<96: failCalls(site)
        case 96..<97: breakCalls(site)
        case 97..<98: changeAccessToPart(site)
        case 98..<99: disturbWakeUps(site)
        default:
            switch random.number(0..<20) {
            case 0..<4:
                try await restart {
                    try site.reopen()
                    forgetEngines()
                }
            case 4: try await restart { try await cloneStore() }
            case 5: try await restart { try await reinstall(site) }
            case 6: rebuild(site)
            default: rename(site)
            }
        }
    }

    /// Ends and restarts the processes of the devices in the middle of their work. Engines hold the stores of their
    /// neighbours, so all of them end; the change forgets them, and may start some.
    private func restart(_ change: () async throws -> Void) async throws {
        for other in sites { await other.engine?.stop() }
        try await change()
        for other in sites { engine(other).start() }
        note("all processes end, and start again")
        count("restart")
    }
}
