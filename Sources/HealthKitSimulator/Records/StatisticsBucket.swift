import Foundation

/// The samples of one bucket. Statistics merge sources: at each instant, the source with the best rank counts (A19).
struct StatisticsBucket {
    let type: HKQuantityType
    let start: Date
    let end: Date
    /// The samples that share an instant with the bucket; without splitting, those that start in it.
    let records: [HealthRecord]
    let ranks: [SourceRank: Int]

    init(
        type: HKQuantityType, start: Date, end: Date, records: [HealthRecord], ranks: [SourceRank: Int], splits: Bool
    ) {
        self.type = type
        self.start = start
        self.end = end
        self.ranks = ranks
        self.records = records.filter {
            splits ? $0.start < end && ($0.end > start || $0.start >= start) : $0.start >= start && $0.start < end
        }
        self.splits = splits
    }

    private let splits: Bool

    var inside: [HealthRecord] { records.filter { $0.start >= start && $0.start < end } }
    var isEmpty: Bool { type.known?.isCumulative == true ? records.isEmpty : inside.isEmpty }
    var sources: [HKSource] {
        Array(Set(records.map(\.revision.source))).sorted { $0.bundleIdentifier < $1.bundleIdentifier }
    }

    private func rank(_ record: HealthRecord) -> Int { ranks[SourceRank(record)] ?? .max }

    func sum(of source: HKSource) -> Double {
        let own = records.filter { $0.source == source.bundleIdentifier }
        return own.map { share(of: $0, within: start, end) }.reduce(0, +)
    }

    /// Returns what a sample contributes to a span: its value in proportion to time (A22).
    private func share(of record: HealthRecord, within from: Date, _ to: Date) -> Double {
        let amount = record.amount ?? 0
        let length = record.end.timeIntervalSince(record.start)
        if length == 0 || !splits { return amount }
        let overlap = min(record.end, to).timeIntervalSince(max(record.start, from))
        return overlap <= 0 ? 0 : amount * overlap / length
    }

    var mergedSum: Double {
        let points = records.filter { $0.start == $0.end }
        let spans = records.filter { $0.start != $0.end }
        var sum = 0.0
        for point in points where !spans.contains(where: { covers($0, point.start) && rank($0) < rank(point) }) {
            if !points.contains(where: { $0.start == point.start && rank($0) < rank(point) }) {
                sum += point.amount ?? 0
            }
        }
        if !splits, Set(spans.map { rank($0) }).count <= 1 { return sum + spans.compactMap(\.amount).reduce(0, +) }
        let (low, high) = splits ? (start, end) : (Date.distantPast, Date.distantFuture)
        let borders = Set(spans.flatMap { [max($0.start, low), min($0.end, high)] }).sorted()
        let ordered = spans.sorted { $0.start < $1.start }
        var active: [HealthRecord] = []
        var next = 0
        for (from, to) in zip(borders, borders.dropFirst()) {
            while next < ordered.count, ordered[next].start <= from {
                active.append(ordered[next])
                next += 1
            }
            active.removeAll { $0.end <= from }
            guard let best = active.map({ rank($0) }).min() else { continue }
            for record in active where rank(record) == best {
                let length = record.end.timeIntervalSince(record.start)
                sum += (record.amount ?? 0) * to.timeIntervalSince(from) / length
            }
        }
        return sum
    }

    private func covers(_ record: HealthRecord, _ date: Date) -> Bool { record.start <= date && date < record.end }
}

/// The unit of ranking: a source, and whether a person entered the sample (A20).
struct SourceRank: Hashable {
    let source: String
    let isUserEntered: Bool

    init(_ record: HealthRecord) {
        source = record.source
        isUserEntered = record.metadata.wasUserEntered
    }
}
