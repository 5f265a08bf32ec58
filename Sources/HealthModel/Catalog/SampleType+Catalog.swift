extension SampleType {
    /// Body Mass, in `kg`; discrete.
    public static let bodyMass = SampleType(catalogued: "HKQuantityTypeIdentifierBodyMass")
    /// Lean Body Mass, in `kg`; discrete.
    public static let leanBodyMass = SampleType(catalogued: "HKQuantityTypeIdentifierLeanBodyMass")
    /// Body Fat Percentage, in `%`; discrete.
    public static let bodyFatPercentage = SampleType(catalogued: "HKQuantityTypeIdentifierBodyFatPercentage")
    /// Steps, in `count`; cumulative.
    public static let stepCount = SampleType(catalogued: "HKQuantityTypeIdentifierStepCount")
    /// Walking + Running Distance, in `m`; cumulative.
    public static let distanceWalkingRunning = SampleType(catalogued: "HKQuantityTypeIdentifierDistanceWalkingRunning")
    /// Active Energy, in `kcal`; cumulative.
    public static let activeEnergyBurned = SampleType(catalogued: "HKQuantityTypeIdentifierActiveEnergyBurned")
    /// Resting Energy, in `kcal`; cumulative.
    public static let basalEnergyBurned = SampleType(catalogued: "HKQuantityTypeIdentifierBasalEnergyBurned")
    /// Dietary Energy, in `kcal`; cumulative.
    public static let dietaryEnergyConsumed = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryEnergyConsumed")
    /// Protein, in `g`; cumulative.
    public static let dietaryProtein = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryProtein")
    /// Carbohydrates, in `g`; cumulative.
    public static let dietaryCarbohydrates = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryCarbohydrates")
    /// Total Fat, in `g`; cumulative.
    public static let dietaryFatTotal = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFatTotal")
    /// Saturated Fat, in `g`; cumulative.
    public static let dietaryFatSaturated = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFatSaturated")
    /// Fiber, in `g`; cumulative.
    public static let dietaryFiber = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryFiber")
    /// Sugar, in `g`; cumulative.
    public static let dietarySugar = SampleType(catalogued: "HKQuantityTypeIdentifierDietarySugar")
    /// Sodium, in `g`; cumulative.
    public static let dietarySodium = SampleType(catalogued: "HKQuantityTypeIdentifierDietarySodium")
    /// Cholesterol, in `g`; cumulative.
    public static let dietaryCholesterol = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryCholesterol")
    /// Water, in `mL`; cumulative.
    public static let dietaryWater = SampleType(catalogued: "HKQuantityTypeIdentifierDietaryWater")

    /// A meal or another food to which several nutrients belong.
    public static let food = SampleType(catalogued: "HKCorrelationTypeIdentifierFood")
    /// A systolic and a diastolic pressure from one measurement.
    public static let bloodPressure = SampleType(catalogued: "HKCorrelationTypeIdentifierBloodPressure")
    /// A workout. Its value is its duration without pauses; see ``Sample/workout``.
    public static let workout = SampleType(catalogued: "HKWorkoutTypeIdentifier")
    /// The path of a workout. Its value is its number of points; see ``WorkoutRoute``.
    public static let workoutRoute = SampleType(catalogued: "HKWorkoutRouteTypeIdentifier")

    /// Every type of the catalog, in the order of the numbers on disk.
    public static var catalog: [SampleType] {
        catalogList.map { SampleType(catalogued: $0.identifier) }.filter { $0 != .misnamedAudioExposureEvent }
    }

    init(quantity name: String) { self.init(catalogued: "HKQuantityTypeIdentifier" + name) }
    init(category name: String) { self.init(catalogued: "HKCategoryTypeIdentifier" + name) }

    /// Properties of a quantity type's values.
    struct Measure {
        let type: SampleType
        let unit: HealthUnit
        let aggregation: Aggregation
        let isShareable: Bool
        let shadows: Bool

        init(
            _ type: SampleType, _ unit: HealthUnit, _ aggregation: Aggregation, isShareable: Bool = true,
            shadows: Bool = false
        ) {
            self.type = type
            self.unit = unit
            self.aggregation = aggregation
            self.isShareable = isShareable
            self.shadows = shadows
        }
    }

    struct Entry {
        let identifier: String
        let number: UInt32
        let unit: HealthUnit
        let aggregation: Aggregation?
        let isShareable: Bool
        let shadows: Bool
        let shortName: String
        let displayName: String
    }

    /// The seventeen quantity types with the first numbers.
    private static let firstQuantities: [Measure] = [
        Measure(.bodyMass, .kilogram, .discrete, shadows: true),
        Measure(.leanBodyMass, .kilogram, .discrete, shadows: true),
        Measure(.bodyFatPercentage, .percent, .discrete, shadows: true),
        Measure(.stepCount, .count, .cumulative),
        Measure(.distanceWalkingRunning, .meter, .cumulative),
        Measure(.activeEnergyBurned, .kilocalorie, .cumulative),
        Measure(.basalEnergyBurned, .kilocalorie, .cumulative),
        Measure(.dietaryEnergyConsumed, .kilocalorie, .cumulative),
        Measure(.dietaryProtein, .gram, .cumulative),
        Measure(.dietaryCarbohydrates, .gram, .cumulative),
        Measure(.dietaryFatTotal, .gram, .cumulative),
        Measure(.dietaryFatSaturated, .gram, .cumulative),
        Measure(.dietaryFiber, .gram, .cumulative),
        Measure(.dietarySugar, .gram, .cumulative),
        Measure(.dietarySodium, .gram, .cumulative),
        Measure(.dietaryCholesterol, .gram, .cumulative),
        Measure(.dietaryWater, .milliliter, .cumulative),
    ]

    /// The one-based position in this list is the number on disk: append only, never reorder. Types that HealthKit adds
    /// later go at the end.
    static let catalogList: [Entry] = {
        var entries: [Entry] = []
        func add(
            _ type: SampleType, _ unit: HealthUnit, _ aggregation: Aggregation? = nil, shareable: Bool = true,
            shadows: Bool = false
        ) {
            let short = TypeNames.short(type.identifier)
            entries.append(
                Entry(
                    identifier: type.identifier, number: UInt32(entries.count + 1), unit: unit,
                    aggregation: aggregation,
                    isShareable: shareable, shadows: shadows, shortName: short,
                    displayName: TypeNames.display(type.identifier)))
        }
        for measure in firstQuantities + furtherQuantities {
            add(
                measure.type, measure.unit, measure.aggregation, shareable: measure.isShareable,
                shadows: measure.shadows)
        }
        for type in categories { add(type, .count, shareable: !systemCategories.contains(type)) }
        add(.food, .count)
        add(.bloodPressure, .count)
        add(.workout, .second)
        add(.workoutRoute, .count, shareable: false)
        return entries
    }()

    static let entries = Dictionary(uniqueKeysWithValues: catalogList.map { ($0.identifier, $0) })
    /// Returns the catalog entry of an identifier, compared by bytes: Swift treats some characters as equal to letters
    /// that look like them.
    static func entry(_ identifier: String) -> Entry? {
        entries[identifier].flatMap { isSameText($0.identifier, identifier) ? $0 : nil }
    }

    static let identifiersByShortName: [String: String] = {
        var names = Dictionary(uniqueKeysWithValues: catalogList.map { ($0.shortName, $0.identifier) })
        let misnamed = SampleType.misnamedAudioExposureEvent.identifier
        for name in [misnamed, TypeNames.short(misnamed)] {
            names[name] = SampleType.environmentalAudioExposureEvent.identifier
        }
        return names
    }()

    /// Catalog identifiers by full and short name, in lower case without blanks.
    private static let identifiersBySmallName: [String: String] = {
        var names: [String: String] = [:]
        for (name, identifier) in identifiersByShortName {
            for spelling in [name, identifier] { names[spelling.lowercased()] = identifier }
        }
        return names
    }()

    /// The catalog type whose name differs from this one only in letter case and blanks; `nil` for a catalog type, and
    /// for a name that is close to none.
    package var misspelled: SampleType? {
        guard SampleType.entry(identifier) == nil else { return nil }
        let small = identifier.filter { !$0.isWhitespace }.lowercased()
        return SampleType.identifiersBySmallName[small].map { SampleType(catalogued: $0) }
    }

    /// Refuses an identifier that is empty, too long, or a misspelled identifier of the catalog.
    package func validate() throws(ModelError) {
        try Sample.validate(identifier, "type", required: true)
        if let known = misspelled { throw .misspelledType(identifier, known: known.shortName) }
    }

    /// The types with fixed numbers since the first version of the format. A store that met another type before that
    /// type had a fixed number keeps the number that the store assigned.
    package static let firstCatalogNumbers: ClosedRange<UInt32> = 1...17
}
