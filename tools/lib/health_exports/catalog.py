"""What exports of Apple Health hold: types, their units in metric and imperial settings, values, sources, activities."""
from collections import namedtuple

QUANTITY = "HKQuantityTypeIdentifier"
CATEGORY = "HKCategoryTypeIdentifier"

# A type of quantities. Its true values are in the metric unit; `imperial` is the factor to the other unit, or a pair of
# factor and offset. `low` and `high` bound the values, `digits` are those of an entry by hand, None for counts. `seconds`
# is the longest duration, `weight` the share of the records of a history.
Quantity = namedtuple("Quantity", "name metric imperial factor low high digits seconds weight")

POUND = 1 / 0.45359237
MILE = 1 / 1.609344
FLUID_OUNCE = 1 / 29.5735295625
GLUCOSE = 18.01558800000541

QUANTITIES = [
    Quantity("HeartRate", "count/min", "count/min", 1, 42, 190, 0, 0, 300),
    Quantity("ActiveEnergyBurned", "kcal", "Cal", 1, 0.01, 40, 3, 90, 260),
    Quantity("BasalEnergyBurned", "kJ", "Cal", 1 / 4.184, 1, 90, 3, 3600, 100),
    Quantity("StepCount", "count", "count", 1, 1, 900, None, 600, 120),
    Quantity("DistanceWalkingRunning", "km", "mi", MILE, 0.002, 1.4, 3, 600, 120),
    Quantity("FlightsClimbed", "count", "count", 1, 1, 9, None, 60, 15),
    Quantity("DistanceCycling", "km", "mi", MILE, 0.01, 6, 3, 900, 8),
    Quantity("DistanceSwimming", "m", "yd", 1 / 0.9144, 25, 400, 0, 600, 3),
    Quantity("SwimmingStrokeCount", "count", "count", 1, 5, 60, None, 60, 3),
    Quantity("WalkingSpeed", "km/hr", "mi/hr", MILE, 2, 7, 2, 60, 8),
    Quantity("WalkingStepLength", "cm", "in", 1 / 2.54, 45, 95, 1, 60, 8),
    Quantity("WalkingAsymmetryPercentage", "%", "%", 1, 0, 0.4, 3, 60, 5),
    Quantity("HeartRateVariabilitySDNN", "ms", "ms", 1, 12, 160, 1, 60, 8),
    Quantity("RestingHeartRate", "count/min", "count/min", 1, 44, 80, 0, 40000, 4),
    Quantity("OxygenSaturation", "%", "%", 1, 0.9, 1, 2, 0, 10),
    Quantity("RespiratoryRate", "count/min", "count/min", 1, 11, 22, 1, 0, 10),
    Quantity("VO2Max", "mL/min·kg", "mL/min·kg", 1, 30, 55, 1, 0, 2),
    Quantity("EnvironmentalAudioExposure", "dBASPL", "dBASPL", 1, 40, 95, 1, 1800, 12),
    Quantity("BodyMass", "kg", "lb", POUND, 55, 110, 1, 0, 8),
    Quantity("BodyFatPercentage", "%", "%", 1, 0.1, 0.35, 3, 0, 4),
    Quantity("BodyMassIndex", "count", "count", 1, 18, 32, 1, 0, 3),
    Quantity("Height", "cm", "ft", 1 / 30.48, 150, 199, 0, 0, 1),
    Quantity("BodyTemperature", "degC", "degF", (1.8, 32), 35.8, 39.6, 1, 0, 3),
    Quantity("BloodGlucose", "mmol<180.1558800000541>/L", "mg/dL", GLUCOSE, 3.5, 11, 1, 0, 10),
    Quantity("BloodPressureSystolic", "mmHg", "mmHg", 1, 95, 165, 0, 0, 3),
    Quantity("BloodPressureDiastolic", "mmHg", "mmHg", 1, 55, 100, 0, 0, 3),
    Quantity("DietaryEnergyConsumed", "kcal", "Cal", 1, 5, 900, 0, 0, 5),
    Quantity("DietaryProtein", "g", "g", 1, 0.5, 60, 1, 0, 5),
    Quantity("DietaryCarbohydrates", "g", "g", 1, 0.5, 120, 1, 0, 5),
    Quantity("DietarySodium", "mg", "mg", 1, 1, 2400, 0, 0, 5),
    Quantity("DietaryWater", "mL", "fl_oz_us", FLUID_OUNCE, 50, 750, 0, 0, 6),
    Quantity("InsulinDelivery", "IU", "IU", 1, 0.5, 12, 1, 600, 2),
    Quantity("SomethingNewOfNextYear", "count", "count", 1, 1, 90, None, 60, 1),
]
BY_NAME = {entry.name: entry for entry in QUANTITIES}

