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
    private let processors: [Int]

    /// - Parameters:
    ///   - isQuiet: discards the error output of the processes.
    ///   - isPinned: keeps each process on one processor, if the system can. In a process of which one thread works at
    ///     a time, waking a thread of another processor takes longer than most calls.
    init(
        _ command: String, _ words: [String], _ arguments: Arguments, isQuiet: Bool = false, isPinned: Bool = false
    ) throws {
        processors = isPinned && FileManager.default.isExecutableFile(atPath: Shards.pinner) ? Shards.allowed() : []
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
        let program = CommandLine.arguments[0]
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [command] + words + ["--shard", "\(shard)", "--shards", "\(jobs)", "--from", "\(from)"]
        if !processors.isEmpty {
            process.executableURL = URL(fileURLWithPath: Shards.pinner)
            process.arguments = ["-c", "\(processors[shard % processors.count])", program] + process.arguments!
        }
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

    private static let pinner = "/usr/bin/taskset"

    /// The processors that this process may use, from a list such as `0-3,6`; none where the system gives no list.
    private static func allowed() -> [Int] {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") }) else {
            return []
        }
        return line.dropFirst("Cpus_allowed_list:".count).split(separator: ",").flatMap { part -> [Int] in
            let ends = part.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
    }
}

/// Prints without buffering, so that a signal loses no line.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
