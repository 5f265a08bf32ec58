import Foundation
import Synchronization
import TestSupport

/// The combined results of the processes that judge damaged files.
struct DamageTally: Sendable {
    private var files = 0
    private var counts: [String: Int] = [:]
    private var signals = 0
    private var hangs = 0
    private var failures: [String] = []

    static func run(_ arguments: Arguments, _ words: [String], of command: String = "damage") throws {
        let tally = Mutex(DamageTally())
        let shards = try Shards(command, words, arguments, isQuiet: true)
        let seconds = shards.run { output in tally.withLock { $0.read(output) } }
        let found = tally.withLock { $0 }
        for failure in found.failures { complain(failure) }
        let what = ["damage": "damaged", "repair": "repaired"][command] ?? command
        func count(_ name: String) -> Int { found.counts[name] ?? 0 }
        print(
            "\(what) \(found.files) signals \(found.signals) hangs \(found.hangs) wrong \(count("wrong"))",
            "unseen \(count("unseen")) refused \(count("refused")) partly \(count("partly")) right \(count("right"))",
            "rate \(Int(Double(found.files) / seconds))")
        if !found.failures.isEmpty { exit(1) }
    }

    private mutating func read(_ output: Shards.Output) -> Int? {
        var number: Int?
        for line in output.lines { count(line, &number) }
        if let signal = output.signal, let number {
            if signal == SIGPROF || signal == SIGALRM { hangs += 1 } else { signals += 1 }
            files += 1
            failures.append("file \(number): ended by signal \(signal)")
            return number + 1
        }
        if output.status != 0 { failures.append("a process ended with \(output.status) at \(number ?? -1)") }
        return nil
    }

    private mutating func count(_ line: Substring, _ number: inout Int?) {
        let words = line.split(separator: " ")
        if words.first == "at", words.count == 2 {
            number = Int(words[1])
        } else if let result = words.first {
            let kind = String(result.prefix { $0 != "_" })
            files += 1
            counts[kind, default: 0] += 1
            if kind == "wrong" || kind == "unseen" { failures.append("file \(line)") }
        }
    }
}