# A type of categories, with the texts of its values and the numbers that HealthKit has for them.
Category = namedtuple("Category", "name values seconds weight")

CATEGORIES = [
    Category("SleepAnalysis", {
        "HKCategoryValueSleepAnalysisInBed": 0, "HKCategoryValueSleepAnalysisAsleepUnspecified": 1,
        "HKCategoryValueSleepAnalysisAwake": 2, "HKCategoryValueSleepAnalysisAsleepCore": 3,
        "HKCategoryValueSleepAnalysisAsleepDeep": 4, "HKCategoryValueSleepAnalysisAsleepREM": 5,
        "HKCategoryValueSleepAnalysisAsleep": 1}, 5400, 20),
    Category("AppleStandHour", {"HKCategoryValueAppleStandHourStood": 0, "HKCategoryValueAppleStandHourIdle": 1}, 3600, 20),
    Category("MindfulSession", {None: 0}, 1200, 3),
    Category("HighHeartRateEvent", {None: 0, "HKCategoryValueNotApplicable": 0}, 600, 1),
    Category("Headache", {
        "HKCategoryValueSeverityUnspecified": 0, "HKCategoryValueSeverityNotPresent": 1, "HKCategoryValueSeverityMild": 2,
        "HKCategoryValueSeverityModerate": 3, "HKCategoryValueSeveritySevere": 4}, 7200, 2),
    Category("MenstrualFlow", {
        "HKCategoryValueMenstrualFlowUnspecified": 1, "HKCategoryValueMenstrualFlowLight": 2,
        "HKCategoryValueVaginalBleedingMedium": 3, "HKCategoryValueVaginalBleedingHeavy": 4}, 0, 1),
    Category("AudioExposureEvent", {"HKCategoryValueEnvironmentalAudioExposureEventMomentaryLimit": 1}, 300, 1),
]

# A source: its name, its versions in order, the share of records, and its device without the address.
Source = namedtuple("Source", "name versions weight device")

WATCH = ("name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,2, software:{}",
         {"name": "Apple Watch", "manufacturer": "Apple Inc.", "model": "Watch", "hardwareVersion": "Watch6,2"})
PHONE = ("name:iPhone, manufacturer:Apple Inc., model:iPhone, hardware:iPhone13,2, software:{}",
         {"name": "iPhone", "manufacturer": "Apple Inc.", "model": "iPhone", "hardwareVersion": "iPhone13,2"})
SCALE = ("name:Scale, Hall 2, manufacturer:Exámple & Søn, model:S-1, hardware:1.0, firmware:7, software:{}, "
         "localIdentifier:AB-12, UDIDeviceIdentifier:00819320201234",
         {"name": "Scale, Hall 2", "manufacturer": "Exámple & Søn", "model": "S-1", "hardwareVersion": "1.0",
          "firmwareVersion": "7", "localIdentifier": "AB-12", "udiDeviceIdentifier": "00819320201234"})
CREATION = ", creation date:2023-08-24 17:12:03 +0000"

