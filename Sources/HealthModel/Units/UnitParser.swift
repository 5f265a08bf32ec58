/// Parses units as HealthKit writes them.
///
/// ```
/// unit    = [ "1" "/" ] product { "/" product }
/// product = power { ( "·" | "*" | "." ) power }
/// power   = ( atom | "(" unit ")" ) [ "^" [ "-" ] digits ]
/// atom    = [ prefix ] name | [ prefix ] "mol<" grams ">"
/// ```
///
/// A product binds more tightly than a division: `mL/min·kg` is mL/(min·kg). Letter case matters.
struct UnitParser {
    /// The maximum length of a unit, as given and as stored: longer than any sensible unit.
    static let lengthLimit = 255
    private static let depthLimit = 16

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    /// Returns the parts of a unit; `nil` if the text is not a unit.
    static func parse(_ text: String) -> UnitExpression? {
        guard text.utf8.count <= lengthLimit else { return nil }
        var parser = UnitParser(bytes: Array(text.utf8))
        guard let unit = parser.unit(), parser.position == parser.bytes.count, !unit.powers.isEmpty,
            // A point is one byte, and the middle dot that is stored in its place two: the stored symbol must parse
            // again.
            unit.symbol.utf8.count <= lengthLimit
        else { return nil }
        return unit
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Skips a middle dot, a star or a point.
    private mutating func skipTimes() -> Bool {
        if skip(0x2A) || skip(0x2E) { return true }
        guard next == 0xC2, position + 1 < bytes.count, bytes[position + 1] == 0xB7 else { return false }
        position += 2
        return true
    }

    private mutating func unit() -> UnitExpression? {
        var unit = UnitExpression()
        if next == 0x31, position + 1 < bytes.count, bytes[position + 1] == 0x2F {
            position += 1
        } else {
            guard let first = product() else { return nil }
            unit = first
        }
        while skip(0x2F) {
            guard let divisor = product(), unit.multiply(by: divisor, power: -1) else { return nil }
        }
        return unit
    }

    private mutating func product() -> UnitExpression? {
        guard var product = power() else { return nil }
        while skipTimes() {
            guard let factor = power(), product.multiply(by: factor, power: 1) else { return nil }
        }
        return product
    }

    private mutating func power() -> UnitExpression? {
        var base = UnitExpression()
        if skip(0x28) {
            depth += 1
            guard depth <= UnitParser.depthLimit, let inner = unit(), skip(0x29) else { return nil }
            depth -= 1
            base = inner
        } else {
            guard let factor = atom(), base.multiply(by: factor, power: 1) else { return nil }
        }
        guard skip(0x5E) else { return base }
        guard let exponent = exponent() else { return nil }
        var raised = UnitExpression()
        return raised.multiply(by: base, power: exponent) ? raised : nil
    }

    private mutating func exponent() -> Int? {
        let sign = skip(0x2D) ? -1 : 1
        var exponent = 0
        var digits = 0
        while let byte = next, byte >= 0x30, byte <= 0x39 {
            position += 1
            digits += 1
            exponent = exponent * 10 + Int(byte - 0x30)
            if digits > 2 { return nil }
        }
        return digits == 0 || exponent == 0 ? nil : sign * exponent
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A || byte == 0x5F || byte == 0x25
    }

    private mutating func atom() -> UnitExpression.Factor? {
        let start = position
        while let byte = next, UnitParser.isLetter(byte) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        if skip(0x3C) { return mole(name) }
        if let atom = UnitAtom.bySymbol[name] { return UnitExpression.Factor(atom: atom) }
        for (index, prefix) in UnitAtom.prefixes.enumerated() where name.hasPrefix(prefix.symbol) {
            let bare = String(name.dropFirst(prefix.symbol.utf8.count))
            guard let atom = UnitAtom.bySymbol[bare], UnitAtom.all[atom].takesPrefix else { continue }
            return UnitExpression.Factor(atom: atom, prefix: index)
        }
        return nil
    }

    /// Reads the molar mass after `mol<`; the prefix is before it.
    private mutating func mole(_ name: String) -> UnitExpression.Factor? {
        guard name.hasSuffix("mol") else { return nil }
        let symbol = String(name.dropLast(3))
        let prefix = symbol.isEmpty ? -1 : UnitAtom.prefixes.firstIndex { $0.symbol == symbol }
        let start = position
        while let byte = next, byte != 0x3E { position += 1 }
        let digits = bytes[start..<position]
        guard let prefix, skip(0x3E), digits.count <= 40, let grams = ExactNumber(decimal: digits),
            !grams.numerator.isZero, digits.first != 0x2E, digits.last != 0x2E
        else { return nil }
        return UnitExpression.Factor(atom: UnitAtom.mole, prefix: prefix, molarMass: UnitParser.shortest(digits))
    }

    /// Removes redundant zeros from decimal digits.
    private static func shortest(_ digits: ArraySlice<UInt8>) -> String {
        var digits = digits
        if digits.contains(0x2E) {
            while digits.last == 0x30 { digits.removeLast() }
            if digits.last == 0x2E { digits.removeLast() }
        }
        while digits.first == 0x30, digits.count > 1, digits[digits.startIndex + 1] != 0x2E { digits.removeFirst() }
        return String(decoding: digits, as: UTF8.self)
    }
}
