import Synchronization

/// What an app says of a type of its own: its unit, how values combine over time, and which values it may have.
///
/// ```swift
/// let mood = try store.define(
///     TypeDefinition("app.example.mood", unit: .count, combining: .mean, range: 1...5, name: "Mood"))
/// try store.write { try $0.save(Sample(mood, 4, .count, at: .now)) }
/// ```
///
/// The store keeps the definition, so that every process that opens it knows the type: statistics convert its values
/// into the unit and combine them; samples in other units are refused, and so are values outside the range where an app
/// saves them.
public struct TypeDefinition: Sendable, Hashable {
    /// How values of a type become the one number of a day.
    public enum Combination: String, Sendable, Hashable, Codable, CaseIterable {
        /// They are added: steps, energy. Sources are merged, so that nothing counts twice.
        case sum
        /// Their mean counts: weight.
        case mean
        /// The latest one counts: a dose that was set, a goal.
        case latest
    }

    /// The type's name in the store, in exports and at peers: letters, digits, hyphens and underscores, with a dot.
    /// Begin it as the app's bundle identifier begins, so that it is nobody else's.
    public let identifier: String
    /// The unit of statistics. Samples may be in any unit of the same dimension.
    public let unit: HealthUnit
    /// How values combine.
    public let combination: Combination
    /// The values that a sample may have, in ``unit``; `nil` for all. It concerns samples that are saved from now on.
    public let range: ClosedRange<Double>?
    /// A name for people; `nil` to show the identifier.
    public let name: String?

    /// Creates a definition, which `SampleStore.define(_:)` checks and stores.
    public init(
        _ identifier: String, unit: HealthUnit, combining combination: Combination, range: ClosedRange<Double>? = nil,
        name: String? = nil
    ) {
        (self.identifier, self.unit, self.combination) = (identifier, unit, combination)
        (self.range, self.name) = (range, name)
    }

    /// The defined type.
    public var type: SampleType { SampleType(identifier) }

    /// Whether both definitions give every value the same meaning: they differ at most in range and name.
    package func means(the other: TypeDefinition) -> Bool {
        identifier == other.identifier && unit == other.unit && combination == other.combination
    }
}

extension TypeDefinition.Combination {
    /// The kind of statistics in which values combine so.
    package var aggregation: SampleType.Aggregation { self == .sum ? .cumulative : .discrete }
}

// MARK: Rules

extension TypeDefinition {
    /// The maximum length of an identifier, and of a name in bytes.
    package static let textLimit = 255

    /// Checks that the definition can be stored.
    public func validate() throws(ModelError) {
        let isPlain = identifier.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard isPlain, identifier.contains("."), identifier.utf8.count <= TypeDefinition.textLimit else {
            throw .unsuitableDefinition(
                "its identifier is not at most 255 letters, digits, hyphens and underscores with a dot, as app.mood")
        }
        guard !identifier.hasPrefix("HK"), type.catalogNumber == nil else {
            throw .unsuitableDefinition("the identifier \(identifier) belongs to HealthKit")
        }
        try type.validate()
        if let name, name.isEmpty || name.utf8.count > TypeDefinition.textLimit {
            throw .unsuitableDefinition("its name is empty or longer than 255 bytes")
        }
        if let range, range.lowerBound == .infinity || range.upperBound == -.infinity {
            throw .unsuitableDefinition("its range holds no number")
        }
    }

    /// Refuses a value outside the range, of a sample that is written here or comes from a file of somebody else. What
    /// other stores send is taken as it is: they may have defined another range when it was written. A quantity that is
    /// not compatible is refused elsewhere.
    package func validate(_ quantity: Quantity) throws(ModelError) {
        guard let range, let value = try? quantity.value(in: unit), !range.contains(value) else { return }
        // A bound that was given in another unit may miss by the last bits of its conversion.
        let nearest = min(max(value, range.lowerBound), range.upperBound)
        if abs(value - nearest) <= 1e-12 * abs(nearest), quantity.unit != unit { return }
        throw .outsideRange(type: name ?? identifier, range: rangeText ?? "")
    }

