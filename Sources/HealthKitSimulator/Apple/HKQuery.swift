import Foundation

public struct HKQueryOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let strictStartDate = HKQueryOptions(rawValue: 1)
    public static let strictEndDate = HKQueryOptions(rawValue: 2)
}

// Immutable, and so are its subclasses.
public class HKQuery: NSObject, @unchecked Sendable {
    override init() {}

    /// Without options, the predicate picks samples that overlap the span. A strict start requires `start <= s < end`;
    /// a strict end requires that the sample ends inside the span (A18).
    public class func predicateForSamples(
        withStart startDate: Date?, end endDate: Date?, options: HKQueryOptions = []
    ) -> NSPredicate {
        let (from, to) = (startDate ?? .distantPast, endDate ?? .distantFuture)
        let rule = SampleRule(from: from, to: to) { record in
            if options.contains(.strictStartDate), record.start < from || record.start >= to { return false }
            if options.contains(.strictEndDate), record.end < from || record.end > to { return false }
            return record.start < to && (record.end > from || record.start >= from)
        }
        return rule.predicate
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    public class func predicateForObjects(with UUIDs: Set<UUID>) -> NSPredicate {
        SampleRule(picks: { UUIDs.contains($0.uuid) }).predicate
    }

    public class func predicateForObjects(withMetadataKey key: String, allowedValues: [Any]) -> NSPredicate {
        let allowed = Set(allowedValues.compactMap { MetadataItem($0) })
        return SampleRule(picks: { record in record.metadata.items[key].map(allowed.contains) ?? false }).predicate
    }
}

// Immutable; Apple marks it `Sendable` too.
public class HKQueryDescriptor: NSObject, @unchecked Sendable {
    public let sampleType: HKSampleType
    let rule: SampleRule

    public init(sampleType: HKSampleType, predicate: NSPredicate?) {
        self.sampleType = sampleType
        rule = SampleRule.rule(of: predicate)
    }
}

public typealias HKObserverQueryCompletionHandler = () -> Void

// Immutable; Apple marks it `Sendable` too.
public class HKObserverQuery: HKQuery, @unchecked Sendable {
    typealias Handler =
        @Sendable (
            HKObserverQuery, Set<HKSampleType>?, @escaping HKObserverQueryCompletionHandler, (any Error)?
        ) -> Void

    let types: Set<HKSampleType>
    let handler: Handler

    public init(
        queryDescriptors: [HKQueryDescriptor],
        updateHandler:
            @escaping @Sendable (
                HKObserverQuery, Set<HKSampleType>?, @escaping HKObserverQueryCompletionHandler, (any Error)?
            ) -> Void
    ) {
        types = Set(queryDescriptors.map(\.sampleType))
        handler = updateHandler
        super.init()
    }
}
