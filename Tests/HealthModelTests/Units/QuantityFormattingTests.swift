import Foundation
import Testing
import TestSupport

@testable import HealthModel

/// Formatting quantities for people.
@Suite struct QuantityFormattingTests {
    @Test("Each unit shows its usual decimals, rounded from the exact value")
    func usual() throws {
        let table: [(Double, String, String)] = [
            (72.449, "kg", "72.4 kg"), (160.25, "lb", "160.2 lb"), (160.35, "lb", "160.3 lb"),
            (8_312, "count", "8312 count"),
            (0.2345, "%", "23.4 %"), (1, "%", "100.0 %"), (512.5, "kcal", "512 kcal"), (513.5, "kcal", "514 kcal"),
            (1.005, "L", "1.00 L"), (250, "mL", "250 mL"), (5.25, "km", "5.25 km"), (36.64, "degC", "36.6 degC"),
            (61.4, "count/min", "61 count/min"), (5.54, "mmol<180.15588>/L", "5.5 mmol<180.15588>/L"),
            (2.4, "mcg", "2.4 mcg"), (20, "mcg", "20 mcg"), (0.4, "mg", "0.4 mg"), (100.04, "mg", "100 mg"),
            (0.5, "IU", "0.5 IU"), (0, "IU", "0 IU"), (10, "IU", "10 IU"), (1.5, "cup_us", "1.5 cup_us"),
            (0.25, "cup_imp", "0.25 cup_imp"), (8.5, "fl_oz_us", "8.5 fl_oz_us"), (2, "pt_imp", "2 pt_imp"),
            (.infinity, "mg", "∞ mg"), (-0.04, "mg", "0 mg"),
            (-0.04, "kg", "0.0 kg"), (-0.05000000000000001, "kg", "-0.1 kg"), (.nan, "g", "NaN g"),
            (.infinity, "g", "∞ g"),
        ]
        for (value, unit, expected) in table {
            #expect(Quantity(value, try HealthUnit(symbol: unit)).formatted() == expected)
        }
        #expect(Quantity(1.0 / 3, .gram).formatted(digits: 5) == "0.33333 g")
        #expect(Quantity(2.5, .gram).formatted(digits: 0) == "2 g")
        #expect(Quantity(250, .milligram).formatted(digits: 2) == "250.00 mg")
        #expect(Quantity(1e23, .gram).formatted(digits: 0) == "99999999999999991611392 g")
        #expect(Quantity(.leastNonzeroMagnitude, .gram).formatted(digits: 3) == "0.000 g")
    }

    @Test("The digits equal those of the C library, which rounds the exact value too")
    func againstPrintf() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            let value =
                random.chance(0.5)
                ? Double(random.number(-5_000..<5_000)) / 8 : Double.random(in: -1e6...1e6, using: &random)
            let digits = random.number(0..<8)
            let text = Quantity(value, .kilogram).formatted(digits: digits)
            let expected = String(format: "%.\(digits)f kg", value)
            let isZero = !expected.contains { "123456789".contains($0) }
            #expect(text == (isZero ? expected.replacingOccurrences(of: "-", with: "") : expected), "seed \(seed)")
        }
    }
}
