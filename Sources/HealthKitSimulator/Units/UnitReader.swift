/// Reads a unit as HealthKit writes it. The case of letters counts, and a product binds more tightly than a division
/// (A23).
///
/// ```
/// unit    = [ "1" "/" ] product { "/" product }
/// product = power { ( "·" | "*" | "." ) power }
/// power   = ( atom | "(" unit ")" ) [ "^" [ "-" ] digits ]
/// atom    = [ prefix ] name | [ prefix ] "mol<" grams ">"
/// ```
struct UnitReader {
    private let text: [Character]
    private var position = 0

    /// Returns the meaning of a text, or `nil` if it is no unit.
    static func read(_ text: String) -> UnitMeaning? {
        var reader = UnitReader(text: Array(text))
        guard let unit = reader.unit(), reader.position == reader.text.count, !text.isEmpty else { return nil }
        return unit
    }

    private init(text: [Character]) { self.text = text }

    private var next: Character? { position < text.count ? text[position] : nil }

    private mutating func skip(_ characters: Set<Character>) -> Bool {
        guard let next, characters.contains(next) else { return false }
        position += 1
        return true
    }

    private mutating func unit() -> UnitMeaning? {
        var unit = UnitMeaning()
        if next == "1", position + 1 < text.count, text[position + 1] == "/" {
            position += 1
        } else {
            guard let first = product() else { return nil }
            unit = first
        }
        while skip(["/"]) {
            guard let divisor = product() else { return nil }
            unit.multiply(by: divisor, power: -1)
        }
        return unit
    }

    private mutating func product() -> UnitMeaning? {
        guard var product = power() else { return nil }
        while skip(["·", "*", "."]) {
            guard let factor = power() else { return nil }
            product.multiply(by: factor, power: 1)
        }
        return product
    }

    private mutating func power() -> UnitMeaning? {
        var base: UnitMeaning?
        if skip(["("]) {
            base = unit()
            guard skip([")"]) else { return nil }
        } else {
            base = atom()
        }
        guard let base else { return nil }
        guard skip(["^"]) else { return base }
        let sign = skip(["-"]) ? -1 : 1
        var digits = ""
        while let next, next.isNumber, next.isASCII { digits.append(text[position]); position += 1 }
        guard let exponent = Int(digits), exponent > 0, exponent < 100 else { return nil }
        var raised = UnitMeaning()
        raised.multiply(by: base, power: sign * exponent)
        return raised
    }

    private mutating func atom() -> UnitMeaning? {
        var name = ""
        while let next, next.isASCII, next.isLetter || next == "_" || next == "%" { name.append(next); position += 1 }
        if skip(["<"]) { return mole(name) }
        if let atom = UnitAtom.byName[name] { return UnitMeaning(atom, scale: 1) }
        for prefix in UnitAtom.prefixes where name.hasPrefix(prefix.name) {
            let bare = String(name.dropFirst(prefix.name.count))
            if let atom = UnitAtom.byName[bare], atom.takesPrefix { return UnitMeaning(atom, scale: prefix.factor) }
        }
        return nil
    }

    /// Reads moles of a substance with a molar mass. HealthKit converts them to a mass.
    private mutating func mole(_ name: String) -> UnitMeaning? {
        var digits = ""
        while let next, next != ">" { digits.append(next); position += 1 }
        guard skip([">"]), let grams = Double(digits), grams > 0, grams.isFinite, name.hasSuffix("mol") else {
            return nil
        }
        let prefix = String(name.dropLast(3))
        let scale = prefix.isEmpty ? 1 : UnitAtom.prefixes.first { $0.name == prefix }?.factor
        return scale.map { UnitMeaning(UnitAtom(powers: [.mass: 1], factor: grams), scale: $0) }
    }
}

/// What a unit measures, and its size in grams, meters, seconds and so on.
struct UnitMeaning: Sendable {
    private(set) var powers: [UnitAtom.Base: Int] = [:]
    private(set) var factor = 1.0
    /// A number that is added before the factor applies; only for a temperature unit on its own.
    private(set) var offset = 0.0

    init() {}

    init(_ atom: UnitAtom, scale: Double) {
        powers = atom.powers
        factor = atom.factor * scale
        offset = atom.offset
    }

    mutating func multiply(by other: UnitMeaning, power: Int) {
        offset = powers.isEmpty && factor == 1 && power == 1 ? other.offset : 0
        for (base, exponent) in other.powers { powers[base, default: 0] += exponent * power }
        powers = powers.filter { $0.value != 0 }
        for _ in 0..<abs(power) { factor = power > 0 ? factor * other.factor : factor / other.factor }
    }

    func inBase(_ value: Double) -> Double { (value + offset) * factor }
    func fromBase(_ value: Double) -> Double { value / factor - offset }
}
