import Foundation

public struct HKAnchoredObjectQueryDescriptor<Sample> where Sample: HKSample {
    public var predicates: [HKSamplePredicate<Sample>]
    public var anchor: HKQueryAnchor?
    public var limit: Int?

    public struct Result {
        public let addedSamples: [Sample]
        public let deletedObjects: [HKDeletedObject]
        public let newAnchor: HKQueryAnchor
    }

    public init(predicates: [HKSamplePredicate<Sample>], anchor: HKQueryAnchor?, limit: Int? = nil) {
        self.predicates = predicates
        self.anchor = anchor
        self.limit = limit
    }

    public func result(for healthStore: HKHealthStore) async throws -> Result {
        let app = healthStore.app
        let question = AnchoredQuestion(
            types: predicates.map { ($0.sampleType, $0.rule) }, after: anchor?.sequence ?? 0, limit: limit ?? .max)
        let answer = try await app.device.returning { try app.device.changes(question, for: app) }
        return Result(
            addedSamples: answer.added.compactMap { app.device.sample($0, for: app) as? Sample },
            deletedObjects: answer.deleted.map { HKDeletedObject($0) }, newAnchor: HKQueryAnchor(answer.sequence))
    }
}

public struct HKSampleQueryDescriptor<Sample> where Sample: HKSample {
    public var predicates: [HKSamplePredicate<Sample>]
    public var sortDescriptors: [SortDescriptor<Sample>]
    public var limit: Int?

    public init(
        predicates: [HKSamplePredicate<Sample>], sortDescriptors: [SortDescriptor<Sample>], limit: Int? = nil
    ) {
        self.predicates = predicates
        self.sortDescriptors = sortDescriptors
        self.limit = limit
    }

    public func result(for healthStore: HKHealthStore) async throws -> [Sample] {
        let app = healthStore.app
        // The windows of a long history are read as short lists of the latest samples.
        let latest = sortDescriptors.first.map { $0.keyPath == \Sample.startDate && $0.order == .reverse } ?? false
        var found: [Sample] = []
        var isInOrder = latest && sortDescriptors.count == 1 && predicates.count == 1
        for predicate in predicates {
            let records = try await app.device.returning {
                try app.device.samples(predicate.sampleType, predicate.rule, latest: latest ? limit : nil, for: app)
            }
            isInOrder = isInOrder && records.areLatestFirst
            found += records.compactMap { app.device.sample($0, for: app) as? Sample }
        }
        if !isInOrder { found.sort(using: sortDescriptors) }
        return Array(found.prefix(limit ?? .max))
    }
}

extension [HealthRecord] {
    /// Whether the records come in the order of queries for the latest samples.
    fileprivate var areLatestFirst: Bool {
        indices.dropFirst().allSatisfy { self[$0 - 1].start >= self[$0].start }
    }
}
