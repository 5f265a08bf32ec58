import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("import of tables")
struct TableImportTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func write(_ name: String, _ lines: [String]) throws {
        try lines.joined(separator: "\n").write(toFile: bench.path(name), atomically: true, encoding: .utf8)
    }

    private static let head = "id,type,start,end,value,unit,source"
    private static let id = "11111111-2222-3333-4444-555555555555"

    @Test("The table that a store exported is unchanged there, whatever blanks its texts have around them")
    func blanks() throws {
        try bench.load(
            "S",
            [
                #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":1,"unit":"count","source":" Scale "}"#,
                #"{"type":"stepCount","start":"2024-05-02T08:00:00Z","value":2,"unit":"count","source":"A","syncIdentifier":"a\nb\u000b"}"#,
            ].joined(separator: "\n"))
        #expect(try bench.run("export", "S", "o.csv").code == 0)
        let again = try bench.run("import", "S", "o.csv", "--map", "healthkv", "--format", "json")
        #expect(again.code == 0, "\(again.errors)")
        #expect(try again.json()["unchanged"] as? Int == 2)
        #expect(try bench.run("import", "N", "o.csv", "--map", "healthkv").code == 0)
        #expect(try bench.run("diff", "S", "N", "--content").code == 0)
        let names = try ["S", "N"].map { store in
            try bench.run("scan", store, "--type", "stepCount", "--format", "jsonl").lines().map {
                $0["syncIdentifier"] as? String
            }
        }
        #expect(names[0] == [nil, "a\nb\u{0B}"] && names[0] == names[1])
    }

    @Test(
        "An archive from the pipe of a shell is read like one from a file", arguments: ["<(cat e.zip)", "/dev/stdin"])
    func shellPipe(_ path: String) throws {
        try bench.load("S", #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":1,"unit":"count"}"#)
        #expect(try bench.run("export", "S", "e.zip").code == 0)
        try #require(Workbench.program("bash") != nil)
        let script = "cat e.zip | exec \"$0\" import T \(path)"
        let run = try bench.runProgram("bash", ["-c", script, Workbench.tool.path])
        #expect(run.code == 0, "\(run.errors)")
        #expect(try bench.run("diff", "S", "T", "--content").code == 0)
    }

    @Test("A row whose id is held by another sample is left out and told, and all others are taken")
    func otherIdentity() throws {
        func rows(_ count: Int, month: Int) -> [String] {
            (1...count).map { ",bodyMass,2024-0\(month)-\($0 < 10 ? "0" : "")\($0)T06:00:00Z,,7\($0 % 10),kg,A" }
        }
        try write("a", [Self.head] + rows(5, month: 4) + ["\(Self.id),bodyMass,2024-04-20T06:00:00Z,,70,kg,A"])
        #expect(try bench.run("import", "S", "a", "--map", "healthkv").code == 0)
        let bad = "\(Self.id),bodyMass,2024-04-20T06:00:00Z,,72,kg,B"
        try write("b", [Self.head] + rows(9, month: 5) + [bad] + rows(9, month: 6))
        let run = try bench.run("import", "S", "b", "--map", "healthkv", "--quarantine", "q", "--format", "json")
        #expect(run.code == 5, "\(run.errors)")
        let report = try run.json()
        #expect(report["inserted"] as? Int == 18 && report["quarantined"] as? Int == 1 && report["read"] as? Int == 19)
        #expect(try String(contentsOfFile: bench.path("q"), encoding: .utf8).contains(Self.id))
        #expect(try bench.run("get", "S", Self.id).output.contains("70"))
        let again = try bench.run("import", "S", "b", "--map", "healthkv", "--format", "json").json()
        #expect(again["unchanged"] as? Int == 18 && again["quarantined"] as? Int == 1)
        // A file that contradicts itself.
        let other = "\(Self.id),stepCount,2024-04-21T06:00:00Z,,5,count,A"
        try write("c", [Self.head, "\(Self.id),bodyMass,2024-04-20T06:00:00Z,,70,kg,A", other] + rows(9, month: 7))
        let twice = try bench.run("import", "T", "c", "--map", "healthkv", "--format", "json")
        let told = try twice.json()
        #expect(twice.code == 5 && told["inserted"] as? Int == 10 && told["quarantined"] as? Int == 1)
        #expect(try bench.run("check", "T").code == 0)
    }

    @Test(
        "An error of columns tells nothing of a first row that holds values",
        arguments: ["withings-weight", "healthkv"])
    func valuesAsColumns(map: String) throws {
        for line in ["2024-01-01 07:00:00,72.4,\"secret note\"", "{type:bodyMass,value:72.4}", "Scale;2024-01-01;72.4"]
        {
            try write("values.csv", [line])
            let run = try bench.run("import", "N", "values.csv", "--map", map)
            #expect(run.code == 1 && run.errors.contains("does not look like names of columns"), "\(run.errors)")
            #expect(!run.errors.contains("72.4") && !run.errors.contains("secret"), "\(run.errors)")
        }
        try write("names.csv", ["Day,Weighed,24h HRV"])
        let named = try bench.run("import", "N", "names.csv", "--map", map)
        #expect(named.code == 1 && named.errors.contains("\"Weighed\""), "\(named.errors)")
    }
}
