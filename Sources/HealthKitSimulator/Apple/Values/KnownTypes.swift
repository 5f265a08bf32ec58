/// What HealthKit defines for each type: the unit that values must convert to, how values combine, and who may write
/// them.
struct KnownType: Sendable {
    enum Content: Sendable {
        case quantity(unit: HKUnit, isCumulative: Bool)
        case category(values: ClosedRange<Int>)
        case correlation(members: Set<String>)
        case workout
    }

    let identifier: String
    let content: Content
    /// Whether apps may write the type; only the system writes the others.
    let isShareable: Bool

    var isCumulative: Bool {
        if case .quantity(_, let isCumulative) = content { return isCumulative }
        return false
    }

    /// Samples of amounts, and of sleep, last at most four days.
    var longestDuration: Double? {
        isCumulative || identifier == "HKCategoryTypeIdentifierSleepAnalysis" ? 345_600 : nil
    }

    static let byIdentifier: [String: KnownType] = {
        var known: [String: KnownType] = [:]
        for type in readQuantities() + readCategories() + compound { known[type.identifier] = type }
        return known
    }()

    private static let families = [
        "HKQuantityTypeIdentifier", "HKCategoryTypeIdentifier", "HKCorrelationTypeIdentifier",
    ]

    /// Returns the identifier of a type that a scene names in full or in short, such as `BodyMass` or `bodyMass`. It is
    /// misuse if no type has the name.
    static func identifier(of name: String) -> String {
        if byIdentifier[name] != nil { return name }
        let short = name.prefix(1).uppercased() + name.dropFirst()
        let found = families.map { $0 + short }.first { byIdentifier[$0] != nil }
        if let found { return found }
        if short == "Workout" { return "HKWorkoutTypeIdentifier" }
        SimulatedMisuse.found("HealthKit has no type \(name)")
        return name
    }

    private static func readQuantities() -> [KnownType] {
        quantities.split(whereSeparator: { $0 == ";" || $0 == "\n" }).compactMap { row in
            let words = row.split(separator: " ")
            guard words.count >= 3 else { return nil }
            return KnownType(
                identifier: "HKQuantityTypeIdentifier\(words[0])",
                content: .quantity(unit: HKUnit(from: String(words[1])), isCumulative: words[2] == "cumulative"),
                isShareable: words.count == 3)
        }
    }

    private static func readCategories() -> [KnownType] {
        categories.split(whereSeparator: { $0 == ";" || $0 == "\n" }).compactMap { row in
            let words = row.split(separator: " ")
            guard words.count >= 2 else { return nil }
            let bounds = words[1].split(separator: "-").compactMap { Int($0) }
            return KnownType(
                identifier: "HKCategoryTypeIdentifier\(words[0])", content: .category(values: bounds[0]...bounds[1]),
                isShareable: words.count == 2)
        }
    }

    private static let compound: [KnownType] = [
        KnownType(
            identifier: "HKCorrelationTypeIdentifierFood",
            content: .correlation(
                members: Set(
                    readQuantities().map(\.identifier).filter { $0.hasPrefix("HKQuantityTypeIdentifierDietary") })),
            isShareable: true),
        KnownType(
            identifier: "HKCorrelationTypeIdentifierBloodPressure",
            content: .correlation(members: [
                "HKQuantityTypeIdentifierBloodPressureSystolic", "HKQuantityTypeIdentifierBloodPressureDiastolic",
            ]), isShareable: true),
        KnownType(identifier: "HKWorkoutTypeIdentifier", content: .workout, isShareable: true),
    ]

