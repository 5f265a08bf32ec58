import HealthModel

/// How to get a text of a row.
struct TextPlan: Sendable {
    /// The column; `nil` for a constant.
    var column: BoundColumn?
    var table: [String: String]?
    /// The text of a constant, or where the column has none.
    var otherwise: String?
    private var cache = ColumnCache<String>()

    init(column: BoundColumn? = nil, table: [String: String]? = nil, otherwise: String? = nil) {
        self.column = column
        self.table = table
        self.otherwise = otherwise
    }

    /// Returns the text of a row; `nil` if it has none.
    mutating func text(in row: RowFields) throws(RowDefect) -> String? {
        let table = table
        // The words of a table have no blanks around them.
        guard let column,
            let range = table == nil ? row.textRange(column.index) : row.range(column.index)
        else { return otherwise }
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard text.utf8.count <= Sample.textLimit else { throw column.defect("is too long") }
            return table?[text] ?? text
        }
    }
}

/// How to get a yes or no of a row.
struct FlagPlan: Sendable {
    var constant = false
    var column: BoundColumn?
    var table: [String: Bool]?
    private var cache = ColumnCache<Bool>()

    init(constant: Bool = false, column: BoundColumn? = nil, table: [String: Bool]? = nil) {
        self.constant = constant
        self.column = column
        self.table = table
    }

    /// What the words for yes and no mean.
    static let words = ["true": true, "1": true, "yes": true, "false": false, "0": false, "no": false]

    mutating func flag(in row: RowFields) throws(RowDefect) -> Bool {
        guard let column, let range = row.range(column.index) else { return constant }
        let table = table
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard let flag = table.map({ $0[text] }) ?? FlagPlan.words[text.lowercased()] else {
                throw column.defect(table == nil ? "is neither true nor false" : "is not in the table")
            }
            return flag
        }
    }
}

/// A type with what its values need.
struct ResolvedType: Sendable {
    let type: SampleType
    let canonicalUnit: HealthUnit?
    let definition: TypeDefinition?
    let kind: SampleType.Kind
    /// The numbers of a category's cases, by short and full name.
    private(set) var numbersByCase: [String: Double] = [:]

    init(_ name: String) throws(ModelError) {
        type = SampleType(name)
        try type.validate()
        canonicalUnit = type.canonicalUnit
        definition = type.definition
        kind = type.kind
        for known in type.categoryCases {
            numbersByCase[known.name] = Double(known.number)
            numbersByCase[known.identifier] = Double(known.number)
        }
    }

    /// Whether values of this type may have a unit.
    func accepts(_ unit: HealthUnit) -> Bool { canonicalUnit?.isCompatible(with: unit) ?? true }

    /// Whether values have no unit but a count.
    var isCounted: Bool { kind == .category || kind == .correlation }
}

/// How to get the type of a sample.
struct TypePlan: Sendable {
    var constant: ResolvedType?
    var column: BoundColumn?
    var table: [String: String]?
    private var cache = ColumnCache<ResolvedType>()

    init(constant: ResolvedType? = nil, column: BoundColumn? = nil, table: [String: String]? = nil) {
        self.constant = constant
        self.column = column
        self.table = table
    }

    mutating func type(in row: RowFields) throws(RowDefect) -> ResolvedType {
        guard let column, let range = row.range(column.index) else {
            if let constant { return constant }
            throw column?.defect("is empty") ?? RowDefect("the row has no type")
        }
        let table = table
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard let name = table.map({ $0[text] }) ?? text else { throw column.defect("is not in the table") }
            guard let type = try? ResolvedType(name) else { throw column.defect("is not a type") }
            return type
        }
    }
}

/// How to get the unit of a sample.
struct UnitPlan: Sendable {
    /// The unit of all rows, or of rows whose column has none.
    var constant: HealthUnit?
    var column: BoundColumn?
    var table: [String: String]?
    private var cache = ColumnCache<HealthUnit>()

    init(constant: HealthUnit? = nil, column: BoundColumn? = nil, table: [String: String]? = nil) {
        self.constant = constant
        self.column = column
        self.table = table
    }

    mutating func unit(in row: RowFields, for type: ResolvedType) throws(RowDefect) -> HealthUnit {
        guard let column, let range = row.range(column.index) else {
            if let constant { return constant }
            if type.isCounted { return .count }
            throw column?.defect("is empty") ?? RowDefect("the row has no unit")
        }
        let table = table
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard let unit = try? HealthUnit(symbol: table?[text] ?? text) else { throw column.defect("is not a unit") }
            return unit
        }
    }
}

/// How to get the value of a sample.
struct ValuePlan: Sendable {
    var constant: Double = 0
    var column: BoundColumn?
    var table: [String: Double]?
    /// The places by which the decimal mark moves to the left.
    var shift = 0
    private var cache = ColumnCache<Double>()

    init(constant: Double) { self.constant = constant }

    init(column: BoundColumn, table: [String: Double]?, shift: Int) {
        self.column = column
        self.table = table
        self.shift = shift
    }

    /// Returns the value of a text in the column.
    mutating func value(
        in row: RowFields, _ range: Range<Int>, of column: BoundColumn, type: ResolvedType
    ) throws(RowDefect) -> Double {
        if let table {
            return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
                guard let number = table[text] else { throw column.defect("is not in the table") }
                return number
            }
        }
        if let number = DecimalNumber.read(row.bytes.span, range, mark: row.mark, shift: shift) { return number }
        if type.kind == .category,
            let number = type.numbersByCase[String(decoding: row.bytes[range], as: UTF8.self)]
        {
            return number
        }
        throw column.defect("is not a number")
    }
}

/// A condition under which a row or a sample is left out.
struct SkipPlan: Sendable {
    let column: BoundColumn
    let isEmpty: Bool
    let equals: [[UInt8]]
    let differsFrom: [[UInt8]]?

    func isMet(in row: RowFields) -> Bool {
        guard let range = row.range(column.index) else { return isEmpty || differsFrom != nil }
        let text = row.bytes[range]
        if equals.contains(where: { text.elementsEqual($0) }) { return true }
        if let differsFrom, !differsFrom.contains(where: { text.elementsEqual($0) }) { return true }
        return false
    }
}
