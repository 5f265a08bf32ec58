/// The category types of HealthKit up to iOS 18. The value of such a sample is HealthKit's number of the case.
extension SampleType {
    /// Stand Hour, written by the system only.
    public static let appleStandHour = SampleType(category: "AppleStandHour")
    /// Environmental Audio Exposure Event, written by the system only. Apple renamed the constant and kept its
    /// identifier, `HKCategoryTypeIdentifierAudioExposureEvent`. The longer identifier is read as this type.
    public static let environmentalAudioExposureEvent = SampleType(category: "AudioExposureEvent")
    /// Headphone Audio Exposure Event, written by the system only.
    public static let headphoneAudioExposureEvent = SampleType(category: "HeadphoneAudioExposureEvent")
    /// High Heart Rate Event, written by the system only.
    public static let highHeartRateEvent = SampleType(category: "HighHeartRateEvent")
    /// Irregular Heart Rhythm Event, written by the system only.
    public static let irregularHeartRhythmEvent = SampleType(category: "IrregularHeartRhythmEvent")
    /// Low Cardio Fitness Event, written by the system only.
    public static let lowCardioFitnessEvent = SampleType(category: "LowCardioFitnessEvent")
    /// Low Heart Rate Event, written by the system only.
    public static let lowHeartRateEvent = SampleType(category: "LowHeartRateEvent")
    /// The former name of ``environmentalAudioExposureEvent``.
    public static let audioExposureEvent = environmentalAudioExposureEvent
    /// Mindful Session.
    public static let mindfulSession = SampleType(category: "MindfulSession")
    /// Walking Steadiness Event, written by the system only.
    public static let appleWalkingSteadinessEvent = SampleType(category: "AppleWalkingSteadinessEvent")
    /// Handwashing Event.
    public static let handwashingEvent = SampleType(category: "HandwashingEvent")
    /// Toothbrushing Event.
    public static let toothbrushingEvent = SampleType(category: "ToothbrushingEvent")
    /// Bleeding After Pregnancy.
    public static let bleedingAfterPregnancy = SampleType(category: "BleedingAfterPregnancy")
    /// Bleeding During Pregnancy.
    public static let bleedingDuringPregnancy = SampleType(category: "BleedingDuringPregnancy")
    /// Cervical Mucus Quality.
    public static let cervicalMucusQuality = SampleType(category: "CervicalMucusQuality")
    /// Contraceptive.
    public static let contraceptive = SampleType(category: "Contraceptive")
    /// Infrequent Menstrual Cycles, written by the system only.
    public static let infrequentMenstrualCycles = SampleType(category: "InfrequentMenstrualCycles")
    /// Intermenstrual Bleeding.
    public static let intermenstrualBleeding = SampleType(category: "IntermenstrualBleeding")
    /// Irregular Menstrual Cycles, written by the system only.
    public static let irregularMenstrualCycles = SampleType(category: "IrregularMenstrualCycles")
    /// Lactation.
    public static let lactation = SampleType(category: "Lactation")
    /// Menstrual Flow.
    public static let menstrualFlow = SampleType(category: "MenstrualFlow")
    /// Ovulation Test Result.
    public static let ovulationTestResult = SampleType(category: "OvulationTestResult")
    /// Persistent Intermenstrual Bleeding, written by the system only.
    public static let persistentIntermenstrualBleeding = SampleType(category: "PersistentIntermenstrualBleeding")
    /// Pregnancy.
    public static let pregnancy = SampleType(category: "Pregnancy")
    /// Pregnancy Test Result.
    public static let pregnancyTestResult = SampleType(category: "PregnancyTestResult")
    /// Progesterone Test Result.
    public static let progesteroneTestResult = SampleType(category: "ProgesteroneTestResult")
    /// Prolonged Menstrual Periods, written by the system only.
    public static let prolongedMenstrualPeriods = SampleType(category: "ProlongedMenstrualPeriods")
    /// Sexual Activity.
    public static let sexualActivity = SampleType(category: "SexualActivity")
    /// Sleep Apnea Event, written by the system only.
    public static let sleepApneaEvent = SampleType(category: "SleepApneaEvent")
    /// Sleep Analysis.
    public static let sleepAnalysis = SampleType(category: "SleepAnalysis")
    /// Abdominal Cramps.
    public static let abdominalCramps = SampleType(category: "AbdominalCramps")
    /// Acne.
    public static let acne = SampleType(category: "Acne")
    /// Appetite Changes.
    public static let appetiteChanges = SampleType(category: "AppetiteChanges")
    /// Bladder Incontinence.
    public static let bladderIncontinence = SampleType(category: "BladderIncontinence")
    /// Bloating.
    public static let bloating = SampleType(category: "Bloating")
    /// Breast Pain.
    public static let breastPain = SampleType(category: "BreastPain")
    /// Chest Tightness Or Pain.
    public static let chestTightnessOrPain = SampleType(category: "ChestTightnessOrPain")
    /// Chills.
    public static let chills = SampleType(category: "Chills")
    /// Constipation.
    public static let constipation = SampleType(category: "Constipation")
    /// Coughing.
    public static let coughing = SampleType(category: "Coughing")
    /// Diarrhea.
    public static let diarrhea = SampleType(category: "Diarrhea")
    /// Dizziness.
    public static let dizziness = SampleType(category: "Dizziness")
    /// Dry Skin.
    public static let drySkin = SampleType(category: "DrySkin")
    /// Fainting.
    public static let fainting = SampleType(category: "Fainting")
    /// Fatigue.
    public static let fatigue = SampleType(category: "Fatigue")
    /// Fever.
    public static let fever = SampleType(category: "Fever")
    /// Generalized Body Ache.
    public static let generalizedBodyAche = SampleType(category: "GeneralizedBodyAche")
    /// Hair Loss.
    public static let hairLoss = SampleType(category: "HairLoss")
    /// Headache.
    public static let headache = SampleType(category: "Headache")
    /// Heartburn.
    public static let heartburn = SampleType(category: "Heartburn")
    /// Hot Flashes.
    public static let hotFlashes = SampleType(category: "HotFlashes")
    /// Loss Of Smell.
    public static let lossOfSmell = SampleType(category: "LossOfSmell")
    /// Loss Of Taste.
    public static let lossOfTaste = SampleType(category: "LossOfTaste")
    /// Lower Back Pain.
    public static let lowerBackPain = SampleType(category: "LowerBackPain")
    /// Memory Lapse.
    public static let memoryLapse = SampleType(category: "MemoryLapse")
    /// Mood Changes.
    public static let moodChanges = SampleType(category: "MoodChanges")
    /// Nausea.
    public static let nausea = SampleType(category: "Nausea")
    /// Night Sweats.
    public static let nightSweats = SampleType(category: "NightSweats")
    /// Pelvic Pain.
    public static let pelvicPain = SampleType(category: "PelvicPain")
    /// Rapid Pounding Or Fluttering Heartbeat.
    public static let rapidPoundingOrFlutteringHeartbeat = SampleType(category: "RapidPoundingOrFlutteringHeartbeat")
    /// Runny Nose.
    public static let runnyNose = SampleType(category: "RunnyNose")
    /// Shortness Of Breath.
    public static let shortnessOfBreath = SampleType(category: "ShortnessOfBreath")
    /// Sinus Congestion.
    public static let sinusCongestion = SampleType(category: "SinusCongestion")
    /// Skipped Heartbeat.
    public static let skippedHeartbeat = SampleType(category: "SkippedHeartbeat")
    /// Sleep Changes.
    public static let sleepChanges = SampleType(category: "SleepChanges")
    /// Sore Throat.
    public static let soreThroat = SampleType(category: "SoreThroat")
    /// Vaginal Dryness.
    public static let vaginalDryness = SampleType(category: "VaginalDryness")
    /// Vomiting.
    public static let vomiting = SampleType(category: "Vomiting")
    /// Wheezing.
    public static let wheezing = SampleType(category: "Wheezing")

