/// A parsed unit: atoms with their prefixes, each with a power.
struct UnitExpression: Sendable {
    /// One atom with its prefix.
    struct Factor: Hashable, Sendable {
        /// An index into ``UnitAtom/all``, or ``UnitAtom/mole``.
        var atom: Int
        /// An index into ``UnitAtom/prefixes``; -1 for none.
        var prefix = -1
        /// The molar mass of a mole, in its shortest decimal form.
        var molarMass = ""
    }

    private(set) var powers: [Factor: Int] = [:]

    /// Greater powers do not occur and would only make numbers long.
    static let powerLimit = 24

    /// Raises the power of a factor. Returns `false` if the power grows too great.
    mutating func multiply(by factor: Factor, power: Int) -> Bool {
        let sum = powers[factor, default: 0] + power
        powers[factor] = sum == 0 ? nil : sum
        return abs(sum) <= UnitExpression.powerLimit
    }

    mutating func multiply(by other: UnitExpression, power: Int) -> Bool {
        for (factor, own) in other.powers {
            guard multiply(by: factor, power: own * power) else { return false }
        }
        return true
    }

    /// The factors in HealthKit's order.
    private var sorted: [(factor: Factor, power: Int)] {
        powers.map { ($0.key, $0.value) }.sorted {
            ($0.0.atom, $0.0.prefix, $0.0.molarMass) < ($1.0.atom, $1.0.prefix, $1.0.molarMass)
        }
    }

    /// The canonical spelling of the unit, such as `mL/min·kg`. Without a numerator it begins with 1.
    var symbol: String {
        func product(_ sign: Int) -> String {
            sorted.filter { $0.power * sign > 0 }.map { factor, power in
                factor.symbol + (abs(power) == 1 ? "" : "^\(abs(power))")
            }.joined(separator: "·")
        }
        let (above, below) = (product(1), product(-1))
        if below.isEmpty { return above }
        return (above.isEmpty ? "1" : above) + "/" + below
    }

    /// Returns the product of the factors, and the offset of a temperature that is the only factor. Returns `nil` if
    /// the power of a dimension does not fit.
    func resolve() -> (dimension: HealthUnit.Dimension, factor: ExactNumber, offset: ExactNumber?)? {
        var sums = SIMD16<Int32>()
        var product = ExactNumber(1)
        for (factor, power) in powers {
            let size = factor.size
            for index in 0..<16 { sums[index] += Int32(factor.dimension.powers[index]) * Int32(power) }
            for _ in 0..<abs(power) { product = power > 0 ? product * size : product / size }
        }
        var dimension = HealthUnit.Dimension([:])
        for index in 0..<16 {
            guard let power = Int8(exactly: sums[index]), power > Int8.min else { return nil }
            dimension.powers[index] = power
        }
        var offset: ExactNumber?
        if powers.count == 1, let (factor, power) = powers.first, power == 1, factor.atom < UnitAtom.mole {
            offset = UnitAtom.all[factor.atom].offset
        }
        // Lowest terms make conversions fast. Long numbers never convert fast, so reducing them is not worth the time.
        let isShort = max(product.numerator.bitWidth, product.denominator.bitWidth) <= 128
        return (dimension, isShort ? product.reduced : product, offset)
    }
}

extension UnitExpression.Factor {
    var symbol: String {
        let name = atom == UnitAtom.mole ? "mol<\(molarMass)>" : UnitAtom.all[atom].symbol
        return prefix < 0 ? name : UnitAtom.prefixes[prefix].symbol + name
    }

    fileprivate var dimension: HealthUnit.Dimension {
        atom == UnitAtom.mole ? .mass : UnitAtom.all[atom].dimension
    }

    /// The size of the factor in grams, meters, seconds …
    fileprivate var size: ExactNumber {
        let bare = atom == UnitAtom.mole ? ExactNumber(decimal: molarMass.utf8)! : UnitAtom.all[atom].factor
        guard prefix >= 0 else { return bare }
        let power = UnitAtom.prefixes[prefix].power
        let ten = ExactNumber(.power(of: 10, abs(power)))
        return power > 0 ? bare * ten : bare / ten
    }
}
