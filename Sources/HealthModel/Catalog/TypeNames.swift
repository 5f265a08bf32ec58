/// Shorter names of types than HealthKit's identifiers.
enum TypeNames {
    static let prefixes: [(prefix: String, kind: SampleType.Kind)] = [
        ("HKQuantityTypeIdentifier", .quantity), ("HKCategoryTypeIdentifier", .category),
        ("HKCorrelationTypeIdentifier", .correlation),
    ]

    /// Returns the identifier without HealthKit's prefix and with its first word in lower case: `stepCount`, `vo2Max`.
    static func short(_ identifier: String) -> String {
        if let name = workouts[identifier] { return name.short }
        let bare = bare(identifier)
        let capitals = bare.prefix { $0.isUppercase || $0.isNumber }
        // The last of several capitals begins the next word, unless the first word ends in a number.
        let first = capitals.count <= 1 ? 1 : capitals.count - 1
        return bare.prefix(first).lowercased() + bare.dropFirst(first)
    }

    /// Returns the words of the identifier, such as `Body Mass`.
    static func display(_ identifier: String) -> String {
        if let name = special[identifier] { return name }
        if let name = workouts[identifier] { return name.display }
        var bare = bare(identifier)
        for brand in ["Dietary", "Apple"] where bare.hasPrefix(brand) && bare.count > brand.count {
            bare = bare.dropFirst(brand.count)
        }
        return words(bare)
    }

    private static let workouts = [
        "HKWorkoutTypeIdentifier": (short: "workout", display: "Workout"),
        "HKWorkoutRouteTypeIdentifier": (short: "workoutRoute", display: "Workout Route"),
    ]

    private static let special = [
        "HKQuantityTypeIdentifierHeartRateVariabilitySDNN": "Heart Rate Variability (SDNN)",
        "HKQuantityTypeIdentifierUVExposure": "UV Exposure", "HKQuantityTypeIdentifierVO2Max": "VO2 Max",
        "HKQuantityTypeIdentifierForcedExpiratoryVolume1": "Forced Expiratory Volume, 1 s",
        "HKQuantityTypeIdentifierDietaryFatTotal": "Total Fat",
        "HKQuantityTypeIdentifierDietaryFatSaturated": "Saturated Fat",
        "HKQuantityTypeIdentifierDietaryFatMonounsaturated": "Monounsaturated Fat",
        "HKQuantityTypeIdentifierDietaryFatPolyunsaturated": "Polyunsaturated Fat",
        "HKQuantityTypeIdentifierDietaryEnergyConsumed": "Dietary Energy",
        "HKQuantityTypeIdentifierActiveEnergyBurned": "Active Energy",
        "HKQuantityTypeIdentifierBasalEnergyBurned": "Resting Energy",
        "HKQuantityTypeIdentifierStepCount": "Steps",
        "HKQuantityTypeIdentifierDistanceWalkingRunning": "Walking + Running Distance",
        "HKQuantityTypeIdentifierDietaryWater": "Water",
    ]

    private static func bare(_ identifier: String) -> Substring {
        for (prefix, _) in prefixes where identifier.hasPrefix(prefix) { return identifier.dropFirst(prefix.count) }
        return identifier[...]
    }

    /// Inserts a space before each capital that begins a word.
    static func words(_ bare: some StringProtocol) -> String {
        var text = ""
        for character in bare {
            if character.isUppercase, let last = text.last, last.isLowercase || last.isNumber { text.append(" ") }
            text.append(character)
        }
        return text
    }
}
