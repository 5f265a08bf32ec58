import Testing

@testable import HealthModel

/// The names that HealthKit's documentation gives to the values of category types.
@Suite struct CategoryCaseTests {
    /// HealthKit's names in its headers, with the types that use them. Symptoms that are not listed here use
    /// severities.
    private static let families: [(first: Int, cases: [String], types: [SampleType])] = [
        (
            0,
            [
                "HKCategoryValueSleepAnalysisInBed", "HKCategoryValueSleepAnalysisAsleepUnspecified",
                "HKCategoryValueSleepAnalysisAwake", "HKCategoryValueSleepAnalysisAsleepCore",
                "HKCategoryValueSleepAnalysisAsleepDeep", "HKCategoryValueSleepAnalysisAsleepREM",
            ], [.sleepAnalysis]
        ),
        (0, ["HKCategoryValueAppleStandHourStood", "HKCategoryValueAppleStandHourIdle"], [.appleStandHour]),
        (0, ["HKCategoryValuePresencePresent", "HKCategoryValuePresenceNotPresent"], [.moodChanges, .sleepChanges]),
        (
            0,
            [
                "HKCategoryValueAppetiteChangesUnspecified", "HKCategoryValueAppetiteChangesNoChange",
                "HKCategoryValueAppetiteChangesDecreased", "HKCategoryValueAppetiteChangesIncreased",
            ], [.appetiteChanges]
        ),
        (
            1,
            [
                "HKCategoryValueAppleWalkingSteadinessEventInitialLow",
                "HKCategoryValueAppleWalkingSteadinessEventInitialVeryLow",
                "HKCategoryValueAppleWalkingSteadinessEventRepeatLow",
                "HKCategoryValueAppleWalkingSteadinessEventRepeatVeryLow",
            ], [.appleWalkingSteadinessEvent]
        ),
        (1, ["HKCategoryValueLowCardioFitnessEventLowFitness"], [.lowCardioFitnessEvent]),
        (1, ["HKCategoryValueEnvironmentalAudioExposureEventMomentaryLimit"], [.environmentalAudioExposureEvent]),
        (1, ["HKCategoryValueHeadphoneAudioExposureEventSevenDayLimit"], [.headphoneAudioExposureEvent]),
        (
            1,
            [
                "HKCategoryValueCervicalMucusQualityDry", "HKCategoryValueCervicalMucusQualitySticky",
                "HKCategoryValueCervicalMucusQualityCreamy", "HKCategoryValueCervicalMucusQualityWatery",
                "HKCategoryValueCervicalMucusQualityEggWhite",
            ], [.cervicalMucusQuality]
        ),
        (
            1,
            [
                "HKCategoryValueContraceptiveUnspecified", "HKCategoryValueContraceptiveImplant",
                "HKCategoryValueContraceptiveInjection", "HKCategoryValueContraceptiveIntrauterineDevice",
                "HKCategoryValueContraceptiveIntravaginalRing", "HKCategoryValueContraceptiveOral",
                "HKCategoryValueContraceptivePatch",
            ], [.contraceptive]
        ),
        (
            1,
            [
                "HKCategoryValueVaginalBleedingUnspecified", "HKCategoryValueVaginalBleedingLight",
                "HKCategoryValueVaginalBleedingMedium", "HKCategoryValueVaginalBleedingHeavy",
                "HKCategoryValueVaginalBleedingNone",
            ], [.menstrualFlow, .bleedingDuringPregnancy, .bleedingAfterPregnancy]
        ),
        (
            1,
            [
                "HKCategoryValueOvulationTestResultNegative",
                "HKCategoryValueOvulationTestResultLuteinizingHormoneSurge",
                "HKCategoryValueOvulationTestResultIndeterminate", "HKCategoryValueOvulationTestResultEstrogenSurge",
            ], [.ovulationTestResult]
        ),
        (
            1,
            [
                "HKCategoryValuePregnancyTestResultNegative", "HKCategoryValuePregnancyTestResultPositive",
                "HKCategoryValuePregnancyTestResultIndeterminate",
            ], [.pregnancyTestResult]
        ),
        (
            1,
            [
                "HKCategoryValueProgesteroneTestResultNegative", "HKCategoryValueProgesteroneTestResultPositive",
                "HKCategoryValueProgesteroneTestResultIndeterminate",
            ], [.progesteroneTestResult]
        ),
        (
            0, ["HKCategoryValueNotApplicable"],
            [
                .mindfulSession, .handwashingEvent, .toothbrushingEvent, .sexualActivity, .intermenstrualBleeding,
                .infrequentMenstrualCycles, .irregularMenstrualCycles, .persistentIntermenstrualBleeding,
                .prolongedMenstrualPeriods, .lactation, .pregnancy, .highHeartRateEvent, .lowHeartRateEvent,
                .irregularHeartRhythmEvent, .sleepApneaEvent,
            ]
        ),
    ]
    private static let severity = [
        "HKCategoryValueSeverityUnspecified", "HKCategoryValueSeverityNotPresent", "HKCategoryValueSeverityMild",
        "HKCategoryValueSeverityModerate", "HKCategoryValueSeveritySevere",
    ]

