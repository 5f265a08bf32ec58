import Foundation
import Testing

@testable import kvinspect

@Suite("Stores that cannot be opened")
struct SalvagedDumpTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    /// Two samples with what a sync keeps beside them.
    private static let withSync = #"""
        {"id":"11111111-1111-1111-1111-111111111111","type":"bodyMass","start":"2024-01-01T00:00:00Z","value":80,"unit":"kg","source":"Scale"}
        {"id":"22222222-2222-2222-2222-222222222222","type":"bodyMass","start":"2024-01-02T00:00:00Z","value":81,"unit":"kg","source":"Scale"}
        {"dump":{"version":1,"sources":[{"name":"Scale"},{"name":"Watch"}],"priorities":{"HKQuantityTypeIdentifierStepCount":[{"source":{"name":"Watch"}}]}}}
        {"state":{"kind":"peer","peer":"P","registered":"2024-01-01T00:00:00Z","lastSeen":"2024-02-01T00:00:00Z","queue":"own"}}
        {"state":{"kind":"pending","peer":"P","operation":"save","sample":"11111111-1111-1111-1111-111111111111","version":1,"number":256,"attempts":3,"sent":false,"nextTry":"2024-02-01T00:00:00Z","status":"quarantined","reason":"invalid"}}
        {"state":{"kind":"link","peer":"P","sample":"22222222-2222-2222-2222-222222222222","peerID":"33333333-3333-3333-3333-333333333333","version":1,"provisional":false}}

        """#

    private func zero(pages: Range<Int>) throws {
        let file = URL(fileURLWithPath: bench.path("S/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(
            pages.lowerBound * 4_096..<pages.upperBound * 4_096, with: Data(count: pages.count * 4_096))
        try bytes.write(to: file)
    }

    @Test("dump --salvage of a sound store prints what dump prints") func sound() throws {
        let run = try bench.run("dump", "S", "--salvage")
        #expect(run.code == 0, "\(run.errors)")
        #expect(try run.output == bench.run("dump", "S").output)
        #expect(try bench.run("dump", "S", "--raw", "--salvage").code == 64)
        #expect(try bench.run("dump", "nothing", "--salvage").code == 1)
    }

    @Test("Without meta pages dump --salvage and dump --skip-damaged print every sample, and end with 2")
    func withoutMetas() throws {
        let lines = try bench.run("dump", "S").output
        try zero(pages: 0..<2)
        let plain = try bench.run("dump", "S")
        #expect(plain.code == 2 && plain.output.isEmpty)
        for option in ["--salvage", "--skip-damaged"] {
            let run = try bench.run("dump", "S", option)
            #expect(run.code == 2 && run.output == lines, "\(option): \(run.errors)")
        }
        let hash = try bench.run("repair", "S", "--output", "N")
        #expect(hash.code == 3)
        #expect(try bench.run("dump", "N").output == lines)
    }

    @Test("A damaged leaf page does not keep dump --skip-damaged from the samples") func leaf() throws {
        let pages = try bench.run("pages", "S", "--table", "details", "--format", "jsonl").lines()
        let page = try #require(pages.first { $0["kind"] as? String == "leaf" }?["page"] as? Int)
        let lines = try bench.run("dump", "S").lines().count
        try zero(pages: page..<page + 1)
        let run = try bench.run("dump", "S", "--skip-damaged")
        // What stands on the page itself is lost, and told.
        #expect(try run.code == 2 && (run.lines().count == lines || run.errors.contains("lost: ")), "\(run.errors)")
    }

    @Test("A damaged record beside the samples keeps dump --skip-damaged from none of them, and is told")
    func beside() throws {
        try bench.load("T", SalvagedDumpTests.withSync)
        let lines = try bench.run("dump", "T").lines().count
        try bench.damageRecord("T", of: "meta") { $0.starts(with: "priorities".utf8) }
        let run = try bench.run("dump", "T", "--skip-damaged")
        #expect(try run.code == 2 && run.lines().count == lines && run.errors.contains("Damaged: "), "\(run.errors)")
    }

    @Test(
        "A damaged record of the sync keeps dump --all --skip-damaged from nothing else, and is told",
        arguments: ["links", "peers", "pending"])
    func besideOfSync(table: String) throws {
        try bench.load("T", SalvagedDumpTests.withSync)
        let before = try bench.run("dump", "T", "--all").lines().count
        try bench.damageRecord("T", of: table)
        let run = try bench.run("dump", "T", "--all", "--skip-damaged")
        #expect(try run.code == 2 && run.lines().count >= before - 1, "\(run.errors)")
        #expect(run.errors.contains("Damaged: ") && run.errors.contains(table), "\(run.errors)")
        let get = try bench.run("get", "T", "11111111-1111-1111-1111-111111111111")
        #expect(try get.lines().count == 1 && get.code == (table == "pending" ? 2 : 0), "\(get.errors)")
    }

    @Test("Of a damaged and a sound meta page info and page show what the sound one says") func oneMeta() throws {
        try zero(pages: 0..<1)
        for words in [["info", "S"], ["page", "S", "0"]] {
            let run = try bench.run(words + ["--format", "table"], input: nil)
            #expect(run.code == 2 && run.output.contains("main_root") && run.output.contains("newest"), "\(run.output)")
        }
    }

    @Test("info shows what meta pages and header say, and ends with 2") func info() throws {
        let sound = try bench.run("info", "S", "--format", "json").json()
        try zero(pages: 1..<2)
        let run = try bench.run("info", "S", "--format", "json")
        let json = try run.json()
        #expect(run.code == 2 && json["damaged"] as? Bool == true && run.errors.contains("is damaged: "))
        #expect(json["identity"] as? String == sound["identity"] as? String)
        #expect(json["format_version"] as? Int == 2)
        let metas = try #require(json["metas"] as? [[String: Any]])
        #expect(metas.count == 2 && metas[1]["state"] as? String == "unreadable")
        #expect((json["file"] as? [String: Any])?["bytes"] is Int)
        let table = try bench.run("info", "S", "--format", "table")
        #expect(table.code == 2 && table.output.contains("unreadable"))
        try zero(pages: 0..<1)
        #expect(try bench.run("info", "S", "--format", "json").json()["identity"] is NSNull)
    }
}
