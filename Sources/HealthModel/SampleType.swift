/// A kind of sample, named by HealthKit's identifier. The set is open: an identifier that the catalog does not know is kept as it is.
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

    public let identifier: String

    /// The type of an identifier, or of its short form (`stepCount`).
    public init(_ name: String) {
        identifier = SampleType.identifiersByShortName[name] ?? name
    }

    init(catalogued identifier: String) { self.identifier = identifier }

    /// The identifier without HealthKit's prefix and with a small first letter, where the catalog knows it.
    public var shortName: String { SampleType.entries[identifier]?.shortName ?? identifier }

    /// The unit in which columns and statistics give this type; `nil` for types that the catalog does not know.
    public var canonicalUnit: HealthUnit? { SampleType.entries[identifier]?.unit }

    /// How values combine; `nil` for types that the catalog does not know.
    public var aggregation: Aggregation? { SampleType.entries[identifier]?.aggregation }

    /// The fixed number on disk of a catalog type.
    public var catalogNumber: UInt32? { SampleType.entries[identifier]?.number }

    /// Of several samples of this type at one and the same time all but one are shadowed, unless set otherwise.
    public var shadowsDuplicates: Bool { SampleType.entries[identifier]?.shadows ?? false }

    /// The catalog type of a number on disk.
    public init?(catalogNumber: UInt32) {
        guard catalogNumber >= 1, catalogNumber <= SampleType.catalogList.count else { return nil }
        identifier = SampleType.catalogList[Int(catalogNumber) - 1].identifier
    }
}

extension SampleType: Codable, CustomStringConvertible, Comparable {
    public var description: String { shortName }

    public static func < (left: SampleType, right: SampleType) -> Bool { left.identifier < right.identifier }

    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(identifier)
    }
}
