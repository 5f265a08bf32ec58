import Foundation
import HealthKVSync
import TestSupport

/// Kills processes at each point between two steps of pull and push, and at random moments. After each kill it
/// continues with the files that the process left, and judges the result.
struct KillRun {
    private let scratch: String
    private let seed: UInt64
    private let stride: Int
    private let moments: Int
    private let plant: Plant?
    private let lies: Bool
    private let endsAtFirst: Bool

    init(_ arguments: Arguments) throws {
        scratch = try arguments.text("scratch")
        seed = try arguments.number("seed", default: 1)
        stride = max(1, Int(try arguments.number("stride", default: 1)))
        moments = Int(try arguments.number("moments", default: 40))
        plant = Plant(rawValue: arguments.text("plant", default: ""))
        lies = arguments.has("lie")
        endsAtFirst = arguments.has("first")
    }

    func run() async throws {
        var random = SeededGenerator(seed: seed, part: 1)
        let (_, points) = try process(["--folder", try fresh()], killedAfter: nil)
        guard points > 0 else { throw Finding("the process that is to be killed did not come to its end") }
        var (killed, failed) = (0, 0)
        func judge(_ name: String) async throws {
            killed += 1
            for finding in try await findings() {
                print("seed \(seed), \(name): \(finding)")
                failed += 1
            }
        }
        for point in Swift.stride(from: 1 + Int(seed) % stride, through: points, by: stride) {
            let (signal, _) = try process(["--folder", try fresh(), "--die", "\(point)"], killedAfter: nil)
            guard signal == SIGKILL else { throw Finding("the process did not end at point \(point)") }
            try await judge("point \(point)")
            if failed > 0, endsAtFirst { break }
        }
        for number in 0..<moments where failed == 0 || !endsAtFirst {
            let (signal, _) = try process(["--folder", try fresh()], killedAfter: random.number(1_000..<80_000))
            if signal == SIGKILL { try await judge("moment \(number)") }
        }
        print("points \(points) killed \(killed) failed \(failed)")
        if failed > 0 { exit(1) }
    }

    private var folder: String { scratch + "/kill" }

    private func fresh() throws -> String {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Runs a process to its end, or kills it after some microseconds. Returns the signal that ended it, and the number
    /// of points that it passed.
    private func process(_ words: [String], killedAfter delay: Int?) throws -> (signal: Int32, points: Int) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments =
            ["work", "--seed", "\(seed)"] + words + (plant.map { ["--plant", $0.rawValue] } ?? [])
            + (lies ? ["--lie"] : [])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        if let delay {
            usleep(UInt32(delay))
            kill(process.processIdentifier, SIGKILL)
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let words = text.split(separator: " ")
        let points = words.first == "points" ? Int(words[1].trimmingCharacters(in: .newlines)) ?? 0 : 0
        if process.terminationReason == .uncaughtSignal { return (process.terminationStatus, points) }
        guard process.terminationStatus == 0 else { throw Finding("a process ended with \(process.terminationStatus)") }
        return (0, points)
    }

    /// Continues as the app would after a restart, and compares everything with the acknowledged changes.
    private func findings() async throws -> [String] {
        var found: [String] = []
        let bench = try KillBench(folder, probes: plant == nil)
        try await bench.enable()
        for _ in 0..<4 { try await bench.sync() }
        var held: [SampleID: Int] = [:]
        var imported: [String] = []
        for sample in try bench.store.blockingRead({ try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }) {
            if sample.origin == .authored {
                held[sample.id] = Int(sample.quantity.value)
            } else {
                imported.append("\(sample.id)")
            }
        }
        found += try acknowledged(held)
        let live = bench.health.live
        for id in Set(held.keys).union(
            live.compactMap { $0.app == "app" ? $0.syncIdentifier.flatMap { SampleID($0) } : nil })
        {
            let there = live.filter { $0.app == "app" && $0.syncIdentifier == id.description }
                .compactMap { $0.sample.map { Int($0.quantity.value) } }
            if there != held[id].map({ [$0] }) ?? [] {
                found.append("\(id): held \(held[id] ?? 0), the database \(there)")
            }
        }
        let foreign = live.filter { $0.app != "app" }.map { "\($0.id)" }
        if foreign.sorted() != imported.sorted() { found.append("others' samples differ") }
        let digests = try [bench.store, bench.other].map { try $0.read { try $0.syncDigest() } }
        if digests[0] != digests[1] { found.append("the stores have different digests") }
        if try !bench.store.blockingRead({ try $0.pending() }).isEmpty { found.append("operations wait") }
        for store in [bench.store, bench.other] {
            if try !store.check().findings.isEmpty { found.append("a check has findings") }
            try store.close()
        }
        return found
    }

    /// Checks that each sample has its last acknowledged state, or the state of a change that began after it.
    private func acknowledged(_ held: [SampleID: Int]) throws -> [String] {
        let text = (try? String(contentsOfFile: folder + "/journal", encoding: .utf8)) ?? ""
        var sure: [String: Int?] = [:]
        var begun: (id: String, value: Int?)?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words == ["done"] {
                if let begun { sure[begun.id] = .some(begun.value) }
                begun = nil
            } else if words == ["vetoed"] {
                begun = nil
            } else if words.count == 3 {
                begun = (words[1], words[0] == "save" ? Int(words[2]) : nil)
            }
        }
        return sure.compactMap { id, value in
            let there = SampleID(id).flatMap { held[$0] }
            if there == value || begun?.id == id && there == begun?.value { return nil }
            return
                "\(id): \(there.map { "\($0)" } ?? "nothing") is there, acknowledged was \(value.map { "\($0)" } ?? "nothing")"
        }
    }
}
