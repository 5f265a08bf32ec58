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
    private let say: (String) -> Void
    /// The lines that fit on the screen beside the next prompt.
    private let rows: Int
    private let terminal: OutputStream
    /// What was printed while it still fits.
    private var held: [UInt8] = []
    private var heldLines = 0
    private var process: Process?
    private var input: OutputStream?

    /// `nil` if the user wants no pager, or if there is no screen to be longer than.
    ///
    /// - Parameter say: tells that the pager cannot be run.
    init?(_ terminal: OutputStream, environment: [String: String], say: @escaping (String) -> Void) {
        guard let command = environment["PAGER"], !command.isEmpty, command != "cat", environment["TERM"] != "dumb",
            let size = terminal.size, terminal.isInForeground
        else { return nil }
        (self.command, self.say) = (command, say)
        self.terminal = terminal
        rows = size.rows - 1
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

    /// Returns `false` if the shell does not know the first word of a command. What is more than a word, such as a
    /// variable that is set, only the shell understands.
    private static func isThere(_ command: String) -> Bool {
        guard let word = command.split(whereSeparator: \.isWhitespace).first.map(String.init),
            !word.contains(where: { "=$`'\"\\|&;<>()*?[~".contains($0) })
        else { return true }
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", "command -v \"$1\" >/dev/null", "sh", word]
        guard (try? shell.run()) != nil else { return true }
        shell.waitUntilExit()
        return shell.terminationStatus == 0
    }

    /// Starts the pager, and returns its input; that of the terminal if it does not start.
    private func start() -> OutputStream {
        guard Pager.isThere(command) else {
            say("PAGER names '\(command)', which cannot be run. The table is printed without it.")
            input = terminal
            return terminal
        }
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
