/// Converts numbers of at most nineteen digits without an exponent, as nearly all are, to the nearest double, without a
/// copy of their text.
enum ShortDecimal {
    private static let exactPowers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    ]
    private static let powers: [UInt64] = (0...19).map { (0..<$0).reduce(1) { power, _ in power * 10 } }

    /// Reads a number by JSON's grammar up to its end or exponent; `nil` if the text is no such number.
    static func number(_ bytes: Span<UInt8>, _ place: inout Int) -> Double? {
        let isNegative = place < bytes.count && bytes[place] == 0x2D
        if isNegative { place += 1 }
        let start = place
        var whole: UInt64 = 0
        while place < bytes.count, bytes[place] &- 0x30 <= 9 {
            whole = whole &* 10 &+ UInt64(bytes[place] &- 0x30)
            place += 1
        }
        var digits = place - start
        guard digits > 0, digits == 1 || bytes[start] != 0x30 else { return nil }
        var decimals = 0
        if place < bytes.count, bytes[place] == 0x2E {
            place += 1
            let point = place
            while place < bytes.count, bytes[place] &- 0x30 <= 9 {
                whole = whole &* 10 &+ UInt64(bytes[place] &- 0x30)
                place += 1
            }
            decimals = place - point
            guard decimals > 0 else { return nil }
            digits += decimals
        }
        guard digits <= 19 else { return nil }
        if place < bytes.count, bytes[place] | 0x20 == 0x65 { return nil }
        let number = quotient(whole, decimals)
        return isNegative ? -number : number
    }

    /// The double nearest to a whole number over a power of ten; ties go to the even one.
    static func quotient(_ whole: UInt64, _ decimals: Int) -> Double {
        // Both are exact doubles, so one division is correctly rounded.
        if whole < 1 << 53 { return Double(whole) / exactPowers[decimals] }
        if decimals == 0 { return Double(whole) }
        let power = powers[decimals]
        // Shift both left as far as possible, and keep the dividend below the divisor: so the quotient has 64 bits.
        let (up, down) = (whole.leadingZeroBitCount, power.leadingZeroBitCount)
        let divisor = power << UInt64(down)
        var dividend: (high: UInt64, low: UInt64) = (whole << UInt64(up), 0)
        var exponent = down - up - 64
        if dividend.high >= divisor {
            dividend = (dividend.high >> 1, dividend.high << 63)
            exponent += 1
        }
        let (quotient, remainder) = divisor.dividingFullWidth((dividend.high, dividend.low))
        // 53 bits stay. The bits cut off decide the rounding; on a tie, the remainder does.
        let rest = quotient & 0x7FF
        let isAbove = rest > 0x400 || rest == 0x400 && (remainder != 0 || quotient & 0x800 != 0)
        let bits = (quotient >> 11 & (1 << 52 - 1)) + UInt64(exponent + 63 + 1023) << 52
        return Double(bitPattern: bits + (isAbove ? 1 : 0))
    }
}
