/// Texts in columns of a terminal.
enum CellText {
    /// The number of columns that a text takes. Ideographs and pictures take two.
    static func width(of text: String) -> Int { text.reduce(0) { $0 + width(of: $1) } }

    /// The text, with an ellipsis at its end if it is wider than `columns`.
    static func cut(_ text: String, to columns: Int) -> String {
        // A character takes at most three bytes a column, so most texts need no count.
        if text.utf8.count <= columns || width(of: text) <= columns { return text }
        var rest = columns - 1
        return text.prefix { character in
            rest -= width(of: character)
            return rest >= 0
        } + "…"
    }

    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first?.value, scalar >= 0x1100 else { return 1 }
        return wide.contains { $0.contains(scalar) } ? 2 : 1
    }

    /// The blocks of scalars that terminals draw over two columns.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]
}

/// A number of bytes for people: `4.4 MB`.
enum ByteSize {
    static func text(_ bytes: Int) -> String {
        if abs(bytes) < 1_000 { return "\(bytes) B" }
        var size = Double(bytes)
        for unit in ["kB", "MB", "GB"] {
            size /= 1_000
            // What would be rounded up to a thousand belongs to the next unit.
            if abs(size) < 999.5 { return "\(digits(size)) \(unit)" }
        }
        return "\(digits(size / 1_000)) TB"
    }

    /// Two or three digits: one decimal below a hundred.
    private static func digits(_ size: Double) -> String {
        let tenths = Int((size * 10).rounded())
        return abs(tenths) < 1_000 ? "\(tenths / 10).\(abs(tenths % 10))" : "\(Int(size.rounded()))"
    }
}
