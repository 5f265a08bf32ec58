import Foundation
import Testing

@testable import bench

@Suite("Reports")
struct ReportTests {
    @Test("A contestant that answers otherwise is found")
    func differing() {
        var book = AnswerBook()
        for name in ["one", "two"] { book.add(Answer(contestant: name, work: "read_all", digest: "3 ff")) }
        #expect(book.differing.isEmpty)
        book.add(Answer(contestant: "three", work: "read_all", digest: "3 fe"))
        #expect(book.differing == ["read_all"])
    }

    @Test(
        "A figure stands in the file as soon as it counts, and is taken back when a later contestant answers otherwise")
    func figuresAsTheyCome() throws {
        let path = FileManager.default.temporaryDirectory.path + "/figures-\(UUID().uuidString).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "of an earlier run\n".write(toFile: path, atomically: true, encoding: .utf8)
        let comparison = try Comparison(try Settings(["--json", path]), Interruption())
        func lines() throws -> [Substring] { try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") }
        func report(_ contestant: String, _ work: String, _ digest: String?) throws {
            if let digest {
                try comparison.receive(.answer(Answer(contestant: contestant, work: work, digest: digest)))
            }
            try comparison.receive(
                .measurement(
                    Figure(contestant: contestant, work: work, samples: 1, profile: "plain", value: 1, unit: .perSecond)
                ))
        }
        try report("HealthKV", "import", nil)
        try report("HealthKV", "read_all", "3 ff")
        try report("HealthKV", "read_all.stepCount", nil)
        #expect(try lines().count == 4 && comparison.flaws.isEmpty)
        try report("SQLite", "import", nil)
        try report("SQLite", "read_all", "3 fe")
        #expect(try lines().count == 3 && lines()[0] == "of an earlier run")
        #expect(comparison.figures.map(\.contestant) == ["HealthKV", "SQLite"])
        #expect(comparison.flaws.count == 1 && comparison.table(colours: false).text.contains("answers differ"))
    }

    @Test("Of a contestant that repeats less the table says how often")
    func runs() throws {
        func measured(_ contestant: String, _ runs: Int) -> Figure {
            Figure(
                contestant: contestant, work: "latest", samples: 1_000_000, profile: "plain", value: 2,
                unit: .microseconds, runs: runs)
        }
        let settings = Settings()
        #expect(Table([measured("HealthKV", 1_000), measured("DuckDB", 200)], settings).text.contains("1,000     200"))
        #expect(!Table([measured("HealthKV", 200), measured("DuckDB", 200)], settings).text.contains("runs"))
    }

    @Test("Median and percentiles are those of the sorted times")
    func percentiles() {
        var latencies = Latencies()
        for time in (1...1_000).shuffled() { latencies.add(UInt64(time) * 1_000) }
        let found = latencies.percentiles()
        #expect(found == Latencies.Percentiles(p50: 501, p99: 991, p999: 1_000, worst: 1_000))
        #expect([3.0, 1, 2].median == 2 && [4.0, 1, 2, 3].median == 2.5)
    }

    @Test("The table marks which targets are met, for the profile that they are of")
    func targets() throws {
        func measured(_ contestant: String, _ value: Double) -> Figure {
            Figure(
                contestant: contestant, work: "read_all", samples: 10_000_000, profile: "plain", value: value,
                unit: .perSecond)
        }
        let measurements = [measured("HealthKV", 400e6), measured("LMDB-rows", 30e6), measured("memcpy", 1_200e6)]
        var settings = try Settings(["--samples", "10M"])
        let text = Table(measurements, settings).text
        #expect(text.contains("met  >= 10x rows (13.3)"))
        #expect(text.contains("MISS >= 0.40x memcpy (0.33)"))
        #expect(!text.contains("\u{1B}"))
        #expect(Table(measurements, settings, colours: true).text.contains("\u{1B}[32mmet  >= 10x rows (13.3)"))
        settings.profile = .life
        #expect(!Table(measurements, settings).text.contains("MISS"))
    }

    @Test("Single operations have targets against rows and SQLite, and data of a person one against plain data")
    func targetsOfSingleOperations() throws {
        func measured(_ contestant: String, _ work: String, _ value: Double, _ unit: Figure.Unit) -> Figure {
            Figure(contestant: contestant, work: work, samples: 1_000_000, profile: "plain", value: value, unit: unit)
        }
        var settings = try Settings(["--samples", "1M"])
        let times = [("HealthKV", 59.0), ("LMDB-rows", 100), ("SQLite", 50)]
        let saves = Table(times.map { measured($0.0, "durable_write", $0.1, .microseconds) }, settings).text
        #expect(saves.contains("met  rows <= 0.60x (0.59)") && saves.contains("MISS SQLite <= 1.10x (1.18)"))
        let rates = [("HealthKV", "durable_write_64", 160.0), ("LMDB-rows", "durable_write_64.threads", 100)]
        let many = Table(rates.map { measured($0.0, $0.1, $0.2, .writesPerSecond) }, settings).text
        #expect(many.contains("met  >= 1.50x rows (1.60)"))
        settings.profile = .life
        let plain = [measured("HealthKV", "import", 2e6, .perSecond)]
        let life = [measured("HealthKV", "import", 1e6, .perSecond)]
        #expect(Table(life, settings, plain: plain).text.contains("MISS >= 0.60x plain (0.50)"))
        #expect(!Table(life, settings).text.contains("plain ("))
    }

    @Test("Every line of JSON has all the names that the documentation gives, with null for what was not measured")
    func json() throws {
        let whole = Figure(
            contestant: "memcpy", work: "read_all", samples: 1, profile: "plain", value: 2, unit: .perSecond, runs: 9,
            low: 1, high: 3, p50: 3, p99: 4, p999: 4.5, worst: 5, privateBytes: 6, peakBytes: 7, writtenBytes: 8)
        let bare = Figure(
            contestant: "memcpy", work: "read_all", samples: 1, profile: "plain", value: 2, unit: .perSecond)
        let optional: Set = [
            "runs", "low", "high", "p50", "p99", "p999", "worst", "private_bytes", "peak_bytes", "written_bytes",
        ]
        let cases: [(figure: Figure, missing: Set<String>)] = [(whole, []), (bare, optional)]
        for (figure, missing) in cases {
            let line = try JSONEncoder().encode(figure)
            let object = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            let always: Set = ["contestant", "work", "samples", "profile", "value", "unit", "from_summaries"]
            #expect(Set(object.keys) == always.union(optional))
            #expect(Set(object.filter { $0.value is NSNull }.keys) == missing)
            let again = try JSONDecoder().decode(Figure.self, from: line)
            #expect(again.p99 == figure.p99 && again.privateBytes == figure.privateBytes && again.runs == figure.runs)
        }
    }

    @Test("A part of an answer is compared with the same part, and stands for the whole work")
    func partialAnswers() {
        var book = AnswerBook()
        for (name, work, digest) in [
            ("one", "lookup_uuid#200", "a"), ("one", "lookup_uuid", "b"), ("two", "lookup_uuid#200", "a"),
        ] { book.add(Answer(contestant: name, work: work, digest: digest)) }
        #expect(book.differing.isEmpty)
        book.add(Answer(contestant: "three", work: "lookup_uuid#200", digest: "c"))
        #expect(book.differing == ["lookup_uuid"])
    }

    @Test("The page draws a line for each contestant and loads nothing")
    func page() throws {
        let figures = ["HealthKV", "SQLite"].flatMap { name in
            [10_000, 1_000_000].map { samples in
                Figure(
                    contestant: name, work: "lookup_uuid", samples: samples, profile: "plain",
                    value: Double(samples).squareRoot(), unit: .microseconds)
            }
        }
        let text = Page(figures, seed: 1).text
        #expect(text.components(separatedBy: "<g class=").count == 3)
        #expect(text.contains("SQLite, 1,000,000 samples: 1 ms"))
        let one = Page(figures.filter { $0.samples == 1_000_000 }, seed: 1).text
        #expect(one.contains("SQLite: 1 ms") && one.contains("Profile plain, 1,000,000 samples"))
        for outside in ["http", "src=", "@import", "url("] {
            #expect(!text.contains(outside) && !one.contains(outside))
        }
    }

    @Test("Arguments are understood or refused")
    func arguments() throws {
        let settings = try Settings(["--samples", "10k", "--only", "import,read_all", "--contestants", "lmdb-rows"])
        #expect(settings.samples == 10_000 && settings.only == [.importing, .readAll])
        #expect(settings.contestants == [.rows])
        #expect(try Settings(["--samples", "10k,100k,1M"]).sizes == [10_000, 100_000, 1_000_000])
        #expect(settings.part(.plain, 480).batchRows == 20)
        let short = try Settings(["--short", "--samples", "20k"])
        #expect(short.parts.map(\.samples) == [20_000] && short.runs == 1 && short.profiles == [.plain])
        func parts(_ arguments: [String]) throws -> [String] {
            try Settings(arguments).parts.map { "\($0.profile) \($0.samples)" }
        }
        #expect(
            try parts(["--samples", "10k,10M"]) == ["plain 10000", "plain 10000000", "life 10000", "life 1000000"])
        #expect(try parts(["--samples", "2M,10M"]) == ["plain 2000000", "plain 10000000", "life 1000000"])
        #expect(try parts(["--samples", "5M", "--profile", "life,weight"]) == ["life 5000000", "weight 5000000"])
        for wrong in [["--samples", "none"], ["--profile", "other"], ["--unknown", "1"], ["--json"]] {
            #expect(throws: WrongUsage.self) { try Settings(wrong) }
        }
    }
}
