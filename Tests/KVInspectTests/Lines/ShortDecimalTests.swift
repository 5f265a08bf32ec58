import TestSupport
import Testing

@testable import kvinspect

@Suite("Short decimals")
struct ShortDecimalTests {
    private func number(_ text: String) -> (value: Double, end: Int)? {
        let bytes = Array(text.utf8)
        var place = 0
        return ShortDecimal.number(bytes.span, &place).map { ($0, place) }
    }

    private func expectNearest(_ text: String) throws {
        let found = try #require(number(text), "\(text)")
        // One expectation for each number would take longer than the rest of the test.
        if found.value.bitPattern == Double(text)!.bitPattern, found.end == text.utf8.count { return }
        Issue.record("\(text) was read as \(found.value)")
    }

    @Test("Up to nineteen digits are read as the nearest double, with the point at any place")
    func random() throws {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let count = random.number(1..<20)
            var digits = String((0..<count).map { _ in Character(String(random.number(0..<10))) })
            let decimals = random.number(0..<count)
            if decimals > 0 { digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -decimals)) }
            while digits.hasPrefix("0"), digits.count > 1, !digits.hasPrefix("0.") { digits.removeFirst() }
            try expectNearest((random.chance(0.3) ? "-" : "") + digits)
        }
    }

    @Test("The shortest text of a double reads back as it, and ties round to even")
    func shortest() throws {
        var random = SeededGenerator()
        for _ in 0..<5_000 {
            let value = Double.random(in: 1e-3..<1e6, using: &random)
            let text = value.description
            if !text.contains("e"), text.utf8.filter({ $0 != 0x2E }).count <= 19 { try expectNearest(text) }
            let even = UInt64(1) << 53 + UInt64(random.number(0..<1 << 50)) << 1
            for step in 0..<4 as Range<UInt64> { try expectNearest("\(even + step)") }
            let half = UInt64(random.number(1 << 52..<1 << 53))
            try expectNearest("\(half).5")
            try expectNearest("\(half >> 1).25")
        }
    }

    @Test("Other texts and numbers with an exponent are left to the general parser")
    func others() {
        for text in ["", "-", "01", "-00", "1.", ".5", "+1", "1e5", "1.5E3", "12345678901234567890", "x"] {
            #expect(number(text) == nil, "\(text)")
        }
        #expect(number("-0")?.value.sign == .minus && number("-0.0")?.value.sign == .minus)
        #expect(number("12,")?.end == 2 && number("1.5}")?.end == 3)
    }
}