    /// Name, unit, combination, and `system` if apps cannot write the type.
    private static let quantities = """
        BodyMass kg discrete; LeanBodyMass kg discrete; BodyFatPercentage % discrete; StepCount count cumulative;
        DistanceWalkingRunning m cumulative; ActiveEnergyBurned kcal cumulative; BasalEnergyBurned kcal cumulative;
        DietaryEnergyConsumed kcal cumulative; DietaryProtein g cumulative; DietaryCarbohydrates g cumulative;
        DietaryFatTotal g cumulative; DietaryFatSaturated g cumulative; DietaryFiber g cumulative;
        DietarySugar g cumulative; DietarySodium g cumulative; DietaryCholesterol g cumulative;
        DietaryWater mL cumulative; AppleExerciseTime min cumulative system; AppleMoveTime min cumulative system;
        AppleSleepingBreathingDisturbances count discrete system; AppleSleepingWristTemperature degC discrete system;
        AppleStandTime min cumulative system; AppleWalkingSteadiness % discrete system;
        AtrialFibrillationBurden % discrete system; BasalBodyTemperature degC discrete;
        BloodAlcoholContent % discrete; BloodGlucose mg/dL discrete; BloodPressureDiastolic mmHg discrete;
        BloodPressureSystolic mmHg discrete; BodyMassIndex count discrete; BodyTemperature degC discrete;
        CrossCountrySkiingSpeed m/s discrete; CyclingCadence count/min discrete;
        CyclingFunctionalThresholdPower W discrete; CyclingPower W discrete; CyclingSpeed m/s discrete;
        DietaryBiotin g cumulative; DietaryCaffeine g cumulative; DietaryCalcium g cumulative;
        DietaryChloride g cumulative; DietaryChromium g cumulative; DietaryCopper g cumulative;
        DietaryFatMonounsaturated g cumulative; DietaryFatPolyunsaturated g cumulative; DietaryFolate g cumulative;
        DietaryIodine g cumulative; DietaryIron g cumulative; DietaryMagnesium g cumulative;
        DietaryManganese g cumulative; DietaryMolybdenum g cumulative; DietaryNiacin g cumulative;
        DietaryPantothenicAcid g cumulative; DietaryPhosphorus g cumulative; DietaryPotassium g cumulative;
        DietaryRiboflavin g cumulative; DietarySelenium g cumulative; DietaryThiamin g cumulative;
        DietaryVitaminA g cumulative; DietaryVitaminB12 g cumulative; DietaryVitaminB6 g cumulative;
        DietaryVitaminC g cumulative; DietaryVitaminD g cumulative; DietaryVitaminE g cumulative;
        DietaryVitaminK g cumulative; DietaryZinc g cumulative; DistanceCrossCountrySkiing m cumulative;
        DistanceCycling m cumulative; DistanceDownhillSnowSports m cumulative; DistancePaddleSports m cumulative;
        DistanceRowing m cumulative; DistanceSkatingSports m cumulative; DistanceSwimming m cumulative;
        DistanceWheelchair m cumulative; ElectrodermalActivity S discrete;
        EnvironmentalAudioExposure dBASPL discrete; EnvironmentalSoundReduction dBASPL discrete;
        EstimatedWorkoutEffortScore appleEffortScore discrete; FlightsClimbed count cumulative;
        ForcedExpiratoryVolume1 L discrete; ForcedVitalCapacity L discrete; HeadphoneAudioExposure dBASPL discrete;
        HeartRate count/min discrete; HeartRateRecoveryOneMinute count/min discrete;
        HeartRateVariabilitySDNN ms discrete; Height m discrete; InhalerUsage count cumulative;
        InsulinDelivery IU cumulative; NikeFuel count cumulative system; NumberOfAlcoholicBeverages count cumulative;
        NumberOfTimesFallen count cumulative; OxygenSaturation % discrete; PaddleSportsSpeed m/s discrete;
        PeakExpiratoryFlowRate L/min discrete; PeripheralPerfusionIndex % discrete;
        PhysicalEffort kcal/hr·kg discrete; PushCount count cumulative; RespiratoryRate count/min discrete;
        RestingHeartRate count/min discrete; RowingSpeed m/s discrete; RunningGroundContactTime ms discrete;
        RunningPower W discrete; RunningSpeed m/s discrete; RunningStrideLength m discrete;
        RunningVerticalOscillation cm discrete; SixMinuteWalkTestDistance m discrete; StairAscentSpeed m/s discrete;
        StairDescentSpeed m/s discrete; SwimmingStrokeCount count cumulative; TimeInDaylight min cumulative;
        UnderwaterDepth m discrete; UVExposure count discrete; VO2Max mL/min·kg discrete;
        WaistCircumference m discrete; WalkingAsymmetryPercentage % discrete system;
        WalkingDoubleSupportPercentage % discrete; WalkingHeartRateAverage count/min discrete system;
        WalkingSpeed m/s discrete; WalkingStepLength m discrete; WaterTemperature degC discrete;
        WorkoutEffortScore appleEffortScore discrete;
        """

    /// Name, numbers of the cases, and `system` if apps cannot write the type.
    private static let categories = """
        AppleStandHour 0-1 system;
        HeadphoneAudioExposureEvent 1-1 system; HighHeartRateEvent 0-0 system; IrregularHeartRhythmEvent 0-0 system;
        LowCardioFitnessEvent 1-1 system; LowHeartRateEvent 0-0 system; AudioExposureEvent 1-1 system;
        MindfulSession 0-0; AppleWalkingSteadinessEvent 1-4 system; HandwashingEvent 0-0; ToothbrushingEvent 0-0;
        BleedingAfterPregnancy 1-5; BleedingDuringPregnancy 1-5; CervicalMucusQuality 1-5; Contraceptive 1-7;
        InfrequentMenstrualCycles 0-0 system; IntermenstrualBleeding 0-0; IrregularMenstrualCycles 0-0 system;
        Lactation 0-0; MenstrualFlow 1-5; OvulationTestResult 1-4; PersistentIntermenstrualBleeding 0-0 system;
        Pregnancy 0-0; PregnancyTestResult 1-3; ProgesteroneTestResult 1-3; ProlongedMenstrualPeriods 0-0 system;
        SexualActivity 0-0; SleepApneaEvent 0-0 system; SleepAnalysis 0-5; AbdominalCramps 0-4; Acne 0-4;
        AppetiteChanges 0-3; BladderIncontinence 0-4; Bloating 0-4; BreastPain 0-4; ChestTightnessOrPain 0-4;
        Chills 0-4; Constipation 0-4; Coughing 0-4; Diarrhea 0-4; Dizziness 0-4; DrySkin 0-4; Fainting 0-4;
        Fatigue 0-4; Fever 0-4; GeneralizedBodyAche 0-4; HairLoss 0-4; Headache 0-4; Heartburn 0-4; HotFlashes 0-4;
        LossOfSmell 0-4; LossOfTaste 0-4; LowerBackPain 0-4; MemoryLapse 0-4; MoodChanges 0-1; Nausea 0-4;
        NightSweats 0-4; PelvicPain 0-4; RapidPoundingOrFlutteringHeartbeat 0-4; RunnyNose 0-4;
        ShortnessOfBreath 0-4; SinusCongestion 0-4; SkippedHeartbeat 0-4; SleepChanges 0-1; SoreThroat 0-4;
        VaginalDryness 0-4; Vomiting 0-4; Wheezing 0-4;
        """
}
