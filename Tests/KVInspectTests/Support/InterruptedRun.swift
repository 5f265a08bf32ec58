#if os(Linux)
    import Foundation
    import Testing

    extension Workbench {
        /// Runs the tool and interrupts it as Ctrl-C does, before its work begins.
        func interrupted(_ arguments: [String], by signal: Int32 = SIGINT) throws -> ToolRun {
            try heldBack(arguments) { process in
                try withSignalsLetThrough { try process.run() }
                try waitForHandler(of: signal, in: process)
                kill(process.processIdentifier, signal)
            }
        }

        /// Runs the tool, and kills its worker process with the signal that the system sends when a mapped file is
        /// truncated.
        func crashed(_ arguments: [String]) throws -> ToolRun {
            try heldBack(arguments) { process in
                try process.run()
                kill(try worker(of: process), SIGBUS)
            }
        }

        /// Runs the tool with a full pipe as its error output, so that its first message blocks. `body` starts the
        /// process.
        private func heldBack(_ arguments: [String], _ body: (Process) throws -> Void) throws -> ToolRun {
            let process = try prepare(arguments, input: nil)
            let errors = Pipe()
            let output = folder.appendingPathComponent("output-\(UUID().uuidString)")
            try Data().write(to: output)
            process.standardOutput = try FileHandle(forUpdating: output)
            process.standardError = errors
            let fill = try block(errors)
            try body(process)
            try errors.fileHandleForWriting.close()
            let said = try errors.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return ToolRun(
                code: process.terminationStatus, output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
                errors: String(decoding: said.dropFirst(fill), as: UTF8.self))
        }

        /// Waits until the tool has a child process, and returns its id.
        private func worker(of process: Process) throws -> Int32 {
            for _ in 0..<120_000 where process.isRunning {
                for id in try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap({ Int32($0) }) {
                    // The name in parentheses may contain any character; state and parent follow it.
                    let status = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
                    let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
                    if fields.count > 2, Int32(fields[1]) == process.processIdentifier { return id }
                }
                usleep(1_000)
            }
            return try #require(nil as Int32?, "no process works for the tool")
        }

        /// Fills a pipe, and returns the number of bytes.
        private func block(_ pipe: Pipe) throws -> Int {
            let size = Int(fcntl(pipe.fileHandleForWriting.fileDescriptor, 1032))
            try #require(size > 0)
            try pipe.fileHandleForWriting.write(contentsOf: Data(repeating: 0x2E, count: size))
            return size
        }

        /// Unblocks all signals during `body`. A process inherits the blocked signals of the thread that starts it, and
        /// threads of a pool block signals.
        func withSignalsLetThrough(_ body: () throws -> Void) throws {
            var none = sigset_t()
            var before = sigset_t()
            unsafe sigemptyset(&none)
            unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
            defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
            try body()
        }

        /// Waits until the process has installed its signal handler.
        func waitForHandler(of signal: Int32, in process: Process) throws {
            for _ in 0..<120_000 where process.isRunning {
                let status =
                    (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
                let caught = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t")
                    .last
                if let caught, let mask = UInt64(caught, radix: 16), mask & 1 << UInt64(signal - 1) != 0 { return }
                usleep(1_000)
            }
            Issue.record("the tool never caught signals")
        }
    }
#endif
