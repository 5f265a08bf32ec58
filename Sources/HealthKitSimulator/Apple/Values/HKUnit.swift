import Foundation

// Immutable; Apple marks it `Sendable` too.
public class HKUnit: NSObject, @unchecked Sendable {
    public let unitString: String
    let meaning: UnitMeaning

    private init(unitString: String, meaning: UnitMeaning) {
        self.unitString = unitString
        self.meaning = meaning
    }

    /// Creates a unit from its text. It is misuse if the text is no unit (A26).
    public convenience init(from string: String) {
        let meaning = UnitReader.read(string)
        if meaning == nil { SimulatedMisuse.found("Unable to parse factorization string \(string)") }
        self.init(unitString: string, meaning: meaning ?? UnitMeaning())
    }

    func isCompatible(with other: HKUnit) -> Bool { meaning.powers == other.meaning.powers }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HKUnit else { return false }
        return isCompatible(with: other) && meaning.factor == other.meaning.factor
            && meaning.offset == other.meaning.offset
    }

    public override var hash: Int { meaning.factor.hashValue }
    public override var description: String { unitString }
}

// Immutable; Apple marks it `Sendable` too.
public class HKQuantity: NSObject, @unchecked Sendable {
    let unit: HKUnit
    let value: Double

    public init(unit: HKUnit, doubleValue value: Double) {
        self.unit = unit
        self.value = value
    }

    public func `is`(compatibleWith unit: HKUnit) -> Bool { self.unit.isCompatible(with: unit) }

    /// Returns the value in a unit. It is misuse if the units measure different things (A26).
    public func doubleValue(for unit: HKUnit) -> Double {
        if unit === self.unit || unit.unitString == self.unit.unitString { return value }
        guard self.unit.isCompatible(with: unit) else {
            SimulatedMisuse.found("Attempt to convert incompatible units: \(self.unit), \(unit)")
            return .nan
        }
        return unit.meaning.fromBase(self.unit.meaning.inBase(value))
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HKQuantity, unit.isCompatible(with: other.unit) else { return false }
        return unit.meaning.inBase(value) == other.unit.meaning.inBase(other.value)
    }

    public override var hash: Int { unit.meaning.inBase(value).hashValue }
}
