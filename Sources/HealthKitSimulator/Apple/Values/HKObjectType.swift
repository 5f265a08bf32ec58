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

// Immutable; Apple marks it `Sendable` too.
public class HKObjectType: NSObject, @unchecked Sendable {
    public let identifier: String

    fileprivate init(identifier: String) { self.identifier = identifier }

    public class func workoutType() -> HKWorkoutType { HKWorkoutType() }

    var known: KnownType? { KnownType.byIdentifier[identifier] }

    public override func isEqual(_ object: Any?) -> Bool { (object as? HKObjectType)?.identifier == identifier }
    public override var hash: Int { identifier.hashValue }
    public override var description: String { identifier }

    /// Returns an identifier. It is misuse if HealthKit knows no such type (A26).
    fileprivate static func checked(_ identifier: String, _ prefix: String) -> String {
        if !identifier.hasPrefix(prefix) || KnownType.byIdentifier[identifier] == nil {
            SimulatedMisuse.found("\(identifier) is no type of HealthKit")
        }
        return identifier
    }
}

// Immutable; Apple marks it `Sendable` too.
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

// Immutable; Apple marks it `Sendable` too.
public class HKQuantityType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKQuantityTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKQuantityTypeIdentifier"))
    }

    public func `is`(compatibleWith unit: HKUnit) -> Bool {
        guard case .quantity(let own, _) = known?.content else { return false }
        return own.isCompatible(with: unit)
    }
}

// Immutable; Apple marks it `Sendable` too.
public class HKCategoryType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKCategoryTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKCategoryTypeIdentifier"))
    }
}

// Immutable; Apple marks it `Sendable` too.
public class HKCorrelationType: HKSampleType, @unchecked Sendable {
    public convenience init(_ identifier: HKCorrelationTypeIdentifier) {
        self.init(identifier: HKObjectType.checked(identifier.rawValue, "HKCorrelationTypeIdentifier"))
    }
}

// Immutable; Apple marks it `Sendable` too.
public class HKWorkoutType: HKSampleType, @unchecked Sendable {
    fileprivate init() { super.init(identifier: "HKWorkoutTypeIdentifier") }
}
