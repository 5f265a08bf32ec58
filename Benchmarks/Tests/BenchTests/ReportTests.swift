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

    @Test("Median and percentiles are those of the sorted times")
    func percentiles() {
        var latencies = Latencies()
        for time in (1...1_000).shuffled() { latencies.add(UInt64(time) * 1_000) }
        let (p50, p99, worst) = latencies.percentiles()
        #expect((p50, p99, worst) == (501, 991, 1_000))
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
        settings.profile = .life
        #expect(!Table(measurements, settings).text.contains("MISS"))
    }

    @Test("A line of JSON has the names that the documentation gives")
    func json() throws {
        let measurement = Figure(
            contestant: "memcpy", work: "read_all", samples: 1, profile: "plain", value: 2, unit: .perSecond, p50: 3,
            p99: 4, worst: 5, privateBytes: 6)
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(measurement)) as? [String: Any]
        #expect(
            Set(try #require(object).keys) == [
                "contestant", "work", "samples", "profile", "value", "unit", "p50", "p99", "worst", "private_bytes",
                "from_summaries",
            ])
    }

    @Test("Arguments are understood or refused")
    func arguments() throws {
        let settings = try Settings(["--samples", "10k", "--only", "import,read_all", "--contestants", "lmdb-rows"])
        #expect(settings.samples == 10_000 && settings.only == [.importing, .readAll])
        #expect(settings.contestants == [.rows])
        for wrong in [["--samples", "none"], ["--profile", "other"], ["--unknown", "1"], ["--json"]] {
            #expect(throws: BenchFailure.self) { try Settings(wrong) }
        }
    }
}
