import Foundation
import Testing

@testable import kvinspect

@Suite("check")
struct CheckTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        let lines = (0..<20_000).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0 * 7919))Z","value":\#($0 % 97).125,"unit":"count"}"#
        }
        try bench.load("S", lines.joined(separator: "\n"))
    }

    @Test("A sound store exits with 0 and an empty list")
    func clean() throws {
        let run = try bench.run("check", "S", "--format", "json")
        #expect(run.code == 0)
        let json = try run.json()
        #expect(json["verb"] as? String == "check" && json["clean"] as? Bool == true)
        #expect((json["findings"] as? [Any])?.isEmpty == true)
        #expect(try bench.run("check", "S", "--show-values").code == 0)
    }

    #if os(Linux)
        @Test("A file that the system cannot read is an error and not damage, and exits with 1")
        func unreadable() throws {
            let file = bench.folder.appendingPathComponent("S/data.mdb")
            try FileManager.default.removeItem(at: file)
            // The first page of a process's own memory is not mapped: reading it fails as on a failing disk.
            try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/proc/self/mem")
            let run = try bench.run("check", "S")
            #expect(run.code == 1 && run.errors.contains("Input/output error"), "\(run.errors)")
        }
    #endif

    @Test("Damage in the middle of the file exits with 2 and findings, and never prints a value")
    func damaged() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        var bytes = try Data(contentsOf: file)
        for offset in stride(from: 8192 + 1000, to: bytes.count, by: 4096) { bytes[offset] ^= 0x55 }
        try bytes.write(to: file)
        let run = try bench.run("check", "S", "--format", "json")
        #expect(run.code == 2, "\(run.errors)")
        let json = try run.json()
        #expect(json["clean"] as? Bool == false)
        let findings = try #require(json["findings"] as? [[String: Any]])
        #expect(!findings.isEmpty && findings.allSatisfy { ($0["code"] as? String)?.isEmpty == false })
        #expect(!run.output.contains(".125"))
    }

    /// Damages the columns of some chunks of a store with a year of two types.
    @discardableResult
    private func damagedYear() throws -> Set<Int> {
        let lines = (0..<24_000).map { number in
            let day = Date(timeIntervalSince1970: 1_700_000_000 + Double(number) * 1_800).formatted(.iso8601)
            let type = number % 2 == 0 ? "stepCount" : "flightsClimbed"
            return #"{"type":"\#(type)","start":"\#(day)","value":\#(number % 97),"unit":"count","source":"Phone"}"#
        }
        try bench.load("Y", lines.joined(separator: "\n"))
        let chunks = try bench.run("pages", "Y", "--table", "chunks", "--format", "jsonl").lines()
            .filter { $0["kind"] as? String == "overflow" }.compactMap { $0["page"] as? Int }
        let file = URL(fileURLWithPath: bench.path("Y/data.mdb"))
        var bytes = try Data(contentsOf: file)
        let damaged: Set = [chunks[1], try #require(chunks.last)]
        for page in damaged { bytes[page * 4_096 + 700] ^= 1 }
        try bytes.write(to: file)
        return damaged
    }

    @Test(
        "Findings name the page, type, days and number of samples, and --type, --from, --to and --table restrict them")
    func places() throws {
        let pages = try damagedYear()
        let all = try bench.run("check", "Y", "--format", "jsonl")
        let findings = try all.lines()
        #expect(Set(findings.compactMap { $0["page"] as? Int }) == pages)
        #expect(all.code == 2 && findings.count == 2, "\(all.output)")
        for finding in findings {
            #expect(Set(finding.keys) == ["code", "table", "page", "type", "from", "to", "samples", "detail"])
            #expect(finding["code"] as? String == "chunkUnreadable" && (finding["samples"] as? Int ?? 0) > 0)
            // Only the day is told.
            #expect((finding["from"] as? String ?? finding["to"] as? String)?.count == 10)
        }
        let first = try #require(findings.first { $0["from"] is String })
        let (type, from) = (first["type"] as? String ?? "", first["from"] as? String ?? "")
        #expect(
            try bench.run("check", "Y", "--type", type, "--format", "jsonl").lines().count
                == findings.count { $0["type"] as? String == type })
        #expect(try bench.run("check", "Y", "--type", type, "--from", from).code == 2)
        #expect(try bench.run("check", "Y", "--from", "2019-01-01", "--to", "2019-02-01").code == 0)
        let none = try bench.run("check", "Y", "--table", "summaries")
        #expect(none.code == 0 && none.errors.contains("No finding is about that."), "\(none.errors)")
        // A filter does not make a damaged store look clean.
        #expect(none.errors.contains("2 are about other things."), "\(none.errors)")
        let counts = try bench.run("check", "Y", "--table", "summaries", "--format", "json").json()
        #expect(counts["filtered_out"] as? Int == 2)
        let exact = try bench.run("check", "Y", "--format", "jsonl", "--show-values").lines()
        #expect(exact.compactMap { $0["from"] as? String }.allSatisfy { $0.contains("T") })
        // A comparison with itself reads it, too.
        #expect(try bench.run("diff", "Y", "Y").code == 2)
    }

    @Test("Damage that may hide samples of a type is shown with that type, although its extent is not known")
    func unknownExtent() throws {
        let root = try #require(
            try bench.run("pages", "S", "--table", "chunks", "--format", "jsonl").lines()
                .first { $0["depth"] as? Int == 1 }?["page"] as? Int)
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(root * 4_096..<(root + 1) * 4_096, with: Data(count: 4_096))
        try bytes.write(to: file)
        #expect(try bench.run("check", "S", "--type", "stepCount").code == 2)
        #expect(try bench.run("check", "S", "--from", "2019-01-01").code == 2)
        #expect(try bench.run("check", "S", "--table", "links").code == 0)
    }

    @Test("Damage that may hide any table is shown with each, but not that of one meta page")
    func hiddenTables() throws {
        let main = try #require(
            try bench.run("pages", "S", "--table", "<main>", "--format", "jsonl").lines()
                .first { $0["depth"] as? Int == 1 }?["page"] as? Int)
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        let whole = try Data(contentsOf: file)
        func check(zeroing pages: [Int]) throws -> ToolRun {
            var bytes = whole
            for page in pages {
                bytes.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096))
            }
            try bytes.write(to: file)
            return try bench.run("check", "S", "--table", "links")
        }
        #expect(try check(zeroing: [main]).code == 2)
        #expect(try check(zeroing: [0, 1]).code == 2)
        #expect(try check(zeroing: [0]).code == 0)
        #expect(try check(zeroing: []).code == 0)
        try whole.prefix(100).write(to: file)
        #expect(try bench.run("check", "S", "--table", "links").code == 2)
    }

    @Test("An unknown type is refused with near names") func unknownType() throws {
        let run = try bench.run("check", "S", "--type", "stepCuont")
        #expect(run.code == 1 && run.errors.contains("Did you mean 'stepCount'"), "\(run.errors)")
    }

    @Test("With a limit the worst findings stay, whatever is found first") func worst() throws {
        try damagedYear()
        let all = try bench.run("check", "Y", "--format", "json").json()
        let one = try bench.run("check", "Y", "--limit", "1", "--format", "json").json()
        let first = try #require((all["findings"] as? [[String: Any]])?.first)
        let only = try #require(one["findings"] as? [[String: Any]])
        #expect(only.count == 1 && only[0]["code"] as? String == first["code"] as? String)
        #expect(one["omitted"] as? Int == 1 && one["stopped_at"] is NSNull)
    }

    @Test("A check goes on with the part that is named") func resumed() throws {
        try damagedYear()
        #expect(try bench.run("check", "Y", "--resume", "chunks").code == 2)
        #expect(try bench.run("check", "Y", "--resume", "peers").code == 0, "the chunks were checked before")
        #expect(try bench.run("check", "S", "--resume", "records").code == 0)
        #expect(try bench.run("check", "S", "--resume", "nothing").code == 64)
    }

    @Test("The worst findings come first, and a page is named") func order() throws {
        try damagedYear()
        let leaf = try #require(
            try bench.run("pages", "Y", "--table", "names", "--format", "jsonl").lines().first?["page"] as? Int)
        let file = URL(fileURLWithPath: bench.path("Y/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(leaf * 4_096..<(leaf + 1) * 4_096, with: Data(count: 4_096))
        try bytes.write(to: file)
        let findings = try bench.run("check", "Y", "--format", "jsonl").lines()
        #expect(findings.first?["code"] as? String == "pageKind" && findings.first?["page"] as? Int == leaf)
        #expect(findings.count == 3 && findings.last?["code"] as? String == "chunkUnreadable")
    }

    @Test("A pipe or a folder in place of the file is refused with the usual message", arguments: ["pipe", "folder"])
    func noFile(kind: String) throws {
        let file = bench.path("F/data.mdb")
        try FileManager.default.createDirectory(
            atPath: bench.path("F"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if kind == "pipe" {
            #expect(unsafe mkfifo(file, 0o600) == 0)
        } else {
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        }
        let run = try bench.run("check", "F")
        #expect(run.code == 1 && run.errors.contains("This is no file"), "\(run.errors)")
        // On a slow machine, progress precedes the message.
        let other = try bench.run("info", "F").errors
        #expect(run.errors.hasSuffix(other), "\(run.errors) and not \(other)")
    }

    @Test("A reader that closes the output early still gets the exit code of damage")
    func closedOutput() throws {
        let lines = (0..<1_000).map {
            #"{"type":"custom\#($0)","start":"2024-01-01T00:00:00Z","value":\#($0),"unit":"count"}"#
        }
        try bench.load("M", lines.joined(separator: "\n"))
        try bench.damageValues("M")
        let run = try bench.run("check", "M", "--limit", "100000")
        #expect(run.code == 2 && run.output.utf8.count > 1 << 16)
        #expect(try bench.codeOfClosedOutput(["check", "M", "--limit", "100000"]) == 2)
    }

    #if os(Linux)
        @Test("If the system kills the reading process, that is a finding in the requested format")
        func crashed() throws {
            let run = try bench.crashed(["check", "S", "--format", "json", "--progress", "json"])
            #expect(run.code == 2 && run.errors.hasSuffix("The store is damaged: 1 finding.\n"), "\(run.errors)")
            let json = try run.json()
            let findings = try #require(json["findings"] as? [[String: Any]])
            #expect(findings.map { $0["code"] as? String } == ["fileUnreadable"] && json["clean"] as? Bool == false)
            #expect((findings[0]["detail"] as? String)?.contains("while it was checked") == true)
        }
    #endif

    @Test("The end of a watched process is classified: an exit code, a crash, or a signal from outside")
    func watched() throws {
        #expect(try WatchedProcess.run("/bin/sh", ["-c", "exit 5"]) == .ended(.partial))
        for signal in ["BUS", "SEGV"] {
            let outcome = try WatchedProcess.run("/bin/sh", ["-c", "ulimit -c 0; kill -\(signal) $$"])
            #expect(outcome == .crashed, "\(signal)")
        }
        #expect(try WatchedProcess.run("/bin/sh", ["-c", "kill -KILL $$"]) == .stopped(SIGKILL))
        // A fault of the tool is no damage of the file.
        #expect(try WatchedProcess.run("/bin/sh", ["-c", "ulimit -c 0; kill -ILL $$"]) == .stopped(SIGILL))
        #expect(try WatchedProcess.run("/no/such/tool", []) == nil)
        #expect(try WatchedProcess.run(nil, []) == nil)
    }

    @Test("A file full of noise is damage, and does not crash the tool")
    func ruined() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        let bytes = try Data(contentsOf: file)
        try Data(repeating: 0xA5, count: bytes.count).write(to: file)
        #expect(try bench.run("check", "S").code == 2)
        for verb in ["info", "dump", "hash"] {
            let run = try bench.run(verb, "S")
            #expect([1, 2].contains(run.code) && run.errors.hasPrefix("Error: "), "\(verb) \(run.code) \(run.errors)")
        }
    }

    @Test("A long value whose page is lost is told with its type and times, and filters pass over it")
    func lostLongValue() throws {
        let lines = (0..<6_000).map { number in
            let type = number % 2 == 0 ? "stepCount" : "heartRate"
            let (unit, time) = (number % 2 == 0 ? "count" : "count/min", 1_704_067_200 + number * 61)
            return
                #"{"type":"\#(type)","start":\#(time),"value":\#(number % 89),"unit":"\#(unit)","source":"A"}"#
        }
        try bench.load(
            "L",
            lines.joined(separator: "\n").replacing(/"start":(\d+)/) { match in
                "\"start\":\"\(Date(timeIntervalSince1970: Double(match.1)!).formatted(.iso8601))\""
            })
        let file = bench.folder.appendingPathComponent("L/data.mdb")
        var bytes = try Data(contentsOf: file)
        let pages = try bench.run("pages", "L", "--format", "json").json()["pages"] as? [[String: Any]] ?? []
        let page = try #require(
            pages.first { $0["kind"] as? String == "overflow" && $0["table"] as? String == "chunks" }?["page"] as? Int)
        bytes.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096))
        try bytes.write(to: file)
        let findings = try bench.run("check", "L", "--format", "json").json()["findings"] as? [[String: Any]] ?? []
        let own = try #require(findings.first { $0["code"] as? String == "overflowPages" })
        let type = try #require(own["type"] as? String)
        let other = type.hasSuffix("StepCount") ? "heartRate" : "stepCount"
        let codes =
            try bench.run("check", "L", "--type", other, "--format", "json").json()["findings"] as? [[String: Any]]
        #expect(codes?.contains { $0["code"] as? String == "overflowPages" } == false)
        let late = try bench.run("check", "L", "--from", "2030-01-01", "--format", "json").json()
        #expect((late["findings"] as? [[String: Any]])?.contains { $0["code"] as? String == "overflowPages" } == false)
        #expect(try bench.run("check", "L").code == 2)
    }

    @Test("Without a meta page the number of samples is unknown, and not 0") func noMeta() throws {
        try bench.load("M", Fixture.lines)
        let file = bench.folder.appendingPathComponent("M/data.mdb")
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<8_192, with: Data(count: 8_192))
        try bytes.write(to: file)
        let run = try bench.run("check", "M", "--format", "json")
        #expect(try run.code == 2 && run.json()["samples"] is NSNull)
        #expect(run.errors.contains("no meta page leads to a snapshot"))
        let info = try bench.run("info", "M", "--format", "table")
        #expect(info.code == 2 && !info.output.contains("{") && !info.output.contains("["), "\(info.output)")
        #expect(info.output.contains("samples  unknown"))
        #expect(info.errors.contains("'kvinspect repair M --output NEW'"), "\(info.errors)")
    }
}
