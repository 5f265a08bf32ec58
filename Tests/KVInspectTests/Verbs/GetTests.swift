import Testing

@testable import kvinspect

@Suite("get")
struct GetTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test(
        "A sample is found by UUID in any case, by sync identifier and by group",
        arguments: [
            Fixture.weight, Fixture.weight.lowercased(), "weight-1", "morning",
        ])
    func found(_ id: String) throws {
        let json = try bench.run("get", "S", id, "--format", "json").json()
        let samples = try #require(json["samples"] as? [[String: Any]])
        #expect(samples.count == 1 && json["verb"] as? String == "get")
        let sample = try #require(samples.first)
        #expect(sample["id"] as? String == Fixture.weight && sample["value"] as? Double == 72.4)
        #expect(sample["syncVersion"] as? Int == 3 && sample["replica"] as? Int == 9 && sample["count"] as? Int == 2)
        #expect(sample["source"] as? String == "Scale")
        #expect((sample["sourceRevision"] as? [String: String])?["product"] == "S1")
        #expect((sample["device"] as? [String: String]) == ["name": "Scale", "model": "S1"])
        let metadata = try #require(sample["metadata"] as? [String: Any])
        #expect((metadata["least"] as? Double) == 1e-300)
    }

    @Test("An unknown identifier is not found, and nothing else is printed about the store")
    func missing() throws {
        for id in ["weight-2", "00000000-0000-4000-8000-000000000000", ""] {
            let run = try bench.run("get", "S", id)
            #expect(run.code == 1 && run.output.isEmpty)
            #expect(run.errors == "Error: No sample has this UUID, sync identifier or group.\n")
        }
    }

    @Test("A table shows one field per line")
    func card() throws {
        let output = try bench.run("get", "S", "weight-1", "--format", "table").output
        #expect(output.contains("value") && output.contains("72.4") && output.contains("metadata.text"))
        #expect(output.contains("a\\u{a}b"))
    }

    @Test("A category's number is followed by the name of its case in a listing, but not in a dump")
    func category() throws {
        let line =
            #"{"type":"sleepAnalysis","start":"2026-02-01T03:00:00Z","end":"2026-02-01T04:00:00Z","value":5,"unit":"count","#
            + #""source":"Watch","syncIdentifier":"night"}"#
        try bench.load("C", line + "\n")
        for arguments in [["get", "C", "night"], ["scan", "C", "--type", "sleepAnalysis"]] {
            let json = try bench.run(arguments + ["--format", "json"], input: nil).json()
            let sample = try #require((json["samples"] as? [[String: Any]])?.first)
            #expect(sample["case"] as? String == "asleepREM" && sample["value"] as? Int == 5)
        }
        #expect(try !bench.run("dump", "C").output.contains("case"))
    }
}
