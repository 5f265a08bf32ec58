import Foundation
import TestSupport

/// A process that works on a store and keeps a journal of its work, to be killed at some moment.
struct WorkingProcess {
    private let process = Process()
    private let journal: String

    /// - Parameter isQuiet: discards the error output of the process.
    init(_ words: [String], store: String, journal: String, isQuiet: Bool = false) throws {
        self.journal = journal
        if isQuiet { process.standardError = FileHandle.nullDevice }
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = words + ["--store", store, "--acks", journal]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    /// Waits up to `limit` microseconds after the process has opened the store; one time in five after it began to open
    /// the store, and one in five after its start. The time until these phases depends on the machine.
    func wait(upTo limit: Int, _ generator: inout SeededGenerator) {
        let phase = generator.number(0..<5)
        while process.isRunning, !hasReached(phase) { pause(microseconds: 200) }
        let end = ContinuousClock.now + .microseconds(generator.number(0..<(phase == 0 ? 15_000 : limit)))
        while process.isRunning, ContinuousClock.now < end { pause(microseconds: 200) }
    }

    private func hasReached(_ phase: Int) -> Bool {
        switch phase {
        case 0: true
        case 1: FileManager.default.fileExists(atPath: journal)
        default: history.acknowledged >= 0
        }
    }

    var isRunning: Bool { process.isRunning }

    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Waits for the process to end. Returns zero if it finished, the signal that ended it, or a negative status.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : -process.terminationStatus
    }

    /// The history in the journal.
    var history: History {
        var history = History()
        if let text = try? RawFile.bytes(of: journal) { history.read(String(decoding: text, as: UTF8.self)) }
        return history
    }
}
