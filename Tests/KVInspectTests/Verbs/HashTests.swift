import Testing

@testable import kvinspect

@Suite("hash")
struct HashTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func hash(_ store: String) throws -> String {
        let run = try bench.run("hash", store)
        #expect(run.code == 0, "\(run.errors)")
        return run.output
    }

    @Test("The digest is 64 hexadecimal digits on a separate line, and JSON has it too")
    func form() throws {
        try bench.load("S", Fixture.lines)
        let digest = try hash("S")
        #expect(digest.count == 65 && digest.hasSuffix("\n") && digest.dropLast().allSatisfy(\.isHexDigit))
        let json = try bench.run("hash", "S", "--format", "json").json()
        #expect(json["hash"] as? String == String(digest.dropLast()) && json["samples"] as? Int == 4)
    }

    @Test("The hash does not depend on the order in which sources and samples were added")
    func order() throws {
        let names = ["Phone", "Watch", "Scale"]
        func line(_ source: Int, _ day: Int) -> String {
            #"{"id":"00000000-0000-4000-8000-0000000000\#(source)\#(day)","type":"stepCount","start":"2024-05-0\#(day)","value":\#(source),"unit":"count","source":"\#(names[source])","modified":"2024-06-01","replica":7}"#
        }
        for (index, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].enumerated() {
            let days = index % 2 == 0 ? [1, 2, 3] : [3, 1, 2]
            try bench.load("S\(index)", days.flatMap { day in order.map { line($0, day) } }.joined(separator: "\n"))
            let sources = try bench.run("sources", "S\(index)", "--format", "jsonl").lines()
            #expect(sources.map { $0["source"] as? String } == order.map { names[$0] })
            #expect(try hash("S\(index)") == hash("S0"), "\(order)")
        }
        try bench.expectClean("S5")
    }

    @Test("A changed field gives another digest")
    func content() throws {
        let dump = try {
            try bench.load("S", Fixture.lines)
            return try bench.run("dump", "S").output
        }()
        for (field, other) in [
            (#""value":512"#, #""value":513"#), (#""syncVersion":3"#, #""syncVersion":4"#),
            (#""replica":9"#, #""replica":8"#),
            (#""group":"morning""#, #""group":"evening""#), (#""flag":true"#, #""flag":false"#),
            (#""model":"S1""#, #""model":"S2""#),
            (#""origin":"authored","#, ""), (#""version":"2.1""#, #""version":"2.2""#),
        ] {
            let changed = dump.replacing(field, with: other)
            #expect(changed != dump, "\(field)")
            try bench.load("C\(field.hashValue)", changed)
            #expect(try hash("C\(field.hashValue)") != hash("S"), "\(field)")
        }
    }
}
