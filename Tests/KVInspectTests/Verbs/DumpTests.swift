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
        try bench.load("T", dump.output)
        #expect(try bench.run("dump", "T").output == dump.output)
        #expect(try bench.run("hash", "T").output == bench.run("hash", "S").output)
        try bench.expectClean("T")
    }

    @Test("Every line is an object, samples come by type and time, and times are in UTC")
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
}
