/// A kind of sample, named by HealthKit's identifier. The set is open: an identifier that the catalog does not know is
/// kept unchanged.
///
/// ```swift
/// assert(SampleType("stepCount") == .stepCount)
/// assert(SampleType.stepCount.identifier == "HKQuantityTypeIdentifierStepCount")
/// ```
public struct SampleType: Hashable, Sendable {
    /// How values of a type combine over time.
    public enum Aggregation: String, Sendable {
        /// Sums make sense: steps, energy.
        case cumulative
        /// Means make sense: weight.
        case discrete
    }

    /// The kind of a type's samples, by HealthKit's families of identifiers.
    public enum Kind: String, Sendable {
        /// A number with a unit.
        case quantity
        /// The number of a case, such as a phase of sleep.
        case category
        /// Several related samples, such as a meal.
        case correlation
        /// A workout, whose value is its duration.
        case workout
        /// The route of a workout, or an identifier of an unknown family that no app defines.
        case other
    }

    /// HealthKit's identifier in full, or the given name of an unknown type.
    public let identifier: String

    /// Creates the type of an identifier or of its short form (`stepCount`).
    public init(_ name: String) {
        identifier = SampleType.identifiersByShortName[name] ?? name
    }

    init(catalogued identifier: String) { self.identifier = identifier }

    /// Compares identifiers by bytes, as on disk: composed and decomposed letters differ.
    public static func == (left: SampleType, right: SampleType) -> Bool {
        isSameText(left.identifier, right.identifier)
    }

    /// The identifier without HealthKit's prefix and with a lower-case first word, if the catalog knows it.
    public var shortName: String { SampleType.entry(identifier)?.shortName ?? identifier }

    /// The unit of this type in columns and statistics; `nil` for types that neither the catalog nor an app defines.
    public var canonicalUnit: HealthUnit? { catalogUnit ?? DefinedTypes.definition(of: identifier)?.unit }

    /// How values combine; `nil` for types that neither the catalog nor an app defines.
    public var aggregation: Aggregation? {
        catalogAggregation ?? DefinedTypes.definition(of: identifier)?.combination.aggregation
    }

    /// The unit that the catalog gives the type. What is stored for good, such as derived ids, follows from it alone,
    /// because a definition may come later.
    package var catalogUnit: HealthUnit? { SampleType.entry(identifier)?.unit }

    /// How values combine by the catalog.
    package var catalogAggregation: Aggregation? { SampleType.entry(identifier)?.aggregation }

    /// The kind of the type's samples. Also correct for types of HealthKit's families that the catalog does not know.
    public var kind: Kind {
        if identifier == SampleType.workout.identifier { return .workout }
        let family = TypeNames.prefixes.first { identifier.hasPrefix($0.prefix) }?.kind
        return family ?? (definition == nil ? .other : .quantity)
    }

    /// Whether HealthKit lets apps write the type, to our knowledge; `false` for types that the catalog does not know.
    public var isShareable: Bool { SampleType.entry(identifier)?.isShareable ?? false }

    /// A name for people, in English, such as `Body Mass`, or as an app defines it; the identifier for any other type.
    public var displayName: String { SampleType.entry(identifier)?.displayName ?? definition?.name ?? identifier }

    /// The fixed number of a catalog type on disk.
    public var catalogNumber: UInt32? { SampleType.entry(identifier)?.number }

    /// Whether, by default, all but one of several samples of this type at the same time are shadowed.
    public var shadowsDuplicates: Bool { SampleType.entry(identifier)?.shadows ?? false }

    /// Creates the catalog type with a number on disk.
    public init?(catalogNumber: UInt32) {
        guard catalogNumber >= 1, catalogNumber <= SampleType.catalogList.count else { return nil }
        identifier = SampleType.catalogList[Int(catalogNumber) - 1].identifier
    }
}

extension SampleType: Codable, CustomStringConvertible, Comparable {
    public var description: String { shortName }

    public static func < (left: SampleType, right: SampleType) -> Bool {
        left.identifier.utf8.lexicographicallyPrecedes(right.identifier.utf8)
    }

    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(identifier)
    }
}
