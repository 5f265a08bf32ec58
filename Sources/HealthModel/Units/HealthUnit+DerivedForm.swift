/// The conversion for derived ids. It is part of the format, so it stays as first implemented, including its rounding.
extension HealthUnit {
    /// The size of each unit with a fixed number: a numerator and a denominator, both exact as doubles.
    private static let derivedSizes: [(numerator: Double, denominator: Double)] = [
        (1, 1), (1_000, 1), (1, 1), (1, 1_000), (45_359_237, 100_000), (1, 1), (1_000, 1), (1_609_344, 1_000),
        (4_184, 1), (1_000, 1), (1, 1), (1_000, 1), (1, 1),
    ]

    /// Returns `value` of this unit in another. For two units with fixed numbers the result is the value times a
    /// product of whole numbers, divided by another such product, in doubles. For all other units it is the double
    /// nearest to the exact result.
    package func derivedForm(_ value: Double, in other: HealthUnit) -> Double? {
        if self == other { return value }
        guard isCompatible(with: other) else { return nil }
        guard number > 0, other.number > 0 else { return definition.convert(value, to: other.definition) }
        let (own, target) = (HealthUnit.derivedSizes[Int(number) - 1], HealthUnit.derivedSizes[Int(other.number) - 1])
        return value * (own.numerator * target.denominator) / (own.denominator * target.numerator)
    }
}
