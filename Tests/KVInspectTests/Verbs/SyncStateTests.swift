import HealthKV
import Testing

@testable import kvinspect

@Suite("anchors, pending and conflicts")
struct SyncStateTests {
    let bench: Workbench
    let id = SampleID(high: 1, low: 2)

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
        let store = try SampleStore.open(at: bench.path("S"))
        let now = Instant(nanoseconds: 738_840_000 * 1_000_000_000)
        try store.write { [id] transaction in
            for peer in ["health", "tablet"] {
                try transaction.setAnchor(
                    Anchor(peer: peer, type: .stepCount, token: [1, 2, 3], time: now, outcome: "drained"))
            }
            try transaction.enqueue(
                PendingOperation(
                    peer: "health", kind: .save, sample: id, version: 3, attempts: 3, nextTry: now,
                    state: .quarantined, reason: "refused"))
            try transaction.appendAudit(event: "edit.deleted", sample: id, displaced: [1, 2])
        }
        try store.close()
    }

    @Test("Places in feeds are listed, and forgotten for one peer") func anchors() throws {
        let anchors = try bench.run("anchors", "S", "--format", "jsonl").lines()
        #expect(Set(anchors.compactMap { $0["peer"] as? String }) == ["health", "tablet"])
        #expect(anchors[0]["outcome"] as? String == "drained" && anchors[0]["bytes"] as? Int == 3)
        #expect(try bench.run("anchors", "S", "reset", "health").code == 0)
        #expect(try bench.run("anchors", "S", "--format", "jsonl").lines().count == 1)
        #expect(try bench.run("anchors", "S", "reset", "health").code == 1)
        #expect(try bench.run("anchors", "S", "forget").code == 64)
    }

    @Test("What waits is listed with its reason, and made due or given up by its id") func pending() throws {
        let waiting = try bench.run("pending", "S", "--format", "jsonl").lines()
        let operation = try #require(waiting.first?["id"] as? String)
        #expect(waiting.first?["status"] as? String == "quarantined")
        #expect(waiting.first?["reason"] as? String == "refused")
        #expect(try bench.run("pending", "S", "retry", operation).code == 0)
        let again = try bench.run("pending", "S", "--format", "jsonl").lines()
        #expect(again.first?["status"] as? String == "waiting" && again.first?["attempts"] as? Int == 0)
        #expect(try bench.run("pending", "S", "discard", operation).code == 0)
        #expect(try bench.run("pending", "S", "--format", "jsonl").lines().isEmpty)
        #expect(try bench.run("pending", "S", "retry", operation).code == 1)
        #expect(try bench.run("pending", "S", "retry").code == 64)
        try bench.expectClean("S")
    }

    @Test("Conflicts are listed without a health value") func conflicts() throws {
        let conflicts = try bench.run("conflicts", "S", "--format", "jsonl").lines()
        #expect(conflicts.map { $0["event"] as? String } == ["edit.deleted"])
        #expect(conflicts.first?["sample"] as? String == id.description)
    }
}
