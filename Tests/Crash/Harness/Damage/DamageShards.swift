import Foundation
import Synchronization

/// Lets several processes judge damaged files, begins another where a signal ended one, and counts.
enum DamageShards {
    private struct Tally: Sendable {
        var files = 0
        var counts: [String: Int] = [:]
        var signals = 0
        var hangs = 0
        var failures: [String] = []
    }

    static func run(_ arguments: Arguments, _ words: [String]) throws {
        let jobs = max(1, Int(try arguments.number("jobs", default: 2)))
        let tally = Mutex(Tally())
        let group = DispatchGroup()
        let began = ContinuousClock.now
        for shard in 0..<jobs {
            group.enter()
            Thread {
                var from = 0
                while let next = judge(words + ["--shard", "\(shard)", "--shards", "\(jobs)"], from: from, tally) {
                    from = next
                }
                group.leave()
            }.start()
        }
        group.wait()
        let found = tally.withLock { $0 }
        for failure in found.failures { complain(failure) }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        func count(_ name: String) -> Int { found.counts[name] ?? 0 }
        print(
            "damaged \(found.files) signals \(found.signals) hangs \(found.hangs) wrong \(count("wrong"))",
            "unseen \(count("unseen")) refused \(count("refused")) partly \(count("partly")) right \(count("right"))",
            "rate \(Int(Double(found.files) / max(seconds, 0.001)))")
        if !found.failures.isEmpty { exit(1) }
    }

    /// Runs one process. Answers the file to go on with when a signal ended it.
    private static func judge(_ words: [String], from: Int, _ tally: borrowing Mutex<Tally>) -> Int? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["damage"] + words + ["--from", "\(from)"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch {
            tally.withLock { $0.failures.append("damage: \(error)") }
            return nil
        }
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        process.waitUntilExit()
        var number: Int?
        return tally.withLock { tally in
            for line in lines { count(line, &tally, &number) }
            if process.terminationReason == .uncaughtSignal, let number {
                let isHang = process.terminationStatus == SIGALRM
                if isHang { tally.hangs += 1 } else { tally.signals += 1 }
                tally.files += 1
                tally.failures.append("file \(number): ended by signal \(process.terminationStatus)")
                return number + 1
            }
            if process.terminationStatus != 0 || process.terminationReason == .uncaughtSignal {
                tally.failures.append("damage: ended with \(process.terminationStatus) at \(number ?? -1)")
            }
            return nil
        }
    }

    private static func count(_ line: Substring, _ tally: inout Tally, _ number: inout Int?) {
        let words = line.split(separator: " ")
        if words.first == "at", words.count == 2 {
            number = Int(words[1])
        } else if let result = words.first {
            let kind = String(result.prefix { $0 != "_" })
            tally.files += 1
            tally.counts[kind, default: 0] += 1
            if kind == "wrong" || kind == "unseen" { tally.failures.append("file \(line)") }
        }
    }
}
