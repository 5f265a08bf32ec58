/// A condition that samples must meet, as a value: it can be combined, compared, stored, printed and read back.
///
/// ```swift
/// let heavy = SampleFilter.value(.greaterOrEqual, 80, .kilogram)
/// let typed = SampleFilter.source(named: "Scale") && !.isUserEntered
/// print(heavy && typed)     // value >= 80.0 kg and source = "Scale" and not user-entered
/// ```
///
/// ``init(parsing:)`` reads what ``description`` prints; `kvinspect` takes the same text with `--where`.
public indirect enum SampleFilter: Hashable, Sendable {
    /// Samples of a source. With a bundle, the source with that bundle. Without one, the sources of that name; a store
    /// also knows the names that a source had before.
    case source(SourceIdentity)
    /// Samples of a device with this name or model.
    case device(String)
    /// Samples whose value, in the unit of the filter, compares so with a number. A value of another dimension does not
    /// match.
    case value(Comparison, Double, HealthUnit)
    /// Samples whose length in seconds compares so with a number. The length of a sample without an end is not known,
    /// and it does not match.
    case duration(Comparison, seconds: Double)
    /// Samples whose metadata has a key, whatever its value.
    case hasMetadata(String)
    /// Samples whose metadata has exactly this value for a key.
    case metadata(String, MetadataValue)
    /// Samples of a group, such as a meal.
    case group(String)
    /// Samples that a person typed in.
    case isUserEntered
    /// Samples that were read from a peer or a file.
    case isImported
    /// Samples that do not match.
    case not(SampleFilter)
    /// Samples that match all of these; with no filters, every sample.
    case all([SampleFilter])
    /// Samples that match any of these; with no filters, no sample.
    case any([SampleFilter])

    /// How a number must compare with the one in a filter.
    public enum Comparison: String, Hashable, Sendable, CaseIterable, Codable {
        /// Less than the number.
        case less = "<"
        /// Less than the number, or equal.
        case lessOrEqual = "<="
        /// Equal to the number.
        case equal = "="
        /// Greater than the number, or equal.
        case greaterOrEqual = ">="
        /// Greater than the number.
        case greater = ">"

        /// Returns `true` if `number` compares so with `other`.
        @inlinable
        public func holds(_ number: Double, _ other: Double) -> Bool {
            switch self {
            case .less: number < other
            case .lessOrEqual: number <= other
            case .equal: number == other
            case .greaterOrEqual: number >= other
            case .greater: number > other
            }
        }
    }

    /// Samples of the sources with a name.
    public static func source(named name: String) -> SampleFilter { .source(SourceIdentity(name: name)) }

    /// Samples of the source with a bundle identifier.
    public static func source(bundle: String) -> SampleFilter { .source(SourceIdentity(bundle: bundle, name: "")) }

    /// Samples whose value lies in a closed range, in a unit. An infinite bound is none.
    public static func value(in range: ClosedRange<Double>, _ unit: HealthUnit) -> SampleFilter {
        var bounds: [SampleFilter] = []
        if range.lowerBound.isFinite { bounds.append(.value(.greaterOrEqual, range.lowerBound, unit)) }
        if range.upperBound.isFinite { bounds.append(.value(.lessOrEqual, range.upperBound, unit)) }
        return .all(bounds)
    }

    /// Samples that match both filters.
    public static func && (left: SampleFilter, right: SampleFilter) -> SampleFilter {
        .all(left.operands(ofAll: true) + right.operands(ofAll: true))
    }

    /// Samples that match either filter or both.
    public static func || (left: SampleFilter, right: SampleFilter) -> SampleFilter {
        .any(left.operands(ofAll: false) + right.operands(ofAll: false))
    }

    /// Samples that do not match the filter.
    public static prefix func ! (filter: SampleFilter) -> SampleFilter {
        if case .not(let inner) = filter { return inner }
        return .not(filter)
    }

    /// Parts of a longer chain of the same operator, or the filter itself.
    private func operands(ofAll: Bool) -> [SampleFilter] {
        switch self {
        case .all(let parts) where ofAll && parts.count > 1: parts
        case .any(let parts) where !ofAll && parts.count > 1: parts
        default: [self]
        }
    }
}

