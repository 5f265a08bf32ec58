import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("compact")
struct CompactTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("A compacted copy holds the same content, and the tool announces the folder that it writes")
    func copy() throws {
        let run = try bench.run("compact", "S", "D", "--format", "json")
        #expect(run.code == 0 && run.errors.hasPrefix("Writing ") && run.errors.contains(" of S to D."))
        let json = try run.json()
        #expect(json["verb"] as? String == "compact" && json["bytes"] as? Int ?? 0 > 0)
        #expect(try bench.run("dump", "D").output == bench.run("dump", "S").output)
        #expect(try bench.run("hash", "D").output == bench.run("hash", "S").output)
        try bench.expectClean("D")
    }

    @Test("A compacted copy of a store with many deletions is smaller, and a backup is not")
    func size() throws {
        let lines = (0..<6_000).map {
            #"{"type":"heartRate","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0 * 7919))Z","value":\#($0 % 97).5,"unit":"count/min"}"#
        }
        try bench.load("S", lines.joined(separator: "\n"))
        let store = try SampleStore.open(at: bench.path("S"))
        _ = try store.write { try $0.delete(.range(of: .heartRate, from: .distantPast, to: .distantFuture)) }
        while try store.maintain(budget: .seconds(1)) {}
        try store.close()
        let compacted = try bench.run("compact", "S", "D", "--format", "json").json()
        let backup = try bench.run("backup", "S", "E", "--format", "json").json()
        let before = try #require(compacted["bytes_before"] as? Int)
        #expect(try #require(compacted["bytes"] as? Int) < before * 2 / 3)
        #expect(try #require(backup["bytes"] as? Int) > before * 2 / 3)
    }

    @Test("Compacting a store with pages without an owner exits with 2 and names the store")
    func lostPages() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: file))
        func transaction(_ meta: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[meta + 144 + $1]) << (8 * $1) }
        }
        let newest = transaction(0) > transaction(4_096) ? 0 : 4_096
        try #require(bytes[newest + 136] < 250)
        bytes[newest + 136] += 4
        try Data(bytes).write(to: file)
        let run = try bench.run("compact", "S", "D")
        #expect(run.code == 2 && run.errors.contains("Error: S: The store is damaged"), "\(run.errors)")
        #expect(run.errors.contains("kvinspect check") && !bench.exists("D"))
        #expect(try bench.run("check", "S").code == 2)
    }

    @Test(
        "Compacting a store in which a long value says that it is longer exits with 2 and names the store",
        arguments: [96, 104, 112])
    func longHeader(bit: Int) throws {
        let lines = (0..<300).map {
            #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":\#($0),"unit":"count","source":"Phone"}"#
        }
        try bench.load("L", lines.joined(separator: "\n"))
        try bench.damageHeader("L", bit: bit)
        let run = try bench.run("compact", "L", "D")
        #expect(run.code == 2 && run.errors.contains("Error: L: The store is damaged"), "\(run.errors)")
        #expect(run.errors.contains("'kvinspect repair L --output NEW'") && !bench.exists("D"), "\(run.errors)")
    }

    @Test("Compacting does not overwrite a folder that holds a store")
    func exists() throws {
        try bench.load("D", "")
        let before = try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb"))
        let run = try bench.run("compact", "S", "D")
        #expect(run.code == 1 && run.errors.contains("There is a store in D already."))
        #expect(try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb")) == before)
    }
}
