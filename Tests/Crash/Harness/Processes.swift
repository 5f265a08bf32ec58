import Foundation
import HealthKV
import Synchronization
import TestSupport

/// Several processes work on one store at once: two write, one reads, one observes, and one writes and is killed again
/// and again. The map starts small, so that it grows during the run, and the file is sometimes compacted in place.
///
/// Each writer stores pairs: two samples in one transaction, numbered without a gap, in a group that names the writer.
/// So every snapshot can be judged by itself: half a pair or a gap is a wrong read. A file of each writer records its
/// acknowledged pairs, which must be in the store at the end.
enum Processes {
    private static func options() -> SampleStore.Options {
        var options = SampleStore.Options()
        options.mapSize = 1 << 20
        options.sizeLimit = 1 << 30
        options.source = Vocabulary.ownSource
        options.sealer = Vocabulary.sealer
        return options
    }

    private static func open(_ folder: String) throws -> SampleStore {
        try SampleStore.open(at: folder, options: options())
    }

    // MARK: One of the processes

    static func work(_ arguments: Arguments) throws {
        let folder = try arguments.text("store")
        let end = ContinuousClock.now + .seconds(Int(try arguments.number("seconds", default: 10)))
        switch try arguments.text("role") {
        case "read": try read(folder, until: end)
        case "observe": try observe(folder, until: end, isDeaf: arguments.has("deaf"))
        case let name: try write(folder, Int(name)!, acks: try arguments.text("acks"), until: end, arguments.has("lie"))
        }
    }

    private static func write(
        _ folder: String, _ writer: Int, acks: String, until end: ContinuousClock.Instant, _ lies: Bool
    ) throws {
        let store = try open(folder)
        let journal = try RawFile(acks, appends: true)
        var number = try store.read { try pairs(in: $0)[writer] ?? 0 }
        while ContinuousClock.now < end {
            let made = pair(writer, number)
            if lies {
                // The planted fault: stores a pair in two commits, so that some snapshot must see half of it.
                for sample in made { try store.write { _ = try $0.save(sample) } }
            } else {
                do {
                    try store.write { _ = try $0.save(made) }
                } catch let error as StoreError where [.full, .growthBlocked].contains(error.code) {
                    // Readers of other processes held the free pages; the map is larger on the next attempt.
                    continue
                }
            }
            number += 1
            try journal.append("\(number)\n")
            // The killed writer compacts often, so that some kills hit a compaction.
            if writer == 0, number % 400 == 0 || writer == 2, number % 15 == 0 { try compact(store) }
        }
        try store.close()
    }

    private static func compact(_ store: SampleStore) throws {
        do {
            try store.compactInPlace()
        } catch let error as StoreError where error.code == .busy {
            // Another process was compacting.
        }
    }

    private static func pair(_ writer: Int, _ number: Int) -> [Sample] {
        (0..<2).map { half in
            let start = Instant(
                nanoseconds: Int64(Vocabulary.epoch + Int64(number) * 60) * Instant.nanosecondsPerSecond)
            return Sample(
                .stepCount, Double(number), .count, from: start, to: start, source: Vocabulary.ownSource,
                syncIdentifier: "\(writer)-\(number)-\(half)", group: "\(writer)")
        }
    }

    private static func read(_ folder: String, until end: ContinuousClock.Instant) throws {
        let store = try open(folder)
        var reads = 0
        var least: [Int: Int] = [:]
        while ContinuousClock.now < end {
            let found = try store.read { try pairs(in: $0) }
            for (writer, number) in least where found[writer, default: 0] < number {
                throw Verdict(
                    loss: .lost, detail: "writer \(writer) had \(number) pairs, then \(found[writer, default: 0])")
            }
            least = found
            reads += 1
        }
        print("reads \(reads)")
        try store.close()
    }

    /// The number of pairs of each writer in a snapshot; throws if a pair is half or missing.
    private static func pairs(in transaction: borrowing ReadTransaction) throws -> [Int: Int] {
        var seen: [Int: [Int: Int]] = [:]
        for sample in try transaction.samples(of: .stepCount) {
            let words = (sample.syncIdentifier ?? "").split(separator: "-").compactMap { Int($0) }
            seen[words[0], default: [:]][words[1], default: 0] += 1
        }
        for (writer, numbers) in seen {
            guard numbers.values.allSatisfy({ $0 == 2 }) else {
                throw Verdict(loss: .half, detail: "a pair of writer \(writer) is half")
            }
            guard numbers.keys.max() == numbers.count - 1 else {
                throw Verdict(loss: .lost, detail: "writer \(writer) has a gap")
            }
        }
        return seen.mapValues(\.count)
    }

