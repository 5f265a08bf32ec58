/// The definition of a unit, created once and shared by all values of the unit.
final class UnitDefinition: Sendable {
    let symbol: String
    let dimension: HealthUnit.Dimension
    /// The fixed number of the unit on disk; 0 if it has none.
    let number: UInt32
    /// One unit in grams, meters, seconds …
    let factor: ExactNumber
    let offset: ExactNumber?
    /// Numerator and denominator of the factor if doubles hold them exactly and there is no offset; otherwise 0.
    let fastNumerator: Double
    let fastDenominator: Double

    init?(_ expression: UnitExpression, number: UInt32 = 0) {
        guard let parts = expression.resolve() else { return nil }
        symbol = expression.symbol
        self.number = number
        (dimension, factor, offset) = parts
        let fast =
            parts.offset == nil ? (parts.factor.numerator.exactDouble, parts.factor.denominator.exactDouble) : nil
        fastNumerator = fast?.0 ?? 0
        fastDenominator = fast?.1 ?? 0
    }
}

extension UnitDefinition {
    /// Converts `value` of this unit to a unit of the same dimension: the result is the double nearest to the exact
    /// value.
    func convert(_ value: Double, to other: UnitDefinition) -> Double {
        guard value.isFinite else { return value }
        if fastNumerator > 0, other.fastNumerator > 0, fastDenominator > 0, other.fastDenominator > 0 {
            if value == 0 { return value }
            let numerator = fastNumerator * other.fastDenominator
            let denominator = fastDenominator * other.fastNumerator
            let limit = 9_007_199_254_740_992.0
            if numerator <= limit, denominator <= limit,
                let fast = UnitDefinition.scale(value, numerator, denominator)
            {
                return fast
            }
        }
        var exact = ExactNumber(value)
        if let offset { exact = exact + offset }
        exact = exact * factor / other.factor
        if let offset = other.offset { exact = exact + -offset }
        // Zero keeps its sign if neither unit has an offset.
        return value == 0 && offset == nil && other.offset == nil ? value : exact.rounded
    }

    /// Returns `value · numerator / denominator` with one rounding; `nil` if doubles cannot decide the direction of
    /// rounding.
    private static func scale(_ value: Double, _ numerator: Double, _ denominator: Double) -> Double? {
        let product = value * numerator
        // Stay away from magnitudes at which the low part of a product is lost.
        guard product.magnitude < 0x1p900, product.magnitude > 0x1p-900 else { return nil }
        let productRest = (-product).addingProduct(value, numerator)
        let quotient = product / denominator
        let rest = product.addingProduct(-quotient, denominator) + productRest
        let correction = rest / denominator
        let sum = quotient + correction
        let lost = (quotient - sum) + correction
        if lost == 0 { return sum }
        let half = sum.ulp / 2
        let isNearMiddle = abs(lost.magnitude - half) <= half * 0x1p-30
        return isNearMiddle || sum.significandBitPattern == 0 ? nil : sum
    }
}
