#if os(Linux)
    import Foundation
    import Testing

    extension Workbench {
        /// Whether a terminal can be had: `script` runs a program in one.
        static let hasTerminals = program("script") != nil && program("stty") != nil

        /// Runs the tool in a terminal of a size. Output and error output come as one, with LF as line ends.
        ///
        /// - Parameters:
        ///   - keys: what is typed, each as soon as a text has been printed.
        func runInTerminal(
            _ arguments: String..., columns: Int, rows: Int = 24, environment: [String: String] = [:],
            keys: [(seen: String, text: String)] = []
        ) throws -> ToolRun {
            try runInTerminal(arguments, columns: columns, rows: rows, environment: environment, keys: keys)
        }

        func runInTerminal(
            _ arguments: [String], columns: Int, rows: Int = 24, environment: [String: String] = [:],
            keys: [(seen: String, text: String)] = []
        ) throws -> ToolRun {
            let words = ([Workbench.tool.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let command = "stty -echo -onlcr cols \(columns) rows \(rows); exec \(words)"
            let process = try prepare(
                ["-qec", command, "/dev/null"], input: nil,
                environment: ["TERM": "xterm", "PAGER": "", "SHELL": "/bin/sh"].merging(environment) { $1 })
            process.executableURL = URL(fileURLWithPath: try #require(Workbench.program("script")))
            // A run of tests may be without colours itself.
            for name in ["COLUMNS", "NO_COLOR"] { process.environment?[name] = environment[name] }
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            var (bytes, keys) = (Data(), keys)
            while case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
                bytes += piece
                if let key = keys.first, bytes.range(of: Data(key.seen.utf8)) != nil {
                    try input.fileHandleForWriting.write(contentsOf: Data(key.text.utf8))
                    keys.removeFirst()
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            process.waitUntilExit()
            try input.fileHandleForWriting.close()
            return ToolRun(code: process.terminationStatus, output: ToolRun.words(text), errors: "")
        }
    }
#endif
