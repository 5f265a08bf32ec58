import HealthModel

/// What types of samples are called in LOINC, the code system of observations. Every type also has its HealthKit
/// identifier, and many have nothing else.
enum ObservationCodes {
    private static let loinc = "http://loinc.org"
    static let healthKit = "http://developer.apple.com/documentation/healthkit"
    private static let categories = "http://terminology.hl7.org/CodeSystem/observation-category"

    private static let codes: [SampleType: (code: String, display: String)] = [
        .bodyMass: ("29463-7", "Body weight"),
        .height: ("8302-2", "Body height"),
        .bodyMassIndex: ("39156-5", "Body mass index (BMI) [Ratio]"),
        .bodyFatPercentage: ("41982-0", "Percentage of body fat Measured"),
        .waistCircumference: ("8280-0", "Waist Circumference at umbilicus by Tape measure"),
        .heartRate: ("8867-4", "Heart rate"),
        .restingHeartRate: ("40443-4", "Heart rate --resting"),
        .heartRateVariabilitySDNN: ("80404-7", "R-R interval.standard deviation (Heart rate variability)"),
        .respiratoryRate: ("9279-1", "Respiratory rate"),
        .oxygenSaturation: ("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry"),
        .bodyTemperature: ("8310-5", "Body temperature"),
        .bloodPressureSystolic: ("8480-6", "Systolic blood pressure"),
        .bloodPressureDiastolic: ("8462-4", "Diastolic blood pressure"),
        .stepCount: ("55423-8", "Number of steps in unspecified time Pedometer"),
        .distanceWalkingRunning: ("55430-3", "Walking distance unspecified time Pedometer"),
        .activeEnergyBurned: ("41981-2", "Calories burned"),
        .dietaryEnergyConsumed: ("9052-2", "Calorie intake total"),
    ]
    /// Glucose has one code for masses and one for moles.
    private static let glucose = (
        mass: ("2339-0", "Glucose [Mass/volume] in Blood"), moles: ("15074-8", "Glucose [Moles/volume] in Blood")
    )

    private static let vitalSigns: Set<SampleType> = [
        .bodyMass, .height, .bodyMassIndex, .heartRate, .restingHeartRate, .respiratoryRate, .oxygenSaturation,
        .bodyTemperature, .bloodPressureSystolic, .bloodPressureDiastolic,
    ]
    private static let activities: Set<SampleType> = [
        .stepCount, .distanceWalkingRunning, .activeEnergyBurned, .workout, .appleExerciseTime, .flightsClimbed,
    ]

    /// The panel of both blood pressures.
    static let bloodPressure = Observation.Concept(
        coding: [
            Observation.Coding(
                system: loinc, code: "85354-9", display: "Blood pressure panel with all children optional"),
            Observation.Coding(system: healthKit, code: SampleType.bloodPressure.identifier),
        ], text: SampleType.bloodPressure.shortName)

    static func concept(of type: SampleType, _ unit: HealthUnit) -> Observation.Concept {
        var coding: [Observation.Coding] = []
        var known = codes[type]
        if type == .bloodGlucose { known = unit.symbol.contains("mol") ? glucose.moles : glucose.mass }
        if let known {
            coding.append(Observation.Coding(system: loinc, code: known.code, display: known.display))
        }
        coding.append(Observation.Coding(system: healthKit, code: type.identifier))
        return Observation.Concept(coding: coding, text: type.shortName)
    }

    static func category(of type: SampleType) -> [Observation.Concept]? {
        let code = vitalSigns.contains(type) ? "vital-signs" : activities.contains(type) ? "activity" : nil
        return code.map {
            [Observation.Concept(coding: [Observation.Coding(system: categories, code: $0)])]
        }
    }
}
