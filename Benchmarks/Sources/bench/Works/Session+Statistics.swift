import HealthKV
import Histories

extension Session {
    /// The sum of each day of New York, over all steps. All contestants must return the same plain sums. Contestants
    /// that can merge sources are measured with merged and with plain sums.
    func measureDayStats() throws {
        guard history.types.contains(.stepCount), let plain = try store.daySums(.stepCount, .newYork) else { return }
        let work = Work.dayStats.rawValue
        note(work)
        var digest = Digest()
        digest.add(plain)
        try send(work, digest)
        guard let merged = try store.mergedDaySums(.stepCount, .newYork) else {
            return try measureDays(work, plain, areKept: store.keepsSummaries) {
                try self.store.daySums(.stepCount, .newYork)
            }
        }
        let (whole, part) = (plain.values.reduce(0, +), merged.values.reduce(0, +))
        guard part > 0, part <= whole * (1 + 1e-9) else {
            throw BenchFailure("day_stats: what is merged is more than all there is")
        }
        try measureDays(work, merged, areKept: store.keepsSummaries) {
            try self.store.mergedDaySums(.stepCount, .newYork)
        }
        // Plain sums read all samples, because the summaries divide samples between days.
        try measureDays(work + ".plain", plain, areKept: false) { try self.store.daySums(.stepCount, .newYork) }
    }

    private func measureDays(
        _ work: String, _ first: DaySums, areKept: Bool, _ sums: () throws -> DaySums?
    ) throws {
        let latencies = try repeated {
            guard try sums() == first else { throw BenchFailure("day_stats: answers differ") }
        }
        try send(work, latencies) { $0.fromSummaries = areKept }
    }

    /// A type's whole history as 1,000 points.
    func measureSeriesPoints() throws {
        let type = history.types.contains(.stepCount) ? .stepCount : history.types[0]
        guard let first = try store.seriesPoints(type, PointAxis()) else { return }
        note("series_points")
        var digest = Digest()
        digest.add(first, withMeans: type == .stepCount)
        let latencies = try repeated {
            guard try self.store.seriesPoints(type, PointAxis()) == first else {
                throw BenchFailure("series_points: answers differ")
            }
        }
        try send(Work.seriesPoints.rawValue, digest)
        try send(Work.seriesPoints.rawValue, latencies) { $0.fromSummaries = store.keepsSummaries }
    }

    /// Up to a hundred times, at least twice, and only while a part of the budget lasts.
    private func repeated(_ body: () throws -> Void) throws -> Latencies {
        var latencies = Latencies()
        while latencies.count < 2 || (latencies.count < 100 && latencies.seconds < settings.budget / 4) {
            latencies.add(try store.timed(body).nanoseconds)
        }
        return latencies
    }
}
