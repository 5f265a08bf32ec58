/// HealthKit's correlations, which represent groups of samples.
package enum Correlation {
    /// Returns the correlation type that may hold a type, if there is one.
    package static func type(holding type: SampleType) -> SampleType? {
        if type == .bloodPressureSystolic || type == .bloodPressureDiastolic { return .bloodPressure }
        return type.identifier.hasPrefix("HKQuantityTypeIdentifierDietary") ? .food : nil
    }

    /// Returns the correlation type that may hold all of these types.
    package static func type(holding types: [SampleType]) -> SampleType? {
        let owners = Set(types.map { type(holding: $0) })
        return owners.count == 1 ? owners.first ?? nil : nil
    }
}
