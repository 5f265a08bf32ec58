#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// Where the sum of a bucket comes from that has daily totals of peers in it.
struct TotalOrigin: Equatable {
    var peers: Set<PeerID> = []
    /// The sources of samples that count beside the totals.
    var besides: Set<SourceIdentity> = []
}

extension SampleReading where Self: ~Copyable {
    /// Replaces the sums of days for which a peer gave a complete total: uses the total plus the samples that were
    /// written here and that the peer does not hold. Returns the origin of each bucket with totals. If several totals
    /// have time in common, as those of several peers or of days in different zones, the first in key order counts. A
    /// total of a floating day is not used: nobody knows which samples are in it.
    func serveTotals(_ plan: StatisticsPlan, _ answer: inout StatisticsPlan.Answer) throws -> [Int: TotalOrigin] {
        guard plan.aggregation == .cumulative, plan.query.sources == nil, plan.query.filter == nil,
            plan.borders.count > 0
        else { return [:] }
        let borders = plan.borders.instants
        var served: [Int: TotalOrigin] = [:]
        var days = DisjointDays()
        try forEachTotal { total in
            guard total.type == plan.query.type, total.isComplete, let value = total.value,
                let unit = answer.unit ?? plan.unit, unit.isCompatible(with: total.unit),
                let day = LocalDays.range(of: total.day, zone: total.zone), day.from >= plan.from, day.to <= plan.to
            else { return }
            let bucket =
                (0..<borders.count).firstIndex(notPreceding: { borders[$0] <= day.from.nanoseconds }) - 1
            let converted = try total.unit.convert(value, to: unit)
            // An older release stored totals that are not finite (SEMANTICS C32).
            guard total.isFinite, converted.isFinite,
                bucket >= 0, bucket < plan.borders.count, day.to.nanoseconds <= borders[bucket + 1],
                days.insert(day)
            else { return }
            let unknown = try unknown(to: total.peer, of: total.type, day, unit)
            let told = converted + unknown.sum
            if borders[bucket] == day.from.nanoseconds, borders[bucket + 1] == day.to.nanoseconds {
                answer.cells[bucket].sum = told
            } else {
                let own = try statistics(
                    of: total.type, from: day.from, to: day.to, unit: unit,
                    options: CumulativeOptions(borders: plan.cumulative.borders))
                answer.cells[bucket].sum += told - (own.sum ?? 0)
            }
            answer.cells[bucket].isTold = true
            served[bucket, default: TotalOrigin()].peers.insert(total.peer)
            served[bucket]?.besides.formUnion(unknown.sources)
        }
        return served
    }

    /// Returns what the samples of a day that were written here and that a peer does not hold add to the merged sum of
    /// the others, and their sources: its total cannot include them.
    private func unknown(
        to peer: PeerID, of type: SampleType, _ day: TimeRange, _ unit: HealthUnit
    ) throws -> (sum: Double, sources: Set<SourceIdentity>) {
        let snapshot = snapshot
        guard let number = try NameTable.number(of: type, in: snapshot) else { return (0, []) }
        let ranking = try SourceRanking.ranking(of: number, in: snapshot)
        // Beside each row the number of its source if the peer does not hold it.
        var rows: [(row: StatisticsRow, unknown: UInt32?)] = []
        let query = RowQuery(range: TimeRange(from: day.from, to: day.to))
        try RowReader.forEachRow(of: number, query, in: snapshot) { row in
            let value = try NameTable.unit(row.unit, in: snapshot).convert(row.value, to: unit)
            let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
            let isUserEntered = row.flags.contains(.userEntered)
            guard value.isFinite, let rank = ranking.rank(source: source, isUserEntered: isUserEntered) else {
                return true
            }
            let isUnknown = try !row.flags.contains(.imported) && link(peer: peer, sample: row.id)?.isHeldThere != true
            let end = row.end == .max ? row.start : row.end
            let counted = StatisticsRow(start: row.start, end: end, value: value, rank: rank, source: 0)
            rows.append((counted, isUnknown ? source : nil))
            return true
        }
        let unknown = Set(rows.compactMap(\.unknown))
        if unknown.isEmpty { return (0, []) }
        var stretches = StatisticsStretches()
        stretches.append(day.from.nanoseconds, day.to.nanoseconds, cell: 0)
        func sum(without left: Set<UInt32>) -> Double {
            var sweep = StatisticsSweep(
                stretches, cells: [StatisticsCell()], ranks: ranking.classes.count, contest: .merged)
            for (row, source) in rows where source.map({ !left.contains($0) }) ?? true { sweep.add(row) }
            sweep.finish()
            return sweep.cells[0].sum
        }
        let whole = sum(without: [])
        // A source that the others cover adds nothing. Of two that cover each other one is named.
        var left: Set<UInt32> = []
        for source in unknown.sorted(by: >) where sum(without: left.union([source])) == whole {
            left.insert(source)
        }
        let adding = try unknown.subtracting(left).map { try NameTable.source($0, in: snapshot) }
        return (whole - sum(without: unknown), Set(adding))
    }

    /// Returns the time of the totals that a query without bounds covers; `nil` if it asks for none, or has bounds.
    func timeOfTotals(askedBy query: StatisticsQuery) throws -> Range<Int64>? {
        guard (query.options as? CumulativeOptions)?.sources == .authoritative, query.interval != nil,
            query.from == .distantPast || query.to == .distantFuture
        else { return nil }
        return try timeOfTotals(for: query)
    }

    /// Returns the time from the first to the last day of which a peer told a total that a query may use.
    private func timeOfTotals(for query: StatisticsQuery) throws -> Range<Int64>? {
        var time: Range<Int64>?
        try forEachTotal { total in
            guard total.type == query.type, total.isComplete, total.value != nil, total.isFinite,
                let day = LocalDays.range(of: total.day, zone: total.zone), day.from < day.to
            else { return }
            let (from, to) = (day.from.nanoseconds, day.to.nanoseconds)
            time = time.map { min($0.lowerBound, from)..<max($0.upperBound, to) } ?? from..<to
        }
        return time
    }
}

/// Days without time in common, in order.
private struct DisjointDays {
    private var days: [TimeRange] = []

    /// Returns `false` if a day has time in common with another, and then leaves it out.
    mutating func insert(_ day: TimeRange) -> Bool {
        let place = (0..<days.count).firstIndex(notPreceding: { days[$0].from < day.from })
        if place > 0, days[place - 1].to > day.from { return false }
        if place < days.count, days[place].from < day.to { return false }
        days.insert(day, at: place)
        return true
    }
}
