import Foundation
import Synchronization
import TestSupport

/// The combined results of the processes that judge forged files.
struct ForgingTally: Sendable {
    private var files = 0
    private var signals = 0
    private var hangs = 0
    private var slow = 0
    private var failures: [String] = []
    private var census = ForgingCensus()

    static func run(_ arguments: Arguments, _ words: [String]) throws {
        let tally = Mutex(ForgingTally())
        let shards = try Shards("forge", words, arguments, isQuiet: !arguments.has("talking"), isPinned: true)
        let seconds = shards.run { output in tally.withLock { $0.read(output) } }
        let found = tally.withLock { $0 }
        let unreached = found.census.unreachedTables.map { "no reader met a forgery of \($0)" }
        for failure in found.failures + unreached { complain(failure) }
        if arguments.has("census") { for line in found.census.lines { print(line) } }
        let processor = ProcessorTime.ofChildren / .milliseconds(1) / Double(max(1, found.files))
        print(
            "forged \(found.files) signals \(found.signals) hangs \(found.hangs) slow \(found.slow)",
            "rate \(Int(Double(found.files) / seconds)) processor \((processor * 100).rounded() / 100) ms")
        if !found.failures.isEmpty || !unreached.isEmpty { exit(1) }
    }

    private mutating func read(_ output: Shards.Output) -> Int? {
        var last: (number: Int, line: Substring)?
        for line in output.lines {
            let words = line.split(separator: " ")
            guard words.count >= 2, let number = Int(words[1]) else { continue }
            switch words[0] {
            case "at":
                last = (number, line)
                census.begin(words.dropFirst(2))
            case "met": census.count(words.dropFirst(2))
            case "slow":
                slow += 1
                failures.append("file \(line) of \(last?.line ?? "")")
                files += 1
            default: files += 1
            }
        }
        if let signal = output.signal, let last {
            if signal == SIGPROF || signal == SIGALRM { hangs += 1 } else { signals += 1 }
            files += 1
            failures.append("file \(last.line): ended by signal \(signal)")
            return last.number + 1
        }
        if output.status != 0 {
            failures.append("forge: ended with \(output.status) behind \(last?.line ?? "nothing")")
        }
        return nil
    }
}
