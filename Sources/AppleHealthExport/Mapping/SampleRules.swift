/// The value of a sample.
enum ValueRule: Codable, Sendable, Equatable {
    /// The same number for all rows.
    case number(Double)
    /// The same case of a category for all rows, by HealthKit's name.
    case categoryCase(String)
    case column(ValueColumnRule)

    init(from decoder: any Decoder) throws {
        if let name = decoder.text {
            self = .categoryCase(name)
        } else if let number = try? decoder.singleValueContainer().decode(Double.self) {
            self = .number(number)
        } else {
            self = .column(try ValueColumnRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .number(let number): try encoder.encodeAlone(number)
        case .categoryCase(let name): try encoder.encodeAlone(name)
        case .column(let rule): try rule.encode(to: encoder)
        }
    }
}

/// A column of values.
struct ValueColumnRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    /// What each text of the column means: a number, or the name of a category's case. A text that is not in the table
    /// is malformed.
    var table: [String: TableValue]?
    /// Whether 22.5 stands for 22.5 percent, that is, for the fraction 0.225.
    var isPercent: Bool?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, table
        case isPercent = "percent"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        table = try fields.decodeIfPresent([String: TableValue].self, forKey: .table)
        isPercent = try fields.decodeIfPresent(Bool.self, forKey: .isPercent)
    }

    /// The meaning of one text.
    enum TableValue: Codable, Sendable, Equatable {
        case number(Double)
        case categoryCase(String)

        init(from decoder: any Decoder) throws {
            if let name = decoder.text {
                self = .categoryCase(name)
            } else {
                self = .number(try decoder.singleValueContainer().decode(Double.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .number(let number): try encoder.encodeAlone(number)
            case .categoryCase(let name): try encoder.encodeAlone(name)
            }
        }
    }
}

/// The app or device that wrote a sample: a name, or a text for each field.
struct SourceRule: Codable, Sendable, Equatable {
    var name: TextRule?
    var bundle: TextRule?
    var version: TextRule?
    var product: TextRule?
    var system: TextRule?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, bundle, version, product, system
    }

    init(from decoder: any Decoder) throws {
        if decoder.text != nil || decoder.hasField("column") {
            name = try TextRule(from: decoder)
            return
        }
        let fields = try decoder.fields(CodingKeys.self)
        name = try fields.decodeIfPresent(TextRule.self, forKey: .name)
        bundle = try fields.decodeIfPresent(TextRule.self, forKey: .bundle)
        version = try fields.decodeIfPresent(TextRule.self, forKey: .version)
        product = try fields.decodeIfPresent(TextRule.self, forKey: .product)
        system = try fields.decodeIfPresent(TextRule.self, forKey: .system)
        guard name != nil || bundle != nil else { throw decoder.refusal("needs a name or a bundle") }
    }
}

/// The hardware that made a measurement.
enum DeviceRule: Codable, Sendable, Equatable {
    /// Its name, or a JSON object with all its fields.
    case whole(TextRule)
    /// A text for each field, in the order of ``fieldNames``.
    case fields([TextRule?])

    static let fieldNames = [
        "name", "manufacturer", "model", "hardwareVersion", "firmwareVersion", "softwareVersion", "localIdentifier",
        "udiDeviceIdentifier",
    ]

    init(from decoder: any Decoder) throws {
        if decoder.text != nil || decoder.hasField("column") {
            self = .whole(try TextRule(from: decoder))
            return
        }
        try decoder.refuseFields(otherThan: DeviceRule.fieldNames)
        let container = try decoder.container(keyedBy: AnyKey.self)
        self = .fields(
            try DeviceRule.fieldNames.map {
                try container.decodeIfPresent(TextRule.self, forKey: AnyKey(stringValue: $0))
            })
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .whole(let rule): try rule.encode(to: encoder)
        case .fields(let rules):
            var container = encoder.container(keyedBy: AnyKey.self)
            for (name, rule) in zip(DeviceRule.fieldNames, rules) {
                try container.encodeIfPresent(rule, forKey: AnyKey(stringValue: name))
            }
        }
    }
}

