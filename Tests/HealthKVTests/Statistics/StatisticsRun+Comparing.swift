import Foundation

@testable import HealthKV

/// Store and oracle disagree.
struct StatisticsMismatch: Error, CustomStringConvertible {
    let description: String
}

extension StatisticsRun {
    /// Asks one random question.
    func compare() throws {
        let type = random.pick(Self.types)
        let unit = random.pick([StatisticsInterval.Unit.hour, .day, .day, .week, .month, .quarter, .year])
        let ends = (0..<2).map { _ in middle + Int64(random.number(-12..<12)) * 86_400_000_000_000 }.sorted()
        var (from, to) = (ends[0], ends[1] + 1)
        if random.chance(0.5) {
            from += Int64(random.number(0..<86_400)) * 1_000_000_000
            to = max(from + 1, to + Int64(random.number(0..<86_400_000)) * 1_000_003)
        }
        let borders = calendarOracle.borders(unit, from: from, to: to)
        let sources: [SourceIdentity]? =
            random.chance(0.2) ? Self.sources.shuffled(using: &random).prefix(2).map(\.identity) : nil
        var query = StatisticsQuery(
            type, by: .every(1, unit), from: Instant(nanoseconds: from), to: Instant(nanoseconds: to),
            calendar: calendar, sources: sources)
        query.fillsEmptyBuckets = random.chance(0.5)
        let visible = visible(type).filter { sources?.contains($0.source) ?? true }
        var oracle = StatisticsOracle(samples: visible, rank: rank(type, nil), from: from, to: to)
        configure(&query, &oracle)
        let isDiscrete = type == .bodyMass
        if random.chance(0.15) {
            let answers = try store.read { try $0.statisticsBySource(query) }
            oracle.contest = .none
            for (source, answer) in answers {
                oracle.samples = visible.filter { $0.source == source }
                try check(answer, oracle, borders, isDiscrete, fills: query.fillsEmptyBuckets, "\(query) \(source)")
            }
        } else {
            let answer = try store.read { try $0.statistics(query) }
            try check(answer, oracle, borders, isDiscrete, fills: query.fillsEmptyBuckets, "\(query)")
        }
    }

    /// Options, the same for both.
    private func configure(_ query: inout StatisticsQuery, _ oracle: inout StatisticsOracle) {
        if query.type == .bodyMass {
            oracle.isTimeWeighted = random.chance(0.3)
            query.options = DiscreteOptions(mean: oracle.isTimeWeighted ? .timeWeighted : .arithmetic)
            return
        }
        guard random.chance(0.4) else { return }
        var options = CumulativeOptions()
        if random.chance(0.3) {
            options.sources = .unmergedCountingOverlapsTwice
            oracle.contest = .none
        }
        if random.chance(0.3) {
            options.borders = .strictStart
            oracle.isStrict = true
        }
        if random.chance(0.3) {
            let order = Self.sources.shuffled(using: &random).prefix(3).map { RankedSource($0.identity) }
            options.priority = order
            oracle.rank = rank(query.type, order)
        }
        query.options = options
    }

    private func check(
        _ answer: StatisticsCollection, _ oracle: StatisticsOracle, _ borders: [Int64], _ isDiscrete: Bool,
        fills: Bool, _ what: String
    ) throws {
        var expected = zip(borders, borders.dropFirst()).map {
            isDiscrete ? oracle.discrete($0, $1) : oracle.cumulative($0, $1)
        }
        if !fills { expected.removeAll { !$0.hasData } }
        guard answer.count == expected.count else {
            throw StatisticsMismatch(description: "\(answer.count) buckets, not \(expected.count): \(what)")
        }
        for (found, wanted) in zip(answer, expected) {
            func demand(_ holds: Bool, _ field: String) throws {
                guard !holds else { return }
                throw StatisticsMismatch(description: "\(field) of \(found), not \(wanted): \(what)")
            }
            try demand(found.start.nanoseconds == wanted.start && found.end.nanoseconds == wanted.end, "bounds")
            try demand(found.count == wanted.count, "count")
            try demand(found.duration == wanted.duration, "duration")
            try demand(found.earliest?.nanoseconds == wanted.earliest, "earliest")
            try demand(found.latest?.nanoseconds == wanted.latest, "latest")
            try demand(found.hasData == wanted.hasData, "coverage")
            if isDiscrete {
                try demand(found.minimum == wanted.minimum && found.maximum == wanted.maximum, "extremes")
                try demand(isNear(found.average, wanted.average), "average")
            } else {
                try demand(isNear(found.sum, wanted.sum), "sum")
            }
        }
    }

    private func isNear(_ found: Double?, _ wanted: Double?) -> Bool {
        guard let found, let wanted else { return found == nil && wanted == nil }
        return abs(found - wanted) <= 1e-9 * abs(wanted)
    }
}
