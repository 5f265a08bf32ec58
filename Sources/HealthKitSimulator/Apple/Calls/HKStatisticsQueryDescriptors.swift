import Foundation

public struct HKStatisticsQueryDescriptor {
    public var predicate: HKSamplePredicate<HKQuantitySample>
    public var options: HKStatisticsOptions

    public init(predicate: HKSamplePredicate<HKQuantitySample>, options: HKStatisticsOptions) {
        self.predicate = predicate
        self.options = options
    }

    /// Returns one bucket over all samples. Throws if there is no data (A21).
    public func result(for healthStore: HKHealthStore) async throws -> HKStatistics? {
        let question = StatisticsQuestion(predicate, options)
        let bucket = try await healthStore.app.device.returning { try question.records(healthStore.app) }.flatMap {
            records in
            question.bucket(records, from: .distantPast, to: .distantFuture, healthStore.app)
        }
        guard let bucket, !bucket.isEmpty else { throw HKError(.errorNoData, "No data for these statistics") }
        return HKStatistics(bucket, options)
    }
}

public struct HKStatisticsCollectionQueryDescriptor {
    public var predicate: HKSamplePredicate<HKQuantitySample>
    public var options: HKStatisticsOptions
    public var anchorDate: Date
    public var intervalComponents: DateComponents

    public init(
        predicate: HKSamplePredicate<HKQuantitySample>, options: HKStatisticsOptions, anchorDate: Date,
        intervalComponents: DateComponents
    ) {
        self.predicate = predicate
        self.options = options
        self.anchorDate = anchorDate
        self.intervalComponents = intervalComponents
    }

    public func result(for healthStore: HKHealthStore) async throws -> HKStatisticsCollection {
        let question = StatisticsQuestion(predicate, options)
        let tiles = CalendarTiles(anchor: anchorDate, step: intervalComponents)
        let type = question.type
        guard let records = try await healthStore.app.device.returning({ try question.records(healthStore.app) }) else {
            return HKStatisticsCollection([]) { date in
                let tile = tiles.tile(around: date)
                return HKStatistics(type: type, from: tile.start, to: tile.end)
            }
        }
        let populated = tiles.covering(records).compactMap { tile -> HKStatistics? in
            let bucket = question.bucket(records, from: tile.start, to: tile.end, healthStore.app)
            return bucket.isEmpty ? nil : HKStatistics(bucket, options)
        }
        return HKStatisticsCollection(populated) { date in
            let tile = tiles.tile(around: date)
            return HKStatistics(type: type, from: tile.start, to: tile.end)
        }
    }
}
