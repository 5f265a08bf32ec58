import TestSupport
import Testing

@testable import AppleHealthExport

/// Numbers of files.
@Suite struct DecimalNumberTests {
    private static func read(_ text: String, mark: UInt8 = 0x2E, shift: Int = 0) -> Double? {
        let bytes = Array(text.utf8)
        return DecimalNumber.read(bytes.span, 0..<bytes.count, mark: mark, shift: shift)
    }

    @Test("Numbers have a sign, one decimal mark and a power of ten")
    func forms() {
        let numbers: [(String, Double)] = [
            ("72.4", 72.4), ("-0.5", -0.5), ("+3", 3), (".5", 0.5), ("5.", 5), ("1e3", 1_000), ("2.5E-3", 0.0025),
            ("9007199254740993", 9_007_199_254_740_992), ("0.1234567890123456789012", 0.1234567890123456789012),
            ("1e300", 1e300), ("000012", 12),
        ]
        for (text, number) in numbers { #expect(Self.read(text) == number, "\(text)") }
        #expect(Self.read("-0")?.sign == .minus)
    }

    @Test(
        "Other texts are no numbers",
        arguments: [
            "", "-", ".", "1,5", "1.2.3", "1e", "e5", "0x10", "inf", "nan", "1 000", "12a", "1e99999", "1e400", "--1",
            "1e+-2",
        ])
    func others(_ text: String) { #expect(Self.read(text) == nil) }

    @Test("A decimal comma takes the place of the point")
    func comma() {
        #expect(Self.read("72,4", mark: 0x2C) == 72.4)
        #expect(Self.read("72.4", mark: 0x2C) == nil)
        #expect(Self.read("0,12345678901234567890", mark: 0x2C) == 0.1234567890123456789)
    }

    @Test("A percentage is the nearest double of the fraction, not the quotient of a rounded number")
    func percent() {
        #expect(Self.read("22.1", shift: 2) == 0.221)
        #expect(Self.read("7", shift: 2) == 0.07)
        #expect(Self.read("99.99999999999999999999", shift: 2) == 1)
    }

    @Test("Random doubles read back bit for bit")
    func random() {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let number = Double(bitPattern: random.next())
            if number.isFinite { #expect(Self.read("\(number)")?.bitPattern == number.bitPattern) }
            let usual = (Double.random(in: -1_000...1_000, using: &random) * 1_000).rounded() / 1_000
            #expect(Self.read("\(usual)")?.bitPattern == usual.bitPattern)
        }
    }
}
