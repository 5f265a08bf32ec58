/// The units of the catalog of types, except those with fixed numbers.
extension HealthUnit {
    /// Creates a unit from a symbol in this source file, which must be valid.
    private init(known symbol: String) {
        definition = UnitDefinition(UnitParser.parse(symbol)!)!
    }

    /// Seconds.
    public static let second = HealthUnit(known: "s")
    /// Milliseconds.
    public static let millisecond = HealthUnit(known: "ms")
    /// Minutes.
    public static let minute = HealthUnit(known: "min")
    /// Hours.
    public static let hour = HealthUnit(known: "hr")
    /// Ounces: sixteenths of a pound.
    public static let ounce = HealthUnit(known: "oz")
    /// Stones: fourteen pounds.
    public static let stone = HealthUnit(known: "st")
    /// Micrograms.
    public static let microgram = HealthUnit(known: "mcg")
    /// Centimeters.
    public static let centimeter = HealthUnit(known: "cm")
    /// Inches: 2.54 cm.
    public static let inch = HealthUnit(known: "in")
    /// Feet: twelve inches.
    public static let foot = HealthUnit(known: "ft")
    /// US fluid ounces: 128th parts of a gallon of 231 cubic inches.
    public static let fluidOunceUS = HealthUnit(known: "fl_oz_us")
    /// Joules.
    public static let joule = HealthUnit(known: "J")
    /// Small calories: 4.184 J, a thousandth of `kcal`.
    public static let smallCalorie = HealthUnit(known: "cal")
    /// Watts.
    public static let watt = HealthUnit(known: "W")
    /// Degrees Celsius.
    public static let degreeCelsius = HealthUnit(known: "degC")
    /// Degrees Fahrenheit.
    public static let degreeFahrenheit = HealthUnit(known: "degF")
    /// Millimeters of mercury.
    public static let millimeterOfMercury = HealthUnit(known: "mmHg")
    /// Counts a minute, such as beats or breaths.
    public static let countPerMinute = HealthUnit(known: "count/min")
    /// Meters a second.
    public static let meterPerSecond = HealthUnit(known: "m/s")
    /// Liters a minute.
    public static let literPerMinute = HealthUnit(known: "L/min")
    /// Milligrams a deciliter.
    public static let milligramPerDeciliter = HealthUnit(known: "mg/dL")
    /// Oxygen uptake: milliliters a minute and kilogram.
    public static let milliliterPerMinuteKilogram = HealthUnit(known: "mL/min·kg")
    /// Effort: kilocalories an hour and kilogram.
    public static let kilocaloriePerHourKilogram = HealthUnit(known: "kcal/hr·kg")
    /// International units of a substance.
    public static let internationalUnit = HealthUnit(known: "IU")
    /// Siemens.
    public static let siemens = HealthUnit(known: "S")
    /// Microsiemens: millionths of a siemens.
    public static let microsiemens = HealthUnit(known: "mcS")
    /// Decibels of A-weighted sound pressure.
    public static let soundPressureLevel = HealthUnit(known: "dBASPL")
    /// Apple's score of effort.
    public static let effortScore = HealthUnit(known: "appleEffortScore")

    /// All of these units, so that a lookup by symbol does not parse them again.
    static let furtherKnown: [HealthUnit] = [
        .second, .millisecond, .minute, .hour, .ounce, .stone, .microgram, .centimeter, .inch, .foot, .fluidOunceUS,
        .joule, .smallCalorie, .watt, .degreeCelsius, .degreeFahrenheit, .millimeterOfMercury, .countPerMinute,
        .meterPerSecond, .literPerMinute, .milligramPerDeciliter, .milliliterPerMinuteKilogram,
        .kilocaloriePerHourKilogram, .internationalUnit, .siemens, .microsiemens, .soundPressureLevel,
        .effortScore,
    ]
}
