import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("Types that an app defines, at a terminal")
struct DefinitionVerbTests {
    private static let definition = TypeDefinition(
        "app.verb.mood", unit: .count, combining: .latest, range: 1...5, name: "Mood")
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        let store = try SampleStore.open(at: bench.path("S"))
        let mood = try store.define(Self.definition)
        let steps = try store.define(TypeDefinition("app.verb.steps", unit: .count, combining: .sum))
        try store.write { txn in
            for hour in 0..<4 {
                let start = Instant(nanoseconds: Int64(hour) * 3_600 * 1_000_000_000)
                try txn.save(Sample(mood, Double(hour + 1), .count, at: start))
                try txn.save(Sample(steps, 100, .count, at: start))
            }
        }
        try store.close()
    }

    @Test("A dump brings definitions back, before the samples that they concern, and hash and diff see them")
    func dump()
        throws
    {
        for words in [["dump", "S"], ["dump", "S", "--all"]] {
            let target = words.count == 2 ? "T" : "U"
            let dump = try bench.run(words, input: nil)
            let head = try #require(dump.lines()[0]["dump"] as? [String: Any])
            let definitions = try #require(head["definitions"] as? [[String: Any]])
            #expect(definitions.map { $0["identifier"] as? String } == ["app.verb.mood", "app.verb.steps"])
            #expect(definitions[0]["combining"] as? String == "latest" && definitions[0]["to"] as? Double == 5)
            #expect(definitions[1]["from"] == nil && definitions[1]["name"] == nil)
            try bench.load(target, dump.output)
            let loaded = try SampleStore.open(at: bench.path(target))
            #expect(try loaded.read { try $0.definitions() }.first == Self.definition)
            #expect(try loaded.read { try $0.count(of: Self.definition.type) } == 4)
            try loaded.close()
            #expect(try bench.run("hash", target).output == bench.run("hash", "S").output)
            #expect(try bench.run("diff", "S", target).code == 0)
            try bench.expectClean(target)
        }
        try bench.load("N", Fixture.lines)
        let other = try bench.run("diff", "S", "N", "--format", "jsonl").output
        #expect(other.contains("Mood in count, latest, 1 to 5 count"))
    }

    @Test("types names the definition, stats use its unit and combine as it says, and repair keeps it") func verbs()
        throws
    {
        // As a process that has just begun.
        for type in ["app.verb.mood", "app.verb.steps"] { DefinedTypes.forget(type) }
        let types = try bench.run("types", "S", "--format", "jsonl").lines()
        #expect(
            types.map { $0["definition"] as? String } == [
                "Mood in count, latest, 1 to 5 count", "app.verb.steps in count, sum",
            ])
        let stats = try bench.run(
            "stats", "S", "--type", "app.verb.mood", "--by", "day", "--tz", "UTC", "--format", "jsonl")
        #expect(stats.code == 0, "\(stats.errors)")
        #expect(try stats.lines().first?["latest"] as? Double == 4, "\(stats.output)")
        DefinedTypes.forget("app.verb.mood")
        let refused = try bench.run("stats", "S", "--type", "app.verb.mood", "--unmerged")
        #expect(refused.code != 0 && refused.errors.contains("summed up"), "\(refused.errors)")
        DefinedTypes.forget("app.verb.steps")
        #expect(try bench.run("stats", "S", "--type", "app.verb.steps", "--unmerged", "--tz", "UTC").code == 0)
        try bench.damageChunk("S") { _ in 0 }
        let repair = try bench.run("repair", "S", "--output", bench.path("R"))
        #expect([0, 3, 4].contains(repair.code), "\(repair.errors)")
        let mended = try SampleStore.open(at: bench.path("R"))
        #expect(try mended.read { try $0.definitions() }.first == Self.definition)
        try mended.close()
        try bench.expectClean("R")
    }
}
