import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("export")
struct ExportTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("An exact export gives the same store again, as XML and as an archive", arguments: ["a.xml", "a.zip"])
    func exact(file: String) throws {
        let export = try bench.run("export", "S", file, "--exact", "--format", "json")
        #expect(try export.code == 0 && export.json()["samples"] as? Int == 4, "\(export.errors)")
        let imported = try bench.run("import", "T", file, "--format", "json")
        #expect(try imported.code == 0 && imported.json()["inserted"] as? Int == 4, "\(imported.errors)")
        #expect(try bench.run("diff", "S", "T").code == 0)
    }

    @Test("The output gives the same bytes as a file, and dates have one offset")
    func output() throws {
        #expect(try bench.run("export", "S", "a.xml", "--tz", "Asia/Kathmandu").code == 0)
        let text = try String(contentsOf: bench.folder.appendingPathComponent("a.xml"), encoding: .utf8)
        #expect(try bench.run("export", "S", "-", "--tz", "Asia/Kathmandu").output == text)
        #expect(text.contains("startDate=\"2024-05-31 13:45:00 +0545\""))
    }

    @Test("An existing file stays without --force, and a name without a known ending is refused")
    func names() throws {
        #expect(try bench.run("export", "S", "a.csv").code == 0)
        let again = try bench.run("export", "S", "a.csv")
        #expect(again.code == 1 && again.errors.contains("--force"))
        #expect(try bench.run("export", "S", "a.csv", "--force").code == 0)
        #expect(try bench.run("export", "S", "a.pdf").code == 64)
        #expect(try bench.run("export", "S", "no/folder/a.xml").code == 1)
        #expect(try bench.run("export", "Nothing", "a.xml").code == 1)
    }

    @Test("What is lost is counted")
    func losses() throws {
        let run = try bench.run("export", "S", "a.xml", "--format", "json").json()
        #expect(run["ids_lost"] as? Int == 4 && run["fractions_lost"] as? Int == 2 && run["details_lost"] as? Int == 4)
    }

    @Test("A type that nobody knows is refused by name, in both directions")
    func unknownType() throws {
        for words in [["export", "S", "a.xml"], ["import", "S", "a.xml"], ["import", "New", "a.xml"]] {
            let run = try bench.run(words + ["--types", "stepcuont"], input: nil)
            #expect(run.code == 1 && run.errors.contains("stepCount"), "\(words): \(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: bench.path("New")))
        #expect(!FileManager.default.fileExists(atPath: bench.path("a.xml")))
    }

    @Test("A reader that stops early is no error")
    func closedOutput() throws {
        let lines = (0..<20_000).map {
            #"{"type":"stepCount","start":"2024-05-31T08:00:00Z","value":\#($0),"unit":"count"}"#
        }
        try bench.load("Large", lines.joined(separator: "\n"))
        let pipe = "'\(Workbench.tool.path)' export Large - | head -1; echo ${PIPESTATUS[0]}"
        #expect(try bench.runProgram("bash", ["-c", pipe]).output.hasSuffix("\n0\n"))
    }

    @Test("What has no place for whole samples refuses --exact, and a table counts what its columns leave out")
    func exactTables() throws {
        for file in ["o.csv", "o.ndjson"] {
            let run = try bench.run("export", "S", file, "--exact")
            #expect(run.code == 64 && run.errors.contains("--exact is for .xml, .zip and -"), "\(run.errors)")
            #expect(!bench.exists(file))
        }
        let run = try bench.run("export", "S", "o.csv", "--format", "json")
        #expect(try run.code == 0 && run.json()["details_lost"] as? Int == 1)
        let size = try Data(contentsOf: URL(fileURLWithPath: bench.path("o.csv"))).count
        #expect(try run.json()["bytes"] as? Int == size && run.json()["file_bytes"] as? Int == size)
    }
}
