#if os(Linux)
    import Foundation
    import Testing

    extension Workbench {
        /// Runs the tool with Ctrl-C pressed before its work begins.
        func interrupted(_ arguments: [String]) throws -> ToolRun {
            try heldBack(arguments) { process in
                try withSignalsLetThrough { try process.run() }
                try waitForHandler(of: process)
                kill(process.processIdentifier, SIGINT)
            }
        }

        /// Runs the tool, and ends the process that works for it as the system does where a file under a map is cut.
        func crashed(_ arguments: [String]) throws -> ToolRun {
            try heldBack(arguments) { process in
                try process.run()
                kill(try worker(of: process), SIGBUS)
            }
        }

        /// Runs the tool so that its first message waits for room in a pipe until `body`, which starts it, has ended.
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

        /// Waits until the tool has a child that runs as it does, which waits for room in the pipe.
        private func worker(of process: Process) throws -> Int32 {
            for _ in 0..<5_000 {
                for id in try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap({ Int32($0) }) {
                    // The name in brackets may hold anything; behind it stand the state and the parent.
                    let status = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
                    let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
                    if fields.count > 2, Int32(fields[1]) == process.processIdentifier { return id }
                }
                usleep(1_000)
            }
            return try #require(nil as Int32?, "no process works for the tool")
        }

        /// Fills a pipe, and answers with how many bytes.
        private func block(_ pipe: Pipe) throws -> Int {
            let size = Int(fcntl(pipe.fileHandleForWriting.fileDescriptor, 1032))
            try #require(size > 0)
            try pipe.fileHandleForWriting.write(contentsOf: Data(repeating: 0x2E, count: size))
            return size
        }

        /// A process inherits what the thread that starts it blocks, and threads of a pool block signals.
        private func withSignalsLetThrough(_ body: () throws -> Void) throws {
            var none = sigset_t()
            var before = sigset_t()
            unsafe sigemptyset(&none)
            unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
            defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
            try body()
        }

        /// Waits until the process catches the interrupt.
        private func waitForHandler(of process: Process) throws {
            for _ in 0..<5_000 {
                let status =
                    (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
                let caught = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t")
                    .last
                if let caught, let mask = UInt64(caught, radix: 16), mask & 1 << UInt64(SIGTERM - 1) != 0 { return }
                usleep(1_000)
            }
            Issue.record("the tool never caught signals")
        }
    }
#endif
