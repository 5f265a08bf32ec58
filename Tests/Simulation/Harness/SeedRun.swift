import Foundation
import HealthKVSync
import TestSupport

/// Simulates one seed after the other.
struct SeedRun {
    private let scratch: String
    private let seeds: [UInt64]
    private let steps: Int
    private let plant: Plant?
    private let progress: String?
    private let traces: Bool
    private let watched: SampleID?
    /// Whether to stop at the first seed that fails, as when searching for a planted mistake.
    private let endsAtFirst: Bool

    init(_ arguments: Arguments) throws {
        scratch = try arguments.text("scratch")
        if arguments.has("list") {
            seeds = try SeedRun.listed(in: try arguments.text("list"))
        } else {
            let first = try arguments.number("seed", default: 1)
            let stride = max(1, try arguments.number("stride", default: 1))
            seeds = (0..<(try arguments.number("count", default: 1))).map { first &+ $0 &* stride }
        }
        steps = Int(try arguments.number("steps", default: 60))
        progress = arguments.has("progress") ? try arguments.text("progress") : nil
        traces = arguments.has("trace")
        watched = SampleID(arguments.text("watch", default: ""))
        endsAtFirst = arguments.has("first")
        guard arguments.has("plant") else {
            plant = nil
            return
        }
        let name = try arguments.text("plant")
        guard let known = Plant(rawValue: name) else {
            throw Arguments.Misuse(
                description: "--plant is one of \(Plant.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        plant = known
    }

    /// Reads the first word of each line of a file; the rest of a line describes the finding.
    private static func listed(in path: String) throws -> [UInt64] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            if line.hasPrefix("#") { return nil }
            guard let word = line.split(separator: " ").first, let seed = UInt64(word) else {
                throw Arguments.Misuse(description: "\(path): no seed in: \(line)")
            }
            return seed
        }
    }

    func run() async throws {
        var failed = 0
        var done = 0
        var events: [String: Int] = [:]
        let began = ContinuousClock.now
        for seed in seeds {
            if let progress { try "\(seed)\n".write(toFile: progress, atomically: false, encoding: .utf8) }
            let life = try await live(seed)
            done += 1
            events.merge(life.counts, uniquingKeysWith: +)
            if !life.findings.isEmpty {
                failed += 1
                report(seed, life)
                if endsAtFirst { break }
            } else if traces {
                report(seed, life)
            }
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        complain(events.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        print("seeds \(done) failed \(failed) seconds \(Int(seconds))")
        if failed > 0 { exit(1) }
    }

    private struct Life {
        var findings: [String] = []
        var trace: [String] = []
        var counts: [String: Int] = [:]
    }

    private func live(_ seed: UInt64) async throws -> Life {
        let folder = "\(scratch)/\(seed)"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let world = try await World(seed: seed, scratch: folder, plant: plant)
        var life = Life()
        world.watched = watched
        do {
            for _ in 0..<steps { try await world.step() }
            world.note("everything works again")
            try await world.settle()
            life.findings = try world.findings()
        } catch {
            life.findings = ["\(error)"]
        }
        (life.trace, life.counts) = (world.trace, world.counts)
        for site in world.sites { life.counts.merge(site.wire.met, uniquingKeysWith: +) }
        await world.endHungCalls()
        world.close()
        return life
    }

    private func report(_ seed: UInt64, _ life: Life) {
        if traces { for line in life.trace { print(line) } }
        // At once: a run of hours may be ended before its output is full.
        for finding in life.findings { FileHandle.standardOutput.write(Data("seed \(seed): \(finding)\n".utf8)) }
    }
}
