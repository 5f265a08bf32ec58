/// The meaning of a category type's value, by HealthKit's own names: 5 of Sleep Analysis is `asleepREM`.
public struct CategoryCase: Sendable, Hashable {
    /// HealthKit's name for the type of the value, such as `HKCategoryValueSleepAnalysis`.
    public let family: String
    /// HealthKit's number for the case: the value of a sample.
    public let number: Int
    /// HealthKit's Swift name for the case, such as `asleepREM`.
    public let name: String

    /// HealthKit's full name, such as `HKCategoryValueSleepAnalysisAsleepREM`; exports write it.
    public var identifier: String { family + name.prefix(1).uppercased() + name.dropFirst() }

    /// The name in words, such as `Asleep REM`.
    public var displayName: String { TypeNames.words(name.prefix(1).uppercased() + name.dropFirst()) }
}

extension SampleType {
    /// The cases that HealthKit's documentation gives for this type, by ascending number. Empty for types of other
    /// kinds and for category types that the catalog does not know.
    ///
    /// ```swift
    /// let stages = SampleType.sleepAnalysis.categoryCases.map(\.displayName)
    /// assert(stages == ["In Bed", "Asleep Unspecified", "Awake", "Asleep Core", "Asleep Deep", "Asleep REM"])
    /// ```
    public var categoryCases: [CategoryCase] {
        guard kind == .category, let entry = SampleType.entry(identifier) else { return [] }
        let family = CategoryFamily.byType[SampleType(catalogued: entry.identifier)] ?? .severity
        return family.names.enumerated().map {
            CategoryCase(family: family.identifier, number: family.first + $0.offset, name: $0.element)
        }
    }

    /// Returns the case with a number, or `nil` where HealthKit's documentation gives none.
    public func categoryCase(_ number: Int) -> CategoryCase? { categoryCases.first { $0.number == number } }
}

extension Sample {
    /// The meaning of a category sample's value; `nil` for other kinds, and for numbers without a name.
    public var categoryCase: CategoryCase? { Int(exactly: quantity.value).flatMap { type.categoryCase($0) } }

    /// The value as people read it: the name of a category's case, otherwise the quantity with its usual number of
    /// digits. A quantity in the type's canonical unit is shown in the type's ``SampleType/displayUnit``; one entered
    /// in another unit keeps that unit.
    ///
    /// ```swift
    /// let night = Sample(category: .sleepAnalysis, 5, from: a, to: b)
    /// assert(night.displayValue == "Asleep REM")
    /// assert(Sample(.bodyMass, 72.449, .kilogram, at: now).displayValue == "72.4 kg")
    /// ```
    public var displayValue: String {
        if type.kind == .category { return categoryCase?.displayName ?? quantity.formatted() }
        guard quantity.unit == type.canonicalUnit, let unit = type.displayUnit, unit != quantity.unit,
            let value = try? quantity.value(in: unit)
        else { return quantity.formatted(digits: type.displayDigits) }
        return Quantity(value, unit).formatted()
    }
}

/// The values that some category types share, with consecutive numbers.
private struct CategoryFamily {
    let identifier: String
    /// The number of the first case.
    let first: Int
    let names: [String]

    init(_ name: String, from first: Int, _ names: [String]) {
        identifier = "HKCategoryValue" + name
        self.first = first
        self.names = names
    }

    /// For types whose samples have no value: their existence is the information.
    static let plain = CategoryFamily("", from: 0, ["notApplicable"])
    /// For every symptom without values of its own.
    static let severity = CategoryFamily(
        "Severity", from: 0, ["unspecified", "notPresent", "mild", "moderate", "severe"])
    static let presence = CategoryFamily("Presence", from: 0, ["present", "notPresent"])
    static let appetite = CategoryFamily(
        "AppetiteChanges", from: 0, ["unspecified", "noChange", "decreased", "increased"])
    static let sleep = CategoryFamily(
        "SleepAnalysis", from: 0, ["inBed", "asleepUnspecified", "awake", "asleepCore", "asleepDeep", "asleepREM"])
    static let standHour = CategoryFamily("AppleStandHour", from: 0, ["stood", "idle"])
    static let steadiness = CategoryFamily(
        "AppleWalkingSteadinessEvent", from: 1, ["initialLow", "initialVeryLow", "repeatLow", "repeatVeryLow"])
    static let cardioFitness = CategoryFamily("LowCardioFitnessEvent", from: 1, ["lowFitness"])
    static let noise = CategoryFamily("EnvironmentalAudioExposureEvent", from: 1, ["momentaryLimit"])
    static let headphones = CategoryFamily("HeadphoneAudioExposureEvent", from: 1, ["sevenDayLimit"])
    static let mucus = CategoryFamily(
        "CervicalMucusQuality", from: 1, ["dry", "sticky", "creamy", "watery", "eggWhite"])
    static let contraceptive = CategoryFamily(
        "Contraceptive", from: 1,
        ["unspecified", "implant", "injection", "intrauterineDevice", "intravaginalRing", "oral", "patch"])
    /// Since iOS 18 menstrual flow uses these values too; the numbers did not change.
    static let bleeding = CategoryFamily(
        "VaginalBleeding", from: 1, ["unspecified", "light", "medium", "heavy", "none"])
    static let ovulation = CategoryFamily(
        "OvulationTestResult", from: 1, ["negative", "luteinizingHormoneSurge", "indeterminate", "estrogenSurge"])
    static let pregnancyTest = CategoryFamily(
        "PregnancyTestResult", from: 1, ["negative", "positive", "indeterminate"])
    static let progesteroneTest = CategoryFamily(
        "ProgesteroneTestResult", from: 1, ["negative", "positive", "indeterminate"])

    /// The family of each type that is not a symptom with a severity.
    static let byType: [SampleType: CategoryFamily] = {
        let lists: [(CategoryFamily, [SampleType])] = [
            (
                .plain,
                [
                    .highHeartRateEvent, .irregularHeartRhythmEvent, .lowHeartRateEvent, .mindfulSession,
                    .handwashingEvent, .toothbrushingEvent, .infrequentMenstrualCycles, .intermenstrualBleeding,
                    .irregularMenstrualCycles, .lactation, .persistentIntermenstrualBleeding, .pregnancy,
                    .prolongedMenstrualPeriods, .sexualActivity, .sleepApneaEvent,
                ]
            ),
            (.presence, [.moodChanges, .sleepChanges]), (.appetite, [.appetiteChanges]), (.sleep, [.sleepAnalysis]),
            (.standHour, [.appleStandHour]), (.steadiness, [.appleWalkingSteadinessEvent]),
            (.cardioFitness, [.lowCardioFitnessEvent]),
            (.noise, [.environmentalAudioExposureEvent, .misnamedAudioExposureEvent]),
            (.headphones, [.headphoneAudioExposureEvent]),
            (.mucus, [.cervicalMucusQuality]), (.contraceptive, [.contraceptive]),
            (.bleeding, [.menstrualFlow, .bleedingDuringPregnancy, .bleedingAfterPregnancy]),
            (.ovulation, [.ovulationTestResult]), (.pregnancyTest, [.pregnancyTestResult]),
            (.progesteroneTest, [.progesteroneTestResult]),
        ]
        return Dictionary(uniqueKeysWithValues: lists.flatMap { family, types in types.map { ($0, family) } })
    }()
}
