/// A natural number of any size, for factors that must not be rounded. Such numbers are few and small, so the code is
/// simple instead of fast.
struct BigNatural: Hashable, Sendable {
    /// The digits in base 2³², least significant first, without leading zeros.
    private(set) var limbs: [UInt32]

    init(_ value: UInt64) {
        limbs = [UInt32(truncatingIfNeeded: value), UInt32(truncatingIfNeeded: value >> 32)]
        trim()
    }

    /// Reads decimal digits; `nil` for an empty text or any other character.
    init?(decimal digits: some Sequence<UInt8>) {
        limbs = []
        var count = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            multiplyAndAdd(10, UInt32(digit - 0x30))
            count += 1
        }
        if count == 0 { return nil }
    }

    static func power(of base: UInt64, _ exponent: Int) -> BigNatural {
        var result = BigNatural(1)
        for _ in 0..<exponent { result = result * BigNatural(base) }
        return result
    }

    var isZero: Bool { limbs.isEmpty }

    /// The number of bits; 0 for zero.
    var bitWidth: Int { limbs.isEmpty ? 0 : 32 * limbs.count - limbs[limbs.count - 1].leadingZeroBitCount }

    /// The number as a double, if it has at most 53 bits and is therefore exact.
    var exactDouble: Double? {
        guard bitWidth <= 53 else { return nil }
        return Double(limbs.reversed().reduce(UInt64(0)) { $0 << 32 | UInt64($1) })
    }

    private mutating func trim() {
        while limbs.last == 0 { limbs.removeLast() }
    }

    private mutating func multiplyAndAdd(_ factor: UInt32, _ summand: UInt32) {
        var carry = UInt64(summand)
        for index in limbs.indices {
            let sum = UInt64(limbs[index]) * UInt64(factor) + carry
            limbs[index] = UInt32(truncatingIfNeeded: sum)
            carry = sum >> 32
        }
        if carry > 0 { limbs.append(UInt32(carry)) }
    }

    /// Divides by a small number in place and returns the remainder.
    mutating func divide(by divisor: UInt32) -> UInt32 {
        var rest: UInt64 = 0
        for index in limbs.indices.reversed() {
            let part = rest << 32 | UInt64(limbs[index])
            limbs[index] = UInt32(part / UInt64(divisor))
            rest = part % UInt64(divisor)
        }
        trim()
        return UInt32(rest)
    }
}

extension BigNatural: Comparable {
    static func < (left: BigNatural, right: BigNatural) -> Bool {
        if left.limbs.count != right.limbs.count { return left.limbs.count < right.limbs.count }
        for index in left.limbs.indices.reversed() where left.limbs[index] != right.limbs[index] {
            return left.limbs[index] < right.limbs[index]
        }
        return false
    }
}

extension BigNatural {
    static func + (left: BigNatural, right: BigNatural) -> BigNatural {
        var sum = left
        var carry: UInt64 = 0
        for index in 0..<max(left.limbs.count, right.limbs.count) {
            if index == sum.limbs.count { sum.limbs.append(0) }
            carry += UInt64(sum.limbs[index]) + UInt64(index < right.limbs.count ? right.limbs[index] : 0)
            sum.limbs[index] = UInt32(truncatingIfNeeded: carry)
            carry >>= 32
        }
        if carry > 0 { sum.limbs.append(UInt32(carry)) }
        return sum
    }

    /// Returns the difference; `right` must not be greater than `left`.
    static func - (left: BigNatural, right: BigNatural) -> BigNatural {
        var difference = left
        var borrow: Int64 = 0
        for index in difference.limbs.indices {
            var part = Int64(difference.limbs[index]) - borrow
            if index < right.limbs.count { part -= Int64(right.limbs[index]) }
            borrow = part < 0 ? 1 : 0
            difference.limbs[index] = UInt32(truncatingIfNeeded: part)
        }
        difference.trim()
        return difference
    }

    static func * (left: BigNatural, right: BigNatural) -> BigNatural {
        var product = BigNatural(0)
        product.limbs = [UInt32](repeating: 0, count: left.limbs.count + right.limbs.count)
        for (offset, factor) in left.limbs.enumerated() where factor > 0 {
            var carry: UInt64 = 0
            for (index, other) in right.limbs.enumerated() {
                carry += UInt64(factor) * UInt64(other) + UInt64(product.limbs[offset + index])
                product.limbs[offset + index] = UInt32(truncatingIfNeeded: carry)
                carry >>= 32
            }
            product.limbs[offset + right.limbs.count] = UInt32(carry)
        }
        product.trim()
        return product
    }

    static func << (number: BigNatural, bits: Int) -> BigNatural {
        if number.isZero || bits == 0 { return number }
        var shifted = BigNatural(0)
        shifted.limbs = [UInt32](repeating: 0, count: bits / 32)
        let small = UInt32(bits % 32)
        var carry: UInt32 = 0
        for limb in number.limbs {
            shifted.limbs.append(limb << small | carry)
            carry = small == 0 ? 0 : limb >> (32 - small)
        }
        shifted.limbs.append(carry)
        shifted.trim()
        return shifted
    }

    /// Returns the whole part of a quotient, which must have fewer than 64 bits, and whether there is a remainder.
    static func quotient(_ dividend: BigNatural, _ divisor: BigNatural) -> (whole: UInt64, hasRest: Bool) {
        var whole: UInt64 = 0
        var rest = dividend
        for shift in stride(from: max(0, dividend.bitWidth - divisor.bitWidth), through: 0, by: -1) {
            let part = divisor << shift
            if rest >= part {
                rest = rest - part
                whole |= 1 << UInt64(shift)
            }
        }
        return (whole, !rest.isZero)
    }

    /// The decimal digits.
    var decimal: String {
        if isZero { return "0" }
        var rest = self
        var groups: [String] = []
        while !rest.isZero { groups.append(String(rest.divide(by: 1_000_000_000))) }
        return groups.removeLast()
            + groups.reversed().map { String(repeating: "0", count: 9 - $0.utf8.count) + $0 }.joined()
    }

    /// Returns the greatest common divisor.
    static func commonDivisor(_ left: BigNatural, _ right: BigNatural) -> BigNatural {
        var (a, b) = (left, right)
        while !b.isZero {
            // Compute the remainder by subtracting shifted multiples: these numbers are short.
            while a >= b {
                let part = b << (a.bitWidth - b.bitWidth)
                a = a - (part <= a ? part : b << (a.bitWidth - b.bitWidth - 1))
            }
            (a, b) = (b, a)
        }
        return a
    }
}