    /// Follows the feed of changes, which must yield each sample once.
    private static func observe(_ folder: String, until end: ContinuousClock.Instant, isDeaf: Bool) throws {
        let store = try open(folder)
        let seen = Mutex<Set<SampleID>>([])
        let isDoubled = Mutex(false)
        let (token, before) = try store.read { ($0.currentToken, Set(try $0.samples(of: .stepCount).map(\.id))) }
        let sequence = store.changes(of: [.stepCount], since: token)
        let task = Task {
            for await change in sequence {
                guard case .saved(let sample) = change.kind else { continue }
                // The planted fault: ignores some changes.
                if isDeaf, sample.id.low % 97 == 0 { continue }
                if !seen.withLock({ $0.insert(sample.id).inserted }) { isDoubled.withLock { $0 = true } }
            }
        }
        while ContinuousClock.now < end { pause(microseconds: 10_000) }
        // Wait for the last writer to end and for its changes to arrive.
        pause(microseconds: 2_000_000)
        let all = try store.read { Set(try $0.samples(of: .stepCount).map(\.id)) }.subtracting(before)
        let late = ContinuousClock.now + .seconds(60)
        while !all.isSubset(of: seen.withLock { $0 }), ContinuousClock.now < late { pause(microseconds: 10_000) }
        let missing = all.subtracting(seen.withLock { $0 }).count
        task.cancel()
        try store.close()
        if missing > 0 { throw Verdict(loss: .lost, detail: "the feed has kept \(missing) samples back") }
        if isDoubled.withLock({ $0 }) { throw Verdict(loss: .half, detail: "the feed gave a sample twice") }
        print("observed \(seen.withLock { $0.count })")
        if seen.withLock({ $0.isEmpty }) { throw Verdict(loss: .lost, detail: "the feed gave nothing") }
    }

    // MARK: All of them

    static func run(_ arguments: Arguments) throws {
        let scratch = try arguments.text("scratch")
        let seconds = try arguments.number("seconds", default: 10)
        var generator = SeededGenerator(seed: try arguments.number("seed", default: 1))
        let folder = scratch + "/store"
        try? FileManager.default.removeItem(atPath: scratch)
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        try open(folder).close()
        func start(_ role: String, _ seconds: UInt64) throws -> Process {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            process.arguments =
                [
                    "process", "--store", folder, "--role", role, "--seconds", "\(seconds)", "--acks",
                    "\(scratch)/acks-\(role)",
                ]
                + ["lie", "deaf"].filter(arguments.has).map { "--" + $0 }
            try process.run()
            return process
        }
        let steady = try ["0", "1", "read", "observe"].map { try start($0, seconds) }
        let end = ContinuousClock.now + .seconds(Int(seconds))
        var kills = 0
        while ContinuousClock.now < end {
            let victim = try start("2", seconds)
            pause(microseconds: generator.number(10_000..<400_000))
            kill(victim.processIdentifier, SIGKILL)
            victim.waitUntilExit()
            kills += 1
        }
        var failed = 0
        for process in steady {
            process.waitUntilExit()
            if process.terminationReason != .exit || process.terminationStatus != 0 { failed += 1 }
        }
        let store = try open(folder)
        let found = try store.read { try pairs(in: $0) }
        let report = try store.check()
        for writer in 0..<3 {
            let text = (try? String(contentsOfFile: "\(scratch)/acks-\(writer)", encoding: .utf8)) ?? ""
            let acknowledged = text.split(separator: "\n").compactMap { Int($0) }.max() ?? 0
            if found[writer, default: 0] < acknowledged { failed += 1 }
        }
        if !report.isClean { failed += 1 }
        try store.close()
        print("processes 5 kills \(kills) pairs \(found.values.reduce(0, +)) failed \(failed)")
        if failed > 0 { exit(1) }
    }
}
