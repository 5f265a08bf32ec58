#if os(Linux)
    import Foundation
    import LMDB
    import Testing

    @testable import kvinspect

    /// Ctrl-C stops every long verb, and no partial result remains.
    @Suite("Ctrl-C")
    struct InterruptionTests {
        let bench: Workbench

        init() throws {
            bench = try Workbench()
            try bench.load("S", Fixture.lines)
        }

        @Test(
            "Ctrl-C while reading exits with code 1 and the reason",
            arguments: [["check", "S"], ["stats", "S", "--type", "stepCount"], ["hash", "S"], ["dump", "S"]])
        func reading(words: [String]) throws {
            let run = try bench.interrupted(words + ["--progress", "json"])
            #expect(run.code == 1 && run.errors.hasSuffix("Error: Interrupted.\n"), "\(run.code) \(run.errors)")
        }

        @Test("Ctrl-C stops a load that waits for input from a pipe")
        func loading() throws {
            #expect(unsafe mkfifo(bench.path("pipe"), 0o600) == 0)
            let run = try bench.interrupted(["load", "N", "pipe"])
            #expect(run.code == 1 && run.errors.hasSuffix("Error: Interrupted.\n"), "\(run.code) \(run.errors)")
            #expect(!bench.exists("N"))
        }

        @Test("Ctrl-C stops an import that waits for input from a pipe")
        func importing() throws {
            #expect(unsafe mkfifo(bench.path("export"), 0o600) == 0)
            let process = try bench.prepare(["import", "N", "export"], input: nil)
            process.standardError = FileHandle.nullDevice
            try bench.withSignalsLetThrough { try process.run() }
            defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
            // Opened for both, it does not wait for a reader.
            let writer = try FileHandle(forUpdating: URL(fileURLWithPath: bench.path("export")))
            try writer.write(contentsOf: Data("<?xml version=\"1.0\"?><HealthData>".utf8))
            try bench.waitForHandler(of: SIGINT, in: process)
            // Time to read what is there, and to wait for more.
            usleep(300_000)
            kill(process.processIdentifier, SIGINT)
            for _ in 0..<2_400 where process.isRunning { usleep(50_000) }
            try #require(!process.isRunning, "it goes on")
            #expect(process.terminationStatus == 1)
            #expect(!bench.exists("N"))
            try writer.close()
        }

        @Test("The end of a terminal's connection counts as Ctrl-C", arguments: [SIGHUP, SIGTERM])
        func hangUp(signal: Int32) throws {
            if ProcessSignals.isIgnored(signal) { return }
            let run = try bench.interrupted(["report", "S", "-o", "page.html", "--progress", "json"], by: signal)
            #expect(run.code == 1 && run.errors.hasSuffix("Error: Interrupted.\n"), "\(run.code) \(run.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter(isPage).isEmpty)
        }

        @Test("A file that is cut while it is read ends a verb with code 2, and tells nothing of the memory")
        func cut() throws {
            let process = try bench.prepare(["watch", "S", "--interval", "0.2", "--count", "200"], input: nil)
            let (looks, errors) = (Pipe(), Pipe())
            (process.standardOutput, process.standardError) = (looks, errors)
            try process.run()
            // The store is open once something of it is printed.
            try #require(!looks.fileHandleForReading.availableData.isEmpty)
            #expect(unsafe truncate(bench.path("S/data.mdb"), 8_192) == 0)
            let said = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 2)
            #expect(said.contains("Run 'kvinspect check'") && !said.contains("crashed"), "\(said)")
        }

        @Test("An interrupted report leaves no file, and the file that it would have replaced")
        func reporting() throws {
            let before = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter(isPage)
            for words in [[], ["--force"]] {
                let run = try bench.interrupted(["report", "S", "-o", "page.html", "--progress", "json"] + words)
                #expect(run.code == 1 && run.errors.hasSuffix("Error: Interrupted.\n"), "\(run.code) \(run.errors)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter(isPage) == before)
            try Data("old".utf8).write(to: bench.folder.appendingPathComponent("page.html"))
            _ = try bench.interrupted(["report", "S", "-o", "page.html", "--force"])
            #expect(try String(contentsOfFile: bench.path("page.html"), encoding: .utf8) == "old")
        }

        private func isPage(_ name: String) -> Bool { name.contains("page") }

        @Test("An interrupted copy leaves nothing", arguments: ["backup", "compact"])
        func copying(verb: String) throws {
            let before = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter {
                $0.hasPrefix("D")
            }
            let run = try bench.interrupted([verb, "S", "D"])
            #expect(run.code == 1 && run.errors.hasSuffix("Error: Interrupted.\n"), "\(run.code) \(run.errors)")
            let after = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter {
                $0.hasPrefix("D")
            }
            #expect(before == after)
            #expect(try bench.run(verb, "S", "D").code == 0)
        }
    }
#endif
