#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
#if canImport(Foundation)
    // The small Foundation starts no processes.
    import Foundation
#endif

/// Shows a table that is longer than the screen with the program that the variable PAGER names.
final class Pager {
    private let command: String
    /// The lines that fit on the screen beside the next prompt.
    private let rows: Int
    private let terminal: OutputStream
    /// What was printed while it still fits.
    private var held: [UInt8] = []
    private var heldLines = 0
    private var process: Process?
    private var input: OutputStream?

    /// `nil` if the user wants no pager, if it cannot be run, or if there is no screen to be longer than.
    init?(_ terminal: OutputStream, environment: [String: String], say: (String) -> Void) {
        guard let command = environment["PAGER"], !command.isEmpty, command != "cat", environment["TERM"] != "dumb",
            let size = terminal.size, terminal.isInForeground
        else { return nil }
        guard Pager.isThere(command, path: environment["PATH"] ?? "") else {
            say("PAGER names '\(command)', which cannot be run. The table is printed without it.")
            return nil
        }
        self.command = command
        self.terminal = terminal
        rows = size.rows - 1
    }

    /// Returns `false` if a command of a shell begins with a program that does not exist. Of a command that is more
    /// than a program with its arguments nobody but the shell knows.
    private static func isThere(_ command: String, path: String) -> Bool {
        guard let program = command.split(separator: " ").first.map(String.init),
            !program.contains(where: { "=$`'\"\\|&;<>()*?[~".contains($0) })
        else { return true }
        if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) }
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }

    var isRunning: Bool { process != nil }

    /// Takes a part of the table. `atStart` is called before the pager takes the screen.
    func send(_ bytes: [UInt8], atStart: () -> Void) throws {
        if let input { return try pass(bytes, to: input) }
        held += bytes
        heldLines += bytes.count { $0 == 0x0A }
        if heldLines > rows {
            atStart()
            let input = start()
            let bytes = held
            held = []
            try pass(bytes, to: input)
        }
    }

    /// Passes a part of the table on. A pager that reads no more has been left by its reader, or could not be run.
    private func pass(_ bytes: [UInt8], to input: OutputStream) throws {
        do {
            try input.send(bytes)
        } catch let error as OutputClosed {
            try end()
            throw error
        }
    }

    /// The table has ended: shows what fits, or waits until the reader has left the pager.
    func finish() throws {
        guard process != nil else {
            let bytes = held
            held = []
            return try terminal.send(bytes)
        }
        do { try input?.close() } catch is OutputClosed {}
        try end()
    }

    /// Waits until the pager has ended, and takes the terminal back.
    private func end() throws {
        guard let process else { return }
        process.waitUntilExit()
        terminal.bringToForeground(getpgrp())
        // A shell that does not find a program, or may not run it, ends with these codes.
        if process.terminationReason == .exit, [126, 127].contains(process.terminationStatus) {
            throw Failure("PAGER names '\(command)', which cannot be run. Unset it, or name another program.")
        }
    }

    /// Starts the pager, and returns its input; that of the terminal if it does not start.
    private func start() -> OutputStream {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        // As git has it: less shows bold headings, and leaves the rest to the user.
        process.environment = ["LESS": "R"].merging(ProcessInfo.processInfo.environment) { $1 }
        process.standardInput = pipe
        // A process that is not in the foreground is stopped when it takes the terminal back.
        _ = signal(SIGTTOU, SIG_IGN)
        let (terminal, own) = (terminal, getpgrp())
        // The reader may leave while the table is still made, and Ctrl-C must then reach this process.
        process.terminationHandler = { _ in terminal.bringToForeground(own) }
        guard (try? process.run()) != nil else {
            input = terminal
            return terminal
        }
        self.process = process
        // Its group is its own, and only the one in the foreground may read keys. It may have been stopped before that.
        Pager.continue(process.processIdentifier, on: terminal)
        #if os(Linux)
            let pager = process.processIdentifier
            // A thread of its own, because the one that makes the table may wait until the pager reads.
            Thread.detachNewThread { Pager.followStops(of: pager, on: terminal) }
        #endif
        let input = OutputStream(handle: pipe.fileHandleForWriting)
        self.input = input
        return input
    }

    /// Gives the keys to the pager's group, and continues it.
    private static func `continue`(_ pager: Int32, on terminal: OutputStream) {
        terminal.bringToForeground(pager)
        kill(-pager, SIGCONT)
    }

    #if os(Linux)
        /// Stops this process, too, when Ctrl-Z has stopped the pager, and continues the pager when the shell continues
        /// this process. Otherwise the shell would wait for both. Returns when the pager has ended.
        private static func followStops(of pager: Int32, on terminal: OutputStream) {
            while let status = try? String(contentsOfFile: "/proc/\(pager)/stat", encoding: .utf8) {
                // The name in parentheses may contain any character; the state follows it.
                if status.split(separator: ")").last?.hasPrefix(" T") ?? false {
                    terminal.bringToForeground(getpgrp())
                    kill(0, SIGSTOP)
                    // The stop reaches another thread first, and this one within the pause, whose rest follows it.
                    usleep(100_000)
                    Pager.continue(pager, on: terminal)
                }
                usleep(50_000)
            }
        }
    #endif
}
