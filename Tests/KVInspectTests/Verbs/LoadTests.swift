import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("load")
struct LoadTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private let step = #"{"type":"stepCount","start":"2024-05-31","value":12,"unit":"count"}"#

    private func samples(_ store: String) throws -> Int? {
        try bench.run("info", store, "--format", "json").json()["samples"] as? Int
    }

    @Test("Four fields suffice, blank lines are skipped, and the last line needs no line break")
    func handWritten() throws {
        let run = try bench.run("load", "S", "--format", "json", input: "\(step)\n\n  \r\n\(step)\r\n\(step)")
        let report = try run.json()
        #expect(report["inserted"] as? Int == 3 && report["bad"] as? Int == 0)
        #expect(run.errors.hasPrefix("Making the store in S.\n"))
        let store = try SampleStore.open(at: bench.path("S"))
        let stored = try store.read { try $0.samples(of: .stepCount) }
        #expect(stored.count == 3 && Set(stored.map(\.id)).count == 3)
        #expect(stored.allSatisfy { $0.quantity == Quantity(12, .count) && $0.end == $0.start })
        try store.close()
        try bench.expectClean("S")
    }

    @Test("Dates without a zone are local, and --tz chooses the zone")
    func zone() throws {
        try bench.load("A", step)
        #expect(try bench.run("load", "B", "--tz", "Asia/Kathmandu", input: step).code == 0)
        func start(_ store: String) throws -> String? {
            let lines = try bench.run("scan", store, "--type", "stepCount", "--tz", "UTC", "--format", "jsonl").lines()
            return lines.first?["start"] as? String
        }
        #expect(try start("A") == "2024-05-31T00:00:00Z")
        #expect(try start("B") == "2024-05-30T18:15:00Z")
    }

    @Test("A file is read by its name, and - means the input")
    func file() throws {
        try Data(step.utf8).write(to: bench.folder.appendingPathComponent("lines"))
        #expect(try bench.run("load", "S", "lines").code == 0)
        #expect(try bench.run("load", "S", "-", input: step).code == 0)
        #expect(try samples("S") == 2)
        let missing = try bench.run("load", "S", "no-such-file")
        #expect(missing.code == 1 && missing.errors.contains("no-such-file"))
        try bench.expectClean("S")
    }

    @Test("A bad line stops the load with its number, and nothing of its batch is stored")
    func badLine() throws {
        let run = try bench.run("load", "S", input: "\(step)\n\(step)\n{\"type\":\"stepCount\"}\n\(step)\n")
        #expect(run.code == 1)
        #expect(run.errors.contains("Line 3: missing: start, value, unit."), "\(run.errors)")
        #expect(!bench.exists("S"), "a store that was made for nothing is gone again")
        try bench.load("S", step)
        #expect(try bench.run("load", "S", input: "\(step)\nnonsense\n").code == 1)
        #expect(try samples("S") == 1)
        try bench.expectClean("S")
    }

    @Test("An existing folder is kept with its content if nothing could be loaded")
    func foreignFolder() throws {
        let folder = bench.folder.appendingPathComponent("F")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #expect(try bench.run("load", "F", input: "nonsense").code == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        try Data([1]).write(to: folder.appendingPathComponent("note"))
        #expect(try bench.run("load", "F", input: "nonsense").code == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["note"])
    }

    @Test("A byte order mark is accepted at the beginning of the input only")
    func byteOrderMark() throws {
        try bench.load("S", "\u{FEFF}\(step)\n\(step)")
        #expect(try samples("S") == 2)
        #expect(try bench.run("load", "S", input: "\(step)\n\u{FEFF}\(step)").code == 1)
    }

    @Test("No message ends in two full stops")
    func fullStops() throws {
        let early = step.replacingOccurrences(of: "2024", with: "1604")
        let backwards = step.replacingOccurrences(of: "\"value\"", with: "\"end\":\"2024-05-30\",\"value\"")
        let wrongUnit = step.replacingOccurrences(of: "\"count\"", with: "\"kg\"")
        for line in ["nonsense", early, backwards, wrongUnit] {
            for skips in [[], ["--skip-bad"]] {
                let run = try bench.run(["load", "D"] + skips, input: Data(line.utf8))
                #expect(!run.errors.contains(".."), "\(run.errors)")
            }
        }
        for arguments in [
            ["load", "D", "no-such-file"], ["scan", "D", "--type", "a", "--limit", "-5"], ["info", "none"],
        ] {
            let run = try bench.run(arguments, input: nil)
            #expect(run.code != 0 && !run.errors.contains(".."), "\(run.errors)")
        }
    }

    @Test("Batches before the one with the bad line are kept")
    func earlierBatches() throws {
        let lines = (0..<Loader.batchRows).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0))Z","value":1,"unit":"count"}"#
        }
        let run = try bench.run("load", "S", input: lines.joined(separator: "\n") + "\n\(step)\nnonsense\n")
        #expect(run.code == 1)
        #expect(run.errors.contains("Line \(Loader.batchRows + 2): "), "\(run.errors)")
        #expect(try samples("S") == Loader.batchRows)
        #expect(run.errors.contains("go on with --from-line \(Loader.batchRows + 1);"), "\(run.errors)")
        let mended = Data((lines + [step, step, step]).joined(separator: "\n").utf8)
        let rest = try bench.run(["load", "S", "--from-line", "\(Loader.batchRows + 1)"], input: mended)
        #expect(rest.code == 0 && rest.errors.hasPrefix("Loading into"))
        #expect(try samples("S") == Loader.batchRows + 3)
        try bench.expectClean("S")
    }

    @Test("A batch ends at a limit of bytes too, and after an error the load names the line to continue from")
    func longLines() throws {
        let long = step.replacingOccurrences(
            of: "}", with: #","metadata":{"text":"\#(String(repeating: "x", count: 990))"}}"#)
        let file = bench.folder.appendingPathComponent("lines")
        try Data((Array(repeating: long, count: 10) + ["nonsense", step]).joined(separator: "\n").utf8).write(to: file)
        let store = try SampleStore.open(at: bench.path("S"))
        let arguments = try ArgumentParser.parse(["S"], for: LoadVerb.description)
        let progress = Progress(arguments, Console(environment: [:]), unit: "bytes")
        func loader(from line: Int) throws -> Loader {
            Loader(store: store, input: try InputPieces(file.path), zone: .utc, firstLine: line, batchBytes: 4_000)
        }
        var first = try loader(from: 1)
        #expect(throws: Failure.self) { try first.loadAll(skipBad: false, progress) }
        #expect(first.nextLine == 9)
        var second = try loader(from: 9)
        #expect(throws: Failure.self) { try second.loadAll(skipBad: false, progress) }
        #expect(second.nextLine == nil)
        var third = try loader(from: 9)
        #expect(try third.loadAll(skipBad: true, progress).inserted == 3)
        #expect(try store.read { try $0.count() } == 11)
        try store.close()
    }

    @Test("--skip-bad continues, names the bad lines and counts them")
    func skipBad() throws {
        // A load without bad lines is not partial.
        #expect(try bench.run("load", "A", "--skip-bad", input: step).code == 0)
        let wrongUnit = #"{"type":"stepCount","start":"2024-05-31","value":12.375,"unit":"kg"}"#
        let run = try bench.run(
            "load", "S", "--skip-bad", "--format", "json", input: "\(step)\nnonsense\n\(step)\n\(wrongUnit)\n\(step)")
        #expect(run.code == 5)
        let report = try run.json()
        #expect(report["inserted"] as? Int == 3 && report["bad"] as? Int == 2 && report["lines"] as? Int == 5)
        #expect(run.errors.contains("Line 2 was left out: ") && run.errors.contains("Line 4 was left out: "))
        #expect(!run.errors.contains("12.375"))
        #expect(try samples("S") == 3)
        try bench.expectClean("S")
    }

    @Test("--skip-bad that left something out ends with 5, also if the reader of the output is gone")
    func skipBadWithoutReader() throws {
        try Data("\(step)\nnonsense\n".utf8).write(to: bench.folder.appendingPathComponent("lines"))
        #expect(try bench.codeOfClosedOutput(["load", "S", "lines", "--skip-bad"]) == 5)
        #expect(try samples("S") == 1)
        try Data("\(step)\n".utf8).write(to: bench.folder.appendingPathComponent("lines"))
        #expect(try bench.codeOfClosedOutput(["load", "T", "lines", "--skip-bad"]) == 0)
    }

    @Test("A value that is not finite in the unit of its type is a bad line, alone and among lines of its shape")
    func notFinite() throws {
        func line(_ value: String, _ day: Int) -> String {
            #"{"type":"distanceWalkingRunning","start":"2024-05-\#(10 + day)","value":\#(value),"unit":"km"}"#
        }
        let lines = (0..<9).map { line($0 == 4 || $0 == 7 ? "1e308" : "1.5", $0) }.joined(separator: "\n")
        let refused = try bench.run("load", "A", input: lines)
        #expect(refused.code == 1 && refused.errors.contains("ine 5"), "\(refused.errors)")
        let run = try bench.run("load", "S", "--skip-bad", "--format", "json", input: lines)
        let report = try run.json()
        #expect(run.code == 5 && report["inserted"] as? Int == 7 && report["bad"] as? Int == 2)
        #expect(run.errors.contains("Line 5 was left out: ") && run.errors.contains("Line 8 was left out: "))
        #expect(!run.errors.contains("1e308"))
    }

    @Test("Lines are counted from one") func lineZero() throws {
        let run = try bench.run("load", "S", "--from-line", "0", input: step)
        #expect(run.code == 64 && run.errors.contains("counted from 1"), "\(run.errors)")
    }

    @Test("An input that ends before the first wanted line says that nothing is loaded") func beyondEnd() throws {
        let run = try bench.run("load", "S", "--from-line", "9", input: step)
        #expect(run.code == 0 && run.errors.contains("ends with line 1, before the one that --from-line names"))
        let whole = try bench.run("load", "S", "--from-line", "1", input: step)
        #expect(whole.code == 0 && !whole.errors.contains("--from-line"), "\(whole.errors)")
    }

    private func total(
        day: String = "2024-05-31", zone: String = "UTC", unit: String = "count", type: String = "stepCount"
    ) -> String {
        #"{"state":{"kind":"total","peer":"p","type":"\#(type)","day":"\#(day)","zone":"\#(zone)","value":1.375,"unit":"\#(unit)","time":"2024-06-01T00:00:00Z"}}"#
    }

    @Test("A bad line of sync state is reported with its number and reason, and --skip-bad continues")
    func badTotals() throws {
        let bad = [
            (total(day: "2024-99-99"), "is no day of the calendar"), (total(day: "1600-01-01"), "1710 to 2290"),
            (total(zone: "Mars/Base"), "time zone is not known"), (total(unit: "kg"), "cannot be converted to count"),
            (total(type: String(repeating: "x", count: 70_000)), "is empty or longer"),
            (total().replacingOccurrences(of: #","time":"2024-06-01T00:00:00Z""#, with: ""), "a total needs"),
        ]
        for (line, reason) in bad {
            let run = try bench.run("load", "N", input: "\(step)\n\(line)\n")
            #expect(run.code == 1 && run.errors.contains("Error: Line 2: "), "\(run.errors)")
            #expect(run.errors.contains(reason) && !run.errors.contains("1.375"), "\(run.errors)")
            #expect(!bench.exists("N"))
        }
        let lines = [step] + bad.map(\.0) + [total()]
        let run = try bench.run("load", "S", "--skip-bad", "--format", "json", input: lines.joined(separator: "\n"))
        #expect(try run.code == 5 && run.json()["bad"] as? Int == bad.count, "\(run.errors)")
        #expect(try bench.run("dump", "S", "--all").lines().count { $0["state"] != nil } >= 1)
    }

    @Test("Settings of types that cannot have samples are refused", arguments: ["priorities", "shadowing"])
    func settingsOfNoType(key: String) throws {
        let setting = key == "shadowing" ? "true" : #"[{"source":"Phone"}]"#
        let head = #"{"dump":{"version":1,"sources":[],"\#(key)":{"":\#(setting)}}}"#
        let run = try bench.run("load", "S", "--skip-bad", input: "\(head)\n\(step)")
        #expect(run.code == 5 && run.errors.contains("Line 1 was left out: The text of type is empty"), "\(run.errors)")
        #expect(try bench.run("dump", "S").lines().compactMap { ($0["dump"] as? [String: Any])?[key] }.isEmpty)
    }

    @Test("Hostile input is an error and leaves nothing: deep nesting, huge numbers, no UTF-8, no lines at all")
    func hostile() throws {
        let inputs: [[UInt8]] = [
            Array(String(repeating: "[", count: 2_000_000).utf8),
            Array(String(repeating: #"{"metadata":"#, count: 200_000).utf8),
            Array(
                #"{"type":"a","start":"2024-05-31","value":1\#(String(repeating: "0", count: 100_000)),"unit":"count"}"#
                    .utf8),
            Array(#"{"type":"a","start":"2024-05-31","value":1e999,"unit":"count"}"#.utf8),
            Array(#"{"type":""#.utf8) + [0xC3, 0x28] + Array(#"","start":"2024-05-31","value":1,"unit":"count"}"#.utf8),
            [UInt8](repeating: 0, count: 100_000),
            (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7919) },
        ]
        for (index, input) in inputs.enumerated() {
            let run = try bench.run(["load", "S\(index)"], input: Data(input))
            #expect(run.code == 1, "\(index)")
            #expect(run.errors.contains("Error: Line 1: "), "\(index): \(run.errors.prefix(200))")
            #expect(run.errors.utf8.count < 1000)
            #expect(!bench.exists("S\(index)"))
        }
    }

    @Test("More sources and types than the caches hold are loaded too")
    func manyTexts() throws {
        let lines = (0..<20_000).map {
            #"{"type":"custom\#($0 % 300)","start":"2024-01-01T00:00:00Z","value":\#($0),"unit":"count","source":"App \#($0 % 7000)"}"#
        }
        try bench.load("S", lines.joined(separator: "\n"))
        #expect(try samples("S") == 20_000)
        #expect(try bench.run("sources", "S", "--format", "jsonl").lines().count == 7000)
        try bench.expectClean("S")
    }

    @Test("A line with a later version of a sample replaces it, and one with an older version does not")
    func versions() throws {
        func line(_ version: Int, _ value: Int) -> String {
            #"{"id":"\#(Fixture.weight)","type":"bodyMass","start":"2024-05-31","value":\#(value),"unit":"kg","source":"Scale","syncIdentifier":"w","syncVersion":\#(version),"modified":"2024-05-31T0\#(version):00:00Z"}"#
        }
        try bench.load("S", line(2, 70))
        let older = try bench.run("load", "S", "--format", "json", input: line(1, 60)).json()
        #expect(older["older"] as? Int == 1 && older["replaced"] as? Int == 0)
        let newer = try bench.run("load", "S", "--format", "json", input: line(3, 80)).json()
        #expect(newer["replaced"] as? Int == 1)
        #expect(try samples("S") == 1)
        try bench.expectClean("S")
    }

    @Test("A line that the store refuses beside another is named by its number, and --skip-bad leaves it out")
    func refusedByStore() throws {
        let id = "11111111-1111-4111-8111-111111111111"
        func line(_ number: Int, _ fields: String = "") -> String {
            #"{"type":"bodyMass","start":"2024-01-01T10:\#(number < 10 ? "0" : "")\#(number)Z","unit":"kg","value":\#(70 + number)\#(fields)}"#
        }
        var lines = [line(0, #","id":"\#(id)","source":"A""#)] + (1..<40).map { line($0) }
        lines.insert(line(0, #","id":"\#(id)","source":"B""#), at: 17)
        lines.insert(line(0, #","id":"\#(id)","source":"C""#), at: 30)
        let text = lines.joined(separator: "\n")
        let run = try bench.run("load", "S", input: text)
        #expect(run.code == 1 && run.errors.contains("Error: Line 18: The change of sample \(id)"), "\(run.errors)")
        #expect(!bench.exists("S"))
        let skipped = try bench.run("load", "T", "--skip-bad", "--format", "json", input: text)
        #expect(try skipped.code == 5 && skipped.json()["inserted"] as? Int == 40, "\(skipped.errors)")
        #expect(try skipped.json()["bad"] as? Int == 2)
        for number in [18, 31] { #expect(skipped.errors.contains("Line \(number) was left out: The change")) }
        try bench.expectClean("T")
    }

    @Test(
        "State of a kind that no dump has is a bad line",
        arguments: [
            #"{"state":{"kind":"Deleted","id":"x"}}"#, #"{"state":{}}"#, #"{"state":{"kind":5}}"#,
        ])
    func oddState(_ line: String) throws {
        let run = try bench.run("load", "S", input: step + "\n" + line)
        #expect(run.code == 1 && run.errors.contains("Line 2: state: "), "\(run.errors)")
        let skipped = try bench.run("load", "S", "--skip-bad", "--format", "json", input: step + "\n" + line)
        #expect(try skipped.code == 5 && skipped.json()["bad"] as? Int == 1)
    }

    @Test("A type that Apple Health does not have is named when a store gets it, with near names") func newType() throws
    {
        let line = #"{"type":"stepCuont","start":"2024-05-01T08:00:00Z","value":1,"unit":"count"}"#
        let run = try bench.run("load", "N", input: line)
        #expect(run.errors.contains("The type 'stepCuont' is new"), "\(run.errors)")
        #expect(run.errors.contains("Did you mean 'stepCount'?"), "\(run.errors)")
        #expect(try !bench.run("load", "N", input: line).errors.contains("is new"))
        #expect(try !bench.run("load", "M", input: Fixture.lines).errors.contains("is new"))
    }

    @Test("A source without a name is not met as one") func emptySource() throws {
        let line = #"{"type":"stepCount","start":"2024-05-31","value":12,"unit":"count","source":"%"}"#
        try bench.load("S", line.replacing("%", with: "") + "\n" + line.replacing("%", with: "A"))
        let sources = try bench.run("sources", "S", "--format", "jsonl").lines()
        #expect(sources.count == 2 && sources.allSatisfy { $0["source"] as? String != "" }, "\(sources)")
    }
}
