import Foundation
import TestSupport

/// A process that works on a store and tells in a journal what it did, to be ended at some moment.
struct WorkingProcess {
    private let process = Process()
    private let journal: String

    /// - Parameter isQuiet: leaves out what the process complains about.
    init(_ words: [String], store: String, journal: String, isQuiet: Bool = false) throws {
        self.journal = journal
        if isQuiet { process.standardError = FileHandle.nullDevice }
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = words + ["--store", store, "--acks", journal]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    /// Waits up to `limit` microseconds after the process began to open the store, one time in five while it does.
    func wait(upTo limit: Int, _ generator: inout SeededGenerator) {
        let isEarly = generator.chance(percent: 20)
        while !isEarly, process.isRunning, !FileManager.default.fileExists(atPath: journal) {
            pause(microseconds: 200)
        }
        let end = ContinuousClock.now + .microseconds(generator.number(0..<(isEarly ? 15_000 : limit)))
        while process.isRunning, ContinuousClock.now < end { pause(microseconds: 200) }
    }

    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Waits for the end. Answers how the process ended: zero when it finished, the signal, or a negative status.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : -process.terminationStatus
    }

    /// What the journal says.
    var history: History {
        var history = History()
        if let text = try? RawFile.bytes(of: journal) { history.read(String(decoding: text, as: UTF8.self)) }
        return history
    }
}
