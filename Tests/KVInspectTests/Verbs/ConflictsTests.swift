import Testing

@testable import kvinspect

@Suite("conflicts")
struct ConflictsTests {
    let bench: Workbench
    let fixture: SyncFixture

    init() throws {
        bench = try Workbench()
        fixture = try SyncFixture(bench, "S")
    }

    @Test("Conflicts are listed in order with the event and the sample that lost, without its value")
    func list() throws {
        let run = try bench.run("conflicts", "S", "--format", "jsonl")
        let entries = try run.lines()
        #expect(entries.map { $0["event"] as? String } == ["edit.replaced", "other"])
        #expect(entries[0]["sample"] as? String == fixture.weight.description)
        #expect(entries[0]["type"] as? String == "HKQuantityTypeIdentifierBodyMass")
        #expect(entries[0]["source"] as? String == "Scale" && entries[0]["version"] as? Int == 3)
        #expect(entries[1]["bytes"] as? Int == 1 && entries[1]["type"] == nil)
        #expect(entries.allSatisfy { $0["displaced"] == nil } && !run.output.contains("72.4"))
        #expect(try bench.run("conflicts", "S", "--format", "table").output.contains("edit.replaced"))
    }

    @Test("--show-values prints the whole displaced sample")
    func values() throws {
        let entries = try bench.run("conflicts", "S", "--show-values", "--format", "jsonl").lines()
        let displaced = try #require(entries[0]["displaced"] as? [String: Any])
        #expect(displaced["value"] as? Double == 72.4 && displaced["unit"] as? String == "kg")
        #expect(displaced["syncIdentifier"] as? String == "weight-1")
        #expect(entries[1]["displaced"] as? String == "ff")
    }

    @Test("A store without conflicts prints an empty list")
    func none() throws {
        try bench.load("T", Fixture.lines)
        let empty = try bench.run("conflicts", "T", "--format", "json").json()
        #expect((empty["conflicts"] as? [Any])?.isEmpty == true)
    }
}
