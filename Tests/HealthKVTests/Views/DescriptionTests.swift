import HealthKV
import Testing

@Suite("What a debugger shows")
struct DescriptionTests {
    @Test("Samples, statistics, queries and series print what one wants to see") func descriptions() throws {
        let store = try SampleStore.temporary()
        let base = Instant("2024-05-31T08:00:00Z")!
        let hour = base + 3_600_000_000_000
        try store.write { txn in
            _ = try txn.save(Sample(.bodyMass, .kilograms(72.5), at: base, source: Source(name: "Scale")))
            _ = try txn.save(Sample(.stepCount, 112, .count, from: base, to: hour, source: Source(name: "Phone")))
        }
        try store.read { txn in
            let weight = try #require(try txn.latest(of: .bodyMass))
            #expect("\(weight)" == "bodyMass 72.5 kg, 2024-05-31T08:00:00Z, Scale")
            let steps = try #require(try txn.latest(of: .stepCount))
            #expect("\(steps)" == "stepCount 112.0 count, 2024-05-31T08:00:00Z to 2024-05-31T09:00:00Z, Phone")
            let sums = try txn.statistics(of: .stepCount, from: base, to: hour)
            #expect("\(sums)" == "2024-05-31T08:00:00Z to 2024-05-31T09:00:00Z: sum 112.0 count, 1 samples")
            #expect("\(try txn.statistics(of: .stepCount, from: hour, to: hour + 1))".hasSuffix("no data, 0 samples"))
            #expect(
                "\(try txn.series(.bodyMass))"
                    == "1 values in kg, 2024-05-31T08:00:00Z to 2024-05-31T08:00:00Z")
        }
        let query = SampleQuery(
            .bodyMass, from: base, order: .descending, limit: 3, where: .isUserEntered || .source(named: "S"),
            by: .value)
        #expect(
            "\(query)"
                == "bodyMass from 2024-05-31T08:00:00Z, where user-entered or source = \"S\", by value descending, 3 at most"
        )
        #expect("\(store)" == "SampleStore(\(store.path))")
        try store.close()
    }
}
