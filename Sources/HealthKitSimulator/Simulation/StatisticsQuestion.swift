import Foundation

/// The parameters of a statistics query.
struct StatisticsQuestion {
    let type: HKQuantityType
    let rule: SampleRule

    /// Creates a question. It is misuse to mix cumulative and discrete options, or to use options that do not fit the
    /// type (A19).
    init(_ predicate: HKSamplePredicate<HKQuantitySample>, _ options: HKStatisticsOptions) {
        type = predicate.sampleType as? HKQuantityType ?? misplaced(predicate.sampleType)
        rule = predicate.rule
        let isDiscrete = !options.isDisjoint(with: .discrete)
        let isCumulative = options.contains(.cumulativeSum)
        if isDiscrete, isCumulative { SimulatedMisuse.found("Cumulative and discrete options together") }
        if isDiscrete, type.known?.isCumulative == true { SimulatedMisuse.found("\(type) is cumulative") }
        if isCumulative, type.known?.isCumulative == false { SimulatedMisuse.found("\(type) is discrete") }
    }

    /// Returns the samples to sum up, or `nil` if there are none.
    func records(_ app: SimulatedApp) throws -> [HealthRecord]? {
        let found = try app.device.samples(type, rule, latest: nil, call: .statistics, for: app)
        return found.isEmpty ? nil : found
    }

    func bucket(_ records: [HealthRecord], from start: Date, to end: Date, _ app: SimulatedApp) -> StatisticsBucket {
        StatisticsBucket(
            type: type, start: start, end: end, records: records, ranks: app.device.ranks(of: records, type),
            splits: app.device.options.splitsAtBorders)
    }
}

extension SimulatedDevice {
    /// Returns the ranks, the best first: entered by the user, then watch, then phone, then other apps, the most
    /// recently first-seen source first, and ties by name. The user may reorder the sources of a type (A20).
    func ranks(of records: [HealthRecord], _ type: HKSampleType) -> [SourceRank: Int] {
        let (apps, firstSeen, order) = state.withLock {
            ($0.apps, $0.database.firstSeen, $0.priorities[type.identifier] ?? [])
        }
        func key(_ rank: SourceRank) -> (Int, Int, Int, Int, String) {
            let position = order.firstIndex(of: rank.source) ?? order.count
            let seen = firstSeen.firstIndex(of: rank.source) ?? 0
            return (
                position, rank.isUserEntered ? 0 : 1, (apps[rank.source]?.kind ?? .app).rawValue, -seen,
                apps[rank.source]?.name ?? rank.source
            )
        }
        let sorted = Set(records.map { SourceRank($0) }).sorted { key($0) < key($1) }
        return Dictionary(uniqueKeysWithValues: sorted.enumerated().map { ($0.element, $0.offset) })
    }
}
