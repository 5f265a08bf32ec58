#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
#if canImport(Foundation)
    // The small Foundation starts no processes.
    import Foundation
#endif

/// Runs work in a child process. If a file is truncated while the child maps it, the system ends the child, and the
/// parent reports that.
enum WatchedProcess {
    enum Outcome: Equatable {
        case ended(ExitCode)
        /// The system ended it for what it read or did.
        case crashed
        /// Somebody ended it by this signal.
        case stopped(Int32)
    }

    private static let marker = "KVINSPECT_WATCHED"
    /// What a mapped file causes that changes under its reader. Other signals are faults of the tool.
    private static let crashes = [SIGBUS, SIGSEGV]

    /// Whether this process is the one that is watched.
    static let isThis = ProcessInfo.processInfo.environment[marker] != nil

    /// Takes the watched process into the group of the watching one, so that a terminal treats both alike.
    static func join() { if isThis { _ = setpgid(0, getpgid(getppid())) } }

    /// Runs the tool once more with the words that it was started with; `nil` in the watched process, and where that is
    /// not possible.
    static func run() throws -> Outcome? {
        if isThis { return nil }
        return try run(executable, Array(CommandLine.arguments.dropFirst()))
    }

    private static var executable: String? {
        #if os(Linux)
            "/proc/self/exe"
        #else
            Bundle.main.executablePath
        #endif
    }

    /// Runs a program until it ends. Input, output and error output are those of this process.
    static func run(_ executable: String?, _ words: [String]) throws -> Outcome? {
        #if os(Linux) || os(macOS)
            guard let executable else { return nil }
            try Interruption.check()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: executable)
            process.arguments = words
            // What the system says of a crash would show what was read.
            process.environment = ProcessInfo.processInfo.environment.merging(
                [marker: "1", "SWIFT_BACKTRACE": "enable=no"]
            ) { $1 }
            guard (try? process.run()) != nil else { return nil }
            Interruption.pass(to: process.processIdentifier)
            process.waitUntilExit()
            Interruption.pass(to: nil)
            let status = process.terminationStatus
            if process.terminationReason == .exit { return .ended(ExitCode(rawValue: status)) }
            return crashes.contains(status) ? .crashed : .stopped(status)
        #else
            return nil
        #endif
    }
}
