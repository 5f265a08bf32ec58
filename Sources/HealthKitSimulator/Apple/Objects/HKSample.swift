import Foundation

public class HKObject: NSObject {
    public let uuid: UUID
    public let device: HKDevice?
    let checked: CheckedMetadata
    /// The source revision that the store stamped; `nil` before the object is saved.
    let stamp: HKSourceRevision?

    init(uuid: UUID, device: HKDevice?, checked: CheckedMetadata, stamp: HKSourceRevision?) {
        self.uuid = uuid
        self.device = device
        self.checked = checked
        self.stamp = stamp
    }

    public var metadata: [String: Any]? { checked.values }
}

public class HKSample: HKObject {
    public let sampleType: HKSampleType
    public let startDate: Date
    public let endDate: Date

    init(type: HKSampleType, start: Date, end: Date, device: HKDevice?, metadata: [String: Any]?) {
        sampleType = type
        startDate = start
        endDate = end
        super.init(uuid: SimulatedIdentifiers.next(), device: device, checked: CheckedMetadata(metadata), stamp: nil)
        if start > end { SimulatedMisuse.found("\(type): the start date lies after the end date") }
        let duration = end.timeIntervalSince(start)
        if let longest = type.known?.longestDuration, duration > longest, end != .distantFuture {
            SimulatedMisuse.found("\(type): a duration of more than \(longest) seconds")
        }
    }

    /// Creates a sample as it is read from the store.
    init(_ record: HealthRecord) {
        sampleType = record.type
        startDate = record.start
        endDate = record.end
        super.init(uuid: record.uuid, device: record.device, checked: record.metadata, stamp: record.revision)
    }

    public var hasUndeterminedDuration: Bool { endDate == .distantFuture }

    /// The part of the sample that the store keeps as its content.
    var content: HealthRecord.Content { .none }
}

public class HKQuantitySample: HKSample {
    public let quantity: HKQuantity
    public let count: Int

    public var quantityType: HKQuantityType { sampleType as? HKQuantityType ?? misplaced(sampleType) }

    public init(
        type quantityType: HKQuantityType, quantity: HKQuantity, start startDate: Date, end endDate: Date,
        device: HKDevice?, metadata: [String: Any]?
    ) {
        self.quantity = quantity
        count = 1
        if !quantityType.is(compatibleWith: quantity.unit) {
            SimulatedMisuse.found("\(quantityType) requires a unit compatible with another than \(quantity.unit)")
        }
        super.init(type: quantityType, start: startDate, end: endDate, device: device, metadata: metadata)
    }

    init(_ record: HealthRecord, quantity: HKQuantity) {
        self.quantity = quantity
        count = Int(record.count)
        super.init(record)
    }

    override var content: HealthRecord.Content { .quantity(quantity.value, quantity.unit) }
}

public class HKCategorySample: HKSample {
    public let value: Int

    public init(
        type: HKCategoryType, value: Int, start startDate: Date, end endDate: Date, device: HKDevice?,
        metadata: [String: Any]?
    ) {
        self.value = value
        if case .category(let values) = type.known?.content, !values.contains(value) {
            SimulatedMisuse.found("\(type) has no such case")
        }
        super.init(type: type, start: startDate, end: endDate, device: device, metadata: metadata)
    }

    init(_ record: HealthRecord, value: Int) {
        self.value = value
        super.init(record)
    }

    override var content: HealthRecord.Content { .category(value) }
}

public class HKCorrelation: HKSample {
    public let objects: Set<HKSample>

    public var correlationType: HKCorrelationType { sampleType as? HKCorrelationType ?? misplaced(sampleType) }

    public init(
        type correlationType: HKCorrelationType, start startDate: Date, end endDate: Date, objects: Set<HKSample>,
        device: HKDevice?, metadata: [String: Any]?
    ) {
        self.objects = objects
        if case .correlation(let members) = correlationType.known?.content,
            objects.isEmpty || !objects.allSatisfy({ members.contains($0.sampleType.identifier) })
        {
            SimulatedMisuse.found("\(correlationType) cannot hold these objects")
        }
        super.init(type: correlationType, start: startDate, end: endDate, device: device, metadata: metadata)
    }

    init(_ record: HealthRecord, objects: Set<HKSample>) {
        self.objects = objects
        super.init(record)
    }

    override var content: HealthRecord.Content { .correlation(objects.map(\.uuid)) }
}

func misplaced<Type>(_ type: HKSampleType) -> Type { preconditionFailure("\(type) is of another kind") }

extension HealthRecord {
    /// Creates the record of a sample that an app hands over, stamped with the app's source (A1).
    init(_ sample: HKSample, by revision: HKSourceRevision) {
        self.init(
            uuid: sample.uuid, type: sample.sampleType, start: sample.startDate, end: sample.endDate,
            content: sample.content, metadata: sample.checked, revision: revision, device: sample.device)
    }

    /// Returns the record of a sample, preceded by those of its members if it is a correlation.
    static func all(of object: HKObject, by revision: HKSourceRevision) -> [HealthRecord] {
        guard let sample = object as? HKSample else { return [] }
        let members = (sample as? HKCorrelation)?.objects ?? []
        return members.map { HealthRecord($0, by: revision) } + [HealthRecord(sample, by: revision)]
    }
}
