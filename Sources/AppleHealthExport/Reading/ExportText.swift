/// The text of an attribute, with references resolved and what no text may hold left out.
struct ExportText {
    let text: String
    /// Whether the text had a defect.
    let isMended: Bool
    /// Whether something had to be left out or replaced. A text with another defect is certain: its writer only forgot
    /// to escape a character.
    let isGuessed: Bool

    init(_ attribute: ExportAttribute, in bytes: borrowing Span<UInt8>) {
        let raw = bytes.copied(attribute.value)
        if attribute.isPlain {
            text = String(decoding: raw, as: UTF8.self)
            (isMended, isGuessed) = (false, false)
            return
        }
        var defects = Defects()
        let resolved = ExportText.resolved(raw, &defects)
        if let valid = String(validating: resolved, as: UTF8.self) {
            text = valid
        } else {
            text = String(decoding: resolved, as: UTF8.self)
            defects.isGuessed = true
        }
        (isMended, isGuessed) = (defects.isUnescaped || defects.isGuessed, defects.isGuessed)
    }

    private struct Defects {
        var isUnescaped = false
        var isGuessed = false
    }

    private static let names: [([UInt8], UInt8)] = [
        (Array("amp;".utf8), 0x26), (Array("lt;".utf8), 0x3C), (Array("gt;".utf8), 0x3E), (Array("quot;".utf8), 0x22),
        (Array("apos;".utf8), 0x27),
    ]

    private static func resolved(_ raw: [UInt8], _ defects: inout Defects) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(raw.count)
        var place = 0
        while place < raw.count {
            let byte = raw[place]
            place += 1
            if byte == 0x26 {
                if let (character, length) = reference(raw[place...]) {
                    place += length
                    if let character, !isControl(character) {
                        result.append(contentsOf: Array(String(character).utf8))
                    } else {
                        defects.isGuessed = true
                    }
                } else {
                    // An ampersand that nobody escaped.
                    result.append(byte)
                    defects.isUnescaped = true
                }
            } else if byte == 0x3C {
                // It stands in a value only where nobody escaped it.
                result.append(byte)
                defects.isUnescaped = true
            } else if byte < 0x20 {
                // Line breaks and tabs count as spaces.
                if isSpace(byte) { result.append(0x20) } else { defects.isGuessed = true }
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        character.value < 0x20 && character.value != 0x0A && character.value != 0x0D && character.value != 0x09
    }

    /// Returns what the reference behind an ampersand means and how long it is. The character is `nil` for a number
    /// that no character has.
    private static func reference(_ raw: ArraySlice<UInt8>) -> (Unicode.Scalar?, Int)? {
        for (name, byte) in names where raw.starts(with: name) { return (Unicode.Scalar(byte), name.count) }
        guard raw.first == 0x23, let end = raw.prefix(12).firstIndex(of: 0x3B) else { return nil }
        var digits = raw[(raw.startIndex + 1)..<end]
        let isHexadecimal = digits.first == 0x78
        if isHexadecimal { digits = digits.dropFirst() }
        guard let number = UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10) else {
            return nil
        }
        return (Unicode.Scalar(number), end - raw.startIndex + 1)
    }
}
