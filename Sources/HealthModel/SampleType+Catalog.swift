extension SampleType {
    public static let bodyMass = SampleType(catalogued: "HKQuantityTypeIdentifierBodyMass")
    public static let leanBodyMass = SampleType(catalogued: "HKQuantityTypeIdentifierLeanBodyMass")
    public static let bodyFatPercentage = SampleType(catalogued: "HKQuantityTypeIdentifierBodyFatPercentage")
    public static let stepCount = SampleType(catalogued: "HKQuantityTypeIdentifierStepCount")
    public static let distanceWalkingRunning = SampleType(catalogued: "HKQuantityTypeIdentifierDistanceWalkingRunning")
    public static let activeEnergyBurned = SampleType(catalogued: "HKQuantityTypeIdentifierActiveEnergyBurned")
    public static let basalEnergyBurned = SampleType(catalogued: "HKQuantityTypeIdentifierBasalEnergyBurned")
    public static let dietaryEnergyConsumed = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryEnergyConsumed")
    public static let dietaryProtein = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryProtein")
    public static let dietaryCarbohydrates = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryCarbohydrates")
    public static let dietaryFatTotal = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFatTotal")
    public static let dietaryFatSaturated = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFatSaturated")
    public static let dietaryFiber = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFiber")
    public static let dietarySugar = SampleType(catalogued: "HKQuantityTypeIdentifierDietarySugar")
    public static let dietarySodium = SampleType(catalogued: "HKQuantityTypeIdentifierDietarySodium")
    public static let dietaryCholesterol = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryCholesterol")
    public static let dietaryWater = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryWater")

    /// Every type of the catalog.
    public static var catalog: [SampleType] { catalogList.map { SampleType(catalogued: $0.identifier) } }

    struct Entry {
        let identifier: String
        let number: UInt32
        let unit: HealthUnit
        let aggregation: Aggregation
        let shadows: Bool
        let shortName: String
    }

    /// The position in this list, counted from one, is the number on disk: append only, never reorder.
    static let catalogList: [Entry] = {
        let rows: [(SampleType, HealthUnit, Aggregation, shadows: Bool)] = [
            (.bodyMass, .kilogram, .discrete, true),
            (.leanBodyMass, .kilogram, .discrete, true),
            (.bodyFatPercentage, .percent, .discrete, true),
            (.stepCount, .count, .cumulative, false),
            (.distanceWalkingRunning, .meter, .cumulative, false),
            (.activeEnergyBurned, .kilocalorie, .cumulative, false),
            (.basalEnergyBurned, .kilocalorie, .cumulative, false),
            (.dietaryEnergyConsumed, .kilocalorie, .cumulative, false),
            (.dietaryProtein, .gram, .cumulative, false),
            (.dietaryCarbohydrates, .gram, .cumulative, false),
            (.dietaryFatTotal, .gram, .cumulative, false),
            (.dietaryFatSaturated, .gram, .cumulative, false),
            (.dietaryFiber, .gram, .cumulative, false),
            (.dietarySugar, .gram, .cumulative, false),
            (.dietarySodium, .gram, .cumulative, false),
            (.dietaryCholesterol, .gram, .cumulative, false),
            (.dietaryWater, .milliliter, .cumulative, false),
        ]
        return rows.enumerated().map { index, row in
            let bare = row.0.identifier.dropFirst("HKQuantityTypeIdentifier".count)
            return Entry(
                identifier: row.0.identifier, number: UInt32(index + 1), unit: row.1, aggregation: row.2,
                shadows: row.shadows, shortName: bare.prefix(1).lowercased() + bare.dropFirst())
        }
    }()

    static let entries = Dictionary(uniqueKeysWithValues: catalogList.map { ($0.identifier, $0) })
    static let identifiersByShortName = Dictionary(
        uniqueKeysWithValues: catalogList.map { ($0.shortName, $0.identifier) })
}
