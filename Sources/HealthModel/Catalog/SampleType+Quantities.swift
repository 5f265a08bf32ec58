/// The quantity types after the first seventeen, and the properties of their values. All are in HealthKit up to iOS 18.
extension SampleType {
    /// Exercise Time, in `min`; cumulative, written by the system only.
    public static let appleExerciseTime = SampleType(quantity: "AppleExerciseTime")
    /// Move Time, in `min`; cumulative, written by the system only.
    public static let appleMoveTime = SampleType(quantity: "AppleMoveTime")
    /// Sleeping Breathing Disturbances, in `count`; discrete, written by the system only.
    public static let appleSleepingBreathingDisturbances = SampleType(quantity: "AppleSleepingBreathingDisturbances")
    /// Sleeping Wrist Temperature, in `degC`; discrete, written by the system only.
    public static let appleSleepingWristTemperature = SampleType(quantity: "AppleSleepingWristTemperature")
    /// Stand Time, in `min`; cumulative, written by the system only.
    public static let appleStandTime = SampleType(quantity: "AppleStandTime")
    /// Walking Steadiness, in `%`; discrete, written by the system only.
    public static let appleWalkingSteadiness = SampleType(quantity: "AppleWalkingSteadiness")
    /// Atrial Fibrillation Burden, in `%`; discrete, written by the system only.
    public static let atrialFibrillationBurden = SampleType(quantity: "AtrialFibrillationBurden")
    /// Basal Body Temperature, in `degC`; discrete.
    public static let basalBodyTemperature = SampleType(quantity: "BasalBodyTemperature")
    /// Blood Alcohol Content, in `%`; discrete.
    public static let bloodAlcoholContent = SampleType(quantity: "BloodAlcoholContent")
    /// Blood Glucose, in `mg/dL`; discrete.
    public static let bloodGlucose = SampleType(quantity: "BloodGlucose")
    /// Blood Pressure Diastolic, in `mmHg`; discrete.
    public static let bloodPressureDiastolic = SampleType(quantity: "BloodPressureDiastolic")
    /// Blood Pressure Systolic, in `mmHg`; discrete.
    public static let bloodPressureSystolic = SampleType(quantity: "BloodPressureSystolic")
    /// Body Mass Index, in `count`; discrete.
    public static let bodyMassIndex = SampleType(quantity: "BodyMassIndex")
    /// Body Temperature, in `degC`; discrete.
    public static let bodyTemperature = SampleType(quantity: "BodyTemperature")
    /// Cross Country Skiing Speed, in `m/s`; discrete.
    public static let crossCountrySkiingSpeed = SampleType(quantity: "CrossCountrySkiingSpeed")
    /// Cycling Cadence, in `count/min`; discrete.
    public static let cyclingCadence = SampleType(quantity: "CyclingCadence")
    /// Cycling Functional Threshold Power, in `W`; discrete.
    public static let cyclingFunctionalThresholdPower = SampleType(quantity: "CyclingFunctionalThresholdPower")
    /// Cycling Power, in `W`; discrete.
    public static let cyclingPower = SampleType(quantity: "CyclingPower")
    /// Cycling Speed, in `m/s`; discrete.
    public static let cyclingSpeed = SampleType(quantity: "CyclingSpeed")
    /// Biotin, in `g`; cumulative.
    public static let dietaryBiotin = SampleType(quantity: "DietaryBiotin")
    /// Caffeine, in `g`; cumulative.
    public static let dietaryCaffeine = SampleType(quantity: "DietaryCaffeine")
    /// Calcium, in `g`; cumulative.
    public static let dietaryCalcium = SampleType(quantity: "DietaryCalcium")
    /// Chloride, in `g`; cumulative.
    public static let dietaryChloride = SampleType(quantity: "DietaryChloride")
    /// Chromium, in `g`; cumulative.
    public static let dietaryChromium = SampleType(quantity: "DietaryChromium")
    /// Copper, in `g`; cumulative.
    public static let dietaryCopper = SampleType(quantity: "DietaryCopper")
    /// Monounsaturated Fat, in `g`; cumulative.
    public static let dietaryFatMonounsaturated = SampleType(quantity: "DietaryFatMonounsaturated")
    /// Polyunsaturated Fat, in `g`; cumulative.
    public static let dietaryFatPolyunsaturated = SampleType(quantity: "DietaryFatPolyunsaturated")
    /// Folate, in `g`; cumulative.
    public static let dietaryFolate = SampleType(quantity: "DietaryFolate")
    /// Iodine, in `g`; cumulative.
    public static let dietaryIodine = SampleType(quantity: "DietaryIodine")
    /// Iron, in `g`; cumulative.
    public static let dietaryIron = SampleType(quantity: "DietaryIron")
    /// Magnesium, in `g`; cumulative.
    public static let dietaryMagnesium = SampleType(quantity: "DietaryMagnesium")
    /// Manganese, in `g`; cumulative.
    public static let dietaryManganese = SampleType(quantity: "DietaryManganese")
    /// Molybdenum, in `g`; cumulative.
    public static let dietaryMolybdenum = SampleType(quantity: "DietaryMolybdenum")
    /// Niacin, in `g`; cumulative.
    public static let dietaryNiacin = SampleType(quantity: "DietaryNiacin")
    /// Pantothenic Acid, in `g`; cumulative.
    public static let dietaryPantothenicAcid = SampleType(quantity: "DietaryPantothenicAcid")
    /// Phosphorus, in `g`; cumulative.
    public static let dietaryPhosphorus = SampleType(quantity: "DietaryPhosphorus")
    /// Potassium, in `g`; cumulative.
    public static let dietaryPotassium = SampleType(quantity: "DietaryPotassium")
    /// Riboflavin, in `g`; cumulative.
    public static let dietaryRiboflavin = SampleType(quantity: "DietaryRiboflavin")
    /// Selenium, in `g`; cumulative.
    public static let dietarySelenium = SampleType(quantity: "DietarySelenium")
    /// Thiamin, in `g`; cumulative.
    public static let dietaryThiamin = SampleType(quantity: "DietaryThiamin")
    /// Vitamin A, in `g`; cumulative.
    public static let dietaryVitaminA = SampleType(quantity: "DietaryVitaminA")
    /// Vitamin B12, in `g`; cumulative.
    public static let dietaryVitaminB12 = SampleType(quantity: "DietaryVitaminB12")
    /// Vitamin B6, in `g`; cumulative.
    public static let dietaryVitaminB6 = SampleType(quantity: "DietaryVitaminB6")
    /// Vitamin C, in `g`; cumulative.
    public static let dietaryVitaminC = SampleType(quantity: "DietaryVitaminC")
    /// Vitamin D, in `g`; cumulative.
    public static let dietaryVitaminD = SampleType(quantity: "DietaryVitaminD")
    /// Vitamin E, in `g`; cumulative.
    public static let dietaryVitaminE = SampleType(quantity: "DietaryVitaminE")
    /// Vitamin K, in `g`; cumulative.
    public static let dietaryVitaminK = SampleType(quantity: "DietaryVitaminK")
    /// Zinc, in `g`; cumulative.
    public static let dietaryZinc = SampleType(quantity: "DietaryZinc")
    /// Distance Cross Country Skiing, in `m`; cumulative.
    public static let distanceCrossCountrySkiing = SampleType(quantity: "DistanceCrossCountrySkiing")
    /// Distance Cycling, in `m`; cumulative.
    public static let distanceCycling = SampleType(quantity: "DistanceCycling")
    /// Distance Downhill Snow Sports, in `m`; cumulative.
    public static let distanceDownhillSnowSports = SampleType(quantity: "DistanceDownhillSnowSports")
    /// Distance Paddle Sports, in `m`; cumulative.
    public static let distancePaddleSports = SampleType(quantity: "DistancePaddleSports")
    /// Distance Rowing, in `m`; cumulative.
    public static let distanceRowing = SampleType(quantity: "DistanceRowing")
    /// Distance Skating Sports, in `m`; cumulative.
    public static let distanceSkatingSports = SampleType(quantity: "DistanceSkatingSports")
    /// Distance Swimming, in `m`; cumulative.
    public static let distanceSwimming = SampleType(quantity: "DistanceSwimming")
    /// Distance Wheelchair, in `m`; cumulative.
    public static let distanceWheelchair = SampleType(quantity: "DistanceWheelchair")
    /// Electrodermal Activity, in `S`; discrete.
    public static let electrodermalActivity = SampleType(quantity: "ElectrodermalActivity")
    /// Environmental Audio Exposure, in `dBASPL`; discrete.
    public static let environmentalAudioExposure = SampleType(quantity: "EnvironmentalAudioExposure")
    /// Environmental Sound Reduction, in `dBASPL`; discrete.
    public static let environmentalSoundReduction = SampleType(quantity: "EnvironmentalSoundReduction")
    /// Estimated Workout Effort Score, in `appleEffortScore`; discrete.
    public static let estimatedWorkoutEffortScore = SampleType(quantity: "EstimatedWorkoutEffortScore")
    /// Flights Climbed, in `count`; cumulative.
    public static let flightsClimbed = SampleType(quantity: "FlightsClimbed")
    /// Forced Expiratory Volume, 1 s, in `L`; discrete.
    public static let forcedExpiratoryVolume1 = SampleType(quantity: "ForcedExpiratoryVolume1")
    /// Forced Vital Capacity, in `L`; discrete.
    public static let forcedVitalCapacity = SampleType(quantity: "ForcedVitalCapacity")
    /// Headphone Audio Exposure, in `dBASPL`; discrete.
    public static let headphoneAudioExposure = SampleType(quantity: "HeadphoneAudioExposure")
    /// Heart Rate, in `count/min`; discrete.
    public static let heartRate = SampleType(quantity: "HeartRate")
    /// Heart Rate Recovery One Minute, in `count/min`; discrete.
    public static let heartRateRecoveryOneMinute = SampleType(quantity: "HeartRateRecoveryOneMinute")
    /// Heart Rate Variability (SDNN), in `ms`; discrete.
    public static let heartRateVariabilitySDNN = SampleType(quantity: "HeartRateVariabilitySDNN")
    /// Height, in `m`; discrete.
    public static let height = SampleType(quantity: "Height")
    /// Inhaler Usage, in `count`; cumulative.
    public static let inhalerUsage = SampleType(quantity: "InhalerUsage")
    /// Insulin Delivery, in `IU`; cumulative.
    public static let insulinDelivery = SampleType(quantity: "InsulinDelivery")
    /// Nike Fuel, in `count`; cumulative, written by the system only.
    public static let nikeFuel = SampleType(quantity: "NikeFuel")
    /// Number Of Alcoholic Beverages, in `count`; cumulative.
    public static let numberOfAlcoholicBeverages = SampleType(quantity: "NumberOfAlcoholicBeverages")
    /// Number Of Times Fallen, in `count`; cumulative.
    public static let numberOfTimesFallen = SampleType(quantity: "NumberOfTimesFallen")
    /// Oxygen Saturation, in `%`; discrete.
    public static let oxygenSaturation = SampleType(quantity: "OxygenSaturation")
    /// Paddle Sports Speed, in `m/s`; discrete.
    public static let paddleSportsSpeed = SampleType(quantity: "PaddleSportsSpeed")
    /// Peak Expiratory Flow Rate, in `L/min`; discrete.
    public static let peakExpiratoryFlowRate = SampleType(quantity: "PeakExpiratoryFlowRate")
    /// Peripheral Perfusion Index, in `%`; discrete.
    public static let peripheralPerfusionIndex = SampleType(quantity: "PeripheralPerfusionIndex")
    /// Physical Effort, in `kcal/hr·kg`; discrete.
    public static let physicalEffort = SampleType(quantity: "PhysicalEffort")
    /// Push Count, in `count`; cumulative.
    public static let pushCount = SampleType(quantity: "PushCount")
    /// Respiratory Rate, in `count/min`; discrete.
    public static let respiratoryRate = SampleType(quantity: "RespiratoryRate")
    /// Resting Heart Rate, in `count/min`; discrete.
    public static let restingHeartRate = SampleType(quantity: "RestingHeartRate")
    /// Rowing Speed, in `m/s`; discrete.
    public static let rowingSpeed = SampleType(quantity: "RowingSpeed")
    /// Running Ground Contact Time, in `ms`; discrete.
    public static let runningGroundContactTime = SampleType(quantity: "RunningGroundContactTime")
    /// Running Power, in `W`; discrete.
    public static let runningPower = SampleType(quantity: "RunningPower")
    /// Running Speed, in `m/s`; discrete.
    public static let runningSpeed = SampleType(quantity: "RunningSpeed")
    /// Running Stride Length, in `m`; discrete.
    public static let runningStrideLength = SampleType(quantity: "RunningStrideLength")
    /// Running Vertical Oscillation, in `cm`; discrete.
    public static let runningVerticalOscillation = SampleType(quantity: "RunningVerticalOscillation")
    /// Six Minute Walk Test Distance, in `m`; discrete.
    public static let sixMinuteWalkTestDistance = SampleType(quantity: "SixMinuteWalkTestDistance")
    /// Stair Ascent Speed, in `m/s`; discrete.
    public static let stairAscentSpeed = SampleType(quantity: "StairAscentSpeed")
    /// Stair Descent Speed, in `m/s`; discrete.
    public static let stairDescentSpeed = SampleType(quantity: "StairDescentSpeed")
    /// Swimming Stroke Count, in `count`; cumulative.
    public static let swimmingStrokeCount = SampleType(quantity: "SwimmingStrokeCount")
    /// Time In Daylight, in `min`; cumulative.
    public static let timeInDaylight = SampleType(quantity: "TimeInDaylight")
    /// Underwater Depth, in `m`; discrete.
    public static let underwaterDepth = SampleType(quantity: "UnderwaterDepth")
    /// UV Exposure, in `count`; discrete.
    public static let uvExposure = SampleType(quantity: "UVExposure")
    /// VO2 Max, in `mL/min·kg`; discrete.
    public static let vo2Max = SampleType(quantity: "VO2Max")
    /// Waist Circumference, in `m`; discrete.
    public static let waistCircumference = SampleType(quantity: "WaistCircumference")
    /// Walking Asymmetry Percentage, in `%`; discrete, written by the system only.
    public static let walkingAsymmetryPercentage = SampleType(quantity: "WalkingAsymmetryPercentage")
    /// Walking Double Support Percentage, in `%`; discrete.
    public static let walkingDoubleSupportPercentage = SampleType(quantity: "WalkingDoubleSupportPercentage")
    /// Walking Heart Rate Average, in `count/min`; discrete, written by the system only.
    public static let walkingHeartRateAverage = SampleType(quantity: "WalkingHeartRateAverage")
    /// Walking Speed, in `m/s`; discrete.
    public static let walkingSpeed = SampleType(quantity: "WalkingSpeed")
    /// Walking Step Length, in `m`; discrete.
    public static let walkingStepLength = SampleType(quantity: "WalkingStepLength")
    /// Water Temperature, in `degC`; discrete.
    public static let waterTemperature = SampleType(quantity: "WaterTemperature")
    /// Workout Effort Score, in `appleEffortScore`; discrete.
    public static let workoutEffortScore = SampleType(quantity: "WorkoutEffortScore")

