import Testing

@testable import kvinspect

@Suite("types")
struct TypesTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("JSON Lines have type, samples, first, last, unit, sources and bytes")
    func lines() throws {
        let types = try bench.run("types", "S", "--format", "jsonl", "--tz", "+02:00").lines()
        #expect(
            types.map { $0["type"] as? String } == [
                "HKQuantityTypeIdentifierBodyMass", "HKQuantityTypeIdentifierStepCount",
            ])
        #expect(types.map { $0["samples"] as? Int } == [1, 3] && types.map { $0["sources"] as? Int } == [1, 2])
        #expect(types.map { $0["unit"] as? String } == ["kg", "count"])
        #expect(types[1]["first"] as? String == "2024-05-31T10:00:00+02:00")
        #expect((types[1]["last"] as? String)?.hasPrefix("2024-06-01T10:0") == true)
        #expect(types.allSatisfy { $0["bytes"] as? Int ?? 0 > 0 })
    }

    @Test("JSON has an envelope, and an empty store has an empty list")
    func envelope() throws {
        try bench.load("E", "")
        let json = try bench.run("types", "E", "--format=json").json()
        #expect(json["verb"] as? String == "types" && (json["types"] as? [Any])?.isEmpty == true)
        #expect(try bench.run("types", "E").output.isEmpty)
        #expect(try bench.run("types", "E", "--format", "jsonl").output.isEmpty)
        try bench.expectClean("E")
    }
}
