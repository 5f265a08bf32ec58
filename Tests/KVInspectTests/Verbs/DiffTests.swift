import Testing

@testable import kvinspect

@Suite("diff")
struct DiffTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func line(_ number: Int, _ value: Int, day: Int = 1, type: String = "stepCount") -> String {
        let digits = String(number + 100)
        return
            #"{"id":"00000000-0000-4000-8000-000000000\#(digits)","type":"\#(type)","start":"2024-05-\#(day + 10)T08:00:00Z","value":\#(value),"unit":"count","source":"Phone","modified":"2024-06-01","replica":7}"#
    }

    private func diff(_ words: String...) throws -> (run: ToolRun, records: [[String: Any]]) {
        let run = try bench.run(["diff", "A", "B", "--format", "json"] + words, input: nil)
        return (run, try #require(try run.json()["differences"] as? [[String: Any]]))
    }

    @Test("Added, removed and changed samples are told apart, with the fields that differ and without their values")
    func kinds() throws {
        try bench.load("A", [line(1, 5), line(2, 6), line(3, 7), line(4, 8)].joined(separator: "\n"))
        // The third moves to another day, and the fifth is new.
        try bench.load("B", [line(1, 5), line(2, 60), line(3, 7, day: 9), line(5, 9)].joined(separator: "\n"))
        let (run, records) = try diff()
        #expect(run.code == 6, "\(run.errors)")
        let found = Dictionary(
            uniqueKeysWithValues: records.map { (($0["id"] as? String ?? "").suffix(3), $0["change"] as? String ?? "") }
        )
        #expect(found == ["102": "changed", "103": "changed", "104": "removed", "105": "added"])
        let fields = records.compactMap { $0["fields"] as? [String] }
        #expect(fields.contains(["value"]) && fields.contains(["start", "end"]))
        #expect(records.allSatisfy { $0["a"] == nil && $0["b"] == nil } && !run.output.contains("60"))
        let json = try run.json()
        for (key, count) in ["added": 1, "removed": 1, "changed": 2, "settings": 0] {
            #expect(json[key] as? Int == count, "\(key)")
        }
        #expect(json["identical"] as? Bool == false)
        let shown = try diff("--show-values").records.first { ($0["fields"] as? [String]) == ["value"] }
        #expect((shown?["a"] as? [String: Any])?["value"] as? Int == 6)
        #expect((shown?["b"] as? [String: Any])?["value"] as? Int == 60)
    }

    @Test("Equal stores end with 0, however their files are laid out, and a store equals itself")
    func equal() throws {
        let lines = (0..<800).map { line($0, $0, day: $0 % 9) }
        try bench.load("A", lines.joined(separator: "\n"))
        try bench.load("B", lines.reversed().joined(separator: "\n"))
        let (run, records) = try diff()
        #expect(run.code == 0 && records.isEmpty, "\(run.output)")
        #expect(try run.json()["identical"] as? Bool == true)
        #expect(try bench.run("hash", "A").output == bench.run("hash", "B").output)
        #expect(try bench.run("diff", "A", "A").code == 0)
    }

    @Test("Two imports of one file are equal in content, and differ in their ids")
    func content() throws {
        let lines = (0..<1_200).map { number in
            #"{"type":"stepCount","start":"2024-05-0\#(number % 3 + 1)T08:00:00Z","value":\#(number % 40),"unit":"count","source":"Phone"}"#
        }
        try bench.load("A", lines.joined(separator: "\n"))
        try bench.load("B", lines.shuffled().joined(separator: "\n"))
        #expect(try bench.run("hash", "A").output != bench.run("hash", "B").output)
        #expect(try bench.run("hash", "A", "--content").output == bench.run("hash", "B", "--content").output)
        #expect(try diff().run.code == 6)
        #expect(try diff("--content").run.code == 0)
        try bench.load(
            "B", #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":7,"source":"Phone","unit":"count"}"#)
        #expect(try bench.run("hash", "A", "--content").output != bench.run("hash", "B", "--content").output)
        let (run, records) = try diff("--content")
        #expect(run.code == 6 && records.map { $0["change"] as? String } == ["added"])
    }

    @Test("A range and a type restrict what is compared, and --limit what is printed")
    func restricted() throws {
        let a = (0..<9).map { line($0, 1, day: $0) } + [line(20, 1, type: "flightsClimbed")]
        let b = (0..<9).map { line($0, 2, day: $0) } + [line(20, 2, type: "flightsClimbed")]
        try bench.load("A", a.joined(separator: "\n"))
        try bench.load("B", b.joined(separator: "\n"))
        #expect(try diff().records.count == 10)
        #expect(try diff("--type", "flightsClimbed").records.count == 1)
        #expect(try diff("--type", "stepCount", "--from", "2024-05-12", "--to", "2024-05-14").records.count == 2)
        let (run, records) = try diff("--limit", "3")
        #expect(try records.count == 3 && run.json()["changed"] as? Int == 10)
        #expect(run.errors.contains("0 added, 0 removed, 10 changed"))
    }

    @Test("What was set for types is compared, too")
    func settings() throws {
        let plain = try {
            try bench.load("A", Fixture.lines)
            return try bench.run("dump", "A").output
        }()
        let set = plain.replacing(
            "}]}}", with: #"}],"shadowing":{"HKQuantityTypeIdentifierStepCount":true}}}"#, maxReplacements: 1)
        #expect(set != plain)
        try bench.load("B", set)
        let (run, records) = try diff()
        #expect(run.code == 6 && records.count == 1, "\(run.output)")
        #expect(records.first?["setting"] as? String == "shadowing" && records.first?["b"] as? String == "true")
    }

    @Test("An unknown type is refused with near names") func unknownType() throws {
        for store in ["A", "B"] { try bench.load(store, line(1, 10)) }
        let run = try bench.run("diff", "A", "B", "--type", "stepCuont")
        #expect(run.code == 1 && run.errors.contains("Did you mean 'stepCount'"), "\(run.errors)")
    }

    @Test("A folder without a store is an error, and nothing is made there") func missing() throws {
        try bench.load("A", Fixture.lines)
        let run = try bench.run("diff", "A", "B")
        #expect(run.code == 1 && run.errors.contains("There is no store in B") && !bench.exists("B"))
    }
}
