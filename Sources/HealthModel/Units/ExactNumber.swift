/// A fraction of whole numbers of any size: the exact form of doubles for arithmetic without loss.
struct ExactNumber: Sendable {
    var isNegative = false
    var numerator: BigNatural
    var denominator: BigNatural

    init(_ numerator: BigNatural, _ denominator: BigNatural = BigNatural(1)) {
        self.numerator = numerator
        self.denominator = denominator
    }

    init(_ numerator: UInt64, _ denominator: UInt64 = 1) {
        self.init(BigNatural(numerator), BigNatural(denominator))
    }

    /// Converts a finite double, which is a whole number times a power of two.
    init(_ value: Double) {
        let bits = value.magnitude.bitPattern
        let exponent = Int(bits >> 52)
        let mantissa = bits & (1 << 52 - 1) | (exponent == 0 ? 0 : 1 << 52)
        let power = max(exponent, 1) - 1_075
        self.init(
            BigNatural(mantissa) << max(0, power), BigNatural(1) << max(0, -power))
        isNegative = value.sign == .minus && mantissa != 0
    }

    /// Reads decimal digits with at most one point, and nothing else.
    init?(decimal text: some Collection<UInt8>) {
        let point = text.firstIndex(of: 0x2E)
        let digits = text.filter { $0 != 0x2E }
        let decimals = point.map { text.distance(from: $0, to: text.endIndex) - 1 } ?? 0
        guard digits.count >= text.count - 1, let number = BigNatural(decimal: digits) else { return nil }
        self.init(number, .power(of: 10, decimals))
    }

    static func * (left: ExactNumber, right: ExactNumber) -> ExactNumber {
        var product = ExactNumber(left.numerator * right.numerator, left.denominator * right.denominator)
        product.isNegative = left.isNegative != right.isNegative
        return product
    }

    static func / (left: ExactNumber, right: ExactNumber) -> ExactNumber {
        var quotient = ExactNumber(left.numerator * right.denominator, left.denominator * right.numerator)
        quotient.isNegative = left.isNegative != right.isNegative
        return quotient
    }

    static func + (left: ExactNumber, right: ExactNumber) -> ExactNumber {
        let (a, b) = (left.numerator * right.denominator, right.numerator * left.denominator)
        let denominator = left.denominator * right.denominator
        if left.isNegative == right.isNegative {
            var sum = ExactNumber(a + b, denominator)
            sum.isNegative = left.isNegative
            return sum
        }
        var difference = ExactNumber(a >= b ? a - b : b - a, denominator)
        difference.isNegative = a >= b ? left.isNegative : right.isNegative
        return difference
    }

    static prefix func - (number: ExactNumber) -> ExactNumber {
        var negated = number
        negated.isNegative.toggle()
        return negated
    }

    /// The same number in lowest terms.
    var reduced: ExactNumber {
        let divisor = BigNatural.commonDivisor(numerator, denominator)
        guard divisor.bitWidth > 1 else { return self }
        var reduced = ExactNumber(
            ExactNumber.exactQuotient(numerator, divisor), ExactNumber.exactQuotient(denominator, divisor))
        reduced.isNegative = isNegative
        return reduced
    }

    /// Returns a quotient that is known to have no remainder.
    private static func exactQuotient(_ dividend: BigNatural, _ divisor: BigNatural) -> BigNatural {
        var (rest, quotient) = (dividend, BigNatural(0))
        while rest >= divisor {
            var shift = rest.bitWidth - divisor.bitWidth
            if divisor << shift > rest { shift -= 1 }
            rest = rest - divisor << shift
            quotient = quotient + BigNatural(1) << shift
        }
        return quotient
    }

    /// The nearest double; ties round to even.
    var rounded: Double {
        let magnitude = magnitudeRounded
        return isNegative ? -magnitude : magnitude
    }

    private var magnitudeRounded: Double {
        if numerator.isZero { return 0 }
        // Scale so that the whole part has 56 or 57 bits, more than a double keeps. One more bit records the remainder.
        let scale = 56 - (numerator.bitWidth - denominator.bitWidth)
        let (whole, hasRest) = BigNatural.quotient(
            numerator << max(0, scale), denominator << max(0, -scale))
        var word = whole << 1 | (hasRest ? 1 : 0)
        var exponent = -scale - 1
        // A subnormal double keeps fewer bits: round them off here, once, so that the conversion does not round a
        // second time.
        let spare = -1_074 - exponent
        if spare > 64 - word.leadingZeroBitCount - 53, spare > 0 {
            if spare > 62 { return 0 }
            let (kept, lost) = (word >> UInt64(spare), word & (1 << UInt64(spare) - 1))
            let half: UInt64 = 1 << UInt64(spare - 1)
            word = kept + (lost > half || lost == half && kept & 1 == 1 ? 1 : 0)
            exponent = -1_074
        }
        return Double(sign: .plus, exponent: exponent, significand: Double(word))
    }

    /// The nearest whole number to the magnitude; ties round to even.
    var roundedMagnitude: BigNatural {
        var rest = numerator
        var whole = BigNatural(0)
        while rest >= denominator {
            var shift = rest.bitWidth - denominator.bitWidth
            if denominator << shift > rest { shift -= 1 }
            rest = rest - denominator << shift
            whole = whole + BigNatural(1) << shift
        }
        let twice = rest << 1
        let isOdd = (whole.limbs.first ?? 0) & 1 == 1
        if twice > denominator || twice == denominator && isOdd { whole = whole + BigNatural(1) }
        return whole
    }
}
