/// A column by its name, or by several names of which the first is taken that the file has.
struct ColumnNames: Codable, Sendable, Equatable {
    var names: [String]

    init(_ names: [String]) { self.names = names }

    init(from decoder: any Decoder) throws {
        if let name = decoder.text {
            names = [name]
        } else {
            names = try decoder.singleValueContainer().decode([String].self)
        }
        guard !names.isEmpty, !names.contains("") else { throw decoder.refusal("names no column") }
    }

    func encode(to encoder: any Encoder) throws {
        if names.count == 1 { try encoder.encodeAlone(names[0]) } else { try encoder.encodeAlone(names) }
    }
}

/// A column that is read as it is.
struct ColumnRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    /// Whether a file without the column is read as if the map did not name it.
    var isOptional: Bool?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
    }
}

/// A text: the same for all rows, or a column with a table of translations.
enum TextRule: Codable, Sendable, Equatable {
    case constant(String)
    case column(TextColumnRule)

    init(from decoder: any Decoder) throws {
        if let text = decoder.text {
            self = .constant(text)
        } else {
            self = .column(try TextColumnRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .constant(let text): try encoder.encodeAlone(text)
        case .column(let rule): try rule.encode(to: encoder)
        }
    }
}

/// A column of texts.
struct TextColumnRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// Other texts for those of the column.
    var table: [String: String]?
    /// The text where the column has none.
    var otherwise: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, table, otherwise
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        table = try fields.decodeIfPresent([String: String].self, forKey: .table)
        otherwise = try fields.decodeIfPresent(String.self, forKey: .otherwise)
    }
}

/// A yes or no: the same for all rows, or a column with a table.
enum FlagRule: Codable, Sendable, Equatable {
    case constant(Bool)
    case column(FlagColumnRule)

    init(from decoder: any Decoder) throws {
        if let flag = try? decoder.singleValueContainer().decode(Bool.self) {
            self = .constant(flag)
        } else {
            self = .column(try FlagColumnRule(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .constant(let flag): try encoder.encodeAlone(flag)
        case .column(let rule): try rule.encode(to: encoder)
        }
    }
}

/// A column that says yes or no.
struct FlagColumnRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// What each text of the column means; without a table, `true`, `1` and `yes` mean yes.
    var table: [String: Bool]?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, table
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        table = try fields.decodeIfPresent([String: Bool].self, forKey: .table)
    }
}

/// A condition under which a row, or one sample of it, is left out.
struct SkipRule: Codable, Sendable, Equatable {
    var column: ColumnNames
    var isOptional: Bool?
    /// Whether an empty field is the condition.
    var isEmpty: Bool?
    /// Texts that are the condition.
    var equals: [String]?
    /// Texts without which the row is left out.
    var differsFrom: [String]?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column, isEmpty, equals, differsFrom
        case isOptional = "optional"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.fields(CodingKeys.self)
        column = try fields.decode(ColumnNames.self, forKey: .column)
        isOptional = try fields.decodeIfPresent(Bool.self, forKey: .isOptional)
        isEmpty = try fields.decodeIfPresent(Bool.self, forKey: .isEmpty)
        equals = try fields.decodeIfPresent([String].self, forKey: .equals)
        differsFrom = try fields.decodeIfPresent([String].self, forKey: .differsFrom)
        guard isEmpty == true || equals != nil || differsFrom != nil else {
            throw decoder.refusal("needs a condition: isEmpty, equals or differsFrom")
        }
    }
}
