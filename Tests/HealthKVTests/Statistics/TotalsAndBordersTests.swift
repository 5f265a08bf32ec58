import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// Borders of one's own, and totals that peers told, where an answer once depended on how it was asked for.
@Suite("Statistics with borders of one's own and totals of peers")
struct TotalsAndBordersTests {
    private func total(
        _ value: Double?, day: String, zone: String = "UTC", peer: PeerID = "health"
    ) -> DailyTotal {
        DailyTotal(
            peer: peer, type: .stepCount, day: day, zone: zone, value: value, unit: .count, isComplete: true,
            time: .day(9))
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "UTC")!
        return calendar
    }

    private func name(_ day: Int) -> String {
        String(ISO8601DateFormatter().string(from: Instant.day(day).date).prefix(10))
    }

    @Test("A range may begin in any bucket of borders of one's own", arguments: [false, true])
    func lateBeginning(summed: Bool) throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        for hour in 0..<60 * 24 {
            try store.save(Sample(.stepCount, Double(hour % 7) + 1, .count, at: .day(0, hour * 3_600)))
        }
        if summed { while try store.maintain() {} }
        for (day, second) in [(40, 0), (40, 43_200), (1, 1), (59, 7_200)] {
            let from = Instant.day(day, second)
            var query = StatisticsQuery(.stepCount, by: nil, from: from, to: .day(60))
            query.borders = (0...60).map { Instant.day($0).nanoseconds }.map { Instant(nanoseconds: $0) }
            query.fillsEmptyBuckets = true
            let cells = try store.read { try $0.statistics(query) }
            for (index, cell) in cells.enumerated() {
                let hours = (index * 24..<index * 24 + 24).filter { Instant.day(0, $0 * 3_600) >= from }
                let sum = hours.reduce(0.0) { $0 + Double($1 % 7) + 1 }
                #expect(cell.sum == sum, "day \(index) from \(day), \(second)")
            }
        }
        try store.close()
    }

    @Test("A query without bounds serves the totals that one with bounds serves, also of days without samples")
    func openQuery() throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        let steps = Sample(
            .stepCount, 1_000, .count, from: .day(2, 8 * 3_600), to: .day(2, 9 * 3_600), source: Source(name: "Watch"),
            origin: .imported)
        try store.write { txn in
            try txn.save(steps)
            try txn.setTotal(total(1_400, day: name(2)))
            try txn.setTotal(total(700, day: name(4)))
        }
        let options = CumulativeOptions(sources: .authoritative)
        let calendar = calendar
        let open = try store.read { try $0.statistics(.stepCount, by: .day, calendar: calendar, options: options) }
        let bound = try store.read {
            try $0.statistics(.stepCount, by: .day, from: .day(0), to: .day(6), calendar: calendar, options: options)
        }
        for answer in [open, bound] { #expect(answer.map(\.sum) == [1_400, 700], "\(Array(answer))") }
        // One by one, without bounds, with one, or with both.
        for (from, to) in [(Instant.distantPast, Instant.distantFuture), (.day(0), .distantFuture), (.day(0), .day(6))]
        {
            var sums: [Double?] = []
            try store.read { txn in
                let query = StatisticsQuery(
                    .stepCount, by: .day, from: from, to: to, calendar: calendar, options: options)
                try txn.forEachStatistics(query) { sums.append($0.sum) }
            }
            #expect(sums == [1_400, 700], "from \(from) to \(to)")
        }
        #expect(
            try store.read { try $0.statistics(of: .stepCount, from: .day(2), to: .day(3), options: options) }.sum
                == 1_400)
        try store.close()
    }

    @Test("A complete total of zero is data")
    func zero() throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try store.write { try $0.setTotal(total(0, day: name(2))) }
        let calendar = calendar
        let days = try store.read {
            try $0.statistics(
                .stepCount, by: .day, from: .day(0), to: .day(6), calendar: calendar,
                options: CumulativeOptions(sources: .authoritative))
        }
        #expect(days.count == 1 && days.first?.hasData == true && days.first?.sum == 0)
        try store.close()
    }

    @Test("Of totals that have time in common one counts, also of days in different zones")
    func overlapping() throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try store.write { txn in
            try txn.setTotal(total(8_000, day: name(2), zone: "America/New_York"))
            try txn.setTotal(total(7_000, day: name(3), zone: "Europe/Berlin"))
            try txn.setTotal(total(500, day: name(5), zone: "Europe/Berlin"))
        }
        let sum = try store.read {
            try $0.statistics(
                of: .stepCount, from: .day(0), to: .day(9), options: CumulativeOptions(sources: .authoritative))
        }.sum
        #expect(sum == 8_500)
        try store.close()
    }

    @Test("Authoritative totals are refused with strict borders")
    func strict() throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        expectError(.unsuitableQuery) {
            _ = try store.read {
                try $0.statistics(
                    of: .stepCount, options: CumulativeOptions(sources: .authoritative, borders: .strictStart))
            }
        }
        try store.close()
    }

    @Test("A total that a peer tells is told to those that follow authoritative statistics", .timeLimit(.minutes(30)))
    func followed() async throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        let options = CumulativeOptions(sources: .authoritative)
        var query = StatisticsQuery(.stepCount, by: nil, from: .day(2), to: .day(3), fillsEmptyBuckets: true)
        query.options = options
        try await store.write { txn in
            try txn.save(
                Sample(
                    .stepCount, 1_000, .count, from: .day(2, 60), to: .day(2, 90), source: Source(name: "Watch"),
                    origin: .imported))
        }
        var updates = store.statisticsUpdates(query).makeAsyncIterator()
        #expect(try await updates.next()?.first?.sum == 1_000)
        let told = total(1_400, day: name(2))
        try await store.write { try $0.setTotal(told) }
        #expect(try await updates.next()?.first?.sum == 1_400)
        // The same sum, but told.
        let same = total(1_400, day: name(2), peer: "another")
        try await store.write { txn in
            try txn.removeTotal(of: .stepCount, peer: told.peer, day: told.day)
            try txn.setTotal(same)
        }
        #expect(try await updates.next()?.first?.totalsOf == ["another"])
        try store.close()
    }
}
