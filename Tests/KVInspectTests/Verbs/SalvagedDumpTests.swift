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
