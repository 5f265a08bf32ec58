import Foundation

/// Runs this program again for one contestant, so that its memory is separate, and passes on its report line by line.
enum ContestantProcess {
    enum Outcome: Equatable {
        case finished
        /// The contestant cannot run on this machine.
        case missing
        case failed
        /// A signal asked the whole run to end.
        case stopped
    }

    static func run(
        _ settings: Settings, _ contestant: ContestantName, _ interruption: Interruption,
        _ receive: (Report) throws -> Void
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = settings.arguments(for: contestant)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let folder = Session.folder(settings, contestant, process.processIdentifier)
        interruption.watch(process)
        let received = Result { try lines(of: output.fileHandleForReading, receive) }
        // End a process whose output is not readable.
        if case .failure = received { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        interruption.watch(nil)
        try? FileManager.default.removeItem(atPath: folder)
        try received.get()
        if interruption.wasAsked { return .stopped }
        if process.terminationReason == .exit, process.terminationStatus == 69 { return .missing }
        return process.terminationReason == .exit && process.terminationStatus == 0 ? .finished : .failed
    }

    private static func lines(of handle: FileHandle, _ receive: (Report) throws -> Void) throws {
        let decoder = JSONDecoder()
        var waiting = Data()
        while case let more = handle.availableData, !more.isEmpty {
            waiting += more
            while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
                try receive(decoder.decode(Report.self, from: Data(waiting[..<end])))
                waiting = Data(waiting[(end + 1)...])
            }
        }
    }

    /// Makes another process open a store, write to it and end without closing it.
    static func abandon(_ folder: String, _ settings: Settings, _ contestant: ContestantName) throws {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = settings.arguments(for: contestant) + ["--abandon", folder]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchFailure("a process could not write to the store") }
    }

    private static func executable() throws -> URL {
        if let url = Bundle.main.executableURL { return url }
        throw BenchFailure("the path of this program is not known")
    }
}
