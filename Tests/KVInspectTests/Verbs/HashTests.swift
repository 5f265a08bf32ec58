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

    @Test("The digest is 64 hexadecimal digits on a line of their own, and JSON has it too")
    func form() throws {
        try bench.load("S", Fixture.lines)
        let digest = try hash("S")
        #expect(digest.count == 65 && digest.hasSuffix("\n") && digest.dropLast().allSatisfy(\.isHexDigit))
        let json = try bench.run("hash", "S", "--format", "json").json()
        #expect(json["hash"] as? String == String(digest.dropLast()) && json["samples"] as? Int == 4)
    }

    @Test("The order in which samples of one source came does not matter, a changed field does")
    func content() throws {
        let dump = try {
            try bench.load("S", Fixture.lines)
            return try bench.run("dump", "S").output
        }()
        let lines = dump.split(separator: "\n")
        try bench.load("T", ([lines[0]] + lines.dropFirst().reversed()).joined(separator: "\n"))
        #expect(try hash("T") == hash("S"))
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
        try bench.expectClean("T")
    }
}
