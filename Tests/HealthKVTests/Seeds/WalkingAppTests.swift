import Testing

@testable import HealthKV

/// The Walking App: steps and metres by day, read only, deleted by source on revocation (document 003).
@Suite("Seed Walking App") struct WalkingAppTests {
    private let phone = Source(bundle: "com.apple.health.phone", name: "Phone", product: "iPhone17,1")
    private let watch = Source(bundle: "com.apple.health.watch", name: "Watch", product: "Watch7,2")
    private let manual = Source(bundle: "com.example.walking", name: "Walking App")

    @Test("A day of steps and metres is kept, with steps as counts and the distance in metres")
    func day() throws {
        try withStore { store in
            let day = Sample.walking(steps: 8_312, meters: 6_120.5, from: .day(5), to: .day(6), source: phone)
            try store.write { _ = try $0.save(day) }
            let (steps, distance) = try store.read { txn in
                (try txn.samples(of: .stepCount), try txn.samples(of: .distanceWalkingRunning))
            }
            #expect(steps.map(\.quantity) == [Quantity(8_312, .count)])
            #expect(distance.map(\.quantity) == [Quantity(6_120.5, .meter)])
            #expect(try distance[0].value(in: .mile) == 6_120.5 / 1_609.344)
            #expect(steps[0].duration == 86_400)
            #expect(steps[0].quantity.formatted() == "8312 count")
        }
    }

    @Test("Thirty days of history and today's part of a day come in as one batch, twice without doubling")
    func history() throws {
        try withStore { store in
            var batch = SampleBatch()
            let steps = batch.kind(.stepCount, .count, source: watch)
            let meters = batch.kind(.distanceWalkingRunning, .meter, source: watch)
            for day in 0..<30 {
                batch.append(kind: steps, start: .day(day), end: .day(day + 1), value: Double(5_000 + day))
                batch.append(kind: meters, start: .day(day), end: .day(day + 1), value: Double(day) * 100.25)
            }
            #expect(try store.importBatch(batch).inserted == 60)
            #expect(try store.importBatch(batch).unchanged == 60)
            let today = try store.read { try $0.samples(of: .stepCount, from: .day(29), to: .day(30)) }
            // A18: the day that ends where the range begins is not in it.
            #expect(today.map(\.quantity.value) == [5_029])
        }
    }

    @Test("On revocation what came from Health goes, and steps that were entered by hand stay")
    func revocation() throws {
        try withStore { store in
            try store.write { txn in
                _ = try txn.save(Sample.walking(steps: 4_000, meters: 3_000, from: .day(1), to: .day(2), source: phone))
                var entered = Sample.walking(steps: 900, from: .day(2), to: .day(3), source: manual)
                entered[0].isUserEntered = true
                _ = try txn.save(entered)
            }
            #expect(try store.write { try $0.purge(.source(phone.identity)) } == 2)
            let left = try store.read { try $0.samples(of: .stepCount) }
            #expect(left.map(\.source.name) == ["Walking App"] && left[0].isUserEntered)
            #expect(try store.read { try $0.count() } == 1)
        }
    }
}