    /// Not an identifier of HealthKit: a constant's name used as its identifier by mistake. Files contain its number,
    /// so the number stays taken, and samples that a store holds under it are kept unchanged.
    static let misnamedAudioExposureEvent = SampleType(category: "EnvironmentalAudioExposureEvent")

    /// Follows the quantities in the catalog: the numbers continue after theirs.
    static let categories: [SampleType] = [
        .appleStandHour, .misnamedAudioExposureEvent, .headphoneAudioExposureEvent, .highHeartRateEvent,
        .irregularHeartRhythmEvent, .lowCardioFitnessEvent, .lowHeartRateEvent, .mindfulSession,
        .appleWalkingSteadinessEvent, .handwashingEvent, .toothbrushingEvent, .bleedingAfterPregnancy,
        .bleedingDuringPregnancy, .cervicalMucusQuality, .contraceptive, .infrequentMenstrualCycles,
        .intermenstrualBleeding, .irregularMenstrualCycles, .lactation, .menstrualFlow, .ovulationTestResult,
        .persistentIntermenstrualBleeding, .pregnancy, .pregnancyTestResult, .progesteroneTestResult,
        .prolongedMenstrualPeriods, .sexualActivity, .sleepApneaEvent, .sleepAnalysis, .abdominalCramps, .acne,
        .appetiteChanges, .bladderIncontinence, .bloating, .breastPain, .chestTightnessOrPain, .chills, .constipation,
        .coughing, .diarrhea, .dizziness, .drySkin, .fainting, .fatigue, .fever, .generalizedBodyAche, .hairLoss,
        .headache, .heartburn, .hotFlashes, .lossOfSmell, .lossOfTaste, .lowerBackPain, .memoryLapse, .moodChanges,
        .nausea, .nightSweats, .pelvicPain, .rapidPoundingOrFlutteringHeartbeat, .runnyNose, .shortnessOfBreath,
        .sinusCongestion, .skippedHeartbeat, .sleepChanges, .soreThroat, .vaginalDryness, .vomiting, .wheezing,
        .environmentalAudioExposureEvent,
    ]

    /// The categories that only the system writes.
    static let systemCategories: Set<SampleType> = [
        .misnamedAudioExposureEvent,
        .appleStandHour, .environmentalAudioExposureEvent, .headphoneAudioExposureEvent, .highHeartRateEvent,
        .irregularHeartRhythmEvent, .lowCardioFitnessEvent, .lowHeartRateEvent, .appleWalkingSteadinessEvent,
        .sleepApneaEvent, .infrequentMenstrualCycles, .irregularMenstrualCycles, .persistentIntermenstrualBleeding,
        .prolongedMenstrualPeriods,
    ]
}