extension SampleFilter {
    /// Returns `true` if a sample matches.
    public func matches(_ sample: Sample) -> Bool {
        switch self {
        case .source(let source): source.isMeant(by: sample.source)
        case .device(let text):
            isSameText(sample.device?.name, text) || isSameText(sample.device?.model, text)
        case .value(let comparison, let number, let unit):
            (try? sample.value(in: unit)).map { comparison.holds($0, number) } ?? false
        case .duration(let comparison, let seconds):
            SampleFilter.seconds(from: sample.start, to: sample.end).map { comparison.holds($0, seconds) } ?? false
        case .hasMetadata(let key): sample.metadata[key] != nil
        case .metadata(let key, let value): sample.metadata[key] == value
        case .group(let group): isSameText(sample.group, group)
        case .isUserEntered: sample.isUserEntered
        case .isImported: sample.origin == .imported
        case .not(let filter): !filter.matches(sample)
        case .all(let filters): filters.allSatisfy { $0.matches(sample) }
        case .any(let filters): filters.contains { $0.matches(sample) }
        }
    }

    /// The length of a sample in seconds; `nil` if the end is not known.
    package static func seconds(from start: Instant, to end: Instant) -> Double? {
        if end == .distantFuture { return nil }
        // The difference between the extreme instants exceeds a signed number of nanoseconds.
        return Double(UInt64(bitPattern: end.nanoseconds &- start.nanoseconds)) / 1e9
    }

    /// The units of all values in the filter.
    package var units: [HealthUnit] {
        switch self {
        case .value(_, _, let unit): [unit]
        case .not(let filter): filter.units
        case .all(let filters), .any(let filters): filters.flatMap(\.units)
        default: []
        }
    }
}

extension SourceIdentity {
    /// Whether a filter for this source takes a sample with a source: by bundle, or without one by name.
    fileprivate func isMeant(by source: Source) -> Bool {
        bundle.isEmpty ? isSameText(name, source.name) : isSameText(bundle, source.bundle)
    }
}

extension SampleFilter: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        let text = description
        // What could not be read back is not written: a number that is not finite, or too many parentheses.
        _ = try SampleFilter(parsing: text)
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension SampleFilter: CustomStringConvertible {
    /// The filter as a text that ``init(parsing:)`` reads: equal filters have equal texts.
    public var description: String {
        switch self {
        case .source(let source):
            source.bundle.isEmpty
                ? "source = \(SampleFilter.quoted(source.name))" : "bundle = \(SampleFilter.quoted(source.bundle))"
        case .device(let text): "device = \(SampleFilter.quoted(text))"
        case .value(let comparison, let number, let unit):
            "value \(comparison.rawValue) \(number) \(SampleFilter.text(of: unit))"
        case .duration(let comparison, let seconds): "duration \(comparison.rawValue) \(seconds) s"
        case .hasMetadata(let key): "metadata \(SampleFilter.quoted(key))"
        case .metadata(let key, let value):
            "metadata \(SampleFilter.quoted(key)) = \(SampleFilter.text(of: value))"
        case .group(let group): "group = \(SampleFilter.quoted(group))"
        case .isUserEntered: "user-entered"
        case .isImported: "imported"
        case .not(let filter): "not \(filter.operand)"
        case .all(let filters): SampleFilter.joined(filters, "and", ifNone: "all")
        case .any(let filters): SampleFilter.joined(filters, "or", ifNone: "none")
        }
    }

    /// The text as part of a longer one.
    private var operand: String {
        switch self {
        case .all(let filters) where filters.count > 1, .any(let filters) where filters.count > 1: "(\(self))"
        case .all(let filters) where filters.count == 1, .any(let filters) where filters.count == 1:
            filters[0].operand
        default: description
        }
    }

    private static func joined(_ filters: [SampleFilter], _ word: String, ifNone: String) -> String {
        if filters.count == 1 { return filters[0].description }
        return filters.isEmpty ? ifNone : filters.map(\.operand).joined(separator: " \(word) ")
    }

    private static func text(of unit: HealthUnit) -> String {
        let isWord = unit.symbol.utf8.allSatisfy { !FilterScanner.endsWord($0) }
        return isWord ? unit.symbol : quoted(unit.symbol)
    }

    private static func text(of value: MetadataValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .number(let number): "\(number)"
        case .bool(let flag): flag ? "true" : "false"
        case .date(let instant): instant.description
        case .quantity(let quantity): "\(quantity.value) \(text(of: quantity.unit))"
        }
    }

    /// A text between quotation marks; marks and backslashes inside have a backslash before them.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}
