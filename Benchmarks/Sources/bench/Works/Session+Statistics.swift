import HealthKV
import Histories

extension Session {
    /// The sum of each day of New York, over all steps.
    func measureDayStats() throws {
        guard history.types.contains(.stepCount), let first = try store.daySums(.stepCount, .newYork) else { return }
        note("day_stats")
        // Two ways to add up: every sample, or what is left when of two that counted the same one is left out.
        let name = first.isMerged ? "\(Work.dayStats.rawValue)#merged" : Work.dayStats.rawValue
        var digest = Digest()
        digest.add(first)
        let latencies = try repeated {
            guard let again = try self.store.daySums(.stepCount, .newYork), again.values == first.values else {
                throw BenchFailure("day_stats: answers differ")
            }
        }
        try send(name, digest)
        try send(Work.dayStats.rawValue, latencies) { $0.fromSummaries = store.keepsSummaries }
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

    /// Up to a hundred times, and at least twice, as long as a part of the budget lasts.
    private func repeated(_ body: () throws -> Void) throws -> Latencies {
        var latencies = Latencies()
        while latencies.count < 2 || (latencies.count < 100 && latencies.seconds < settings.budget / 4) {
            latencies.add(try store.timed(body).nanoseconds)
        }
        return latencies
    }
}