    /// Follows the first seventeen in the catalog: the numbers continue after theirs.
    static let furtherQuantities: [Measure] = [
        Measure(.appleExerciseTime, .minute, .cumulative, isShareable: false),
        Measure(.appleMoveTime, .minute, .cumulative, isShareable: false),
        Measure(.appleSleepingBreathingDisturbances, .count, .discrete, isShareable: false),
        Measure(.appleSleepingWristTemperature, .degreeCelsius, .discrete, isShareable: false),
        Measure(.appleStandTime, .minute, .cumulative, isShareable: false),
        Measure(.appleWalkingSteadiness, .percent, .discrete, isShareable: false),
        Measure(.atrialFibrillationBurden, .percent, .discrete, isShareable: false),
        Measure(.basalBodyTemperature, .degreeCelsius, .discrete),
        Measure(.bloodAlcoholContent, .percent, .discrete),
        Measure(.bloodGlucose, .milligramPerDeciliter, .discrete),
        Measure(.bloodPressureDiastolic, .millimeterOfMercury, .discrete),
        Measure(.bloodPressureSystolic, .millimeterOfMercury, .discrete),
        Measure(.bodyMassIndex, .count, .discrete),
        Measure(.bodyTemperature, .degreeCelsius, .discrete),
        Measure(.crossCountrySkiingSpeed, .meterPerSecond, .discrete),
        Measure(.cyclingCadence, .countPerMinute, .discrete),
        Measure(.cyclingFunctionalThresholdPower, .watt, .discrete),
        Measure(.cyclingPower, .watt, .discrete),
        Measure(.cyclingSpeed, .meterPerSecond, .discrete),
        Measure(.dietaryBiotin, .gram, .cumulative),
        Measure(.dietaryCaffeine, .gram, .cumulative),
        Measure(.dietaryCalcium, .gram, .cumulative),
        Measure(.dietaryChloride, .gram, .cumulative),
        Measure(.dietaryChromium, .gram, .cumulative),
        Measure(.dietaryCopper, .gram, .cumulative),
        Measure(.dietaryFatMonounsaturated, .gram, .cumulative),
        Measure(.dietaryFatPolyunsaturated, .gram, .cumulative),
        Measure(.dietaryFolate, .gram, .cumulative),
        Measure(.dietaryIodine, .gram, .cumulative),
        Measure(.dietaryIron, .gram, .cumulative),
        Measure(.dietaryMagnesium, .gram, .cumulative),
        Measure(.dietaryManganese, .gram, .cumulative),
        Measure(.dietaryMolybdenum, .gram, .cumulative),
        Measure(.dietaryNiacin, .gram, .cumulative),
        Measure(.dietaryPantothenicAcid, .gram, .cumulative),
        Measure(.dietaryPhosphorus, .gram, .cumulative),
        Measure(.dietaryPotassium, .gram, .cumulative),
        Measure(.dietaryRiboflavin, .gram, .cumulative),
        Measure(.dietarySelenium, .gram, .cumulative),
        Measure(.dietaryThiamin, .gram, .cumulative),
        Measure(.dietaryVitaminA, .gram, .cumulative),
        Measure(.dietaryVitaminB12, .gram, .cumulative),
        Measure(.dietaryVitaminB6, .gram, .cumulative),
        Measure(.dietaryVitaminC, .gram, .cumulative),
        Measure(.dietaryVitaminD, .gram, .cumulative),
        Measure(.dietaryVitaminE, .gram, .cumulative),
        Measure(.dietaryVitaminK, .gram, .cumulative),
        Measure(.dietaryZinc, .gram, .cumulative),
        Measure(.distanceCrossCountrySkiing, .meter, .cumulative),
        Measure(.distanceCycling, .meter, .cumulative),
        Measure(.distanceDownhillSnowSports, .meter, .cumulative),
        Measure(.distancePaddleSports, .meter, .cumulative),
        Measure(.distanceRowing, .meter, .cumulative),
        Measure(.distanceSkatingSports, .meter, .cumulative),
        Measure(.distanceSwimming, .meter, .cumulative),
        Measure(.distanceWheelchair, .meter, .cumulative),
        Measure(.electrodermalActivity, .siemens, .discrete),
        Measure(.environmentalAudioExposure, .soundPressureLevel, .discrete),
        Measure(.environmentalSoundReduction, .soundPressureLevel, .discrete),
        Measure(.estimatedWorkoutEffortScore, .effortScore, .discrete),
        Measure(.flightsClimbed, .count, .cumulative),
        Measure(.forcedExpiratoryVolume1, .liter, .discrete),
        Measure(.forcedVitalCapacity, .liter, .discrete),
        Measure(.headphoneAudioExposure, .soundPressureLevel, .discrete),
        Measure(.heartRate, .countPerMinute, .discrete),
        Measure(.heartRateRecoveryOneMinute, .countPerMinute, .discrete),
        Measure(.heartRateVariabilitySDNN, .millisecond, .discrete),
        Measure(.height, .meter, .discrete),
        Measure(.inhalerUsage, .count, .cumulative),
        Measure(.insulinDelivery, .internationalUnit, .cumulative),
        Measure(.nikeFuel, .count, .cumulative, isShareable: false),
        Measure(.numberOfAlcoholicBeverages, .count, .cumulative),
        Measure(.numberOfTimesFallen, .count, .cumulative),
        Measure(.oxygenSaturation, .percent, .discrete),
        Measure(.paddleSportsSpeed, .meterPerSecond, .discrete),
        Measure(.peakExpiratoryFlowRate, .literPerMinute, .discrete),
        Measure(.peripheralPerfusionIndex, .percent, .discrete),
        Measure(.physicalEffort, .kilocaloriePerHourKilogram, .discrete),
        Measure(.pushCount, .count, .cumulative),
        Measure(.respiratoryRate, .countPerMinute, .discrete),
        Measure(.restingHeartRate, .countPerMinute, .discrete),
        Measure(.rowingSpeed, .meterPerSecond, .discrete),
        Measure(.runningGroundContactTime, .millisecond, .discrete),
        Measure(.runningPower, .watt, .discrete),
        Measure(.runningSpeed, .meterPerSecond, .discrete),
        Measure(.runningStrideLength, .meter, .discrete),
        Measure(.runningVerticalOscillation, .centimeter, .discrete),
        Measure(.sixMinuteWalkTestDistance, .meter, .discrete),
        Measure(.stairAscentSpeed, .meterPerSecond, .discrete),
        Measure(.stairDescentSpeed, .meterPerSecond, .discrete),
        Measure(.swimmingStrokeCount, .count, .cumulative),
        Measure(.timeInDaylight, .minute, .cumulative),
        Measure(.underwaterDepth, .meter, .discrete),
        Measure(.uvExposure, .count, .discrete),
        Measure(.vo2Max, .milliliterPerMinuteKilogram, .discrete),
        Measure(.waistCircumference, .meter, .discrete),
        // Sources disagree on whether apps may write it. A request to share a type that cannot be shared ends the
        // process on a device.
        Measure(.walkingAsymmetryPercentage, .percent, .discrete, isShareable: false),
        Measure(.walkingDoubleSupportPercentage, .percent, .discrete),
        Measure(.walkingHeartRateAverage, .countPerMinute, .discrete, isShareable: false),
        Measure(.walkingSpeed, .meterPerSecond, .discrete),
        Measure(.walkingStepLength, .meter, .discrete),
        Measure(.waterTemperature, .degreeCelsius, .discrete),
        Measure(.workoutEffortScore, .effortScore, .discrete),
    ]
}
