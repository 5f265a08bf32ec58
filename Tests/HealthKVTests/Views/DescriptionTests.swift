import Foundation
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

    @Test("What statistics return prints its numbers, and not millions of values") func statistics() throws {
        let store = try SampleStore.temporary()
        let base = Instant("2024-05-31T00:00:00Z")!
        try store.write { txn in
            for day in 0..<4 {
                try txn.save(
                    Sample(
                        .bodyMass, 70 + Double(day), .kilogram, at: base + .seconds(86_400 * day),
                        source: Source(name: "Scale")))
            }
        }
        let id = try store.write { txn in
            let id = try #require(try txn.latest(of: .bodyMass)).id
            try txn.delete(id: id)
            return id
        }
        try store.read { txn in
            let query = SampleQuery(.bodyMass)
            let values = Distribution(try txn.samples(query).map(\.quantity.value), unit: .kilogram)
            #expect("\(values)" == "3 values in kg: 70.0 to 72.0, median 71.0, mean 71.0")
            #expect("\(Distribution([]))" == "no values")
            let trend = try #require(try txn.trend(query))
            #expect("\(trend)" == "1.0 kg a day, 71.0 kg at 2024-06-01T00:00:00Z, fit 1.0 of 3 values")
            let deleted = try #require(try txn.deletedSample(id: id))
            #expect("\(deleted)" == "deleted bodyMass \(id), version 1")
            let type = try #require(try txn.types().first)
            #expect(
                "\(type)".hasPrefix("bodyMass: 3 samples, 2024-05-31T00:00:00Z to 2024-06-02T00:00:00Z, 1 sources, "))
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let days = try txn.statistics(
                .bodyMass, by: .day, from: base, to: base + .seconds(4 * 86_400), calendar: calendar)
            let bands = try txn.timeInBands(query, borders: [70.5, 71.5], hold: .seconds(60))
            #expect("\(bands)" == "below 70.5: 33 %, 70.5 to 71.5: 33 %, from 71.5: 33 % (kg)")
            #expect("\(days.streaks(of: \.average, meeting: .atLeast(71)))" == "current 2, longest 2, met 2 of 3")
        }
        try store.close()
    }
}
