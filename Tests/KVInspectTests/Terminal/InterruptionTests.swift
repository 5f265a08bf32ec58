#if os(Linux)
    import Foundation
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
