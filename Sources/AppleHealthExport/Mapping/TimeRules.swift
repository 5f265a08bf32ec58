/// A time in a column.
struct TimeRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// The formats that the column may have, of which the first is taken that fits.
    var format: Formats?
    /// The zone of this column alone. It says how to read the time, not where the measurement was made.
    var zone: ZoneRule?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, format, zone
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        format = try fields.decodeIfPresent(Formats.self, forKey: .format)
        zone = try fields.decodeIfPresent(ZoneRule.self, forKey: .zone)
    }

    /// One format or several.
    struct Formats: Codable, Sendable, Equatable {
        var names: [String]

        init(from decoder: any Decoder) throws {
            if let name = decoder.text {
                names = [name]
            } else {
                names = try decoder.singleValueContainer().decode([String].self)
            }
            guard !names.isEmpty else { throw decoder.refusal("names no format") }
        }

        func encode(to encoder: any Encoder) throws {
            if names.count == 1 { try encoder.encodeAlone(names[0]) } else { try encoder.encodeAlone(names) }
        }
    }
}

/// The end of a sample: a time in a column, or how long the sample lasts.
enum EndRule: Codable, Sendable, Equatable {
    case time(TimeRule)
    case duration(DurationRule)

    private enum CodingKeys: String, CodingKey, CaseIterable { case duration }

    init(from decoder: any Decoder) throws {
        if decoder.hasField("duration") {
            let fields = try decoder.fields(CodingKeys.self)
            self = .duration(try fields.decode(DurationRule.self, forKey: .duration))
        } else {
            self = .time(try TimeRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .time(let rule): try rule.encode(to: encoder)
        case .duration(let rule):
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(rule, forKey: .duration)
        }
    }
}

/// How long a sample lasts.
enum DurationRule: Codable, Sendable, Equatable {
    /// To the end of the local day on which it starts.
    case localDay
    /// The same number of seconds for all rows.
    case seconds(Double)
    /// A column of numbers in a unit of time.
    case column(ColumnNames, unit: String)

    private static let localDayName = "localDay"

    private enum CodingKeys: String, CodingKey, CaseIterable { case column, unit, seconds }

    init(from decoder: any Decoder) throws {
        if let name = decoder.text {
            guard name == DurationRule.localDayName else {
                throw decoder.refusal("must be \"\(DurationRule.localDayName)\" or an object")
            }
            self = .localDay
            return
        }
        let fields = try decoder.fields(CodingKeys.self)
        if let seconds = try fields.decodeIfPresent(Double.self, forKey: .seconds) {
            self = .seconds(seconds)
        } else {
            self = .column(
                try fields.decode(ColumnNames.self, forKey: .column),
                unit: try fields.decode(String.self, forKey: .unit))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .localDay: try encoder.encodeAlone(DurationRule.localDayName)
        case .seconds(let seconds):
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(seconds, forKey: .seconds)
        case .column(let names, let unit):
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(names, forKey: .column)
            try fields.encode(unit, forKey: .unit)
        }
    }
}

/// The zone in which times without an offset are read: one for all rows, or a column of zones or offsets.
enum ZoneRule: Codable, Sendable, Equatable {
    case constant(String)
    case column(ZoneColumnRule)

    init(from decoder: any Decoder) throws {
        if let name = decoder.text {
            self = .constant(name)
        } else {
            self = .column(try ZoneColumnRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .constant(let name): try encoder.encodeAlone(name)
        case .column(let rule): try rule.encode(to: encoder)
        }
    }
}

/// A column of zones such as `Europe/Berlin`, or of offsets such as `UTC+0200`, `+02:00` or `7200`.
struct ZoneColumnRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// What a number without a sign counts.
    var unit: Unit?
    /// The zone where the column has none.
    var otherwise: String?

    /// The unit of an offset.
    enum Unit: String, Codable, Sendable {
        case seconds, milliseconds, minutes
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, unit, otherwise
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        if let name = try fields.decodeIfPresent(String.self, forKey: .unit) {
            guard let unit = Unit(rawValue: name) else {
                throw decoder.refusal(at: "unit", "must be seconds, milliseconds or minutes")
            }
            self.unit = unit
        }
        otherwise = try fields.decodeIfPresent(String.self, forKey: .otherwise)
    }
}
