import HealthKV
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

    @Test("What peers call a sample, what waits for them and its conflicts are shown")
    func state() throws {
        let fixture = try SyncFixture(bench, "P")
        let store = try SampleStore.open(at: bench.path("P"))
        let atPeer = SampleID()
        try store.write { txn in
            for sample in [fixture.weight, atPeer] {
                let id = sample == atPeer ? SampleID() : atPeer
                try txn.setLink(PeerLink(peer: "health", sample: sample, idAtPeer: id, version: 3))
            }
        }
        try store.close()
        let run = try bench.run("get", "P", Fixture.weight, "--format", "jsonl")
        let sample = try #require(try run.lines().first)
        let links = try #require(sample["links"] as? [[String: Any]])
        #expect(links.count == 1 && links[0]["peer"] as? String == "health")
        #expect(links[0]["peerID"] as? String == atPeer.description)
        let pending = try #require(sample["pending"] as? [[String: Any]])
        #expect(pending.map { $0["id"] as? String } == [fixture.operations[0].id])
        #expect(pending[0]["operation"] as? String == "save" && pending[0]["status"] as? String == "waiting")
        let conflicts = try #require(sample["conflicts"] as? [[String: Any]])
        #expect(conflicts.map { $0["event"] as? String } == ["edit.replaced"])
        #expect(Set(try #require(conflicts.first).keys) == ["id", "event", "time"])
        let listed = try bench.run("conflicts", "P", "--format", "jsonl").lines()
        #expect(conflicts[0]["id"] as? String == listed[0]["id"] as? String)
        #expect(try bench.run("get", "P", "weight-1", "--format", "table").output.contains("edit.replaced"))
        // The steps have nothing of the kind.
        let steps = try bench.run("scan", "P", "--type", "stepCount", "--format", "jsonl").lines()
        let other = try #require(steps.first?["id"] as? String)
        let plain = try #require(try bench.run("get", "P", other, "--format", "jsonl").lines().first)
        #expect(plain["links"] == nil && plain["pending"] == nil && plain["conflicts"] == nil)
    }

    @Test(
        "Of a deleted sample it is told what it was, when it was deleted and who has not heard of it, but no value",
        arguments: [Fixture.weight, "weight-1", "morning"])
    func deleted(_ id: String) throws {
        let fixture = try SyncFixture(bench, "D")
        let store = try SampleStore.open(at: bench.path("D"))
        try store.write { txn in
            try txn.delete(id: fixture.weight)
            _ = try txn.enqueue(PendingOperation(peer: "tablet", kind: .delete, sample: fixture.weight, version: 4))
        }
        let clock = try #require(try store.read { try $0.deletedSample(id: fixture.weight) }).modified
        try store.close()
        let run = try bench.run("get", "D", id, "--tz", "UTC")
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: No sample has this identifier any more. Deleted: "))
        let parts = [
            Fixture.weight, "HKQuantityTypeIdentifierBodyMass", "'Scale'", "replica \(clock.replica)",
            DateText.text(clock.time, in: .utc), "its deletion waits for 'tablet'",
        ]
        for part in parts { #expect(run.errors.contains(part), "\(part) in \(run.errors)") }
        #expect(!run.errors.contains("72.4"))
    }
}