SOURCES = [
    Source("Anna’s Apple\u00a0Watch", ["7.6.1", "8.5.1", "10.6.1"], 50, WATCH),
    Source("Anna’s 📱 \"old\" iPhone & co <1>", ["14.4.2", "17.0.3"], 25, PHONE),
    Source("Apple Watch von Jörg's Tochter", ["9.1"], 6, WATCH),
    Source("안나의 Apple\u00a0Watch", ["10.0"], 4, WATCH),
    Source("مذكرة الوزن", ["2", "3.1"], 4, None),
    Source("健康记录 👩‍👩‍👧", ["1.0 (17)"], 4, None),
    Source("W8Trackr", ["1.2", "1.3"], 4, SCALE),
    Source("Здоровье", [None], 3, None),
]
WATCHES = [SOURCES[0], SOURCES[2], SOURCES[3]]
APPS = [source for source in SOURCES if source.device in (None, SCALE)]

ACTIVITIES = ["Running", "Walking", "Cycling", "Swimming", "Yoga", "TraditionalStrengthTraining", "Hiking", "Other"]
EVENTS = {"Pause": 1, "Resume": 2, "Lap": 3, "Marker": 4, "MotionPaused": 5, "MotionResumed": 6, "Segment": 7,
          "PauseOrResumeRequest": 8}

# Metadata by kind: keys and the texts that exports have for them.
METADATA = [
    ("HKMetadataKeyHeartRateMotionContext", ["0", "1", "2"]),
    ("HKVO2MaxTestType", ["2"]),
    ("HKMetadataKeyUserMotionContext", ["1"]),
    ("HKIndoorWorkout", ["0", "1"]),
    ("HKDeviceSerialNumber", ["0017", "A1-β"]),
    ("HKDeviceManufacturerName", ["Ex & Søn", "\"Quoted\" 's"]),
    ("HKReferenceRangeLowerLimit", ["3.9 mmol<180.1558800000541>/L"]),
    ("HKElevationAscended", ["5900 cm"]),
    ("HKAverageMETs", ["5.2 kcal/hr·kg"]),
    ("HKWeatherTemperature", ["68 degF"]),
    ("HKWeatherHumidity", ["5600 %"]),
    ("HKBarometricPressure", ["101.325 kPa"]),
    ("HKMetadataKeyDateOfEarliestDataUsedForEstimate", ["2023-10-20 08:00:00 +0000"]),
    ("meal", ["breakfast", "Früh\nstück"]),
    ("Meal", ["2"]),
    ("com.example.note", ["", "a \"b\" 'c' <d> & e;\tf", "🍏 薬", "1e400", "007", "true"]),
    ("Key with spaces", ["x"]),
]

LOCALES = {
    "en_US": ("imperial", lambda h, m, s: f"{(h + 11) % 12 + 1}:{m:02}:{s:05.2f} {'AM' if h < 12 else 'PM'}"),
    "de_DE": ("metric", lambda h, m, s: f"{h:02}:{m:02}:{s:05.2f}".replace(".", ",")),
    "fa_IR": ("metric", lambda h, m, s: f"{h}:{m:02}:{s:05.2f}".translate(PERSIAN)),
    "zh_CN": ("metric", lambda h, m, s: f"{'上午' if h < 12 else '下午'}{(h + 11) % 12 + 1}:{m:02}:{s:05.2f}"),
}
PERSIAN = str.maketrans("0123456789.", "۰۱۲۳۴۵۶۷۸۹٫")
MAIN_NAMES = ["export.xml", "Export.xml", "导出.xml", "exportar.xml", "eksport.xml", "エクスポート.xml"]
ZONES = ["+0000", "+0100", "+0200", "-0500", "-0800", "+0545", "+0900", "-0330", "+1300"]
TIME_ZONES = ["Europe/Paris", "Asia/Kathmandu", "America/St_Johns", "GMT+0200"]
