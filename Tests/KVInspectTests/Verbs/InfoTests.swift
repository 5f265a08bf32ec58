import Foundation
import Testing

@testable import kvinspect

@Suite("info")
struct InfoTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("JSON has the envelope and the documented fields")
    func json() throws {
        let run = try bench.run("info", "S", "--format", "json")
        #expect(run.code == 0 && run.errors.isEmpty)
        let info = try run.json()
        #expect(info["kvinspect"] as? Int == 1 && info["verb"] as? String == "info")
        #expect(info["samples"] as? Int == 4 && info["types"] as? Int == 2 && info["pending"] as? Int == 0)
        let file = try #require(info["file"] as? [String: Any])
        let bytes = try #require(file["bytes"] as? Int)
        let live = try #require(file["live_bytes"] as? Int)
        #expect(live > 0 && live <= bytes)
        #expect(info["bytes_per_sample"] as? Double == Double(bytes) / 4)
        #expect(
            info["format_version"] is Int && info["commit"] is Int && info["epoch"] is Int && info["replica"] is Int)
        #expect(UUID(uuidString: info["identity"] as? String ?? "") != nil)
        #expect((info["token"] as? String)?.isEmpty == false)
        let tables = try #require(info["tables"] as? [[String: Any]])
        #expect(tables.contains { $0["name"] as? String == "chunks" && $0["leaf_pages"] as? Int ?? 0 > 0 })
    }

    @Test("Nobody reads a store that only this tool has open") func readers() throws {
        let info = try bench.run("info", "S", "--format", "json").json()
        #expect((info["readers"] as? [Any])?.isEmpty == true, "\(info["readers"] ?? "none")")
        #expect(
            try bench.run("info", "S").output.split(separator: "\n").contains {
                $0.hasPrefix("readers") && $0.hasSuffix(" 0")
            })
    }

    @Test("JSON Lines have no envelope, CSV has one row, and a table is for people")
    func formats() throws {
        let line = try bench.run("info", "S", "--format", "jsonl").lines()
        #expect(line.count == 1 && line[0]["kvinspect"] == nil && line[0]["samples"] as? Int == 4)
        let csv = try bench.run("info", "S", "--format", "csv").output.components(separatedBy: "\r\n")
        #expect(csv.count == 3 && csv[0].contains("file.live_bytes") && csv[2].isEmpty)
        let table = try bench.run("info", "S").output
        #expect(table.contains("samples") && table.contains("4 of 2 types from 3 sources") && table.contains("chunks"))
    }

    @Test("info with --progress reports progress")
    func progress() throws {
        for words in [["info", "S"], ["types", "S"], ["sources", "S"], ["get", "S", Fixture.weight]] {
            let run = try bench.run(words + ["--progress", "json"], input: nil)
            #expect(run.code == 0 && run.errors.hasPrefix(#"{"event":"start","verb":"\#(words[0])","#), "\(run.errors)")
            #expect(run.errors.contains(#"{"event":"done","verb":"\#(words[0])","#))
        }
    }

    @Test("A folder without a store is an error that names the folder and the remedy, and creates nothing")
    func missing() throws {
        for verb in [
            ["info"], ["types"], ["sources"], ["dump"], ["hash"], ["check"], ["get"], ["scan"], ["changes"], ["report"],
        ] {
            let rest =
                verb == ["get"] ? ["x"] : verb == ["scan"] ? ["--type", "a"] : verb == ["report"] ? ["-o", "r"] : []
            let run = try bench.run(verb + ["nowhere"] + rest, input: nil)
            #expect(run.code == 1 && run.output.isEmpty, "\(verb)")
            #expect(run.errors.contains("nowhere") && run.errors.contains("load"), "\(run.errors)")
            #expect(!bench.exists("nowhere") && !bench.exists("r"))
        }
    }

    @Test("Reading verbs never change the data file")
    func readOnly() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        let before = try Data(contentsOf: file)
        let runs = [
            ["info", "S"], ["types", "S"], ["sources", "S"], ["get", "S", "weight-1"],
            ["scan", "S", "--type", "stepCount"],
            ["changes", "S"], ["dump", "S"], ["hash", "S"], ["check", "S"],
            ["report", "S", "-o", "report.html"],
            ["backup", "S", "B"],
            ["compact", "S", "C"],
        ]
        for arguments in runs { #expect(try bench.run(arguments, input: nil).code == 0, "\(arguments)") }
        #expect(try Data(contentsOf: file) == before)
        try bench.expectClean("S")
    }
}
