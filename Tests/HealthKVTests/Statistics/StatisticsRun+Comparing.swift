import Foundation

@testable import HealthKV

/// Store and oracle disagree.
struct StatisticsMismatch: Error, CustomStringConvertible {
    let description: String
}

extension StatisticsRun {
    /// Asks one random question.
    func compare() throws {
        if random.chance(0.1) { return try compareSeries() }
        let type = random.pick(Self.types)
        var query = randomQuery(type)
        // What is written in the transaction that asks counts too.
        let inside = random.chance(0.2) ? newSamples() : nil
        let scale = try chooseUnit(&query)
        if random.chance(0.2) {
            query.sources = Self.sources.shuffled(using: &random).prefix(2).map(\.identity)
        }
        let sources = query.sources
        inside?.forEach(keep)
        let visible = visible(type).filter { sources?.contains($0.source) ?? true }
        // Without a bound the samples say from when to when.
        let all = self.visible(type)
        // Without samples either, there is nothing to answer.
        let from = query.from == .distantPast ? all.map(\.start).min() ?? .max : query.from.nanoseconds
        let to =
            query.to == .distantFuture ? all.map { max($0.start + 1, $0.end) }.max() ?? .min : query.to.nanoseconds
        let borders =
            from < to
            ? calendarOracle.borders(query.interval!, anchor: query.anchor?.nanoseconds, from: from, to: to) : []
        var oracle = StatisticsOracle(
            samples: visible, rank: rank(type, nil), from: query.from.nanoseconds, to: query.to.nanoseconds)
        configure(&query, &oracle)
        let judge = StatisticsJudge(
            borders: borders, isDiscrete: type == .bodyMass, fills: query.fillsEmptyBuckets, scale: scale,
            what: "\(query)\(inside == nil ? "" : " inside write")")
        if random.chance(0.15) {
            let answers = try ask(inside) { [query] in
                try $0.statisticsBySource(query)
            } write: { [query] in
                try $0.statisticsBySource(query)
            }
            oracle.contest = .none
            for (source, answer) in answers {
                oracle.samples = visible.filter { $0.source == source }
                try judge.check(answer, oracle, "of \(source)")
            }
        } else {
            let answer = try ask(inside) { [query] in
                try $0.statistics(query)
            } write: { [query] in
                try $0.statistics(query)
            }
            try judge.check(answer, oracle)
        }
    }

    /// Asks in a read, or in the transaction that writes some samples.
    private func ask<Answer: Sendable>(
        _ inside: [Sample]?, _ read: (borrowing ReadTransaction) throws -> Answer,
        write: @escaping @Sendable (borrowing WriteTransaction) throws -> Answer
    ) throws -> Answer {
        guard let inside else { return try store.read { try read($0) } }
        note("saved \(inside.count) and asked")
        return try store.write { txn in
            for sample in inside { try txn.save(sample) }
            return try write(txn)
        }
    }

    /// A type, an interval and a range.
    func randomQuery(_ type: SampleType) -> StatisticsQuery {
        var unit = random.pick([StatisticsInterval.Unit.minute, .hour, .day, .day, .week, .month, .quarter, .year])
        // Quarters of thirteen months belong to no year.
        if unit == .quarter, hasOwnMonths { unit = .month }
        let ends = (0..<2).map { _ in middle + Int64(random.number(-12..<12)) * 86_400_000_000_000 }.sorted()
        var (from, to) = (ends[0], ends[1] + 1)
        if random.chance(0.5) {
            from += Int64(random.number(0..<86_400)) * 1_000_000_000
            to = max(from + 1, to + Int64(random.number(0..<86_400_000)) * 1_000_003)
        }
        var count = random.chance(0.3) ? random.number(2..<9) : 1
        if unit == .minute { count = random.number(90..<2_000) }
        if hasOwnMonths, ![.minute, .hour, .day, .week].contains(unit) { count = 1 }
        var query = StatisticsQuery(
            type, by: .every(count, unit), from: Instant(nanoseconds: from), to: Instant(nanoseconds: to),
            calendar: calendar)
        if !hasOwnMonths, random.chance(0.25) {
            // On a quarter of an hour, where the oracle looks.
            let quarter: Int64 = 900_000_000_000
            let distance = Int64(random.number(-400_000..<400_000))
            query.anchor = Instant(nanoseconds: (middle / quarter + distance) * quarter)
        }
        query.fillsEmptyBuckets = random.chance(0.5)
        if random.chance(0.2), unit != .minute, unit != .hour {
            if random.chance(0.7) { query.from = .distantPast }
            if random.chance(0.7) { query.to = .distantFuture }
        }
        return query
    }

