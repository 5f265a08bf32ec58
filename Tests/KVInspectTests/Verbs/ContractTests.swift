import Foundation
import Testing

@testable import kvinspect

/// What the contract of the tool says, where the tool once did otherwise.
@Suite("The contract")
struct ContractTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func line(_ number: Int, _ value: Int) -> String {
        let id = "00000000-0000-4000-8000-\(String(100_000_000_000 + number))"
        return
            #"{"id":"\#(id)","type":"stepCount","start":"2024-05-11T08:00:00Z","value":\#(value),"unit":"count","source":"Ph\"o}]ne","modified":"2024-06-01","replica":7}"#
    }

    @Test("diff ends with 6 where its reader closes the output, and does not say that the stores are equal")
    func closedDiff() throws {
        try bench.load("A", line(0, 1))
        try bench.load("B", (0..<4_000).map { line($0, $0 + 1) }.joined(separator: "\n"))
        #expect(try bench.codeOfClosedOutput(["diff", "A", "B"]) == 6)
    }

    @Test("load takes what dump wrote as json, in pieces of any size, and tells where the rest is missing")
    func jsonDump() throws {
        try bench.load("A", (0..<3_000).map { line($0, $0) }.joined(separator: "\n"))
        for words in [[], ["--all"]] {
            let dump = try bench.run(["dump", "A", "--format", "json"] + words, input: nil)
            try dump.output.write(to: bench.folder.appendingPathComponent("d.json"), atomically: true, encoding: .utf8)
            let name = "N\(words.count)"
            let loaded = try bench.run("load", name, "d.json", "--format", "json")
            #expect(try loaded.code == 0 && loaded.json()["inserted"] as? Int == 3_000, "\(loaded.errors)")
            #expect(try bench.run("hash", name).output == bench.run("hash", "A").output)
            // One byte at a time, as a slow program writes.
            var envelope = DumpEnvelope()
            var lines: [UInt8] = []
            for byte in dump.output.utf8.prefix(40_000) { try envelope.open(Data([byte]), into: &lines) }
            let whole = String(decoding: lines, as: UTF8.self).split(separator: "\n").dropLast()
            #expect(whole.count > 50 && whole.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
            #expect(throws: Failure.self) { try envelope.open(Data(), into: &lines) }
        }
        let cut = try bench.run("dump", "A", "--format", "json").output.dropLast(40)
        try String(cut).write(to: bench.folder.appendingPathComponent("c.json"), atomically: true, encoding: .utf8)
        let run = try bench.run("load", "C", "c.json")
        #expect(run.code == 1 && run.errors.contains("the rest of it is missing"), "\(run.errors)")
    }

    @Test("dump has tables and csv as well, and --all only what load reads")
    func dumpFormats() throws {
        try bench.load("A", [line(0, 1), line(1, 2)].joined(separator: "\n"))
        let csv = try bench.run("dump", "A", "--format", "csv")
        let scan = try bench.run("scan", "A", "--type", "stepCount", "--format", "csv")
        #expect(csv.code == 0 && csv.output == scan.output)
        let table = try bench.run("dump", "A", "--format", "table")
        #expect(table.code == 0 && table.output.contains("StepCount"), "\(table.output)")
        #expect(try bench.run("dump", "A", "--all", "--format", "csv").code == 64)
    }

    @Test("A dry run changes nothing of the store, also of a copied one and where nothing may be written")
    func dryRun() throws {
        try bench.load("A", line(0, 1))
        try FileManager.default.copyItem(atPath: bench.path("A"), toPath: bench.path("copy"))
        let xml =
            "<HealthData locale=\"en\"><Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"P\" unit=\"count\" "
            + "startDate=\"2024-01-01 00:00:00 +0000\" endDate=\"2024-01-01 00:10:00 +0000\" value=\"5\"/></HealthData>"
        try xml.write(to: bench.folder.appendingPathComponent("e.xml"), atomically: true, encoding: .utf8)
        let data = URL(fileURLWithPath: bench.path("copy") + "/data.mdb")
        let before = try Data(contentsOf: data)
        try FileManager.default.createDirectory(atPath: bench.path("tmp"), withIntermediateDirectories: false)
        let run = try bench.run(
            ["import", "copy", "e.xml", "--dry-run", "--format", "json"], input: nil,
            environment: ["TMPDIR": bench.path("tmp")])
        #expect(try run.code == 0 && run.json()["inserted"] as? Int == 1, "\(run.errors)")
        #expect(try Data(contentsOf: data) == before)
        #expect(!run.errors.contains("replica"), "\(run.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.path("tmp")).isEmpty)
    }

    @Test("check goes on with a part by what it looks at, and says which parts it passed over")
    func resumedCheck() throws {
        try bench.load("A", line(0, 1))
        for (name, passed) in [("checksums", 1), ("indexes", 2), ("anchors", 6), ("summaries", 3), ("pages", 0)] {
            let run = try bench.run("check", "A", "--resume", name, "--format", "json")
            let json = try run.json()
            #expect(run.code == 0 && (json["unexamined"] as? [String])?.count == passed, "\(name): \(run.output)")
            #expect(run.errors.contains("The store is clean.") == (passed == 0))
        }
    }

    @Test("sources has the units of what a source wrote")
    func units() throws {
        try bench.load("A", line(0, 1))
        let record = try #require(try bench.run("sources", "A", "--format", "jsonl").lines().first)
        #expect(record["unit"] as? String == "count")
    }

    @Test("An archive from a pipe is imported like the file, and leaves no copy behind")
    func archiveFromPipe() throws {
        try bench.load("A", (0..<500).map { line($0, $0) }.joined(separator: "\n"))
        #expect(try bench.run("export", "A", "e.zip", "--exact").code == 0)
        try FileManager.default.createDirectory(atPath: bench.path("tmp"), withIntermediateDirectories: false)
        let tool = Workbench.tool.path
        let piped = try bench.runProgram(
            "sh", ["-c", "cat e.zip | TMPDIR=$PWD/tmp \(tool) import B - --format json"])
        #expect(try piped.code == 0 && piped.json()["inserted"] as? Int == 500, "\(piped.errors)")
        #expect(try bench.run("hash", "B").output == bench.run("hash", "A").output)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.path("tmp")).isEmpty)
        let cut = try bench.runProgram("sh", ["-c", "head -c 900 e.zip | TMPDIR=$PWD/tmp \(tool) import C -"])
        #expect(cut.code == 1 && cut.errors.contains("standard input"), "\(cut.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.path("tmp")).isEmpty)
    }
}
