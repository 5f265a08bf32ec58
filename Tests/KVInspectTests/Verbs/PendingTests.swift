import Testing

@testable import kvinspect

@Suite("pending")
struct PendingTests {
    let bench: Workbench
    let fixture: SyncFixture

    init() throws {
        bench = try Workbench()
        fixture = try SyncFixture(bench, "S")
    }

    @Test("Operations are listed in the order of their queues, with state, attempts and reason")
    func list() throws {
        let all = try bench.run("pending", "S", "--format", "jsonl").lines()
        #expect(Set(all.compactMap { $0["id"] as? String }) == Set(fixture.operations.map(\.id)))
        let refused = try #require(all.first { $0["peer"] as? String == "tablet" })
        #expect(refused["status"] as? String == "quarantined" && refused["reason"] as? String == "not shareable")
        #expect(refused["attempts"] as? Int == 4 && refused["nextTry"] as? String == "2024-06-01T10:00:00Z")
        let queue = try bench.run("pending", "S", "--peer", "health", "--format", "jsonl").lines()
        #expect(queue.map { $0["id"] as? String } == fixture.operations[..<2].map(\.id))
        #expect(queue.map { $0["operation"] as? String } == ["save", "delete"])
        #expect(queue[0]["sample"] as? String == fixture.weight.description)
        #expect(try bench.run("pending", "S", "--format", "table").output.contains("locked"))
    }

    @Test("A retry resets a refused operation in its place")
    func retry() throws {
        let id = fixture.operations[2].id
        let run = try bench.run("pending", "S", "retry", id)
        #expect(run.code == 0 && run.output == "\(id) will be tried again\n" && run.errors.contains(id))
        let all = try bench.run("pending", "S", "--format", "jsonl").lines()
        let requeued = try #require(all.first { $0["id"] as? String == id })
        #expect(requeued["status"] as? String == "waiting" && requeued["attempts"] as? Int == 0)
        #expect(requeued["reason"] as? String == "" && requeued["nextTry"] is String == false)
        #expect(all.count == 3)
        try bench.expectClean("S")
    }

    @Test("Discarding removes one operation from the queue and keeps its sample")
    func discard() throws {
        let hash = try bench.run("hash", "S").output
        let run = try bench.run("pending", "S", "discard", fixture.operations[0].id, "--format", "json")
        #expect(try run.code == 0 && run.json()["sample"] as? String == fixture.weight.description)
        let left = try bench.run("pending", "S", "--format", "jsonl").lines()
        #expect(Set(left.compactMap { $0["id"] as? String }) == Set(fixture.operations[1...].map(\.id)))
        #expect(try bench.run("hash", "S").output == hash)
        #expect(try bench.run("info", "S", "--format", "json").json()["pending"] as? Int == 2)
        try bench.expectClean("S")
    }

    @Test("An unknown operation, a missing id and an unknown action are refused")
    func refusals() throws {
        let unknown = try bench.run("pending", "S", "retry", "health#1")
        #expect(
            unknown.code == 1 && unknown.output.isEmpty && unknown.errors.contains("No operation is called health#1"))
        let missing = try bench.run("pending", "S", "discard")
        #expect(missing.code == 64 && missing.errors.contains("Missing expected argument '<id>'"))
        let other = try bench.run("pending", "S", "forget", "health#1")
        #expect(other.code == 64 && other.errors.contains("Please provide 'retry' or 'discard'."))
    }
}
