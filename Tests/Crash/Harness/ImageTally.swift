import Foundation
import Synchronization
import TestSupport

/// The combined results of the processes that judge images.
struct ImageTally: Sendable {
    private let keepsGoing: Bool
    private var images = 0
    private var losses: [String: Int] = [:]
    private var failures: [String] = []

    private init(keepsGoing: Bool) { self.keepsGoing = keepsGoing }

    static func run(_ arguments: Arguments, _ words: [String]) throws {
        let tally = Mutex(ImageTally(keepsGoing: arguments.has("keep-going")))
        let seconds = try Shards("images", words, arguments).run { output in tally.withLock { $0.read(output) } }
        let found = tally.withLock { $0 }
        for failure in found.failures { complain(failure) }
        let losses = Loss.allCases.map { "\($0.rawValue) \(found.losses[$0.rawValue] ?? 0)" }.joined(separator: " ")
        print("images \(found.images) \(losses) rate \(Int(Double(found.images) / seconds))")
        if !found.failures.isEmpty { exit(1) }
    }

    private mutating func read(_ output: Shards.Output) -> Int? {
        var moment = output.from
        for line in output.lines { count(line, &moment) }
        if let signal = output.signal {
            losses[Loss.lost.rawValue, default: 0] += 1
            failures.append("moment \(moment): ended by signal \(signal)")
            return keepsGoing ? moment + 1 : nil
        }
        if output.status != 0, output.lines.last?.hasPrefix("loss") != true {
            failures.append("images: ended with \(output.status)")
        }
        return nil
    }

    private mutating func count(_ line: Substring, _ moment: inout Int) {
        let words = line.split(separator: " ")
        switch words.first {
        case "at":
            moment = Int(words[1]) ?? moment
            images += Int(words[2]) ?? 0
        case "loss":
            failures.append(String(line))
            for loss in Loss.allCases where line.contains(": \(loss.rawValue): ") {
                losses[loss.rawValue, default: 0] += 1
            }
        default: break
        }
    }
}
