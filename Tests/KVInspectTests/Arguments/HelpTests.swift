import Foundation
import Testing

@testable import kvinspect

@Suite("Help")
struct HelpTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    @Test("Help is printed on the output, exits with 0 and lists every verb")
    func overview() throws {
        let run = try bench.run("--help")
        #expect(run.code == 0 && run.errors.isEmpty)
        for heading in ["OVERVIEW: ", "USAGE: kvinspect <subcommand>", "OPTIONS:", "SUBCOMMANDS:"] {
            #expect(run.output.contains(heading))
        }
        for verb in Verbs.all { #expect(run.output.contains("\n  \(verb.description.name) ")) }
        #expect(try bench.run().output == run.output)
        #expect(try bench.run("help").output == run.output)
        #expect(try bench.run("-h").output == run.output)
    }

    @Test("Every verb explains its arguments and options", arguments: Verbs.all.map { $0.description.name })
    func verb(_ name: String) throws {
        let run = try bench.run(name, "--help")
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(run.output.hasPrefix("OVERVIEW: "))
        #expect(run.output.contains("\nUSAGE: kvinspect \(name)"))
        #expect(run.output.contains("\nARGUMENTS:\n") && run.output.contains("\nOPTIONS:\n"))
        #expect(run.output.contains("-h, --help"))
        #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(try bench.run("help", name).output == run.output)
    }

    @Test("Help as JSON describes each verb with its arguments and options")
    func json() throws {
        let verbs = try #require(try bench.run("help", "--format", "json").json()["verbs"] as? [[String: Any]])
        #expect(verbs.map { $0["name"] as? String } == Verbs.all.map { $0.description.name })
        let one = try #require(
            try bench.run("help", "scan", "--format", "json").json()["verbs"] as? [[String: Any]])
        let scan = try #require(one.first)
        #expect(one.count == 1 && scan["usage"] as? String == ScanVerb.description.usage)
        let arguments = try #require(scan["arguments"] as? [[String: Any]])
        #expect(arguments.map { $0["name"] as? String } == ["store"] && arguments[0]["required"] as? Bool == true)
        let options = try #require(scan["options"] as? [[String: Any]])
        func option(_ name: String) throws -> [String: Any] {
            try #require(options.first { $0["name"] as? String == name }, "\(name)")
        }
        let order = try option("order")
        #expect(order["value"] as? String == "order" && order["choices"] as? [String] == ["asc", "desc"])
        #expect(order["default"] as? String == "asc" && order["help"] as? String == "Earliest or latest first.")
        #expect(try option("shadowed")["value"] is NSNull && option("type")["required"] as? Bool == true)
        let report = try #require(
            (try bench.run("help", "report", "--format", "json").json()["verbs"] as? [[String: Any]])?.first)
        let output = try #require((report["options"] as? [[String: Any]])?.first)
        #expect(output["name"] as? String == "output" && output["short"] as? String == "o")
        #expect(try bench.run("help", "report").output.contains("\n  -o, --output <file>     The page to write"))
        #expect(try bench.run("help", "--format", "jsonl").lines().count == Verbs.all.count)
    }

    @Test("--version prints the version")
    func version() throws {
        let run = try bench.run("--version")
        #expect(run.code == 0 && run.output == "\(ToolVersion.text)\n" && run.errors.isEmpty)
    }
}