/// A further fact about a sample, under a key of its metadata.
struct MetadataRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// What the column contains; a text if nothing is said.
    var kind: Kind?
    /// The unit of a quantity.
    var unit: String?
    /// The format of a date.
    var format: TimeRule.Formats?

    /// The kind of a value.
    enum Kind: String, Codable, Sendable {
        case text, number, flag, date, quantity
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, kind, unit, format
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        unit = try fields.decodeIfPresent(String.self, forKey: .unit)
        format = try fields.decodeIfPresent(TimeRule.Formats.self, forKey: .format)
        if let name = try fields.decodeIfPresent(String.self, forKey: .kind) {
            guard let kind = Kind(rawValue: name) else {
                throw decoder.refusal(at: "kind", "must be text, number, flag, date or quantity")
            }
            self.kind = kind
        }
        guard (kind == .quantity) == (unit != nil) else {
            throw decoder.refusal("has a unit if its kind is quantity, and only then")
        }
    }
}

/// Whether the samples of a row are written and deleted as one.
enum GroupRule: Codable, Sendable, Equatable {
    /// Each sample stands for itself.
    case none
    /// The samples of a row are a group.
    case row
    /// Rows with the same text are a group.
    case column(ColumnRule)

    init(from decoder: any Decoder) throws {
        if let isGroup = try? decoder.singleValueContainer().decode(Bool.self) {
            self = isGroup ? .row : .none
        } else {
            self = .column(try ColumnRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .none: try encoder.encodeAlone(false)
        case .row: try encoder.encodeAlone(true)
        case .column(let rule): try rule.encode(to: encoder)
        }
    }
}

/// The fields that a map gives for all samples of a row, and each sample for itself.
struct SharedRules: Codable, Sendable, Equatable {
    var start: TimeRule?
    var end: EndRule?
    var zone: ZoneRule?
    var source: SourceRule?
    var device: DeviceRule?
    var userEntered: FlagRule?
    var created: TimeRule?
    var id: ColumnRule?
    var syncIdentifier: ColumnRule?
    var version: ColumnRule?
    var metadata: [String: MetadataRule]?
    /// A column with a JSON object of metadata.
    var metadataJSON: ColumnRule?
    var group: GroupRule?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case start, end, zone, source, device, userEntered, created, id, syncIdentifier, version, metadata,
            metadataJSON, group
    }

    static let names = CodingKeys.allCases.map(\.stringValue)

    /// Returns these rules, and those of a whole map where these are silent.
    func filled(from map: SharedRules) -> SharedRules {
        var rules = self
        rules.start = start ?? map.start
        rules.end = end ?? map.end
        rules.zone = zone ?? map.zone
        rules.source = source ?? map.source
        rules.device = device ?? map.device
        rules.userEntered = userEntered ?? map.userEntered
        rules.created = created ?? map.created
        rules.id = id ?? map.id
        rules.syncIdentifier = syncIdentifier ?? map.syncIdentifier
        rules.version = version ?? map.version
        rules.metadata = (map.metadata ?? [:]).merging(metadata ?? [:]) { _, own in own }
        rules.metadataJSON = metadataJSON ?? map.metadataJSON
        rules.group = group ?? map.group
        return rules
    }
}

/// One sample of a row.
struct SampleRule: Codable, Sendable, Equatable {
    var type: TextRule
    var value: ValueRule
    var unit: TextRule?
    /// Whether a file without the value's column is read without this sample.
    var isOptional: Bool?
    /// Whether value and duration are lists such as `[62,64]`, which give one sample after another.
    var isList: Bool?
    var skip: [SkipRule]?
    var shared: SharedRules

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case type, value, unit, skip
        case isOptional = "optional"
        case isList = "list"
    }

    init(from decoder: any Decoder) throws {
        try decoder.refuseFields(otherThan: CodingKeys.allCases.map(\.stringValue) + SharedRules.names)
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        type = try fields.decode(TextRule.self, forKey: .type)
        value = try fields.decode(ValueRule.self, forKey: .value)
        unit = try fields.decodeIfPresent(TextRule.self, forKey: .unit)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        isList = try fields.decodeIfPresent(Bool.self, forKey: .isList)
        skip = try fields.decodeIfPresent([SkipRule].self, forKey: .skip)
        shared = try SharedRules(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try shared.encode(to: encoder)
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(type, forKey: .type)
        try fields.encode(value, forKey: .value)
        try fields.encodeIfPresent(unit, forKey: .unit)
        try fields.encodeIfPresent(isOptional, forKey: .isOptional)
        try fields.encodeIfPresent(isList, forKey: .isList)
        try fields.encodeIfPresent(skip, forKey: .skip)
    }
}
