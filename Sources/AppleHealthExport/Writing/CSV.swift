/// Rows as RFC 4180 has them: lines end with CR LF, and what holds a comma, a quote or a line break stands in quotes.
/// So does what begins or ends with a blank, which readers cut off elsewhere.
package enum CSV {
    /// Returns a row with its end.
    package static func line(_ cells: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, cell) in cells.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            append(cell, to: &bytes)
        }
        bytes.append(0x0D)
        bytes.append(0x0A)
        return bytes
    }

    private static func append(_ cell: String, to bytes: inout [UInt8]) {
        func isBlank(_ byte: UInt8?) -> Bool { byte.map { $0 == 0x20 || $0 >= 0x09 && $0 <= 0x0D } ?? false }
        guard
            cell.utf8.contains(where: { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D })
                || isBlank(cell.utf8.first) || isBlank(cell.utf8.last)
        else {
            bytes.append(contentsOf: cell.utf8)
            return
        }
        bytes.append(0x22)
        for byte in cell.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }
}
