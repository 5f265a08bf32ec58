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
