/// Columns for people. Widths come from the first rows, so that a table of any length streams.
struct Table {
    /// Rows that are looked at before the first one is printed.
    private static let sampleRows = 200

    private let columns: [String]
    private var waiting: [[JSONValue]] = []
    private var widths: [Int]?
    private var numeric: [Bool] = []
    private let isStyled: Bool

    init(columns: [String], isStyled: Bool) {
        self.columns = columns
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
        var widths = columns.map(\.count)
        numeric = columns.indices.map { index in
            waiting.allSatisfy { $0[index].isNumber || $0[index] == .null }
                && waiting.contains { $0[index].isNumber }
        }
        for row in waiting {
            for (index, value) in row.enumerated() { widths[index] = max(widths[index], Table.clean(value.cell).count) }
        }
        self.widths = widths
        let header = line(columns.map { .string($0) })
        let lines = [isStyled ? "\u{1B}[1m\(header)\u{1B}[0m" : header] + waiting.map { line($0) }
        waiting = []
        return lines
    }

    private func line(_ row: [JSONValue]) -> String {
        var line = ""
        for (index, value) in row.enumerated() {
            let text = Table.clean(value.cell)
            let padding = String(repeating: " ", count: max(0, (widths?[index] ?? 0) - text.count))
            if index > 0 { line += "  " }
            line += numeric[index] ? padding + text : index == row.count - 1 ? text : text + padding
        }
        return line
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
