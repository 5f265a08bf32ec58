import Testing

@testable import kvinspect

@Suite("anchors")
struct AnchorsTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        _ = try SyncFixture(bench, "S")
    }

    @Test("Anchors are listed with peer, type, token and time, of all peers or of one")
    func list() throws {
        let all = try bench.run("anchors", "S", "--format", "jsonl").lines()
        #expect(all.count == 4 && Set(all.compactMap { $0["peer"] as? String }) == ["health", "tablet"])
        #expect(all.allSatisfy { $0["token"] as? String == "01ab" && $0["outcome"] as? String == "drained" })
        #expect(all.allSatisfy { $0["time"] as? String == "2024-06-01T10:00:00Z" })
        let one = try bench.run("anchors", "S", "--peer", "health", "--format", "json").json()
        let types = (one["anchors"] as? [[String: Any]])?.compactMap { $0["type"] as? String }
        #expect(
            Set(types ?? []) == ["HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierBodyMass"])
        #expect(one["verb"] as? String == "anchors")
        #expect(try bench.run("anchors", "S", "--format", "table").output.contains("drained"))
        let unknown = try bench.run("anchors", "S", "--peer", "bob")
        #expect(unknown.code == 0 && unknown.errors.contains("The store has no peer 'bob'. It has: health, tablet."))
        #expect(try bench.run("anchors", "S", "--format", "csv").output.hasPrefix("peer,type,scope,token,time,outcome"))
    }

    @Test("A reset forgets the anchors of one peer, announces it, and leaves everything else")
    func reset() throws {
        let hash = try bench.run("hash", "S").output
        let run = try bench.run("anchors", "S", "reset", "health", "--format", "json")
        #expect(run.code == 0 && run.errors.contains("health"), "\(run.errors)")
        #expect(try run.json()["removed"] as? Int == 2)
        let left = try bench.run("anchors", "S", "--format", "jsonl").lines()
        #expect(left.compactMap { $0["peer"] as? String } == ["tablet", "tablet"])
        #expect(try bench.run("pending", "S", "--format", "jsonl").lines().count == 3)
        #expect(try bench.run("hash", "S").output == hash)
        #expect(try bench.run("anchors", "S", "reset", "health").output == "0 anchors of health removed\n")
        try bench.expectClean("S")
    }

    @Test("An unknown peer, a missing name and an unknown action are refused, and nothing changes")
    func refusals() throws {
        let unknown = try bench.run("anchors", "S", "reset", "nobody")
        #expect(unknown.code == 1 && unknown.output.isEmpty && unknown.errors.contains("No peer is called nobody"))
        let missing = try bench.run("anchors", "S", "reset")
        #expect(missing.code == 64 && missing.errors.contains("Missing expected argument '<peer>'"))
        let other = try bench.run("anchors", "S", "forget", "health")
        #expect(other.code == 64 && other.errors.contains("Please provide 'reset'."))
        #expect(try bench.run("anchors", "S", "--format", "jsonl").lines().count == 4)
        let nothing = try bench.run("anchors", "T", "reset", "health")
        #expect(nothing.code == 1 && !bench.exists("T"))
    }
}