    private var hasOwnMonths: Bool { [.hebrew, .islamicCivil].contains(calendar.identifier) }

    /// The unit of the answer, and what one of the type's own units is in it.
    private func chooseUnit(_ query: inout StatisticsQuery) throws -> Double {
        guard random.chance(0.2), let own = query.type.canonicalUnit else { return 1 }
        query.unit = query.type == .bodyMass ? .pound : query.type == .dietaryWater ? .liter : .count
        return try own.convert(1, to: query.unit!)
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
        } else if random.chance(0.3) {
            let order = Self.sources.shuffled(using: &random).prefix(3).map { RankedSource($0.identity) }
            options.sources = .mergedInOrder(order)
            oracle.rank = rank(query.type, order)
        }
        if random.chance(0.3) {
            options.borders = .strictStart
            oracle.isStrict = true
        }
        query.options = options
    }

    /// Asks for a curve.
    private func compareSeries() throws {
        let type = random.pick(Self.types)
        let ends = (0..<2).map { _ in middle + Int64.random(in: -10...10, using: &random) * 86_400_000_000_007 }
            .sorted()
        let (from, to) = (ends[0], ends[1] + 1)
        let points = random.pick([1, 2, 7, 100, 900])
        let series = try store.read {
            try $0.series(type, from: Instant(nanoseconds: from), to: Instant(nanoseconds: to), points: points)
        }
        let inside = visible(type).filter { $0.start >= from && $0.start < to }
        func demand(_ holds: Bool, _ what: String) throws {
            guard !holds else { return }
            throw StatisticsMismatch(description: "\(what) of a series of \(type), \(points) from \(from) to \(to)")
        }
        try demand(series.count <= points && series.reduce(0) { $0 + $1.count } == inside.count, "count")
        for point in series {
            let values = inside.filter { $0.start >= point.start.nanoseconds && $0.start < point.end.nanoseconds }
                .map(\.value)
            try demand(point.count == values.count, "count of a point")
            try demand(point.minimum == values.min() && point.maximum == values.max(), "extremes")
            let mean = values.reduce(0, +) / Double(values.count)
            try demand(abs(point.mean - mean) <= 1e-9 * abs(mean), "mean")
        }
    }
}

/// Compares an answer with what the oracle says.
private struct StatisticsJudge {
    let borders: [Int64]
    let isDiscrete: Bool
    let fills: Bool
    /// What the type's own unit is in that of the answer.
    let scale: Double
    let what: String

    func check(_ answer: StatisticsCollection, _ oracle: StatisticsOracle, _ part: String = "") throws {
        var expected = zip(borders, borders.dropFirst()).map {
            isDiscrete ? oracle.discrete($0, $1) : oracle.cumulative($0, $1)
        }
        if !fills { expected.removeAll { !$0.hasData } }
        guard answer.count == expected.count else {
            throw StatisticsMismatch(description: "\(answer.count) buckets, not \(expected.count): \(what) \(part)")
        }
        for (found, wanted) in zip(answer, expected) {
            func demand(_ holds: Bool, _ field: String) throws {
                guard !holds else { return }
                throw StatisticsMismatch(description: "\(field) of \(found), not \(wanted): \(what) \(part)")
            }
            try demand(found.start.nanoseconds == wanted.start && found.end.nanoseconds == wanted.end, "bounds")
            try demand(found.count == wanted.count, "count")
            try demand(found.duration == wanted.duration, "duration")
            try demand(found.earliest?.nanoseconds == wanted.earliest, "earliest")
            try demand(found.latest?.nanoseconds == wanted.latest, "latest")
            try demand(found.hasData == wanted.hasData, "coverage")
            if isDiscrete {
                try demand(isSame(found.minimum, wanted.minimum), "minimum")
                try demand(isSame(found.maximum, wanted.maximum), "maximum")
                try demand(isSame(found.earliestValue, wanted.earliestValue), "earliest value")
                try demand(isSame(found.latestValue, wanted.latestValue), "latest value")
                try demand(isNear(found.average, wanted.average), "average")
            } else {
                try demand(isNear(found.sum, wanted.sum), "sum")
            }
        }
    }

    /// To the last bit, unless units are converted.
    private func isSame(_ found: Double?, _ wanted: Double?) -> Bool {
        scale == 1 ? found == wanted : isNear(found, wanted)
    }

    private func isNear(_ found: Double?, _ wanted: Double?) -> Bool {
        guard let found, let wanted = wanted.map({ $0 * scale }) else { return found == nil && wanted == nil }
        return abs(found - wanted) <= 1e-9 * abs(wanted)
    }
}
