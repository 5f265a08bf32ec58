import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("dump")
struct DumpTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("A dump that is loaded gives the same dump and the same hash")
    func roundTrip() throws {
        let dump = try bench.run("dump", "S")
        #expect(dump.code == 0 && dump.errors.isEmpty)
        #expect(try bench.run("dump", "S", "--format", "jsonl").output == dump.output)
        try bench.load("T", dump.output)
        #expect(try bench.run("dump", "T").output == dump.output)
        #expect(try bench.run("hash", "T").output == bench.run("hash", "S").output)
        try bench.expectClean("T")
    }

    @Test("Every line is an object, samples are ordered by type and time, and times are in UTC")
    func lines() throws {
        let lines = try bench.run("dump", "S", environment: ["TZ": "Asia/Kathmandu"]).lines()
        #expect(lines.compactMap { $0["value"] as? Double } == [72.4, 512, 100, 7])
        let weight = lines[0]
        #expect(weight["start"] as? String == "2024-05-31T04:30:00.123456789Z")
        let source = ["name": "Scale", "bundle": "com.example.scale", "version": "2.1", "product": "S1", "system": "4"]
        #expect(weight["source"] as? [String: String] == source)
        #expect(
            weight["replica"] as? Int == 9 && weight["count"] as? Int == 2 && weight["origin"] as? String == "authored")
    }

    @Test("Loading a dump twice changes nothing")
    func idempotent() throws {
        let dump = try bench.run("dump", "S").output
        let again = try bench.run("load", "S", "--format", "json", input: dump).json()
        #expect(again["inserted"] as? Int == 0 && again["unchanged"] as? Int == 4)
        #expect(try bench.run("dump", "S").output == dump)
        try bench.expectClean("S")
    }

    @Test("What was deleted stays away from a loaded store, also where a file brings it in another unit")
    func deletedStaysAway() throws {
        let store = try SampleStore.open(at: bench.path("S"))
        let id = try #require(SampleID(Fixture.weight))
        let sample = try #require(try store.blockingRead { try $0.sample(id: id) })
        try store.write { _ = try $0.delete(id: id) }
        try store.close()
        try bench.load("T", try bench.run("dump", "S", "--all").output)
        let loaded = try SampleStore.open(at: bench.path("T"))
        let deleted = try #require(try loaded.blockingRead { try $0.deletedSample(id: id) })
        #expect(deleted.start == sample.start && deleted.end == sample.end && deleted.source.name == sample.source.name)
        try loaded.close()
        let name = sample.source.name
        let line =
            #"<Record type="HKQuantityTypeIdentifierBodyMass" sourceName="\#(name)" unit="lb" value="159.6" "#
            + #"creationDate="2024-06-01 00:00:00 +0000" startDate="2024-05-31 04:30:00 +0000" "#
            + #"endDate="2024-05-31 04:30:00 +0000"/>"#
        let export = bench.folder.appendingPathComponent("export.xml")
        try Data(#"<?xml version="1.0" encoding="UTF-8"?><HealthData locale="en_US">\#(line)</HealthData>"#.utf8)
            .write(to: export)
        let again = try bench.run("import", "T", export.path, "--format", "json").json()
        #expect(again["vetoed"] as? Int == 1 && again["inserted"] as? Int == 0, "\(again)")
        try bench.expectClean("T")
    }

    @Test("What was deleted can be undeleted in a store that a whole dump was loaded into")
    func deletedComesBack() throws {
        let store = try SampleStore.open(at: bench.path("S"))
        let imported = try #require(try store.read { try $0.samples(of: .stepCount) }.first).id
        let own = Sample.weight(
            Quantity(81.25, .kilogram), at: Instant(nanoseconds: 1_700_000_000_000_000_000), note: "before the run")
        try store.write { transaction in
            try transaction.save(own, orThrow: true)
            _ = try transaction.delete(id: own.id)
            _ = try transaction.hide(id: imported)
        }
        let group = SampleBatch()
        try store.importBatch(group, job: "history")
        try store.importBatch(group, job: "history")
        try store.close()
        let all = try bench.run("dump", "S", "--all").output
        try bench.load("T", all)
        #expect(try bench.run("dump", "T", "--all").output.contains(#""note":"before the run""#))
        // A second load changes nothing, and neither does an earlier position.
        try bench.load("T", all.replacingOccurrences(of: #""batches":2"#, with: #""batches":1"#))
        try bench.expectClean("T")
        let (before, after) = (
            try SampleStore.open(at: bench.path("S")), try SampleStore.open(at: bench.path("T"))
        )
        #expect(try after.importPosition(of: "history") == 2)
        for id in [own.id, imported] {
            let expected = try #require(try before.write { try $0.undelete(id: id) })
            let undeleted = try #require(try after.write { try $0.undelete(id: id) })
            #expect(undeleted.quantity == expected.quantity && undeleted.start == expected.start)
            #expect(undeleted.version == expected.version && undeleted.source == expected.source)
            #expect(undeleted.origin == expected.origin && undeleted.local == expected.local)
        }
        try before.close()
        try after.close()
        try bench.expectClean("T")
    }

    @Test("What a deletion of a range that is under way has yet to remove stays away from a loaded store")
    func deletionUnderWay() throws {
        let before = try bench.run("dump", "S").output
        var options = SampleStore.Options()
        (options.maintainsWhenIdle, options.limits.removedAtOnce) = (false, 1)
        let store = try SampleStore.open(at: bench.path("S"), options: options)
        let gone = try store.read { try $0.samples(of: .stepCount) }.map(\.id)
        try store.write { _ = try $0.delete(.range(of: .stepCount)) }
        try store.close()
        let all = try bench.run("dump", "S", "--all")
        #expect(try bench.run("info", "S", "--format", "json").json()["unfinished"] as? Int == 1)
        let told = try all.lines().compactMap { $0["state"] as? [String: Any] }
            .filter { $0["kind"] as? String == "deleted" }.compactMap { $0["id"] as? String }
        #expect(Set(told) == Set(gone.map(\.description)) && gone.count == 3)
        try bench.load("T", all.output)
        let again = try bench.run("load", "T", "--format", "json", input: before).json()
        #expect(again["vetoed"] as? Int == 3 && again["inserted"] as? Int == 0, "\(again)")
        try bench.expectClean("T")
    }

    @Test("The content of a sample that lives in the loaded store is not kept")
    func contentOfTheLiving() throws {
        let lines = try bench.run("dump", "S").output.split(separator: "\n")
        let line = try #require(lines.first { $0.contains(Fixture.weight) })
        let state = #"{"state":{"kind":"content","time":"2024-06-02T00:00:00Z","content":\#(line)}}"#
        try bench.load("S", state)
        #expect(try !bench.run("dump", "S", "--all").output.contains(#""kind":"content""#))
        try bench.expectClean("S")
    }

    @Test("--all adds sync state in separate lines, and load restores it")
    func syncState() throws {
        let store = try SampleStore.open(at: bench.path("S"))
        let id = try #require(SampleID(Fixture.weight))
        let now = Instant(nanoseconds: 1_000_000_000)
        try store.write { transaction in
            try transaction.setPeer(RegisteredPeer(id: "watch", registered: now, lastSeen: now))
            try transaction.setAnchor(
                Anchor(peer: "watch", type: .stepCount, token: [1, 171], time: now, outcome: "ok"))
            let rule = QueueRule(types: [.bodyMass], takesImports: false)
            try transaction.setPeer(RegisteredPeer(id: "health", registered: now, lastSeen: now, queue: rule))
            _ = try transaction.enqueue(PendingOperation(peer: "watch", kind: .save, sample: id, version: 3))
            var parked = PendingOperation(
                peer: "health", kind: .delete, sample: SampleID(), version: 7, attempts: 2, nextTry: .distantFuture,
                state: .parked, reason: "unauthorized")
            (parked.isSent, parked.accessType) = (true, .bodyMass)
            _ = try transaction.enqueue(parked, of: .bodyMass)
            try transaction.merge(
                DeletedSample(
                    id: SampleID(), type: .bodyMass, source: SourceIdentity(bundle: "scale", name: "Scale"),
                    syncIdentifier: "s-1", version: 4, modified: ChangeClock(time: now, replica: 9), group: "g"))
            try transaction.setLink(PeerLink(peer: "watch", sample: id, idAtPeer: SampleID(), version: 3))
            // A link of a sample that does not exist any more.
            try transaction.setLink(
                PeerLink(peer: "watch", sample: SampleID(), idAtPeer: SampleID(), version: 1, isProvisional: true))
            try transaction.notePurged(.heartRate, of: SourceIdentity(bundle: "band", name: "Band"), latest: now)
            try transaction.notePurged(.stepCount, of: SourceIdentity(bundle: "band", name: "Band"), latest: nil)
            for (day, value) in [("2024-05-31", 612.5), ("2024-06-01", nil)] {
                try transaction.setTotal(
                    DailyTotal(
                        peer: "watch", type: .stepCount, day: day, zone: "Europe/Berlin", value: value, unit: .count,
                        isComplete: true, time: now))
            }
            for value in [31.5, nil] {
                try transaction.setTotal(
                    DailyTotal(
                        peer: "watch", type: value == nil ? .flightsClimbed : .appleExerciseTime, day: "2024-05-31",
                        zone: DailyTotal.floatingZone, value: value, goal: 30,
                        unit: value == nil ? .count : .minute, isComplete: false, time: now))
            }
            try transaction.appendAudit(event: "displaced", sample: id, displaced: [255])
            try transaction.setSyncNote("peer:watch", Array("{\"isEnabled\":true}".utf8))
            try transaction.setSyncNote("lease:watch", [1])
            _ = try transaction.delete(
                .range(
                    of: .stepCount, from: .distantPast, to: Instant(nanoseconds: 738_840_000 * 1_000_000_000)))
        }
        try store.close()
        let plain = try bench.run("dump", "S").output
        let all = try bench.run("dump", "S", "--all")
        #expect(all.output.hasPrefix(plain))
        let states = try all.lines().compactMap { $0["state"] as? [String: Any] }
        let kinds = Set(states.compactMap { $0["kind"] as? String })
        #expect(kinds.isSuperset(of: ["peer", "purged", "anchor", "pending", "link", "total", "audit", "note"]))
        let goals = states.filter { $0["goal"] as? Double == 30 }
        #expect(goals.count == 2 && goals.allSatisfy { $0["zone"] as? String == "floating" })
        #expect(kinds.contains("deleted") || kinds.contains("removedRange"))
        #expect(states.first { $0["kind"] as? String == "anchor" }?["token"] as? String == "01ab")
        let load = try bench.run("load", "T", "--format", "json", input: all.output)
        #expect(
            try load.code == 0
                && load.json()["state"] as? Int == states.count { $0["kind"] as? String != "removedRange" })
        let loaded = try bench.run("dump", "T", "--all")
        #expect(loaded.output.hasPrefix(plain))
        // Acknowledgements are valid only for the original store, and operations get new ids.
        func taken(_ run: ToolRun) throws -> [NSDictionary] {
            try run.lines().compactMap { line in
                guard var state = line["state"] as? [String: Any], state["kind"] as? String != "removedRange" else {
                    return nil
                }
                state["acknowledged"] = nil
                if state["kind"] as? String == "pending" { state["id"] = nil }
                return state as NSDictionary
            }
        }
        #expect(try taken(loaded) == taken(all))
        // What an engine knew of its peers it knew as the dumped store, and who synced there does not sync here.
        #expect(states.count { $0["kind"] as? String == "note" } == 1)
        let (from, to) = (try SampleStore.open(at: bench.path("S")), try SampleStore.open(at: bench.path("T")))
        #expect(try from.read { $0.epoch } != to.read { $0.epoch })
        let (dumped, made) = (try from.info(), try to.info())
        #expect(dumped.replica != made.replica && dumped.storeID != made.storeID)
        try from.close()
        try to.close()
        // Loading again adds only conflicts, which have no identity.
        try bench.load(
            "T", all.output.split(separator: "\n").filter { !$0.contains(#""audit""#) }.joined(separator: "\n"))
        #expect(try taken(bench.run("dump", "T", "--all")) == taken(all))
        try bench.expectClean("T")
    }

    @Test("Settings of shadowing are in the dump and in the hash, and load restores them")
    func shadowing() throws {
        let before = try bench.run("hash", "S").output
        let store = try SampleStore.open(at: bench.path("S"))
        try store.setShadowing(of: .stepCount, true)
        try store.setShadowing(of: .bodyMass, false)
        try store.close()
        let dump = try bench.run("dump", "S")
        let head = try #require(dump.lines()[0]["dump"] as? [String: Any])
        let set = ["HKQuantityTypeIdentifierStepCount": true, "HKQuantityTypeIdentifierBodyMass": false]
        #expect(head["shadowing"] as? [String: Bool] == set)
        try bench.load("T", dump.output)
        let loaded = try SampleStore.open(at: bench.path("T"))
        #expect(try loaded.read { try $0.shadowing() } == [.stepCount: true, .bodyMass: false])
        try loaded.close()
        #expect(try bench.run("dump", "T").output == dump.output)
        let hash = try bench.run("hash", "S").output
        #expect(try hash != before && bench.run("hash", "T").output == hash)
        try bench.expectClean("T")
    }

    @Test("JSON has the same lines in an envelope, with sync state, and reports when something is missing")
    func json() throws {
        for words in [["dump", "S"], ["dump", "S", "--all"]] {
            let json = try bench.run(words + ["--format", "json"], input: nil).json()
            let lines = try #require(json["lines"] as? [[String: Any]])
            #expect(json["verb"] as? String == "dump" && json["complete"] == nil)
            #expect(try NSArray(array: lines) == NSArray(array: bench.run(words, input: nil).lines()))
        }
        try bench.damageChunk("S") { _ in 0 }
        for words in [["dump", "S"], ["dump", "S", "--skip-damaged"]] {
            let run = try bench.run(words + ["--format", "json"], input: nil)
            #expect(try run.code == 2 && run.json()["complete"] as? Bool == false, "\(run.errors)")
        }
    }

    @Test("The raw dump equals the output of mdb_dump, and mdb_load reads it", .enabled(if: MDBTools.areInstalled))
    func raw() throws {
        let raw = try bench.run("dump", "S", "--raw")
        #expect(raw.code == 0 && raw.errors.isEmpty)
        #expect(try raw.output == MDBTools.run("mdb_dump", ["-a", bench.path("S")]))
        let file = bench.folder.appendingPathComponent("raw")
        try Data(raw.output.utf8).write(to: file)
        try FileManager.default.createDirectory(atPath: bench.path("R"), withIntermediateDirectories: true)
        _ = try MDBTools.run("mdb_load", ["-f", file.path, bench.path("R")])
        let again = try MDBTools.run("mdb_dump", ["-a", bench.path("R")])
        #expect(
            again.split(separator: "\n").filter { $0.hasPrefix(" ") }
                == raw.output.split(separator: "\n").filter { $0.hasPrefix(" ") })
        // mdb_load numbers transactions from the beginning, so its result is not a valid store, and the tool names the
        // remedy.
        let refused = try bench.run("info", "R")
        #expect(refused.code == 2 && refused.errors.contains("mdb_load made. Keep a copy"), "\(refused.errors)")
        #expect(refused.errors.contains("'kvinspect repair R --output NEW'"), "\(refused.errors)")
        let help = try bench.run("help", "dump").output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.contains("'repair' makes a store again"))
        let repaired = try bench.run("repair", "R", "--output", "RR")
        #expect(repaired.code == 3 && !repaired.output.contains("lost"), "\(repaired.output)")
        #expect(try bench.run("hash", "RR").output == bench.run("hash", "S").output)
    }
}

/// LMDB's own command line tools.
enum MDBTools {
    static var areInstalled: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/mdb_load") }

    static func run(_ tool: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(tool)")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }
}
