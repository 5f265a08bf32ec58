import Foundation
import Testing

@testable import HealthKV

@Suite struct StatisticsUpdatesTests {
    @Test("Statistics come again when a write touches their range, and only then", .timeLimit(.minutes(30)))
    func updates() async throws {
        let store = try SampleStore.temporary()
        @Sendable func save(_ day: Int, _ value: Double) throws {
            try store.save(
                Sample(.stepCount, value, .count, from: .day(day, 10), to: .day(day, 20), source: Source(name: "S")))
        }
        try save(1, 1)
        var utc = Calendar(identifier: .gregorian)
        utc.timeZone = .gmt
        let query = StatisticsQuery(.stepCount, by: .day, from: .day(0), to: .day(3), calendar: utc)
        var updates = store.statisticsUpdates(query).makeAsyncIterator()
        func next() async throws -> [Double?]? { try await updates.next()?.map(\.sum) }
        #expect(try await next() == [1])
        try save(9, 100)
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(1)))
        try save(2, 5)
        #expect(try await next() == [1, 5])
        try await store.write { _ = try $0.delete(.range(of: .stepCount, from: .day(1), to: .day(2))) }
        #expect(try await next() == [5])
        // A suspension interrupts nothing.
        try store.suspend()
        let later = Task { [updates] in
            var updates = updates
            return try await updates.next()?.map(\.sum)
        }
        try await Task.sleep(for: .milliseconds(20))
        try store.resume()
        try save(1, 2)
        #expect(try await later.value == [2, 5])
        try await store.write { _ = try $0.delete(.range(of: .stepCount, from: .day(1), to: .day(2))) }
        let (begun, told) = AsyncStream.makeStream(of: Void.self)
        let sums = Task {
            var sums: [[Double?]] = []
            do {
                for try await days in store.statisticsUpdates(query) {
                    sums.append(days.map(\.sum))
                    told.finish()
                }
            } catch is CancellationError {}
            return sums
        }
        for await _ in begun {}
        try store.suspend()
        try store.resume()
        try save(10, 1)
        try await Task.sleep(for: .milliseconds(50))
        sums.cancel()
        #expect(try await sums.value == [[5]])
        try store.expectClean()
        try store.close()
    }

    @Test("Only a change of the type and within the range makes who follows a query look again")
    func touching() throws {
        try withStore { store in
            func save(_ day: Int, _ type: SampleType = .stepCount, _ unit: HealthUnit = .count) throws -> Sample {
                let sample = Sample(
                    type, 1, unit, from: .day(day, 10), to: .day(day, 20), source: Source(name: "S"))
                try store.save(sample)
                return sample
            }
            let (near, far) = (try save(1), try save(100))
            let weight = try save(1, .bodyMass, .kilogram)
            let query = StatisticsQuery(
                .stepCount, by: .day, from: .day(0), to: .day(3), calendar: Calendar(identifier: .gregorian))
            func touches(_ change: () throws -> Void) throws -> Bool {
                let token = try store.read { ChangeLog.currentToken(in: $0.snapshot) }
                try change()
                return try store.read {
                    try TouchingChanges.touch([query.type: query.touchedRange], since: token, in: $0.snapshot)
                }
            }
            func delete(_ id: SampleID) throws { _ = try store.write { try $0.delete(id: id) } }
            #expect(try !touches { _ = try save(101) })
            #expect(try !touches { try delete(far.id) })
            #expect(
                try !touches {
                    _ = try store.write { try $0.delete(.range(of: .stepCount, from: .day(99), to: .day(102))) }
                })
            #expect(try !touches { try delete(weight.id) })
            #expect(try !touches { try delete(SampleID()) })
            #expect(try touches { _ = try save(2) })
            #expect(try touches { try delete(near.id) })
        }
    }
}
