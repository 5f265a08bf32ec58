import Foundation
import HealthKV
import Testing

@testable import kvinspect

/// The head of a dump describes the whole store, in the first sample's line or in lines of its own.
@Suite("The head of a dump")
struct DumpHeadTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func step(_ source: String) -> String {
        #"{"type":"stepCount","start":"2024-05-31","value":1,"unit":"count","source":"\#(source)"}"#
    }

    private func head(_ sources: Range<Int>) -> String {
        let names = sources.map { "\"App \($0)\"" }.joined(separator: ",")
        return #"{"dump":{"version":1,"sources":[\#(names)]}}"#
    }

    /// The sources with samples, in the order of their ranks.
    private func sources(_ name: String) throws -> [String] {
        let store = try SampleStore.open(at: bench.path(name))
        defer { try? store.close() }
        return try store.read { try $0.sourceCounts() }.filter { $0.samples > 0 }.map(\.source.name)
    }

    @Test("A store with settings and no samples dumps a line with settings only, and load accepts it")
    func settingsOnly() throws {
        let order = [RankedSource(SourceIdentity(name: "Watch")), RankedSource(SourceIdentity(name: "Phone"))]
        let store = try SampleStore.open(at: bench.path("S"))
        let empty = try bench.run("hash", "S").output
        #expect(try bench.run("dump", "S").output.isEmpty)
        try store.write { try $0.setPriority(order, of: .stepCount) }
        try store.setShadowing(of: .bodyMass, true)
        try store.close()
        let dump = try bench.run("dump", "S")
        let lines = try dump.lines()
        #expect(lines.count == 1 && Array(lines[0].keys) == ["dump"])
        let load = try bench.run("load", "T", "--format", "json", input: dump.output)
        #expect(try load.code == 0 && load.json()["inserted"] as? Int == 0, "\(load.errors)")
        let loaded = try SampleStore.open(at: bench.path("T"))
        #expect(try loaded.read { try $0.priorities() } == [.stepCount: order])
        #expect(try loaded.read { try $0.shadowing() } == [.bodyMass: true])
        try loaded.close()
        #expect(try bench.run("dump", "T").output == dump.output)
        let hash = try bench.run("hash", "S").output
        #expect(try hash != empty && bench.run("hash", "T").output == hash)
        try bench.expectClean("T")
    }

    @Test("A line with settings may be anywhere, and does not count as a sample")
    func anywhere() throws {
        let settings =
            #"{"dump":{"version":1,"sources":["Phone"],"priorities":{"stepCount":[{"source":"Watch"}]},"shadowing":{"stepCount":true}}}"#
        let run = try bench.run(
            "load", "S", "--format", "json", input: [step("Watch"), settings, step("Phone")].joined(separator: "\n"))
        #expect(try run.code == 0 && run.json()["inserted"] as? Int == 2, "\(run.errors)")
        #expect(try sources("S") == ["Watch", "Phone"])
        let head = try #require(try bench.run("dump", "S").lines()[0]["dump"] as? [String: Any])
        #expect(head["priorities"] != nil && head["shadowing"] != nil)
        for bad in [#"{"dump":{"version":2,"sources":[]}}"#, #"{"dump":{"version":1,"sources":[]},"value":1}"#] {
            #expect(try bench.run("load", "S", input: bad).code == 1, "\(bad)")
        }
        try bench.expectClean("S")
    }

    @Test("A head that does not fit in one line is split over several, and nothing is left out")
    func parts() throws {
        try bench.load("S", (0..<5).reversed().map { step("App \($0)") }.joined(separator: "\n"))
        let store = try SampleStore.open(at: bench.path("S"))
        try store.setShadowing(of: .stepCount, false)
        let parts = try store.read { try DumpHead.parts(of: $0, sourceLimit: 2) }
        try store.close()
        #expect(parts.map { $0.sources.map(\.name) } == [["App 4", "App 3"], ["App 2", "App 1"], ["App 0"]])
        #expect(parts.map(\.shadowing) == [[:], [:], [.stepCount: false]])
    }

    @Test("A dump of very many sources keeps their order, whatever the order of their samples")
    func manySources() throws {
        let count = DumpHead.partSources + 50
        try bench.load("S", (0..<count).reversed().map { step("App \($0)") }.joined(separator: "\n"))
        let dump = try bench.run("dump", "S")
        let heads = try dump.lines().compactMap { $0["dump"] as? [String: Any] }
        #expect(heads.map { ($0["sources"] as? [Any])?.count } == [DumpHead.partSources, 50])
        try bench.load("T", dump.output)
        #expect(try sources("T") == (0..<count).reversed().map { "App \($0)" })
        #expect(try bench.run("dump", "T").output == dump.output)
        try bench.expectClean("T")
    }

    @Test("A line that fills a batch without a sample ranks its sources, and is kept when a later line is bad")
    func batchWithoutSamples() throws {
        let padding = String(repeating: " ", count: Loader.batchBytes)
        let bad = try bench.run("load", "S", input: "\(head(0..<3))\(padding)\nnonsense")
        #expect(bad.code == 1 && bad.errors.contains("--from-line 2"), "\(bad.errors)")
        #expect(bench.exists("S"), "what is stored is not removed again")
        try bench.load("S", (0..<3).reversed().map { step("App \($0)") }.joined(separator: "\n"))
        #expect(try sources("S") == ["App 0", "App 1", "App 2"])
        try bench.expectClean("S")
    }

    @Test("The lines of one head may be in several batches")
    func severalBatches() throws {
        let file = bench.folder.appendingPathComponent("lines")
        let lines = [head(2..<4), head(0..<2), step("App 0"), step("App 1"), step("App 2")]
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        let store = try SampleStore.open(at: bench.path("S"))
        let arguments = try ArgumentParser.parse(["S"], for: LoadVerb.description)
        let progress = Progress(arguments, Console(environment: [:]), unit: "bytes")
        var loader = Loader(store: store, input: try InputPieces(file.path), zone: .utc, batchBytes: 10)
        #expect(try loader.loadAll(skipBad: false, progress).inserted == 3)
        try store.close()
        #expect(try sources("S").filter { $0 != "App 3" } == ["App 2", "App 0", "App 1"])
    }

    @Test("A source of which all samples are deleted keeps its rank in a dump that is loaded")
    func unusedSource() throws {
        let hour = #""type":"stepCount","start":"2024-01-01T10:00Z","end":"2024-01-01T11:00Z","unit":"count""#
        try bench.load("A", "{\(hour),\"value\":8,\"source\":\"Z\"}\n{\(hour),\"value\":5,\"source\":\"A\"}")
        let store = try SampleStore.open(at: bench.path("A"))
        let gone = try #require(try store.read { try $0.samples(of: .stepCount) }.first { $0.source.name == "Z" }).id
        try store.write { try $0.delete(id: gone) }
        try store.close()
        try bench.load("B", try bench.run("dump", "A", "--all").output)
        for name in ["A", "B"] {
            try bench.load(name, "{\(hour),\"value\":7,\"source\":\"Z\"}")
            let stats = try bench.run("stats", name, "--type", "stepCount", "--tz", "UTC", "--format", "jsonl").lines()
            #expect(stats.first?["sum"] as? Double == 5, "\(name)")
            let sources = try bench.run("sources", name, "--format", "jsonl").lines()
            #expect(
                sources.compactMap { $0["source"] as? String ?? $0["name"] as? String } == ["Z", "A"], "\(sources)")
        }
    }
}
