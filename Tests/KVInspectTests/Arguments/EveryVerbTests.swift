import Foundation
import Testing

@testable import kvinspect

/// Rules for every verb, including future ones.
@Suite("Every verb")
struct EveryVerbTests {
    let bench: Workbench
    private let operation: String

    init() throws {
        bench = try Workbench()
        operation = try SyncFixture(bench, "S").operations[0].id
        try Data(Fixture.export.utf8).write(to: bench.folder.appendingPathComponent("export.xml"))
    }

    /// The arguments of a successful run of the verb; unique copies allow repeated runs.
    private func words(_ verb: VerbDescription) -> [String] {
        switch verb.name {
        case "help": [verb.name]
        case "completions": [verb.name, "bash"]
        case "watch": [verb.name, "S", "--interval", "0.01", "--count", "2"]
        case "import": [verb.name, "S", "export.xml"]
        case "export": [verb.name, "S", "written.xml", "--force"]
        case "get": [verb.name, "S", Fixture.weight]
        case "scan", "stats": [verb.name, "S", "--type", "stepCount"]
        case "repair": [verb.name, "S", "--dry-run"]
        case "diff": [verb.name, "S", "S"]
        case "page": [verb.name, "S", "2"]
        case "report": [verb.name, "S", "--output", "report.html", "--force"]
        case "backup", "compact": [verb.name, "S", "copy-\(UUID().uuidString)"]
        default: [verb.name, "S"]
        }
    }

    /// The verbs with an option and arguments for each, plus the actions of verbs that have some.
    private func runs(with option: String) -> [(verb: String, words: [String])] {
        let verbs = Verbs.all.map { $0.description }.filter { $0.options.contains { $0.name == option } }
        let actions = [
            ("anchors", ["anchors", "S", "reset", "health"]), ("pending", ["pending", "S", "retry", operation]),
        ]
        return verbs.map { ($0.name, words($0)) } + actions
    }

    private func run(_ words: [String]) throws -> ToolRun { try bench.run(words, input: Data(Fixture.lines.utf8)) }

    @Test("Every verb with --progress reports progress")
    func progress() throws {
        let raw = [(verb: "dump", words: ["dump", "S", "--raw"])]
        for (verb, words) in runs(with: "progress") + raw {
            let run = try run(words + ["--progress", "json"])
            #expect(run.code == 0, "\(words): \(run.errors)")
            let events = try run.errors.split(separator: "\n").filter { $0.hasPrefix("{") }.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            let names = events.map { $0["event"] as? String }
            #expect(names.first == "start" && names.last == "done", "\(words): \(run.errors)")
            #expect(events.allSatisfy { $0["verb"] as? String == verb && $0["done"] is Int && $0["unit"] is String })
        }
    }

    @Test("Every verb with --tz refuses an unknown zone")
    func zone() throws {
        let hash = try bench.run("hash", "S").output
        for (_, words) in runs(with: "tz") {
            let run = try run(words + ["--tz", "Mars/Base"])
            #expect(run.code == 64 && run.output.isEmpty, "\(words): \(run.code)")
            #expect(run.errors.hasPrefix("Error: The value 'Mars/Base' is invalid for '--tz <zone>'"), "\(run.errors)")
            #expect(try self.run(words + ["--tz", "Asia/Kathmandu"]).code == 0, "\(words)")
        }
        #expect(try bench.run("anchors", "S").lines().count == 2, "only the right zone has reset anything")
        #expect(try bench.run("hash", "S").output != hash, "only load and import have changed something")
    }

    @Test("Every verb prints JSON in an envelope, JSON Lines without one, and CSV and a table if it has columns")
    func formats() throws {
        for verb in Verbs.all.map({ $0.description }) {
            #expect(verb.options.contains { $0.name == "format" }, "\(verb.name)")
            let json = try run(words(verb) + ["--format", "json"])
            #expect(json.code == 0, "\(verb.name): \(json.errors)")
            let envelope = try json.json()
            #expect(envelope["kvinspect"] as? Int == Int(ToolVersion.contract), "\(verb.name)")
            #expect(envelope["verb"] as? String == verb.name)
            let jsonl = try run(words(verb) + ["--format", "jsonl"])
            let lines = try jsonl.lines()
            #expect(jsonl.code == 0 && lines.allSatisfy { $0["kvinspect"] == nil }, "\(verb.name): \(jsonl.errors)")
            for format in ["csv", "table"] {
                let run = try run(words(verb) + ["--format", format])
                // For a clean store, check prints no rows, and neither does diff for one store.
                let hasText = !run.output.isEmpty || ["check", "diff"].contains(verb.name) && format == "table"
                #expect(run.code == 0 && hasText, "\(verb.name) \(format): \(run.errors)")
                #expect(run.output.hasSuffix("\r\n") == (format == "csv"), "\(verb.name)")
            }
        }
    }

    @Test("--peer narrows a list, and an action refuses it")
    func peer() throws {
        for words in [["anchors", "S", "reset", "health"], ["pending", "S", "retry", operation]]
            + [["pending", "S", "discard", operation]]
        {
            let run = try run(words + ["--peer", "health"])
            #expect(run.code == 64 && run.output.isEmpty, "\(words)")
            #expect(run.errors.hasPrefix("Error: '\(words[2])' and --peer exclude each other: --peer narrows the list"))
        }
        #expect(try bench.run("anchors", "S").lines().count == 4)
        #expect(try bench.run("pending", "S").lines().count == 3)
    }
}
