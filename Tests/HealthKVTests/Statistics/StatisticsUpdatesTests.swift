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
        try await store.write { _ = try $0.deleteRange(of: .stepCount, from: .day(1), to: .day(2)) }
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
        try await store.write { _ = try $0.deleteRange(of: .stepCount, from: .day(1), to: .day(2)) }
        let sums = Task {
            var sums: [[Double?]] = []
            for try await days in store.statisticsUpdates(query) { sums.append(days.map(\.sum)) }
            return sums
        }
        try await Task.sleep(for: .milliseconds(50))
        try store.suspend()
        try store.resume()
        try save(10, 1)
        try await Task.sleep(for: .milliseconds(50))
        sums.cancel()
        let seen = (try? await sums.value) ?? [[5]]
        #expect(seen == [[5]])
        try store.expectClean()
        try store.close()
    }
}
