import Foundation
import TestSupport

/// Lets several processes of this program share numbered cases, each beginning with the number of the case: a signal
/// that ends one is a finding like any other, and another process goes on behind that case.
struct Shards: Sendable {
    /// What one process said, and how it ended.
    struct Output: Sendable {
        let from: Int
        let lines: [Substring]
        let status: Int32
        /// The signal that ended it.
        let signal: Int32?
    }

    private let command: String
    private let words: [String]
    private let jobs: Int
    private let isQuiet: Bool

    /// - Parameter isQuiet: leaves out what the processes complain about.
    init(_ command: String, _ words: [String], _ arguments: Arguments, isQuiet: Bool = false) throws {
        self.command = command
        self.words = words
        self.isQuiet = isQuiet
        jobs = max(1, Int(try arguments.number("jobs", default: 2)))
    }

    /// Runs the processes, and hands over what each said. The answer is the case to go on with, or nil when all is
    /// done. Answers how many seconds it took.
    func run(_ read: @escaping @Sendable (Output) -> Int?) -> Double {
        let group = DispatchGroup()
        let began = ContinuousClock.now
        for shard in 0..<jobs {
            group.enter()
            Thread { [self] in
                var from = 0
                while let next = read(output(shard, from: from)) { from = next }
                group.leave()
            }.start()
        }
        group.wait()
        return max((ContinuousClock.now - began) / .seconds(1), 0.001)
    }

    private func output(_ shard: Int, from: Int) -> Output {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [command] + words + ["--shard", "\(shard)", "--shards", "\(jobs)", "--from", "\(from)"]
        process.standardOutput = pipe
        if isQuiet { process.standardError = FileHandle.nullDevice }
        do { try process.run() } catch {
            complain("\(command): \(error)")
            return Output(from: from, lines: [], status: -1, signal: nil)
        }
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let isSignal = process.terminationReason == .uncaughtSignal
        return Output(
            from: from, lines: text.split(separator: "\n"), status: process.terminationStatus,
            signal: isSignal ? process.terminationStatus : nil)
    }
}
