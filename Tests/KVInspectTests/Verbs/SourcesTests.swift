import Testing

@testable import kvinspect

@Suite("sources")
struct SourcesTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("Sources are listed in the order of their first samples, with their counts")
    func lines() throws {
        let sources = try bench.run("sources", "S", "--format", "jsonl").lines()
        #expect(sources.map { $0["source"] as? String } == ["Phone", "Watch, \"mine\"", "Scale"])
        #expect(sources.map { $0["samples"] as? Int } == [2, 1, 1])
        #expect(sources.map { $0["bundle"] as? String } == ["", "", "com.example.scale"])
        #expect(sources[2]["first"] as? String == "2024-05-31T04:30:00.123456789Z")
    }

    @Test("A name with a comma and quotes survives CSV")
    func csv() throws {
        let output = try bench.run("sources", "S", "--format", "csv").output
        #expect(output.hasPrefix("source,bundle,samples,first,last,"))
        #expect(output.contains("\r\n\"Watch, \"\"mine\"\"\",,1,"))
    }
}