    @Test("Every category type of the catalog has the cases of HealthKit's headers, under their numbers")
    func everything() {
        var symptoms = Set(SampleType.catalog.filter { $0.kind == .category })
        #expect(symptoms.count == 68)
        for (first, cases, types) in CategoryCaseTests.families {
            for type in types {
                #expect(type.categoryCases.map(\.identifier) == cases, "\(type)")
                #expect(type.categoryCases.map(\.number) == Array(first..<first + cases.count), "\(type)")
                symptoms.remove(type)
            }
        }
        #expect(symptoms.count == 36 && symptoms.contains(.headache) && symptoms.contains(.vaginalDryness))
        for type in symptoms {
            #expect(type.categoryCases.map(\.identifier) == CategoryCaseTests.severity, "\(type)")
            #expect(type.categoryCases.map(\.number) == [0, 1, 2, 3, 4], "\(type)")
        }
    }

    @Test("A number leads to its case, but only if HealthKit defines one")
    func numbers() {
        #expect(SampleType.sleepAnalysis.categoryCase(5)?.name == "asleepREM")
        #expect(SampleType.sleepAnalysis.categoryCase(6) == nil && SampleType.sleepAnalysis.categoryCase(-1) == nil)
        #expect(SampleType.menstrualFlow.categoryCase(0) == nil)
        #expect(SampleType.stepCount.categoryCases.isEmpty && SampleType.food.categoryCases.isEmpty)
        #expect(SampleType("HKCategoryTypeIdentifierFuture").categoryCases.isEmpty)
    }

    @Test("A sample displays a known case by name, an unknown one by number, and a quantity with its usual digits")
    func display() {
        let start = Instant(nanoseconds: 0)
        func shown(_ type: SampleType, _ number: Int) -> String {
            Sample(category: type, number, from: start, to: start).displayValue
        }
        #expect(shown(.sleepAnalysis, 3) == "Asleep Core" && shown(.sleepAnalysis, 5) == "Asleep REM")
        #expect(shown(.cervicalMucusQuality, 5) == "Egg White" && shown(.headache, 3) == "Moderate")
        #expect(shown(.mindfulSession, 0) == "Not Applicable")
        #expect(shown(.sleepAnalysis, 77) == "77 count")
        #expect(shown(SampleType("HKCategoryTypeIdentifierFuture"), 2) == "2 count")
        #expect(Sample(.bodyMass, 72.449, .kilogram, at: start).displayValue == "72.4 kg")
        // Sodium and cholesterol are stored in grams and displayed in mg; a quantity in any other unit keeps its unit.
        #expect(Sample(.dietarySodium, 0.012, .gram, at: start).displayValue == "12 mg")
        #expect(Sample(.dietaryCholesterol, 250, .milligram, at: start).displayValue == "250 mg")
        #expect(Sample(.dietaryVitaminD, 0.00002, .gram, at: start).displayValue == "20 mcg")
        #expect(Sample(.dietaryProtein, 12.34, .gram, at: start).displayValue == "12.3 g")
        #expect(Sample(.dietaryVitaminB6, 0.0004, .gram, at: start).displayValue == "0.4 mg")
        #expect(Sample(.dietaryVitaminB12, 0.0000024, .gram, at: start).displayValue == "2.4 mcg")
        #expect(Sample(.insulinDelivery, 0.5, .internationalUnit, at: start).displayValue == "0.5 IU")
        #expect(Sample(.bodyMassIndex, 23.4, .count, at: start).displayValue == "23.4 count")
        #expect(Sample(.bloodAlcoholContent, 0.0005, .percent, at: start).displayValue == "0.05 %")
        #expect(Sample(.electrodermalActivity, 0.000005, .siemens, at: start).displayValue == "5 mcS")
        for type in SampleType.catalog {
            guard let shown = type.displayUnit, let kept = type.canonicalUnit else { continue }
            #expect(shown.isCompatible(with: kept), "\(type)")
        }
        var odd = Sample(category: .sleepAnalysis, 1, from: start, to: start)
        for value in [1.5, .nan, .infinity, 1e300] {
            odd.quantity.value = value
            #expect(odd.categoryCase == nil)
        }
    }
}