    /// The range as people read it, such as `1 to 5 count`; `nil` if there is none.
    public var rangeText: String? {
        guard let range else { return nil }
        func text(_ value: Double) -> String {
            Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        }
        if range.upperBound == .infinity {
            return range.lowerBound == -.infinity ? nil : "\(text(range.lowerBound)) \(unit) or more"
        }
        if range.lowerBound == -.infinity { return "\(text(range.upperBound)) \(unit) or less" }
        return "\(text(range.lowerBound)) to \(text(range.upperBound)) \(unit)"
    }
}

extension TypeDefinition: CustomStringConvertible {
    /// What the definition says, such as `Mood in count, mean, 1 to 5 count`.
    public var description: String {
        "\(name ?? identifier) in \(unit), \(combination.rawValue)" + (rangeText.map { ", \($0)" } ?? "")
    }
}

// MARK: JSON

/// The form in dumps: `{"identifier":…,"unit":…,"combining":…}`, with `from`, `to` and `name` if given.
extension TypeDefinition: Codable {
    private enum Field: String, CodingKey { case identifier, unit, combining, from, to, name }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        let lower = try fields.decodeIfPresent(Double.self, forKey: .from)
        let upper = try fields.decodeIfPresent(Double.self, forKey: .to)
        let (from, to) = (lower ?? -.infinity, upper ?? .infinity)
        guard from <= to else { throw ModelError.unsuitableDefinition("its range holds no number") }
        self.init(
            try fields.decode(String.self, forKey: .identifier),
            unit: try fields.decode(HealthUnit.self, forKey: .unit),
            combining: try fields.decode(Combination.self, forKey: .combining),
            range: lower == nil && upper == nil ? nil : from...to,
            name: try fields.decodeIfPresent(String.self, forKey: .name))
        try validate()
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(identifier, forKey: .identifier)
        try fields.encode(unit, forKey: .unit)
        try fields.encode(combination, forKey: .combining)
        try fields.encodeIfPresent(lowerBound, forKey: .from)
        try fields.encodeIfPresent(upperBound, forKey: .to)
        try fields.encodeIfPresent(name, forKey: .name)
    }

    /// The least value; `nil` if there is none.
    package var lowerBound: Double? { range.flatMap { $0.lowerBound.isFinite ? $0.lowerBound : nil } }
    /// The greatest value; `nil` if there is none.
    package var upperBound: Double? { range.flatMap { $0.upperBound.isFinite ? $0.upperBound : nil } }
}

// MARK: The process

/// The definitions that the stores of this process have brought. A type is a name, and means the same in the whole
/// process, as those of the catalog do.
package enum DefinedTypes {
    private static let known = Mutex<[String: TypeDefinition]>([:])
    private static let isAny = Atomic<Bool>(false)

    /// Returns the definition of an identifier, compared by bytes.
    static func definition(of identifier: String) -> TypeDefinition? {
        guard isAny.load(ordering: .acquiring) else { return nil }
        return known.withLock { $0[identifier] }.flatMap { isSameText($0.identifier, identifier) ? $0 : nil }
    }

    /// Takes definitions that a store holds. Of a type that another store of the process defines in another unit, or
    /// combines otherwise, the first definition stays: each store reads its own samples by its own definition.
    package static func learn(_ definitions: some Collection<TypeDefinition>) {
        if definitions.isEmpty { return }
        for definition in definitions {
            known.withLock { known in
                if known[definition.identifier]?.means(the: definition) == false { return }
                known[definition.identifier] = definition
            }
        }
        isAny.store(true, ordering: .releasing)
    }

    /// Forgets a type, as a process that is started again does. For tests.
    package static func forget(_ identifier: String) { known.withLock { $0[identifier] = nil } }

    /// Whether the process knows a type with another unit, or to combine otherwise.
    package static func contradict(_ new: TypeDefinition) -> Bool {
        definition(of: new.identifier)?.means(the: new) == false
    }
}

extension SampleType {
    /// What an app has defined for the type, in a store that this process has opened; `nil` for a type of the catalog,
    /// and for one that nobody defined.
    public var definition: TypeDefinition? {
        SampleType.entry(identifier) == nil ? DefinedTypes.definition(of: identifier) : nil
    }

    /// How values become the one number of a day: sums of cumulative types, means of other ones, or as it was defined.
    /// `nil` for a type that is neither in the catalog nor defined.
    public var combination: TypeDefinition.Combination? {
        if let aggregation = catalogAggregation { return aggregation == .cumulative ? .sum : .mean }
        return definition?.combination
    }
}
