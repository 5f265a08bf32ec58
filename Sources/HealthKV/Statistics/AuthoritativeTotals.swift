#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

extension SampleReading where Self: ~Copyable {
    /// Puts the complete totals of peers in the place of what the samples of their days come to. Answers whose are in which bucket. Where several
    /// peers told of one day the first by name counts.
    func serveTotals(_ plan: StatisticsPlan, _ answer: inout StatisticsPlan.Answer) throws -> [Int: Set<String>] {
        guard plan.aggregation == .cumulative, plan.query.sources == nil, plan.borders.count > 0 else { return [:] }
        let borders = plan.borders.instants
        var served: [Int: Set<String>] = [:]
        var days: Set<TimeRange> = []
        try forEachTotal { total in
            guard total.type == plan.query.type, total.isComplete, let value = total.value,
                let unit = answer.unit ?? plan.unit, unit.isCompatible(with: total.unit),
                let zone = TimeZone(identifier: total.zone), let number = CivilTime.day(total.day),
                let day = LocalDay(number, in: zone).bounds, day.from >= plan.from, day.to <= plan.to
            else { return }
            let bucket = borders.partitioningIndex { $0 > day.from.nanoseconds } - 1
            guard bucket >= 0, bucket < plan.borders.count, day.to.nanoseconds <= borders[bucket + 1],
                days.insert(TimeRange(from: day.from, to: day.to)).inserted
            else { return }
            let told = try total.unit.convert(value, to: unit)
            if borders[bucket] == day.from.nanoseconds, borders[bucket + 1] == day.to.nanoseconds {
                answer.cells[bucket].sum = told
            } else {
                let own = try statistics(
                    of: total.type, from: day.from, to: day.to, unit: unit,
                    options: CumulativeOptions(borders: plan.cumulative.borders))
                answer.cells[bucket].sum += told - (own.sum ?? 0)
            }
            served[bucket, default: []].insert(total.peer)
        }
        return served
    }
}

extension Array<Int64> {
    /// The first place at which something holds that holds of all behind it.
    fileprivate func partitioningIndex(where holds: (Int64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
