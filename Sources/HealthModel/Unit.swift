/// A unit of measure with exact conversion inside its dimension.
///
/// ```swift
/// let pounds = try Unit.kilogram.convert(100, to: .pound)      // 220.46…
/// ```
public struct Unit: Hashable, Sendable {
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

    public static func == (left: Unit, right: Unit) -> Bool { left.number == right.number }
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }

    /// Whether quantities of this unit can be converted to `other`.
    public func isCompatible(with other: Unit) -> Bool { dimension == other.dimension }

    /// `value` of this unit, expressed in `other`.
    public func convert(_ value: Double, to other: Unit) throws(ModelError) -> Double {
        if self == other { return value }
        guard isCompatible(with: other) else { throw .incompatibleUnits(from: symbol, to: other.symbol) }
        return value * (numerator * other.denominator) / (denominator * other.numerator)
    }
}

extension Unit {
    public static let count = Unit("count", .count, 1, 1)
    public static let kilogram = Unit("kg", .mass, 2, 1000)
    public static let gram = Unit("g", .mass, 3, 1)
    public static let milligram = Unit("mg", .mass, 4, 1, per: 1000)
    public static let pound = Unit("lb", .mass, 5, 45_359_237, per: 100_000)
    public static let meter = Unit("m", .length, 6, 1)
    public static let kilometer = Unit("km", .length, 7, 1000)
    public static let mile = Unit("mi", .length, 8, 1_609_344, per: 1000)
    public static let kilocalorie = Unit("kcal", .energy, 9, 4184)
    public static let kilojoule = Unit("kJ", .energy, 10, 1000)
    public static let milliliter = Unit("mL", .volume, 11, 1)
    public static let liter = Unit("L", .volume, 12, 1000)
    public static let percent = Unit("%", .ratio, 13, 1)

    /// Every unit of the catalog, in the order of their numbers.
    public static let catalog: [Unit] = [
        .count, .kilogram, .gram, .milligram, .pound, .meter, .kilometer, .mile, .kilocalorie, .kilojoule, .milliliter,
        .liter, .percent,
    ]

    private static let bySymbol: [String: Unit] = {
        var units = Dictionary(uniqueKeysWithValues: catalog.map { ($0.symbol, $0) })
        units["Cal"] = .kilocalorie
        return units
    }()

    /// The unit of a symbol; `Cal` is another way to write `kcal`.
    public init(symbol: String) throws(ModelError) {
        guard let unit = Unit.bySymbol[symbol] else { throw .unknownUnit(symbol) }
        self = unit
    }

    /// The unit of a number that a file holds, if the catalog has it.
    public init?(number: UInt32) {
        guard number >= 1, number <= Unit.catalog.count else { return nil }
        self = Unit.catalog[Int(number) - 1]
    }
}

extension Unit: Codable, CustomStringConvertible {
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
    public var unit: Unit

    public init(_ value: Double, _ unit: Unit) {
        self.value = value
        self.unit = unit
    }

    /// The value in another unit of the same dimension.
    public func value(in other: Unit) throws(ModelError) -> Double { try unit.convert(value, to: other) }
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
