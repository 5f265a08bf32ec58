/// A unit of measure as HealthKit writes it, with exact conversion within its dimension.
///
/// The set is open: everything that HealthKit's grammar can express is a unit.
///
/// ```swift
/// let pounds = try HealthUnit.kilogram.convert(100, to: .pound)      // 220.46…
/// let pulse = try HealthUnit(symbol: "count/min")
/// let glucose = try HealthUnit(symbol: "mmol<180.1558800000541>/L").convert(5, to: HealthUnit(symbol: "mg/dL"))
/// ```
///
/// Two units are equal when they consist of the same parts: `mL/min·kg` and `ml/(kg*min)` are equal; `J` and `W·s` are
/// not, though each converts into the other. Factors are fractions of whole numbers, and a result is the double nearest
/// to the exact value. The exception is degrees of angle: their factor contains π, taken to fifty digits.
public struct HealthUnit: Sendable {
    let definition: UnitDefinition

    /// The unit as HealthKit writes it; letter case matters.
    public var symbol: String { definition.symbol }
    /// The physical dimension of the unit.
    public var dimension: Dimension { definition.dimension }

    /// The fixed number of this unit on disk; 0 for units that each store numbers itself.
    public var number: UInt32 { definition.number }

    /// Creates a unit with a fixed number.
    private init(_ symbol: String, _ number: UInt32) {
        definition = UnitDefinition(UnitParser.parse(symbol)!, number: number)!
    }

    /// Creates the unit of a symbol, in any form that HealthKit reads; `Cal` is an alias of `kcal`, `l` of `L`.
    ///
    /// - Throws: ``ModelError/unknownUnit(_:)`` for a text that is not a unit.
    public init(symbol: String) throws(ModelError) {
        if let unit = HealthUnit.bySymbol[symbol] {
            self = unit
            return
        }
        guard let expression = UnitParser.parse(symbol) else { throw .unknownUnit(symbol) }
        if let unit = HealthUnit.bySymbol[expression.symbol] {
            self = unit
        } else if let definition = UnitDefinition(expression) {
            self.definition = definition
        } else {
            throw .unknownUnit(symbol)
        }
    }

    /// Returns `true` if quantities of this unit can be converted to `other`.
    public func isCompatible(with other: HealthUnit) -> Bool {
        definition === other.definition || dimension == other.dimension
    }

    /// Converts `value` of this unit to `other`.
    ///
    /// - Throws: ``ModelError/incompatibleUnits(from:to:)`` if the dimensions differ.
    public func convert(_ value: Double, to other: HealthUnit) throws(ModelError) -> Double {
        if self == other { return value }
        guard isCompatible(with: other) else { throw .incompatibleUnits(from: symbol, to: other.symbol) }
        return definition.convert(value, to: other.definition)
    }
}

extension HealthUnit: Hashable {
    public static func == (left: HealthUnit, right: HealthUnit) -> Bool {
        if left.definition === right.definition { return true }
        // Each fixed number has exactly one definition.
        return left.number == 0 && right.number == 0 && left.symbol == right.symbol
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(number)
        if number == 0 { hasher.combine(symbol) }
    }
}

extension HealthUnit {
    // Files contain the numbers: never change or reuse one.
    /// A number of things, such as steps.
    public static let count = HealthUnit("count", 1)
    /// 1,000 grams.
    public static let kilogram = HealthUnit("kg", 2)
    /// A thousandth of a kilogram.
    public static let gram = HealthUnit("g", 3)
    /// A thousandth of a gram.
    public static let milligram = HealthUnit("mg", 4)
    /// The international pound: exactly 453.59237 grams.
    public static let pound = HealthUnit("lb", 5)
    /// The metre.
    public static let meter = HealthUnit("m", 6)
    /// 1,000 metres.
    public static let kilometer = HealthUnit("km", 7)
    /// The international mile: exactly 1,609.344 metres.
    public static let mile = HealthUnit("mi", 8)
    /// The thermochemical kilocalorie: exactly 4,184 joules. Food labels call it a calorie.
    public static let kilocalorie = HealthUnit("kcal", 9)
    /// 1,000 joules.
    public static let kilojoule = HealthUnit("kJ", 10)
    /// A thousandth of a litre.
    public static let milliliter = HealthUnit("mL", 11)
    /// The litre.
    public static let liter = HealthUnit("L", 12)
    /// A fraction: 1 is 100 percent, as in HealthKit.
    public static let percent = HealthUnit("%", 13)

    /// Every unit with a fixed number, in the order of the numbers.
    public static let catalog: [HealthUnit] = [
        .count, .kilogram, .gram, .milligram, .pound, .meter, .kilometer, .mile, .kilocalorie, .kilojoule, .milliliter,
        .liter, .percent,
    ]

    private static let bySymbol = Dictionary(uniqueKeysWithValues: (catalog + furtherKnown).map { ($0.symbol, $0) })

    /// Creates the unit with a fixed number from a file, or returns `nil` if the catalog does not have it.
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

/// A number with its unit, exactly as entered. Two quantities are equal if their values are equal bit for bit and their
/// units are equal.
public struct Quantity: Sendable {
    /// The number as it was entered.
    public var value: Double
    /// The unit in which it was entered.
    public var unit: HealthUnit

    /// Creates a quantity from a number and its unit.
    public init(_ value: Double, _ unit: HealthUnit) {
        self.value = value
        self.unit = unit
    }

    /// Returns the value in another unit of the same dimension.
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
