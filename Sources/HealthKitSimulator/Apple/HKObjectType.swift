import Foundation

public struct HKQuantityTypeIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct HKCategoryTypeIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct HKCorrelationTypeIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

// Immutable, as Apple marks it.
public class HKObjectType: NSObject, @unchecked Sendable {
    public let identifier: String

    fileprivate init(identifier: String) { self.identifier = identifier }

    public class func workoutType() -> HKWorkoutType { HKWorkoutType() }

    var known: KnownType? { KnownType.byIdentifier[identifier] }

    public override func isEqual(_ object: Any?) -> Bool { (object as? HKObjectType)?.identifier == identifier }
    public override var hash: Int { identifier.hashValue }
    public override var description: String { identifier }

    /// Misuse where HealthKit knows no such type (A26).
    fileprivate static func checked(_ identifier: String, _ prefix: String) -> String {
        if !identifier.hasPrefix(prefix) || KnownType.byIdentifier[identifier] == nil {
            SimulatedMisuse.found("\(identifier) is no type of HealthKit")
        }
        return identifier
    }
}

// Immutable, as Apple marks it.
public class HKSampleType: HKObjectType, @unchecked Sendable {
    public var isMaximumDurationRestricted: Bool { known?.longestDuration != nil }
    public var maximumAllowedDuration: TimeInterval {
        guard let longest = known?.longestDuration else {
            SimulatedMisuse.found("\(identifier) has no longest duration")
            return .infinity
        }
        return longest
    }
}

// Immutable, as Apple marks it.
public class HKQuantityType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKQuantityTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKQuantityTypeIdentifier"))
    }

    public func `is`(compatibleWith unit: HKUnit) -> Bool {
        guard case .quantity(let own, _) = known?.content else { return false }
        return own.isCompatible(with: unit)
    }
}

// Immutable, as Apple marks it.
public class HKCategoryType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKCategoryTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKCategoryTypeIdentifier"))
    }
}

// Immutable, as Apple marks it.
public class HKCorrelationType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKCorrelationTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKCorrelationTypeIdentifier"))
    }
}

// Immutable, as Apple marks it.
public class HKWorkoutType: HKSampleType, @unchecked Sendable {
    fileprivate init() { super.init(identifier: "HKWorkoutTypeIdentifier") }
}
