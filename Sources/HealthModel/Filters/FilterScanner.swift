extension SampleFilter {
    /// Reads a filter from its text.
    ///
    /// ```swift
    /// let filter = try SampleFilter(parsing: "value >= 80 kg and (source = \"Scale\" or user-entered)")
    /// ```
    ///
    /// Conditions are `source`, `bundle`, `device` and `group` with a text, `value` with a number and a unit,
    /// `duration` with a number and `s`, `min`, `hr` or `d`, `metadata "key"` alone or with a value, `user-entered`,
    /// `imported`, `all` and `none`. They are joined by `not`, `and`, `or` and parentheses. `!=` may stand for `not`
    /// with `=`.
    ///
    /// - Throws: ``ModelError/malformedFilter(position:expected:)`` for a text that is no filter, and
    ///   ``ModelError/unknownUnit(_:)``.
    public init(parsing text: String) throws(ModelError) {
        var scanner = FilterScanner(text)
        self = try scanner.filter()
    }
}

/// Reads the text of a filter.
struct FilterScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private static let depthLimit = 64

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Whether a byte ends a word that stands without quotation marks.
    static func endsWord(_ byte: UInt8) -> Bool {
        byte <= 0x20 || [UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\"")].contains(byte)
    }

    mutating func filter() throws(ModelError) -> SampleFilter {
        let filter = try alternatives()
        skipBlanks()
        guard position == bytes.count else { throw failure("and, or, or the end") }
        return filter
    }

    private func failure(_ expected: String) -> ModelError {
        // Letters are counted, as an editor shows them.
        let before = String(decoding: bytes[..<position], as: UTF8.self)
        return .malformedFilter(position: before.count + 1, expected: expected)
    }

    private mutating func alternatives() throws(ModelError) -> SampleFilter {
        depth += 1
        defer { depth -= 1 }
        guard depth <= FilterScanner.depthLimit else { throw failure("fewer nots and parentheses") }
        var parts = [try conjunction()]
        while take(word: "or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(ModelError) -> SampleFilter {
        var parts = [try condition()]
        while take(word: "and") { parts.append(try condition()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func condition() throws(ModelError) -> SampleFilter {
        guard take(word: "not") else { return try term() }
        depth += 1
        defer { depth -= 1 }
        guard depth <= FilterScanner.depthLimit else { throw failure("fewer nots and parentheses") }
        return .not(try condition())
    }

    private mutating func term() throws(ModelError) -> SampleFilter {
        if take(UInt8(ascii: "(")) {
            let inner = try alternatives()
            guard take(UInt8(ascii: ")")) else { throw failure("and, or, or a closing parenthesis") }
            return inner
        }
        let start = position
        switch word() {
        case "all": return .all([])
        case "none": return .any([])
        case "user-entered": return .isUserEntered
        case "imported": return .isImported
        case "source": return try equality { .source(named: $0) }
        case "bundle": return try equality { .source(bundle: $0) }
        case "device": return try equality { .device($0) }
        case "group": return try equality { .group($0) }
        case "value":
            return try comparison { scanner, comparison throws(ModelError) in
                .value(comparison, try scanner.number(), try scanner.unit())
            }
        case "duration":
            return try comparison { scanner, comparison throws(ModelError) in
                .duration(comparison, seconds: try scanner.seconds())
            }
        case "metadata": return try metadata()
        default:
            position = start
            skipBlanks()
            throw failure(
                "source, bundle, device, group, value, duration, metadata, user-entered, imported, not or a parenthesis"
            )
        }
    }

    private mutating func equality(_ make: (String) -> SampleFilter) throws(ModelError) -> SampleFilter {
        let isNegated = take("!=")
        guard isNegated || take("=") else { throw failure("= or !=") }
        let filter = make(try text())
        return isNegated ? .not(filter) : filter
    }

    private mutating func comparison(
        _ make: (inout FilterScanner, SampleFilter.Comparison) throws(ModelError) -> SampleFilter
    ) throws(ModelError) -> SampleFilter {
        if take("!=") { return .not(try make(&self, .equal)) }
        // The longer signs first: "<" also begins "<=".
        for comparison in [SampleFilter.Comparison.lessOrEqual, .greaterOrEqual, .less, .equal, .greater] {
            if take(comparison.rawValue) { return try make(&self, comparison) }
        }
        throw failure("<, <=, =, !=, >= or >")
    }

    private mutating func metadata() throws(ModelError) -> SampleFilter {
        let key = try text()
        let isNegated = take("!=")
        guard isNegated || take("=") else { return .hasMetadata(key) }
        let filter = SampleFilter.metadata(key, try metadataValue())
        return isNegated ? .not(filter) : filter
    }

    private mutating func metadataValue() throws(ModelError) -> MetadataValue {
        skipBlanks()
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") { return .string(try text()) }
        let start = position
        let word = word()
        if word == "true" || word == "false" { return .bool(word == "true") }
        if let instant = Instant(word) { return .date(instant) }
        position = start
        let number = try number()
        return hasUnit ? .quantity(Quantity(number, try unit())) : .number(number)
    }

    /// Whether a unit follows: neither the end, nor a word that joins filters.
    private var hasUnit: Bool {
        var ahead = self
        ahead.skipBlanks()
        if ahead.position < bytes.count, bytes[ahead.position] == UInt8(ascii: "\"") { return true }
        return !["", "and", "or"].contains(ahead.word())
    }

    private mutating func number() throws(ModelError) -> Double {
        skipBlanks()
        let start = position
        // A unit may follow without a blank, as in 80kg.
        while position < bytes.count, FilterScanner.belongsToNumber(bytes, position, from: start) { position += 1 }
        guard let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite else {
            position = start
            throw failure("a number")
        }
        return number
    }

    private static func belongsToNumber(_ bytes: [UInt8], _ position: Int, from start: Int) -> Bool {
        switch bytes[position] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): return true
        case UInt8(ascii: "-"), UInt8(ascii: "+"):
            return position == start || bytes[position - 1] | 0x20 == UInt8(ascii: "e")
        case UInt8(ascii: "e"), UInt8(ascii: "E"):
            guard position > start, position + 1 < bytes.count else { return false }
            return [UInt8(ascii: "-"), UInt8(ascii: "+")].contains(bytes[position + 1])
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position + 1])
        default: return false
        }
    }

    private mutating func unit() throws(ModelError) -> HealthUnit {
        skipBlanks()
        let isQuoted = position < bytes.count && bytes[position] == UInt8(ascii: "\"")
        let symbol = isQuoted ? try text() : word()
        guard !symbol.isEmpty else { throw failure("a unit") }
        return try HealthUnit(symbol: symbol)
    }

    private mutating func seconds() throws(ModelError) -> Double {
        let number = try number()
        let start = position
        let factors = ["s": 1.0, "min": 60, "h": 3_600, "hr": 3_600, "d": 86_400]
        guard let factor = factors[word()] else {
            position = start
            throw failure("s, min, hr or d")
        }
        return number * factor
    }

    /// Reads a text between quotation marks.
    private mutating func text() throws(ModelError) -> String {
        guard take(UInt8(ascii: "\"")) else { throw failure("a text between quotation marks") }
        var result: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            result.append(bytes[position])
            position += 1
        }
        guard take(UInt8(ascii: "\"")) else { throw failure("a closing quotation mark") }
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: pieces

    private mutating func skipBlanks() { while position < bytes.count, bytes[position] <= 0x20 { position += 1 } }

    /// Reads up to the next blank, parenthesis, quotation mark or sign of comparison. The sign also ends a word that is
    /// no unit, as in value>=80.
    private mutating func word() -> String {
        skipBlanks()
        let start = position
        let isName = position < bytes.count && (bytes[position] | 0x20 >= UInt8(ascii: "a")) && bytes[position] < 0x80
        while position < bytes.count, !FilterScanner.endsWord(bytes[position]) {
            if isName, position > start, isSign(position, from: start) { break }
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Whether a sign of comparison stands in a word. In a unit, `<` and `>` enclose a molar mass.
    private func isSign(_ position: Int, from start: Int) -> Bool {
        switch bytes[position] {
        case UInt8(ascii: "="), UInt8(ascii: "!"): true
        case UInt8(ascii: "<"):
            !bytes[position...].prefix { !FilterScanner.endsWord($0) }.contains(UInt8(ascii: ">"))
        case UInt8(ascii: ">"): !bytes[start..<position].contains(UInt8(ascii: "<"))
        default: false
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipBlanks()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func take(_ sign: String) -> Bool {
        skipBlanks()
        guard bytes[position...].starts(with: sign.utf8) else { return false }
        position += sign.utf8.count
        return true
    }

    private mutating func take(word wanted: String) -> Bool {
        let start = position
        if word() == wanted { return true }
        position = start
        return false
    }
}
