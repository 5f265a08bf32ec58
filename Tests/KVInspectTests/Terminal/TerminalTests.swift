#if os(Linux)
    import Foundation
    import HealthKV
    import Testing

    @testable import kvinspect

    @Suite("On a terminal", .enabled(if: Workbench.hasTerminals, "script and stty are not installed"))
    struct TerminalTests {
        let bench: Workbench

        init() throws {
            bench = try Workbench()
            try bench.load("S", Fixture.lines)
        }

        private func plain(_ output: String) -> [String] {
            output.split(separator: "\n").map {
                String($0.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: ""))
            }
        }

        /// Stores many samples, so that a table is longer than a screen.
        private func loadMany() throws {
            try bench.load(
                "S",
                (0..<100).map {
                    #"{"type":"heartRate","start":"2024-01-01T00:00:\#(String(format: "%02d.%03d", $0 / 2, $0))Z","value":60,"#
                        + #""unit":"count/min","source":"Watch"}"#
                }.joined(separator: "\n"))
        }

        @Test("A table fits: long texts end in an ellipsis, and numbers stay whole", arguments: [60, 80, 132])
        func width(columns: Int) throws {
            for words in [["types", "S"], ["sources", "S"], ["scan", "S", "--type", "bodyMass"], ["info", "S"]] {
                let run =
                    words.count == 2
                    ? try bench.runInTerminal(words[0], words[1], columns: columns)
                    : try bench.runInTerminal(words[0], words[1], words[2], words[3], columns: columns)
                #expect(run.code == 0)
                let table = plain(run.output).filter { !$0.hasPrefix("token") }
                #expect(table.allSatisfy { CellText.width(of: $0) <= columns }, "\(words): \(run.output)")
            }
            let scan = try bench.runInTerminal("scan", "S", "--type", "bodyMass", columns: columns).output
            #expect(scan.contains("72.4") && scan.contains("…") == (columns < 100), "\(scan)")
            let types = try bench.runInTerminal("types", "S", columns: columns).output
            #expect(columns < 80 || types.contains("bodyMass") && types.contains("stepCount"), "\(types)")
        }

        @Test("On a terminal of 80 columns the day of a time is whole") func days() throws {
            for words in [["scan", "S", "--type", "stepCount", "--tz", "UTC"], ["types", "S"]] {
                let whole = try bench.run(words + ["--format", "csv"], input: nil).output
                let days = Set(whole.matches(of: /2024-\d\d-\d\d/).map { String($0.output) })
                let run = try bench.runInTerminal(words, columns: 80)
                #expect(!days.isEmpty && days.allSatisfy { run.output.contains($0) }, "\(words) \(days): \(run.output)")
            }
        }

        @Test("A line that replaces itself is narrower than the terminal, however narrow that is")
        func narrowBar() {
            for columns in [1, 20, 100] {
                #expect(Console(environment: ["COLUMNS": "\(columns)"]).barWidth == max(1, columns - 1))
            }
        }

        @Test("The heading is bold, unless NO_COLOR is set or the terminal is dumb")
        func style() throws {
            #expect(try bench.runInTerminal("types", "S", columns: 80).output.contains("\u{1B}[1m"))
            for plain in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
                #expect(
                    try !bench.runInTerminal("types", "S", columns: 80, environment: plain).output.contains("\u{1B}"))
            }
        }

        @Test("A table longer than the screen goes to PAGER, with its words, and messages follow it")
        func pager() throws {
            try loadMany()
            func lines(_ pager: String?, rows: Int, _ limit: String = "100") throws -> [String] {
                let run = try bench.runInTerminal(
                    "scan", "S", "--type", "heartRate", "--limit", limit, columns: 100, rows: rows,
                    environment: ["PAGER": pager ?? ""])
                #expect(run.code == 0, "\(run.output)")
                return plain(run.output)
            }
            let paged = try lines("sed s/^/paged:/", rows: 20)
            #expect(paged.count == 101 && paged.allSatisfy { $0.hasPrefix("paged:") }, "\(paged.prefix(3))")
            #expect(try lines("sed s/^/paged:/", rows: 20, "18").allSatisfy { !$0.hasPrefix("paged:") })
            #expect(try lines("cat", rows: 20).count == 101)
            #expect(try lines(nil, rows: 20).count == 101)
            // The reader leaves early.
            #expect(try lines("head -n 2", rows: 20).count == 2)
        }

        @Test("A pager that cannot be run is named, and the table is printed without it")
        func wrongPager() throws {
            try loadMany()
            for pager in ["no-such-pager", "/no/such/pager -R"] {
                let run = try bench.runInTerminal(
                    "scan", "S", "--type", "heartRate", columns: 100, rows: 10, environment: ["PAGER": pager])
                #expect(run.code == 0 && run.output.contains("PAGER names '\(pager)', which cannot be run"))
                #expect(plain(run.output).count { $0.contains("count/min") } == 100, "\(run.output)")
            }
            // What only the shell understands is found out too late for that.
            let run = try bench.runInTerminal(
                "scan", "S", "--type", "heartRate", columns: 100, rows: 10,
                environment: ["PAGER": "LESS= no-such-pager"])
            #expect(run.code == 1 && run.output.contains("PAGER names 'LESS= no-such-pager', which cannot be run"))
        }

        @Test(
            "less shows the table, reads keys and gives the terminal back",
            .enabled(if: Workbench.program("less") != nil, "less is not installed"))
        func less() throws {
            try loadMany()
            let run = try bench.runInTerminal(
                "scan", "S", "--type", "heartRate", columns: 100, rows: 10, environment: ["PAGER": "less"],
                keys: [("count/min", " "), ("count/min", "q")])
            #expect(run.code == 0 && run.output.contains("count/min"), "\(run.output)")
        }

        @Test("Nothing is cut or paged where the output is no terminal")
        func elsewhere() throws {
            try loadMany()
            let run = try bench.run(
                "scan", "S", "--type", "heartRate", "--format", "table",
                environment: ["PAGER": "sed s/^/paged:/", "COLUMNS": "40"])
            #expect(run.code == 0 && !run.output.contains("…") && !run.output.contains("paged:"))
        }

        @Test("watch draws one view over the other, and Ctrl-C ends it with 0")
        func watch() throws {
            let run = try bench.runInTerminal(
                "watch", "S", "--interval", "0.1", columns: 70, rows: 30, keys: [("look 3", "\u{3}")])
            #expect(run.code == 0)
            #expect(run.output.contains("look 1") && run.output.contains("look 3"), "\(run.output)")
            #expect(run.output.contains("\u{1B}[8A") && run.output.hasSuffix("\u{1B}[J"), "the cursor stands below it")
            let dumb = try bench.runInTerminal(
                "watch", "S", "--interval", "0.1", "--count", "2", columns: 70, environment: ["TERM": "dumb"])
            #expect(!dumb.output.contains("\u{1B}"))
        }
    }
#endif
