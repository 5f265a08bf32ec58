import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("report")
struct ReportTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    /// Makes the report of a store, and parses the page.
    private func page(_ store: String, _ words: [String] = [], code: Int32 = 0) throws -> (
        run: ToolRun, html: MarkupNode
    ) {
        let run = try bench.run(
            ["report", store, "-o", "\(store).html", "--force", "--format", "json"] + words, input: nil)
        #expect(run.code == code, "\(run.errors)")
        return (run, try MarkupParser.parse(try text("\(store).html")))
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: bench.folder.appendingPathComponent(name)), as: UTF8.self)
    }

    @Test("JSON names the file, its bytes, and what the store holds, and the page says the same")
    func json() throws {
        try bench.load("S", Fixture.lines)
        let (run, html) = try page("S", ["--tz", "UTC"])
        #expect(run.errors == "Writing S.html; S is only read.\n")
        let json = try run.json()
        #expect(json["file"] as? String == "S.html" && json["samples"] as? Int == 4 && json["types"] as? Int == 2)
        #expect(json["findings"] as? Int == 0 && json["clean"] as? Bool == true)
        #expect(try json["bytes"] as? Int == text("S.html").utf8.count)
        #expect(html.all("h1").map(\.text) == ["Report on S"])
        #expect(html.text.contains("The store is clean.") && html.text.contains("4 samples of 2 types from 3 sources"))
        let types = try html.rows("Types of samples, those with the most first")
        #expect(types.map { $0[0] } == ["stepCount", "bodyMass"] && types.map { $0[1] } == ["3", "1"])
        #expect(types[0][2...4] == ["75.0 %", "2024-05-31 08:00", "2024-06-01 08:00"])
        let sources = try html.rows("Apps and devices that samples came from, those with the most first")
        #expect(sources[0][0...3] == ["Phone", "", "2", "50.0 %"])
        #expect(sources.contains { $0[0...1] == ["Scale", "com.example.scale"] })
        let chunks = try #require(try html.rows("Tables of the file").first { $0[0] == "chunks" })
        #expect(chunks[1] == "2" && Int(chunks[2]) ?? 0 > 0 && chunks[6].hasSuffix(" %"))
        let piped = try bench.run("report", "S", "-o", "-", "--tz", "UTC")
        #expect(piped.code == 0 && piped.output.hasPrefix("<!DOCTYPE html>") && piped.errors.isEmpty, "\(piped.errors)")
        let table = try bench.run("report", "S", "-o", "other.html")
        #expect(table.output.hasPrefix("other.html: ") && table.output.hasSuffix("of 2 types. The store is clean.\n"))
    }

    @Test("The page loads nothing, runs nothing, and its policy allows its one style sheet alone")
    func policy() throws {
        try bench.load("S", Fixture.lines)
        let html = try page("S").html
        let sheets = html.all("style").map(\.text)
        var digest = SHA256()
        digest.update(Array(sheets.joined().utf8))
        let hash = Data(digest.finalize()).base64EncodedString()
        let metas = html.all("head")[0].all("meta")
        let policy = metas.first { $0.attributes["http-equiv"] == "Content-Security-Policy" }
        #expect(sheets.count == 1)
        #expect(
            policy?.attributes["content"]
                == "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'")
        let allowed: Set = [
            "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "h3", "p", "bdi", "nav", "ul", "li",
            "main", "section", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "time", "figure",
            "figcaption", "details", "summary", "svg", "desc", "path", "text", "span", "footer",
        ]
        #expect(Set(html.everything.map(\.name)).subtracting(allowed).isEmpty)
        for node in html.everything {
            #expect(!node.attributes.keys.contains { $0.hasPrefix("on") || ["src", "style", "data"].contains($0) })
        }
        for word in ["url(", "@import", "expression(", "http"] { #expect(!sheets[0].contains(word)) }
    }

    @Test(
        "Texts from elsewhere are harmless: markup is escaped, control characters are spelled out, length has a bound")
    func hostile() throws {
        let long = String(repeating: "x", count: 5_000)
        let lines = [
            #"{"type":"stepCount","start":"2024-05-31","value":1,"unit":"count","source":"<script>alert(1)</script>"}"#,
            #"{"type":"stepCount","start":"2024-06-01","value":1,"unit":"count","source":"a\u0007\u001b[2J\u202e\u0000b&amp;\"' "}"#,
            #"{"type":"</title><b onclick='x'>&","start":"2024-06-01","value":1,"unit":"count","source":"]]>-->"}"#,
            #"{"type":"bodyMass","start":"2024-06-01","value":1,"unit":"kg","source":{"name":"\#(long)","bundle":"\ufffe\#(long)"}}"#,
        ]
        try bench.load("S", lines.joined(separator: "\n"))
        let html = try page("S").html
        let source = try text("S.html")
        #expect(html.all("script").isEmpty && html.all("b").isEmpty && !source.contains("<script"))
        #expect(source.contains("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"))
        let names = try html.rows("Apps and devices that samples came from, those with the most first").map { $0[0] }
        #expect(names.contains(#"a\u{7}\u{1b}[2J\u{202e}\u{0}b&amp;"' "#), "\(names)")
        #expect(names.contains("]]>-->") && names.allSatisfy { $0.count <= 80 })
        #expect(!source.contains(String(repeating: "x", count: 81)))
        #expect(html.all("h3").map(\.text).contains("</title><b onclick='x'>&"))
    }

    @Test("No health value is on the page, and the folders above the store are not either")
    func values() throws {
        let line =
            #"{"type":"bodyMass","start":"2024-05-31T06:30:00Z","value":98765.4321,"unit":"kg","source":"Scale","syncIdentifier":"weight-sync","userEntered":true,"device":{"name":"ADevice"},"metadata":{"akey":"avalue"},"group":"morning"}"#
        try bench.load("S", line)
        let html = try page("S").html
        let source = try text("S.html")
        for word in ["98765", "98,765", "weight-sync", "ADevice", "akey", "avalue", "morning", bench.folder.path] {
            #expect(!source.contains(word), "\(word)")
        }
        #expect(!html.all("body")[0].text.contains("kg"))
    }

    @Test("Headings, landmarks, tables and plots can be used without eyes and without a mouse")
    func accessible() throws {
        _ = try SyncFixture(bench, "S")
        let html = try page("S").html
        #expect(html.attributes["lang"] == "en" && html.all("main").count == 1 && html.all("nav").count == 1)
        #expect(html.all("header").count == 1 && html.all("footer").count == 1)
        let first = try #require(html.all("body")[0].all("a").first)
        #expect(first.attributes["href"] == "#\(html.all("main")[0].attributes["id"] ?? "")")
        let levels = html.everything.map(\.name).filter { ["h1", "h2", "h3"].contains($0) }.compactMap {
            Int($0.dropFirst())
        }
        #expect(levels.first == 1 && levels.count { $0 == 1 } == 1)
        for (above, below) in zip(levels, levels.dropFirst()) { #expect(below - above <= 1) }
        for table in html.all("table") {
            #expect(table.children.first?.name == "caption" && table.all("caption")[0].text.isEmpty == false)
            #expect(table.all("thead")[0].all("th").allSatisfy { $0.attributes["scope"] == "col" })
            let headers = table.all("tbody")[0].all("th").compactMap { $0.attributes["scope"] }
            #expect(!headers.isEmpty && headers.allSatisfy { $0 == "row" || $0 == "rowgroup" })
        }
        for svg in html.all("svg") where svg.attributes["aria-hidden"] != "true" {
            #expect(svg.attributes["role"] == "img" && svg.all("title").count == 1 && svg.all("desc").count == 1)
            #expect(svg.attributes["aria-labelledby"] == svg.all("title")[0].attributes["id"])
        }
    }

    @Test("Queue, anchors and conflicts are counted by peer")
    func sync() throws {
        _ = try SyncFixture(bench, "S")
        let html = try page("S", ["--tz", "UTC"]).html
        let peers = try html.rows("Queue and anchors by peer")
        #expect(peers[0] == ["health", "1", "1", "0", "2", "2024-06-01 10:00", "2024-06-01 10:00", "registered"])
        #expect(peers[1][0...4] == ["tablet", "0", "0", "1", "2"])
        #expect(html.text.contains("Resolved conflicts: 2."))
    }

    @Test("Hours and days are those of --tz")
    func zone() throws {
        try bench.load("S", Fixture.lines)
        let html = try page("S", ["--tz", "Asia/Kathmandu"]).html
        let hours = try html.rows("Samples by the hour in which they begin").filter { $0[1] != "0" }
        #expect(hours == [["10:00", "1"], ["13:00", "2"], ["14:00", "1"]])
        #expect(html.text.contains("Times are in the zone Asia/Kathmandu."))
        #expect(try html.rows("Samples of stepCount by year") == [["2024", "3", "2"]])
    }

    @Test("The longest times without a sample are listed for types with many samples")
    func gaps() throws {
        let days = (0..<80).filter { !(20..<33).contains($0) && $0 != 60 }
        let lines = days.map {
            #"{"type":"stepCount","start":"\#(DateText.text(day($0), in: .utc))","value":1,"unit":"count"}"#
        }
        try bench.load("S", (lines + Fixture.lines.split(separator: "\n").map(String.init)).joined(separator: "\n"))
        let rows = try page("S", ["--tz", "UTC"]).html.rows("Longest gaps by type")
        #expect(rows.count == 5 && rows[0][0] == "stepCount")
        #expect(rows[0][1...] == ["1,533 days 8 h", "2020-03-20 00:00", "2024-05-31 08:00"])
        #expect(rows[1] == ["14 days", "2020-01-20 00:00", "2020-02-03 00:00"] && rows[2][0] == "2 days")
    }

    private func day(_ number: Int) -> Instant {
        Instant("2020-01-01T00:00:00Z")! + Int64(number) * 86_400 * Instant.nanosecondsPerSecond
    }

    // MARK: The file

    @Test("Gaps of centuries are told, although no number of nanoseconds is that long") func centuries() throws {
        let years =
            ["1720-01-01T00:00:00Z"] + (0..<60).map { "2024-01-01T00:\($0 < 10 ? "0" : "")\($0):00Z" }
            + ["2289-01-01T00:00:00Z"]
        let lines = years.map { #"{"type":"bodyMass","start":"\#($0)","value":70,"unit":"kg","source":"Scale"}"# }
        try bench.load("C", lines.joined(separator: "\n"))
        let run = try bench.run("report", "C", "-o", bench.path("C.html"))
        #expect(run.code == 0, "\(run.errors)")
        // The page tells what the store holds, so nobody else may read it.
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.path("C.html"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("A file that exists is replaced with --force only, and nothing else is left")
    func overwriting() throws {
        try bench.load("S", Fixture.lines)
        try Data("old".utf8).write(to: bench.folder.appendingPathComponent("page.html"))
        let refused = try bench.run("report", "S", "--output", "page.html")
        #expect(refused.code == 1 && refused.output.isEmpty, "\(refused.errors)")
        #expect(refused.errors == "Error: page.html exists already. Choose another name, or pass --force.\n")
        #expect(try text("page.html") == "old")
        #expect(try bench.run("report", "S", "--output", "page.html", "--force").code == 0)
        #expect(try text("page.html").hasPrefix("<!DOCTYPE html>"))
        #expect(try bench.run("report", "S", "-o", "new-page.html").code == 0)
        #expect(try text("new-page.html").hasSuffix("</html>\n"))
        let left = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter { $0.contains("page") }
        #expect(left.sorted() == ["new-page.html", "page.html"])
    }

    @Test("A page goes neither into the store's folder, nor over a folder, nor into a folder that is not there")
    func places() throws {
        try bench.load("S", Fixture.lines)
        try FileManager.default.createDirectory(atPath: bench.path("F"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: bench.path("L"), withDestinationPath: bench.path("S"))
        for (file, words) in [
            ("S/data.mdb", "lies in the folder of the store"), ("S/new.html", "lies in the folder of the store"),
            ("./F/../S/new.html", "lies in the folder of the store"), ("L/new.html", "lies in the folder of the store"),
            ("F", "is no file, and is not replaced"), ("L", "is no file, and is not replaced"),
            ("nowhere/page.html", "cannot be written"),
        ] {
            let run = try bench.run("report", "S", "-o", file, "--force")
            #expect(run.code == 1 && run.errors.contains(words), "\(file): \(run.errors)")
        }
        let run = try bench.run("report", "S", "-o", "nowhere/page.html")
        #expect(run.errors == "Error: nowhere/page.html cannot be written: its folder does not exist.\n")
        try bench.expectClean("S")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.path("S")).allSatisfy { !$0.contains("new") })
    }

    // MARK: Damage

    private func loadSteps() throws {
        let lines = (0..<6_000).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0 * 7919))Z","value":\#($0 % 97),"unit":"count","source":"Phone"}"#
        }
        try bench.load("S", (lines + Fixture.lines.split(separator: "\n").map(String.init)).joined(separator: "\n"))
    }

    @Test("A damaged chunk exits with 2, and the page has everything else, the finding and the days that are missing")
    func damagedChunk() throws {
        try loadSteps()
        try bench.damageChunk("S") { $0 / 2 }
        let (run, html) = try page("S", ["--tz", "UTC"], code: 2)
        let json = try run.json()
        #expect(json["clean"] as? Bool == false && json["findings"] as? Int == 1)
        let samples = try #require(json["samples"] as? Int)
        #expect(samples > 2_000 && samples < 6_004)
        #expect(html.text.contains("The store is damaged: 1 finding."))
        #expect(try html.rows("Findings of the check").map { $0[0] } == ["chunkUnreadable"])
        let lost = try html.rows("Samples that are missing or doubtful, by the days on which they begin")
        #expect(lost == [["stepCount", "not readable", "–", "2024-01-01", "2024-01-01"]])
        let types = try html.rows("Types of samples, those with the most first")
        #expect(types.count == 2 && types.map(\.last) == ["6,003", "1"])
        #expect(try html.rows("Tables of the file").count > 10)
    }

    @Test("A store that cannot be opened is salvaged for its report")
    func salvaged() throws {
        try loadSteps()
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        var bytes = try Data(contentsOf: file)
        // Without meta pages nothing leads to the tables.
        for offset in 0..<8_192 { bytes[offset] = 0x5A }
        try bytes.write(to: file)
        let (run, html) = try page("S", code: 2)
        let json = try run.json()
        #expect(json["samples"] as? Int == 6_004 && json["clean"] as? Bool == false, "\(json)")
        #expect(html.text.contains("The store cannot be read as it is."))
        #expect(html.text.contains("The tables cannot be measured"))
        #expect(try html.rows("Types of samples, those with the most first").map { $0[5] } == ["–", "–"])
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test("A file full of noise still gives a page that says so", arguments: [0xA5, 0x00] as [UInt8])
    func ruined(byte: UInt8) throws {
        try loadSteps()
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        let size = try Data(contentsOf: file).count
        try Data(repeating: byte, count: size).write(to: file)
        let (run, html) = try page("S", code: 2)
        #expect(try run.json()["samples"] as? Int == 0 && html.text.contains("Could not be read: all samples: "))
        #expect(html.text.contains("There are no samples."))
    }

    #if os(Linux)
        @Test("If the system kills the reading process, the page has what ordinary reads find")
        func crashed() throws {
            try bench.load("S", Fixture.lines)
            let run = try bench.crashed(["report", "S", "-o", "page.html", "--format", "json", "--progress", "json"])
            let json = try run.json()
            #expect(run.code == 2 && json["samples"] as? Int == 4 && json["findings"] as? Int == 1, "\(run.errors)")
            #expect(try MarkupParser.parse(text("page.html")).text.contains("could not be read, while it was checked"))
        }
    #endif

    // MARK: Size

    @Test("The page has a bound: hundreds of types and sources with long names and long lives stay below 2 MB")
    func size() throws {
        let name = String(repeating: #"\u0001&"#, count: 40)
        let lines = (0..<300).flatMap { type in
            (0..<60).map { year in
                #"{"type":"t\#(type)\#(name)","start":"\#(1900 + year * 2)-0\#(1 + year % 9)-01","value":1,"unit":"count","source":"s\#(type)\#(name)"}"#
            }
        }
        try bench.load("S", lines.joined(separator: "\n"))
        let (run, html) = try page("S")
        let bytes = try #require(try run.json()["bytes"] as? Int)
        #expect(bytes < 2_000_000 && bytes > 200_000)
        #expect(try html.rows("Types of samples, those with the most first").count == 200)
        #expect(html.text.contains("And 100 more types.") && html.text.contains("And 100 more sources."))
    }
}
