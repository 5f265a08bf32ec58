import Foundation
import Testing

@testable import kvinspect

@Suite("pages")
struct PagesTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        let lines = (0..<9_000).map { number in
            #"{"type":"stepCount","start":\#(Double(number) * 900 + 700_000_000),"value":\#(number % 500),"unit":"count","source":"Phone"}"#
        }
        let dated = lines.enumerated().map { index, line in
            let day = Date(timeIntervalSince1970: 1_700_000_000 + Double(index) * 900)
            return line.replacing(/"start":[0-9.]+/, with: #""start":"\#(day.formatted(.iso8601))""#)
        }
        try bench.load("S", dated.joined(separator: "\n"))
    }

    private var size: Int {
        get throws { try Data(contentsOf: URL(fileURLWithPath: bench.path("S/data.mdb"))).count / 4_096 }
    }

    @Test("Every page of the file is listed once, and the counts are those of info") func complete() throws {
        let run = try bench.run("pages", "S", "--format", "json")
        #expect(run.code == 0, "\(run.errors)")
        let pages = try #require(try run.json()["pages"] as? [[String: Any]])
        #expect(try pages.map { $0["page"] as? Int } == (0..<size).map { $0 })
        let states = Dictionary(grouping: pages) { $0["state"] as? String ?? "" }.mapValues(\.count)
        #expect(states["lost"] == nil && (states["used"] ?? 0) > 10)
        let info = try bench.run("info", "S", "--format", "json").json()
        let file = try #require(info["file"] as? [String: Any])
        #expect(file["free_pages"] as? Int == states["free"] ?? 0)
        for table in try #require(info["tables"] as? [[String: Any]]) {
            let own = pages.filter { $0["table"] as? String == table["name"] as? String }
            for (kind, key) in [("branch", "branch_pages"), ("leaf", "leaf_pages"), ("overflow", "overflow_pages")] {
                #expect(own.count { $0["kind"] as? String == kind } == table[key] as? Int, "\(table)")
            }
        }
        #expect(pages.allSatisfy { ($0["fill"] as? Double ?? 0) <= 1 })
        let commit = info["commit"] as? Int
        #expect(pages.filter { $0["state"] as? String == "used" }.compactMap { $0["commit"] as? Int }.max() == commit)
    }

    @Test("A table and a state restrict the list, and a limit ends it") func restricted() throws {
        let chunks = try bench.run("pages", "S", "--table", "chunks", "--format", "jsonl").lines()
        #expect(!chunks.isEmpty && chunks.allSatisfy { $0["table"] as? String == "chunks" })
        let free = try bench.run("pages", "S", "--state", "free", "--format", "jsonl").lines()
        #expect(free.allSatisfy { $0["state"] as? String == "free" })
        #expect(try bench.run("pages", "S", "--limit", "3", "--format", "jsonl").lines().count == 3)
    }

    @Test("A damaged page is lost, its table is named on the error output, and the code is 2") func damaged() throws {
        let leaf = try #require(
            try bench.run("pages", "S", "--table", "chunks", "--format", "jsonl").lines()
                .first { $0["kind"] as? String == "leaf" }?["page"] as? Int)
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(leaf * 4_096..<(leaf + 1) * 4_096, with: Data(count: 4_096))
        try bytes.write(to: file)
        let run = try bench.run("pages", "S", "--format", "json")
        #expect(run.code == 2 && run.errors.contains("chunks: page \(leaf)"), "\(run.errors)")
        let pages = try #require(try run.json()["pages"] as? [[String: Any]])
        // The long values below the leaf are reached no more.
        #expect(try pages.count == size && pages.contains { $0["state"] as? String == "lost" })
        let page = try bench.run("page", "S", "\(leaf)", "--format", "json").json()
        #expect(page["kind"] as? String == "other")
        // A tree leads to it, and it is no page.
        #expect(try bench.run("page", "S", "\(leaf)").code == 2)
        #expect(try bench.run("page", "S", "\(leaf)", "--format", "json").json()["state"] as? String == "used")
    }

    private func change(_ body: (inout Data) -> Void) throws {
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        var bytes = try Data(contentsOf: file)
        body(&bytes)
        try bytes.write(to: file)
    }

    @Test("A meta page with an impossible page size is damage, and the other one still leads to the pages")
    func impossibleSize() throws {
        // The page size is at the 41st byte of a meta page.
        try change { $0.replaceSubrange(40..<44, with: Data(count: 4)) }
        for verb in [["pages", "S"], ["page", "S", "5"]] {
            let run = try bench.run(verb + ["--meta", "0"], input: nil)
            #expect(run.code == 2 && run.errors.contains("Meta page 0 does not lead to a snapshot"), "\(run.errors)")
        }
        #expect(try bench.run("pages", "S", "--meta", "1", "--limit", "3", "--format", "jsonl").lines().count == 3)
    }

    @Test("Without both meta pages a page is still decoded, and the list says why there is none") func noMeta() throws {
        let leaf = try #require(
            try bench.run("pages", "S", "--table", "names", "--format", "jsonl").lines().first?["page"] as? Int)
        try change { $0.replaceSubrange(0..<8_192, with: Data(count: 8_192)) }
        let list = try bench.run("pages", "S")
        #expect(list.code == 2 && list.errors.contains("No meta page leads to a snapshot"), "\(list.errors)")
        let run = try bench.run("page", "S", "\(leaf)", "--format", "json")
        let page = try run.json()
        #expect(run.code == 2 && page["kind"] as? String == "leaf" && page["state"] as? String == "lost")
        let values = try #require(page["values"] as? [[String: Any]])
        #expect(!values.isEmpty && values.allSatisfy { $0["table"] as? String == "names" })
        #expect(run.errors.contains("'kvinspect repair S --output NEW'") && !run.errors.contains("`"), "\(run.errors)")
    }

    @Test("A table that does not exist is refused with near names") func unknownTable() throws {
        for verb in ["pages", "check"] {
            let run = try bench.run(verb, "S", "--table", "chunk")
            #expect(run.code == 1 && run.errors.contains("Did you mean 'chunks'"), "\(run.errors)")
        }
    }

    @Test("A page shows its entries without keys and values, and with them if asked for") func decoded() throws {
        let leaf = try #require(
            try bench.run("pages", "S", "--table", "names", "--format", "jsonl").lines().first?["page"] as? Int)
        let run = try bench.run("page", "S", "\(leaf)", "--format", "json")
        #expect(run.code == 0, "\(run.errors)")
        let values = try #require(try run.json()["values"] as? [[String: Any]])
        #expect(!values.isEmpty && values.allSatisfy { $0["table"] as? String == "names" && $0["value"] == nil })
        let shown = try bench.run("page", "S", "\(leaf)", "--format", "json", "--show-values").json()
        let first = try #require((shown["values"] as? [[String: Any]])?.first)
        #expect((first["value"] as? String)?.count == 2 * (first["value_bytes"] as? Int ?? 0))
        let chunks = try #require(
            try bench.run("pages", "S", "--table", "chunks", "--format", "jsonl").lines()
                .first { $0["kind"] as? String == "leaf" }?["page"] as? Int)
        let long = try bench.run("page", "S", "\(chunks)", "--format", "json").json()
        #expect((long["values"] as? [[String: Any]])?.contains { $0["overflow_page"] is Int } == true)
    }

    @Test("Pages 0 and 1 show both meta pages, and the older one leads to the previous transaction") func metas() throws
    {
        let run = try bench.run("page", "S", "1", "--format", "json")
        let metas = try #require(try run.json()["metas"] as? [[String: Any]])
        #expect(run.code == 0 && metas.count == 2)
        let older = try #require(metas.firstIndex { $0["state"] as? String == "older" })
        let previous = try bench.run("pages", "S", "--meta", "\(older)", "--format", "json").json()
        let transaction = metas[1 - older]["transaction"] as? Int ?? 0
        #expect(previous["transaction"] as? Int == transaction - 1)
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(4_096..<8_192, with: Data(count: 4_096))
        try bytes.write(to: file)
        #expect(try bench.run("page", "S", "0").code == 2)
    }

    @Test("A page that the file does not have, and a number that is none, are refused") func wrong() throws {
        let run = try bench.run("page", "S", "99999")
        #expect(run.code == 1 && run.errors.contains("The file has pages 0 to"))
        #expect(try bench.run("page", "S", "many").code == 64)
        #expect(try bench.run("page", "nothing", "1").code == 1)
    }

    @Test("The listing agrees with mdb_stat", .enabled(if: MDBTools.areInstalled)) func mdbStat() throws {
        let text = try MDBTools.run("mdb_stat", ["-a", "-f", bench.path("S")])
        let pages = try bench.run("pages", "S", "--format", "jsonl").lines()
        var table = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("Freelist") { table = "<free>" }
            if line.hasPrefix("Status of Main") { table = "<main>" }
            if line.hasPrefix("Status of "), !line.hasPrefix("Status of Main") { table = String(line.dropFirst(10)) }
            for kind in ["branch", "leaf", "overflow"] where line.hasPrefix("  \(kind.capitalized) pages: ") {
                let own = pages.filter { $0["table"] as? String == table && $0["kind"] as? String == kind }
                #expect(Int(line.split(separator: " ").last ?? "") == own.count, "\(table) \(kind)")
            }
        }
    }

    @Test("A page of a file that ends within its first page is told not to be there", arguments: [200, 4_000, 5_000])
    func cutFile(length: UInt64) throws {
        try bench.load("C", Fixture.lines)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.path("C/data.mdb")))
        try handle.truncate(atOffset: length)
        try handle.close()
        let run = try bench.run("page", "C", "5")
        #expect(run.code == 1 && run.errors.contains("The file has "), "\(run.code) \(run.errors)")
        #expect([1, 2].contains(try bench.run("pages", "C").code))
    }
}
