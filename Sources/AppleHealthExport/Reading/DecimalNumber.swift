/// Reads numbers as people and programs write them: a sign, digits with at most one decimal mark, a power of ten.
enum DecimalNumber {
    /// Powers of ten that a double holds exactly.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Returns the double nearest to a number; `nil` for a text that is not a number, or not a finite one.
    ///
    /// - Parameters:
    ///   - mark: the decimal mark, a point or a comma.
    ///   - shift: the number of places by which the decimal mark moves to the left: 2 for a percentage.
    static func read(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, mark: UInt8 = 0x2E, shift: Int = 0
    ) -> Double? {
        var index = range.lowerBound
        var isNegative = false
        if index < range.upperBound, bytes[index] == 0x2D || bytes[index] == 0x2B {
            isNegative = bytes[index] == 0x2D
            index += 1
        }
        let digitsStart = index
        var (mantissa, digits, decimals, hasMark) = (UInt64(0), 0, 0, false)
        while index < range.upperBound {
            let byte = bytes[index]
            if byte >= 0x30, byte <= 0x39 {
                // Beyond 19 digits the product wraps around, and the slow path below reads the digits again.
                mantissa = mantissa &* 10 &+ UInt64(byte - 0x30)
                digits += 1
                if hasMark { decimals += 1 }
            } else if byte == mark, !hasMark {
                hasMark = true
            } else {
                break
            }
            index += 1
        }
        guard digits > 0 else { return nil }
        let digitsEnd = index
        var exponent = 0
        if index < range.upperBound {
            guard bytes[index] == 0x65 || bytes[index] == 0x45,
                let power = wholeNumber(bytes, index + 1..<range.upperBound), abs(power) < 10_000
            else { return nil }
            exponent = power
        }
        let scale = exponent - decimals - shift
        guard digits <= 19, mantissa < 1 << 53, abs(scale) < powers.count else {
            return slowly(bytes, digitsStart..<digitsEnd, mark: mark, exponent: exponent - shift, isNegative)
        }
        // Both operands are exact, so the result is rounded once.
        let magnitude = scale < 0 ? Double(mantissa) / powers[-scale] : Double(mantissa) * powers[scale]
        return isNegative ? -magnitude : magnitude
    }

    private static func slowly(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, mark: UInt8, exponent: Int, _ isNegative: Bool
    ) -> Double? {
        let digits = bytes.copied(range).map { $0 == mark ? 0x2E : $0 }
        let text = (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + "e\(exponent)"
        guard let number = Double(text), number.isFinite else { return nil }
        return number
    }

    /// Returns a whole number of at most 18 digits, with an optional sign.
    static func wholeNumber(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        var isNegative = false
        if index < range.upperBound, bytes[index] == 0x2D || bytes[index] == 0x2B {
            isNegative = bytes[index] == 0x2D
            index += 1
        }
        guard index < range.upperBound, range.upperBound - index <= 18 else { return nil }
        var number = 0
        while index < range.upperBound {
            let digit = bytes[index] &- 0x30
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
            index += 1
        }
        return isNegative ? -number : number
    }

    /// Returns the number that an attribute holds.
    static func read(_ attribute: ExportAttribute, in bytes: borrowing Span<UInt8>) -> Double? {
        if let number = read(bytes, attribute.value) { return number }
        if attribute.isPlain { return nil }
        // Somebody wrote characters as references.
        let whole = ExportText(attribute, in: bytes)
        if whole.isMended { return nil }
        let text = Array(whole.text.utf8)
        return read(text.span, 0..<text.count)
    }
}
