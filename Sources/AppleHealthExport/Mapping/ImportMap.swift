#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// How the rows of a CSV file become samples.
///
/// A map is a JSON object. It says how the file is written, and which columns make up each sample of a row; the
/// document docs/IMPORT-MAPS.md lists its fields. Some maps are shipped.
///
/// ```swift
/// import AppleHealthExport
///
/// var map = ImportMap.shipped("withings-weight")!
/// try map.setZone("Europe/Berlin")
/// let own = try ImportMap(
///     json: Array(
///         #"""
///         {"source": "My scale", "start": {"column": "date", "format": "iso8601"},
///          "samples": [{"type": "bodyMass", "value": {"column": "weight"}, "unit": "kg"}]}
///         """#.utf8))
/// ```
public struct ImportMap: Codable, Sendable, Equatable {
    /// What the map is for, in words.
    public var summary: String?
    /// The number of lines before the header.
    var skipLines: Int?
    var separator: Separator?
    /// Whether numbers are written as `72,4`.
    var hasDecimalComma: Bool?
    var encoding: Encoding?
    /// Whether the first row names the columns.
    var hasHeader: Bool?
    /// The names of the columns of a file without a header.
    var columns: [String]?
    /// Texts that mean the same as an empty field.
    var missing: [String]?
    var skip: [SkipRule]?
    var shared: SharedRules
    var samples: [SampleRule]

    /// The character between two fields.
    enum Separator: String, Codable, Sendable {
        case comma, semicolon, tab

        var byte: UInt8 {
            switch self {
            case .comma: 0x2C
            case .semicolon: 0x3B
            case .tab: 0x09
            }
        }
    }

    /// The encoding of the file.
    enum Encoding: String, Codable, Sendable {
        case utf8 = "utf-8"
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case skipLines, separator, encoding, columns, missing, skip, samples
        case summary = "description"
        case hasDecimalComma = "decimalComma"
        case hasHeader = "header"
    }

    /// Reads a map and checks it.
    ///
    /// - Throws: ``ImportMapError`` with the place in the map.
    public init(json: [UInt8]) throws(ImportMapError) {
        do {
            self = try JSONDecoder().decode(ImportMap.self, from: Data(json))
        } catch {
            throw ImportMapError(error)
        }
    }

    public init(from decoder: any Decoder) throws {
        try decoder.refuseFields(otherThan: CodingKeys.allCases.map(\.stringValue) + SharedRules.names)
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        summary = try fields.decodeIfPresent(String.self, forKey: .summary)
        skipLines = try fields.decodeIfPresent(Int.self, forKey: .skipLines)
        if let name = try fields.decodeIfPresent(String.self, forKey: .separator) {
            guard let separator = Separator(rawValue: name) else {
                throw decoder.refusal(at: "separator", "must be comma, semicolon or tab")
            }
            self.separator = separator
        }
        hasDecimalComma = try fields.decodeIfPresent(Bool.self, forKey: .hasDecimalComma)
        if let name = try fields.decodeIfPresent(String.self, forKey: .encoding) {
            guard let encoding = Encoding(rawValue: name.lowercased()) else {
                throw decoder.refusal(at: "encoding", "must be utf-8")
            }
            self.encoding = encoding
        }
        hasHeader = try fields.decodeIfPresent(Bool.self, forKey: .hasHeader)
        columns = try fields.decodeIfPresent([String].self, forKey: .columns)
        missing = try fields.decodeIfPresent([String].self, forKey: .missing)
        skip = try fields.decodeIfPresent([SkipRule].self, forKey: .skip)
        samples = try fields.decode([SampleRule].self, forKey: .samples)
        shared = try SharedRules(from: decoder)
        _ = try RowPlan(checking: self)
    }

    public func encode(to encoder: any Encoder) throws {
        try shared.encode(to: encoder)
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(summary, forKey: .summary)
        try fields.encodeIfPresent(skipLines, forKey: .skipLines)
        try fields.encodeIfPresent(separator, forKey: .separator)
        try fields.encodeIfPresent(hasDecimalComma, forKey: .hasDecimalComma)
        try fields.encodeIfPresent(encoding, forKey: .encoding)
        try fields.encodeIfPresent(hasHeader, forKey: .hasHeader)
        try fields.encodeIfPresent(columns, forKey: .columns)
        try fields.encodeIfPresent(missing, forKey: .missing)
        try fields.encodeIfPresent(skip, forKey: .skip)
        try fields.encode(samples, forKey: .samples)
    }

    /// Sets the zone of times that have none: those of a file that writes local times, and rows without an offset in a
    /// file that has a column of them.
    ///
    /// - Parameter zone: a name such as `Europe/Berlin`, or an offset such as `+02:00`.
    public mutating func setZone(_ zone: String) throws(ImportMapError) {
        var changed = self
        if case .column(var rule) = changed.shared.zone {
            rule.otherwise = zone
            changed.shared.zone = .column(rule)
        } else {
            changed.shared.zone = .constant(zone)
        }
        _ = try RowPlan(checking: changed)
        self = changed
    }

    /// Whether the file writes local times and the map does not say of which zone; ``setZone(_:)`` sets it.
    public var needsZone: Bool { (try? RowPlan(checking: self).zoneMissing) != nil }
}
