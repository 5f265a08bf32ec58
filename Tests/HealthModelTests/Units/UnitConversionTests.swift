import Testing
import TestSupport

@testable import HealthModel

/// Compares conversions with results that another program computed with exact fractions (SEMANTICS A23).
@Suite struct UnitConversionTests {
    @Test("Thousands of conversions give the double nearest to the exact result, bit for bit")
    func table() throws {
        let rows = try Fixture.rows("conversions.txt")
        #expect(rows.count > 2_000)
        for row in rows {
            let (from, to) = (try HealthUnit(symbol: row[0]), try HealthUnit(symbol: row[1]))
            let (value, expected) = (Fixture.double(row[2]), Fixture.double(row[3]))
            let result = try from.convert(value, to: to)
            #expect(
                result.bitPattern == expected.bitPattern, "\(value) \(from) in \(to): \(result), not \(expected)")
        }
    }

    @Test("Pounds, stones, ounces, miles, feet and calories are exact by definition")
    func definitions() throws {
        let table: [(Double, String, Double, String)] = [
            (1, "lb", 453.59237, "g"), (1, "st", 14, "lb"), (1, "lb", 16, "oz"), (1, "mi", 1_609.344, "m"),
            (1, "mi", 5_280, "ft"), (1, "yd", 3, "ft"), (1, "ft", 12, "in"), (1, "in", 2.54, "cm"),
            (1, "kcal", 4_184, "J"), (1, "Cal", 1_000, "cal"), (2, "cup_us", 1, "pt_us"), (8, "fl_oz_us", 1, "cup_us"),
            (20, "fl_oz_imp", 1, "pt_imp"), (2, "cup_imp", 1, "pt_imp"), (1, "atm", 101_325, "Pa"),
            (1, "inHg", 25.4, "mmHg"), (10, "mmHg", 13.5951, "cmAq"), (37, "degC", 98.6, "degF"),
            (-40, "degF", -40, "degC"), (0, "degC", 273.15, "K"), (0, "K", -459.67, "degF"), (1, "d", 24, "hr"),
            (60, "count/min", 1, "Hz"), (1, "L", 1_000, "cm^3"), (1, "W", 1, "J/s"), (1, "g", 1_000_000, "mcg"),
            (180, "deg", 3.141592653589793, "rad"), (5.5, "mmol<180.1558800000541>/L", 99.085734000029755, "mg/dL"),
            (36, "km/hr", 10, "m/s"), (1, "V·S·V", 1, "W"),
        ]
        for (value, from, expected, to) in table {
            let result = try HealthUnit(symbol: from).convert(value, to: HealthUnit(symbol: to))
            #expect(result == expected, "\(value) \(from) in \(to): \(result)")
        }
    }

    @Test("Converting whole numbers there and back is exact if one unit is a multiple of the other")
    func thereAndBackExact() throws {
        for (from, to) in [
            ("st", "lb"), ("lb", "oz"), ("mi", "ft"), ("kcal", "J"), ("hr", "s"), ("kg", "mg"), ("in", "nm"),
        ] {
            let (unit, other) = (try HealthUnit(symbol: from), try HealthUnit(symbol: to))
            for value in 0..<5_000 {
                let back = try other.convert(unit.convert(Double(value), to: other), to: unit)
                #expect(back == Double(value), "\(value) \(from)")
            }
        }
    }

    @Test(
        "If neither unit is a multiple of the other, two roundings may change the last place, first at 7 lb in kilograms"
    )
    func thereAndBackRounded() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let whole = try (0..<8).map {
            try HealthUnit.kilogram.convert(HealthUnit.pound.convert(Double($0), to: .kilogram), to: .pound)
        }
        #expect(whole == [0, 1, 2, 3, 4, 5, 6, 7.000000000000001])
        for (from, to) in [("lb", "kg"), ("st", "kg"), ("mi", "km"), ("oz", "g"), ("kcal", "kJ"), ("degC", "degF")] {
            let (unit, other) = (try HealthUnit(symbol: from), try HealthUnit(symbol: to))
            for _ in 0..<2_000 {
                let value = Double.random(in: 1...10_000, using: &random)
                let back = try other.convert(unit.convert(value, to: other), to: unit)
                // Degrees have another zero point, so the greater of the two numbers determines the last place.
                #expect(
                    abs(back - value) <= 2 * max(value, from == "degC" ? 100 : 0).ulp, "\(value) \(from), seed \(seed)")
            }
        }
    }

    @Test("NaN and infinities stay unchanged, zero keeps its sign, and extreme numbers do not trap")
    func edges() throws {
        let (pound, gram) = (HealthUnit.pound, HealthUnit.gram)
        #expect(try pound.convert(.infinity, to: gram) == .infinity)
        #expect(try pound.convert(-.infinity, to: gram) == -.infinity)
        let odd = Double(nan: 77, signaling: false)
        #expect(try pound.convert(odd, to: gram).bitPattern == odd.bitPattern)
        #expect(try pound.convert(-0.0, to: gram).sign == .minus)
        #expect(try pound.convert(.greatestFiniteMagnitude, to: gram) == .infinity)
        #expect(try pound.convert(-.greatestFiniteMagnitude, to: gram) == -.infinity)
        #expect(try gram.convert(.leastNonzeroMagnitude, to: HealthUnit(symbol: "Tg")) == 0)
        // The double nearest to -273.15 is not exactly -273.15; the rest is this difference.
        #expect(try abs(HealthUnit.degreeCelsius.convert(-273.15, to: HealthUnit(symbol: "K"))) < 1e-13)
    }

    @Test("The zero point of degrees Celsius is exact in kelvins with a prefix, and the other way round")
    func zeroDegrees() throws {
        let fahrenheit = try HealthUnit(symbol: "degF")
        for (value, symbol) in [
            (273_150.0, "mK"), (27_315, "cK"), (2_731.5, "dK"), (27.315, "daK"), (2.7315, "hK"), (0.27315, "kK"),
        ] {
            let unit = try HealthUnit(symbol: symbol)
            let celsius = try unit.convert(value, to: .degreeCelsius)
            // The doubles nearest to the last three are not exact; the rest is this difference.
            #expect(value >= 2_731.5 ? celsius.bitPattern == 0 : abs(celsius) < 1e-13, "\(value) \(symbol): \(celsius)")
            #expect(try unit.convert(-0.0, to: .degreeCelsius) == -273.15, "\(symbol)")
            #expect(try unit.convert(0, to: fahrenheit) == -459.67, "\(symbol)")
            #expect(try unit.convert(-0.0, to: HealthUnit(symbol: "K")).sign == .minus, "\(symbol)")
        }
    }

    @Test("The error for incompatible units names both")
    func errors() throws {
        let glucose = try HealthUnit(symbol: "mmol<180>/L")
        #expect(throws: ModelError.incompatibleUnits(from: "mmol<180>/L", to: "mmHg")) {
            try glucose.convert(5, to: .millimeterOfMercury)
        }
        for (from, to) in [("count", "%"), ("IU", "g"), ("dBASPL", "dBHL"), ("rad", "%"), ("count", "count/min")] {
            let (unit, other) = (try HealthUnit(symbol: from), try HealthUnit(symbol: to))
            #expect(throws: ModelError.incompatibleUnits(from: from, to: to)) { try unit.convert(1, to: other) }
        }
    }
}
