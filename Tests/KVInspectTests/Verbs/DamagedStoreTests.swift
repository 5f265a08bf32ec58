import Foundation
import HealthKV
import Synchronization
import Testing

@testable import kvinspect

/// One damaged chunk costs only that chunk: verbs print everything else, and report what is missing.
@Suite("A damaged chunk")
struct DamagedStoreTests {
    let bench: Workbench
    private let rows = 6_000

    init() throws {
        bench = try Workbench()
        let steps = (0..<rows).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0 * 7919))Z","value":\#($0 % 97),"unit":"count","source":"Phone"}"#
        }
        let weight = #"{"type":"bodyMass","start":"2024-01-01","value":70,"unit":"kg","source":"Scale"}"#
        try bench.load("S", (steps + [weight]).joined(separator: "\n"))
    }

    @Test("Verbs that read only other types do not notice the damaged chunk")
    func others() throws {
        try bench.damageChunk("S") { _ in 0 }
        for words in [
            ["stats", "S", "--type", "bodyMass"], ["stats", "S", "--type", "bodyMass", "--source", "Scale"],
            ["scan", "S", "--type", "bodyMass", "--source", "Scale"],
        ] {
            let run = try bench.run(words + ["--format", "jsonl"], input: nil)
            #expect(run.code == 0 && run.output.contains("70"), "\(words): \(run.errors)")
        }
        #expect(try bench.run("stats", "S", "--type", "stepCount").code == 2)
        let dump = try bench.run("dump", "S")
        #expect(dump.code == 2 && dump.output.hasPrefix("{") && dump.output.contains("BodyMass"))
    }

    @Test("Types and sources print the readable part, and exit with 2", arguments: [true, false])
    func lists(first: Bool) throws {
        try bench.damageChunk("S") { first ? 0 : $0 - 1 }
        let types = try bench.run("types", "S", "--format", "jsonl")
        let lines = try types.lines()
        #expect(
            types.code == 2 && lines.count == 2 && types.errors.contains("Some samples of stepCount cannot be read"))
        #expect(lines[0]["first"] != nil && lines[0]["first"] as? String == lines[0]["last"] as? String)
        #expect(lines[1]["samples"] as? Int == rows)
        #expect((lines[1]["first"] is String) != first && (lines[1]["last"] is String) == first)
        let sources = try bench.run("sources", "S", "--format", "jsonl")
        #expect(try sources.code == 2 && sources.lines().count == 2)
        #expect(try isIncomplete("types", "S") && isIncomplete("sources", "S"))
    }

    /// Whether the JSON output says that something is missing.
    private func isIncomplete(_ words: String...) throws -> Bool {
        try bench.run(words + ["--format", "json"], input: nil).json()["complete"] as? Bool == false
    }

    @Test("Everything before the damaged chunk is printed, and JSON is complete")
    func before() throws {
        try bench.damageChunk("S") { $0 - 1 }
        let scan = ["scan", "S", "--type", "stepCount", "--format"]
        let json = try bench.run(scan + ["json"], input: nil)
        let object = try json.json()
        let count = try #require((object["samples"] as? [Any])?.count)
        #expect(json.code == 2 && object["complete"] as? Bool == false && count > 100 && count < rows)
        #expect(try bench.run(scan + ["jsonl"], input: nil).lines().count == count)
        #expect(try bench.run(scan + ["table"], input: nil).output.split(separator: "\n").count == count + 1)
        #expect(try bench.run(scan + ["csv"], input: nil).output.split(separator: "\r\n").count == count + 1)
        #expect(try bench.run("dump", "S").lines().count == count + 1)
    }

    @Test("With --skip-damaged everything else is printed, and the gap is named", arguments: ["asc", "desc"])
    func skipping(order: String) throws {
        let whole = try bench.run("dump", "S").lines().count
        try bench.damageChunk("S") { $0 / 2 }
        let scan = try bench.run(
            "scan", "S", "--type", "stepCount", "--skip-damaged", "--order", order, "--format", "jsonl", "--tz", "UTC")
        let count = try scan.lines().count
        #expect(scan.code == 2 && count > rows / 3 && count < rows)
        #expect(try isIncomplete("scan", "S", "--type", "stepCount", "--skip-damaged", "--order", order))
        let said = scan.errors.split(separator: "\n")
        #expect(
            said == [
                "Damaged: samples of stepCount that start from 2024-01-01 to 2024-01-01 are left out.",
                "'kvinspect dump --salvage' and 'repair' may keep more of them.",
            ],
            "\(said)")
        let exact = try bench.run(
            "scan", "S", "--type", "stepCount", "--skip-damaged", "--show-values", "--order", order, "--tz", "UTC")
        #expect(exact.errors.hasPrefix("Damaged: samples of stepCount that start from 2024-01-01T00:00:00."))
        // Without the trailing Z, texts sort like their times.
        let starts = try scan.lines().compactMap { ($0["start"] as? String)?.dropLast() }
        let isSorted = order == "asc" ? starts == starts.sorted() : starts == starts.sorted().reversed()
        #expect(isSorted && starts.count == count)
        let dump = try bench.run("dump", "S", "--skip-damaged")
        #expect(try dump.code == 2 && dump.lines().count == whole - (rows - count) && dump.errors == scan.errors)
        try bench.load("T", dump.output)
        try bench.expectClean("T")
        let sound = try bench.run("scan", "T", "--type", "stepCount", "--skip-damaged")
        #expect(sound.code == 0 && sound.errors.isEmpty)
        #expect(try !isIncomplete("scan", "T", "--type", "stepCount", "--skip-damaged"))
        #expect(try bench.run("dump", "T", "--raw", "--skip-damaged").code == 64)
    }

    @Test("A reader that closes the output early gets the code of the damage so far", arguments: ["dump", "scan"])
    func closedOutput(verb: String) throws {
        try bench.damageChunk("S") { _ in 0 }
        let words = verb == "scan" ? [verb, "S", "--type", "stepCount", "--format", "jsonl"] : [verb, "S"]
        #expect(try bench.codeOfClosedOutput(words + ["--skip-damaged"]) == 2)
        #expect(try bench.codeOfClosedOutput(["scan", "S", "--type", "bodyMass"]) == 0)
    }

    @Test("Copies are kept, report the number of damaged values, and exit with 2", arguments: ["backup", "compact"])
    func copies(verb: String) throws {
        #expect(try bench.run(verb, "S", "A", "--format", "json").json()["damaged_values"] as? Int == 0)
        try bench.damageChunk("S") { $0 / 2 }
        let run = try bench.run(verb, "S", "B", "--format", "json")
        #expect(run.code == 2 && run.errors.contains("Damaged: 1 value of the copy cannot be read"), "\(run.errors)")
        #expect(try run.json()["damaged_values"] as? Int == 1)
        #expect(try bench.run("dump", "B", "--skip-damaged").output == bench.run("dump", "S", "--skip-damaged").output)
    }

    @Test("Pages continue after a damaged chunk, and report the skipped range once")
    func pages() async throws {
        try bench.damageChunk("S") { $0 / 2 }
        var options = SampleStore.Options()
        options.readOnly = true
        let store = try SampleStore.open(at: bench.path("S"), options: options)
        let lost = Mutex<[DamagedRange]>([])
        var count = 0
        for try await page in store.pages(
            SampleQuery(.stepCount), size: 100, onDamage: { range in lost.withLock { $0.append(range) } })
        {
            count += page.count
        }
        #expect(count > rows / 3 && count < rows && lost.withLock { $0.map(\.type) } == [.stepCount])
        await #expect(throws: StoreError.self) {
            for try await _ in store.pages(SampleQuery(.stepCount), size: 100) {}
        }
        try store.close()
    }

    @Test("Check reports the chunk without consequential findings, and names the checks that it skipped")
    func check() throws {
        try bench.damageChunk("S") { $0 / 2 }
        let run = try bench.run("check", "S", "--format", "json")
        let json = try run.json()
        let findings = try #require(json["findings"] as? [[String: Any]])
        #expect(run.code == 2 && findings.map { $0["code"] as? String } == ["chunkUnreadable"], "\(run.output)")
        let unexamined = try #require(json["unexamined"] as? [String])
        for part in ["counts of type stepCount", "summaries of type stepCount", "identity of the samples of 1 damaged"]
        {
            #expect(unexamined.contains { $0.hasPrefix(part) }, "\(unexamined)")
        }
        let detail = try #require(findings[0]["detail"] as? String)
        #expect(detail.hasPrefix("type stepCount, chunk ") && !detail.contains("key"))
        let shown = try bench.run("check", "S", "--format", "json", "--show-values").json()
        let all = try #require(shown["findings"] as? [[String: Any]])
        #expect((all[0]["detail"] as? String)?.contains(" (key 0") == true, "\(all)")
    }
}
