/// How values of a type in one unit become the numbers from which ids derive: in the catalog's unit if the type has a
/// compatible one, otherwise as entered.
package struct DerivedUnit: Sendable {
    private let unit: HealthUnit
    /// `nil` if the number is taken as it is.
    private let target: HealthUnit?

    package init(_ unit: HealthUnit, of type: SampleType) {
        self.unit = unit
        target = type.catalogUnit.flatMap { $0 == unit || !unit.isCompatible(with: $0) ? nil : $0 }
    }

    package func canonical(_ value: Double) -> Double {
        guard let target else { return value }
        return unit.derivedForm(value, in: target) ?? value
    }
}

extension DerivedID {
    /// Returns the value from which an id is derived: in the catalog's unit if the type has a compatible one, otherwise
    /// as entered.
    public static func canonical(_ value: Double, _ unit: HealthUnit, of type: SampleType) -> Double {
        DerivedUnit(unit, of: type).canonical(value)
    }
}
