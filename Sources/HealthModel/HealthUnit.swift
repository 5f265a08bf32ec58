/// A unit of measure with exact conversion inside its dimension.
///
/// ```swift
/// let pounds = try HealthUnit.kilogram.convert(100, to: .pound)      // 220.46…
/// ```
public struct HealthUnit: Hashable, Sendable {
    /// What a unit measures. Conversion is possible inside one dimension only.
    public enum Dimension: String, Sendable, Codable {
        case mass, count, length, energy, volume, ratio
    }

    /// The unit as HealthKit writes it; case matters.
    public let symbol: String
    public let dimension: Dimension

    /// The number that stands for this unit on disk. Embedded in files: never change or reuse one.
    public let number: UInt32

    /// One unit is `numerator / denominator` of the dimension's base unit. Two whole numbers keep pounds and calories exact.
    let numerator: Double
    let denominator: Double

    init(_ symbol: String, _ dimension: Dimension, _ number: UInt32, _ numerator: Double, per denominator: Double = 1) {
        self.symbol = symbol
        self.dimension = dimension
        self.number = number
        self.numerator = numerator
        self.denominator = denominator
    }

    public static func == (left: HealthUnit, right: HealthUnit) -> Bool { left.number == right.number }
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }

    /// Whether quantities of this unit can be converted to `other`.
    public func isCompatible(with other: HealthUnit) -> Bool { dimension == other.dimension }

    /// `value` of this unit, expressed in `other`.
    public func convert(_ value: Double, to other: HealthUnit) throws(ModelError) -> Double {
        if self == other { return value }
        guard isCompatible(with: other) else { throw .incompatibleUnits(from: symbol, to: other.symbol) }
        return value * (numerator * other.denominator) / (denominator * other.numerator)
    }
}

extension HealthUnit {
    public static let count = HealthUnit("count", .count, 1, 1)
    public static let kilogram = HealthUnit("kg", .mass, 2, 1000)
    public static let gram = HealthUnit("g", .mass, 3, 1)
    public static let milligram = HealthUnit("mg", .mass, 4, 1, per: 1000)
    public static let pound = HealthUnit("lb", .mass, 5, 45_359_237, per: 100_000)
    public static let meter = HealthUnit("m", .length, 6, 1)
    public static let kilometer = HealthUnit("km", .length, 7, 1000)
    public static let mile = HealthUnit("mi", .length, 8, 1_609_344, per: 1000)
    public static let kilocalorie = HealthUnit("kcal", .energy, 9, 4184)
    public static let kilojoule = HealthUnit("kJ", .energy, 10, 1000)
    public static let milliliter = HealthUnit("mL", .volume, 11, 1)
    public static let liter = HealthUnit("L", .volume, 12, 1000)
    public static let percent = HealthUnit("%", .ratio, 13, 1)

    /// Every unit of the catalog, in the order of their numbers.
    public static let catalog: [HealthUnit] = [
        .count, .kilogram, .gram, .milligram, .pound, .meter, .kilometer, .mile, .kilocalorie, .kilojoule, .milliliter,
        .liter, .percent,
    ]

    private static let bySymbol: [String: HealthUnit] = {
        var units = Dictionary(uniqueKeysWithValues: catalog.map { ($0.symbol, $0) })
        units["Cal"] = .kilocalorie
        return units
    }()

    /// The unit of a symbol; `Cal` is another way to write `kcal`.
    public init(symbol: String) throws(ModelError) {
        guard let unit = HealthUnit.bySymbol[symbol] else { throw .unknownUnit(symbol) }
        self = unit
    }

    /// The unit of a number that a file holds, if the catalog has it.
    public init?(number: UInt32) {
        guard number >= 1, number <= HealthUnit.catalog.count else { return nil }
        self = HealthUnit.catalog[Int(number) - 1]
    }
}

extension HealthUnit: Codable, CustomStringConvertible {
    public var description: String { symbol }

    public init(from decoder: any Decoder) throws {
        try self.init(symbol: decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(symbol)
    }
}

/// A number with its unit, exactly as entered. Two quantities are equal when value (bit for bit) and unit are.
public struct Quantity: Sendable, Codable {
    public var value: Double
    public var unit: HealthUnit

    public init(_ value: Double, _ unit: HealthUnit) {
        self.value = value
        self.unit = unit
    }

    /// The value in another unit of the same dimension.
    public func value(in other: HealthUnit) throws(ModelError) -> Double { try unit.convert(value, to: other) }
}

extension Quantity: Hashable {
    public static func == (left: Quantity, right: Quantity) -> Bool {
        left.value.bitPattern == right.value.bitPattern && left.unit == right.unit
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(value.bitPattern)
        hasher.combine(unit)
    }
}
