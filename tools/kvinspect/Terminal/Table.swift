import HealthKV

/// Columns for people. Widths come from the first rows, so that a table of any length streams.
struct Table {
    /// Rows that are looked at before the first one is printed.
    private static let sampleRows = 200
    /// The names of columns that nobody reads word by word. They are cut before all others.
    private static let opaque: Set = ["id", "sample", "token"]
    /// The names of columns with days and times. They are cut behind the day, as long as that suffices.
    private static let times: Set = [
        "start", "end", "from", "to", "first", "last", "time", "modified", "registered", "last_seen", "next_try",
    ]

    private let columns: [String]
    private var waiting: [[JSONValue]] = []
    private var widths: [Int]?
    private var numeric: [Bool] = []
    private let isStyled: Bool
    /// The columns of the terminal; `nil` where nothing cuts a line.
    private let limit: Int?
    private let sizes: Set<String>

    /// - Parameters:
    ///   - columns: the names in the heading.
    ///   - sizes: the names of columns that hold numbers of bytes.
    ///   - limit: the columns of the terminal, into which the table is made to fit.
    ///   - isStyled: whether the heading is bold.
    init(columns: [String], sizes: Set<String> = [], limit: Int? = nil, isStyled: Bool) {
        self.columns = columns
        self.sizes = sizes
        self.limit = limit
        self.isStyled = isStyled
    }

    /// Takes a row, and gives the lines that can be printed by now.
    mutating func append(_ row: [JSONValue]) -> [String] {
        if widths != nil { return [line(row)] }
        waiting.append(row)
        return waiting.count < Table.sampleRows ? [] : settle()
    }

    /// The lines still waiting. A table without rows is empty.
    mutating func finish() -> [String] { widths == nil && !waiting.isEmpty ? settle() : [] }

    private mutating func settle() -> [String] {
        var contents = columns.map { _ in 0 }
        numeric = columns.indices.map { index in
            waiting.allSatisfy { $0[index].isNumber || $0[index] == .null }
                && waiting.contains { $0[index].isNumber }
        }
        for row in waiting {
            for (index, value) in row.enumerated() {
                contents[index] = max(contents[index], CellText.width(of: text(value, index)))
            }
        }
        var widths = columns.indices.map { max(contents[$0], CellText.width(of: columns[$0])) }
        if let limit { shrink(&widths, around: contents, to: limit) }
        self.widths = widths
        let header = line(columns.map { .string($0) })
        let lines = [isStyled ? "\u{1B}[1m\(header)\u{1B}[0m" : header] + waiting.map { line($0) }
        waiting = []
        return lines
    }

    /// Takes columns from ids, from the widest texts, from times behind the day, from headings over numbers, and at
    /// last from days, until a line fits. Numbers stay whole.
    private func shrink(_ widths: inout [Int], around contents: [Int], to limit: Int) {
        let times = widths.indices.filter { Table.times.contains(columns[$0]) }
        let others = widths.indices.filter { !Table.times.contains(columns[$0]) }
        let texts = others.filter { !numeric[$0] }
        let steps: [(columns: [Int], narrowest: Int)] = [
            (texts.filter { Table.opaque.contains(columns[$0]) }, 8), (texts, 12), (times, 11), (others, 4),
            (times, 4),
        ]
        for step in steps {
            while widths.reduce(2 * (widths.count - 1), +) > limit {
                let wide = step.columns.filter {
                    widths[$0] > max(step.narrowest, numeric[$0] ? contents[$0] : 0)
                }
                guard let widest = wide.max(by: { widths[$0] < widths[$1] }) else { break }
                widths[widest] -= 1
            }
        }
    }

    private func text(_ value: JSONValue, _ index: Int) -> String {
        if case .integer(let bytes) = value, sizes.contains(columns[index]) { return ByteSize.text(Int(bytes)) }
        // The prefixes that HealthKit's identifiers share would be all that is left of them where they are cut.
        if limit != nil, columns[index] == "type", case .string(let name) = value {
            return Table.clean(SampleType(name).shortName)
        }
        return Table.clean(value.cell)
    }

    private func line(_ row: [JSONValue]) -> String {
        var line = ""
        for (index, value) in row.enumerated() {
            let width = widths?[index] ?? 0
            var text = text(value, index)
            // A number that is longer than those of the first rows moves the rest of its line.
            if limit != nil, !value.isNumber { text = CellText.cut(text, to: width) }
            let padding = String(repeating: " ", count: max(0, width - CellText.width(of: text)))
            if index > 0 { line += "  " }
            line += numeric[index] ? padding + text : index == row.count - 1 ? text : text + padding
        }
        // A line that wraps would tear the columns apart.
        return limit.map { CellText.cut(line, to: $0) } ?? line
    }

    /// The text without what would steer a terminal or turn the direction of writing: names come from elsewhere.
    static func clean(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: steers) else { return text }
        var clean = ""
        for scalar in text.unicodeScalars {
            if steers(scalar) {
                clean += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                clean.unicodeScalars.append(scalar)
            }
        }
        return clean
    }

    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
