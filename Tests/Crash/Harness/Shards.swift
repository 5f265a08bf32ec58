import Foundation
import TestSupport

/// Shares numbered cases among several processes of this program. Each process prints the number of a case before it
/// starts the case: a signal that ends the process counts as a finding, and another process continues after that case.
struct Shards: Sendable {
    /// The output of one process, and how it ended.
    struct Output: Sendable {
        let from: Int
        let lines: [Substring]
        let status: Int32
        /// The signal that ended the process.
        let signal: Int32?
    }

    private let command: String
    private let words: [String]
    private let jobs: Int
    private let isQuiet: Bool

    /// - Parameter isQuiet: discards the error output of the processes.
    init(_ command: String, _ words: [String], _ arguments: Arguments, isQuiet: Bool = false) throws {
        self.command = command
        self.words = words
        self.isQuiet = isQuiet
        jobs = max(1, Int(try arguments.number("jobs", default: 2)))
    }

    /// Runs the processes and passes the output of each to `read`, which returns the case to continue with, or nil at
    /// the end. Returns the elapsed seconds.
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
