import Foundation
import Synchronization

/// Judges the images of a log in several processes: what damages a mapped file may end a process by a signal, and that
/// is a finding like any other.
enum ImageShards {
    private struct Tally: Sendable {
        var images = 0
        var losses: [String: Int] = [:]
        var failures: [String] = []
    }

    static func run(_ arguments: Arguments, _ words: [String]) throws {
        let jobs = max(1, Int(try arguments.number("jobs", default: 2)))
        let tally = Mutex(Tally())
        let group = DispatchGroup()
        let began = ContinuousClock.now
        for shard in 0..<jobs {
            group.enter()
            let thread = Thread {
                var from = 0
                while let next = judge(words + ["--shard", "\(shard)", "--shards", "\(jobs)"], from: from, tally) {
                    from = next
                }
                group.leave()
            }
            thread.start()
        }
        group.wait()
        let found = tally.withLock { $0 }
        for failure in found.failures { complain(failure) }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let losses = Loss.allCases.map { "\($0.rawValue) \(found.losses[$0.rawValue] ?? 0)" }.joined(separator: " ")
        print("images \(found.images) \(losses) rate \(Int(Double(found.images) / max(seconds, 0.001)))")
        if !found.failures.isEmpty { exit(1) }
    }

    /// Runs one process. Answers the moment to go on with when a signal ended it.
    private static func judge(_ words: [String], from: Int, _ tally: borrowing Mutex<Tally>) -> Int? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["images"] + words + ["--from", "\(from)"]
        process.standardOutput = output
        do { try process.run() } catch {
            tally.withLock { $0.failures.append("images: \(error)") }
            return nil
        }
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        process.waitUntilExit()
        var moment = from
        tally.withLock { tally in
            for line in lines { count(line, &tally, &moment) }
            guard process.terminationStatus != 0 else { return }
            if process.terminationReason == .uncaughtSignal {
                tally.losses[Loss.lost.rawValue, default: 0] += 1
                tally.failures.append("moment \(moment): ended by signal \(process.terminationStatus)")
            } else if lines.last?.hasPrefix("loss") != true {
                tally.failures.append("images: ended with \(process.terminationStatus)")
            }
        }
        return process.terminationReason == .uncaughtSignal && words.contains("--keep-going") ? moment + 1 : nil
    }

    private static func count(_ line: Substring, _ tally: inout Tally, _ moment: inout Int) {
        let words = line.split(separator: " ")
        switch words.first {
        case "at":
            moment = Int(words[1]) ?? moment
            tally.images += Int(words[2]) ?? 0
        case "loss":
            tally.failures.append(String(line))
            for loss in Loss.allCases where line.contains(": \(loss.rawValue): ") {
                tally.losses[loss.rawValue, default: 0] += 1
            }
        default: break
        }
    }
}
