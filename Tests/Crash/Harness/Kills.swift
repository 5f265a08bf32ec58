import Foundation
import HealthKV
import Synchronization
import TestSupport

/// Kills processes that write to stores, at random moments, and judges each store.
enum Kills {
    struct Tally: Sendable {
        var kills = 0
        var finished = 0
        var failures: [String] = []
    }

    static func run(_ arguments: Arguments) throws {
        let count = Int(try arguments.number("count", default: 100))
        let seed = try arguments.number("seed", default: 1)
        let jobs = max(1, Int(try arguments.number("jobs", default: 2)))
        let scratch = try arguments.text("scratch")
        let lies = arguments.has("lie")
        let tally = Mutex(Tally())
        let began = ContinuousClock.now
        let group = DispatchGroup()
        for job in 0..<jobs {
            group.enter()
            Thread {
                work(
                    job, scratch: "\(scratch)/kills-\(job)", SeededGenerator(seed: seed, part: job), lies, count, tally)
                group.leave()
            }.start()
        }
        group.wait()
        let found = tally.withLock { $0 }
        for failure in found.failures { complain(failure) }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        print(
            "kills \(found.kills) lost \(found.failures.count) imports \(found.finished)",
            "rate \(Int(Double(found.kills) / max(seconds, 0.001)))")
        if !found.failures.isEmpty { exit(1) }
    }

    private static func work(
        _ job: Int, scratch: String, _ generator: SeededGenerator, _ lies: Bool, _ count: Int,
        _ tally: borrowing Mutex<Tally>
    ) {
        var generator = generator
        var trial = 0
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        while tally.withLock({ $0.kills < count && $0.failures.isEmpty }) {
            trial += 1
            let seed = generator.next() >> 16
            let folder = "\(scratch)/\(trial)"
            var victim = Victim(folder: folder, seed: seed, lies: lies, generator: generator)
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                if trial % 2 == 0 || lies {
                    try victim.killWriters(12, tally)
                } else {
                    try victim.killImporters(8, tally)
                }
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                // Keep the folder for inspection.
                tally.withLock { $0.failures.append("\(folder), seed \(seed): \(error)") }
            }
            generator = victim.generator
        }
    }
}

/// A store whose writers are killed one after the other.
struct Victim {
    let folder: String
    let seed: UInt64
    let lies: Bool
    var generator: SeededGenerator

    private var store: String { folder + "/store" }
    private var copy: String { folder + "/copy" }

    /// Starts a process and kills it while it opens the store, or up to `limit` microseconds later; without a limit it
    /// may finish. Returns whether it was killed, and the history in its journal.
    private mutating func kill(
        _ words: [String], _ run: Int, within limit: Int?
    ) throws -> (wasKilled: Bool, history: History) {
        let process = try WorkingProcess(words, store: store, journal: "\(folder)/acks-\(run)")
        if let limit {
            process.wait(upTo: limit, &generator)
            process.kill()
        }
        let end = process.end()
        guard end == SIGKILL || end == 0 else {
            throw Verdict(loss: .unwritable, detail: "\(words[0]) ended with \(end)")
        }
        return (end == SIGKILL, process.history)
    }

    /// Runs processes that change one store at random, one after the other.
    mutating func killWriters(_ times: Int, _ tally: borrowing Mutex<Kills.Tally>) throws {
        var before = ContentDigest()
        let isMass = generator.chance(percent: 20)
        for run in 0..<times {
            let words =
                [
                    "work", "--seed", "\(generator.next() >> 16)", "--transactions", "1000000", "--copies", copy,
                    "--replaces",
                ]
                + (lies ? ["--lie"] : []) + (isMass ? ["--mass"] : [])
            var (_, history) = try kill(words, run, within: 30_000)
            history.before = before
            before = try Judge(folder: store).judge(history, probe: Judge.probe(&generator))
            try judgeLeftovers(history)
            tally.withLock { $0.kills += 1 }
        }
    }

    /// Checks that a copy under its final name is complete, and that no file of an unfinished opening remains.
    private func judgeLeftovers(_ history: History) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: store).sorted()
        guard names.filter({ $0 != "data.journal" }) == ["data.mdb", "lock.mdb"] else {
            throw Verdict(loss: .half, detail: "the folder holds \(names)")
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("copy.partial") {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        guard FileManager.default.fileExists(atPath: copy) else { return }
        let copied = try SampleStore.open(at: copy, options: Vocabulary.options(maintains: false))
        let content = try copied.read { try $0.content() }
        let report = try copied.check()
        try copied.close()
        guard report.isClean, history.contents.contains(content) else {
            throw Verdict(loss: .half, detail: "the copy is not a state of the store")
        }
        try FileManager.default.removeItem(atPath: copy)
    }

    /// Runs processes that import one history, each continuing where the previous one was killed; the last may finish.
    mutating func killImporters(_ times: Int, _ tally: borrowing Mutex<Kills.Tally>) throws {
        let words = ["import", "--seed", "\(seed)", "--batches", "60"]
        let contents = ImportHistory(seed: seed, count: 60).contents
        var isFinished = false
        var reached = -1
        for run in 0...times where !isFinished {
            let (wasKilled, history) = try kill(words, run, within: run == times ? nil : 40_000)
            try judgeImport(history, contents, &reached)
            // After the last batch, another call would start from the beginning.
            isFinished = !wasKilled || reached == contents.count - 1
            tally.withLock {
                $0.kills += wasKilled ? 1 : 0
                $0.finished += isFinished ? 1 : 0
            }
        }
    }

    /// No later process may fall behind the position that an import reached.
    private mutating func judgeImport(_ told: History, _ contents: [ContentDigest], _ reached: inout Int) throws {
        reached = max(reached, told.acknowledged)
        var history = History()
        for (number, content) in contents.enumerated() {
            history.read(.content(number: number, group: UInt64(number), content))
        }
        history.rewind()
        if reached >= 0 { history.note(.acknowledged(reached)) }
        history.announced = min(contents.count - 1, reached + 1)
        let judge = Judge(folder: store, job: ImportHistory.job)
        let content = try judge.judge(history, probe: Judge.probe(&generator))
        reached = max(reached, contents.lastIndex(of: content).map { min($0, reached + 1) } ?? reached)
    }
}
