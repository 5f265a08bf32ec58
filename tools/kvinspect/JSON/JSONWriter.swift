import HealthKV

/// Writes JSON as bytes. The caller opens and closes what it opens; commas come by themselves.
struct JSONWriter: JSONSink {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private var dates = DateWriter()
    /// Sources written of late and their JSON: the same few alternate.
    private var sources: [(source: Source, json: [UInt8])] = []
    private let fieldKeys = JSONWriter.fieldKeys

    private static let fieldKeys = LineField.names.map { Array("\"\($0)\":".utf8) }
    private static let digits = Array("0123456789abcdef".utf8)

    mutating func beginObject() {
        separate()
        bytes.append(0x7B)
        needsComma = false
    }

    mutating func endObject() {
        bytes.append(0x7D)
        needsComma = true
    }

    mutating func beginArray() {
        separate()
        bytes.append(0x5B)
        needsComma = false
    }

    mutating func endArray() {
        bytes.append(0x5D)
        needsComma = true
    }

    mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(0x3A)
        needsComma = false
    }

    mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    mutating func integer(_ number: Int64) {
        separate()
        appendDigits(number)
        needsComma = true
    }

    mutating func bool(_ flag: Bool) {
        separate()
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        needsComma = true
    }

    mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
        needsComma = true
    }

    /// The shortest text that reads back as the same number, bit for bit; what JSON has no number for as its bits.
    mutating func double(_ number: Double) {
        guard number.isFinite else { return bits(of: number) }
        separate()
        if number.magnitude < 0x1p53, Double(Int64(number)) == number, number != 0 || number.sign == .plus {
            appendDigits(Int64(number))
        } else if !appendThousandths(number) {
            bytes.append(contentsOf: number.description.utf8)
        }
        needsComma = true
    }

    mutating func instant(_ instant: Instant, in zone: Zone) {
        separate()
        bytes.append(0x22)
        dates.append(instant, in: zone, to: &bytes)
        bytes.append(0x22)
        needsComma = true
    }

    mutating func key(_ field: LineField) {
        separate()
        bytes.append(contentsOf: fieldKeys[field.rawValue])
        needsComma = false
    }

    mutating func id(_ id: SampleID) {
        separate()
        bytes.append(0x22)
        let start = bytes.count
        bytes.append(contentsOf: IDText.blank)
        var span = bytes.mutableSpan
        IDText.write(id, into: &span, at: start)
        bytes.append(0x22)
        needsComma = true
    }

    mutating func source(_ source: Source) {
        if let known = sources.first(where: { $0.source == source }) { return raw(known.json) }
        var inner = JSONWriter()
        inner.beginObject()
        inner.field("name", source.name)
        inner.revision(of: source)
        inner.endObject()
        if sources.count == 8 { sources.removeFirst() }
        sources.append((source, inner.bytes))
        raw(inner.bytes)
    }

    /// JSON that is already written.
    private mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// Appends fields of an object that are already encoded. `needsComma`: the next field needs a comma before it.
    mutating func piece(_ json: some Collection<UInt8>, needsComma: Bool) {
        bytes.append(contentsOf: json)
        self.needsComma = needsComma
    }

    /// The comma that may have to stand before the next piece.
    mutating func beginPieces() { separate() }

    /// A date in UTC without quotes, as a piece.
    mutating func datePiece(_ instant: Instant) { dates.append(utc: instant, to: &bytes) }

    /// What `write` writes into an object that is open and not empty.
    static func piece(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.needsComma = true
        write(&writer)
        return writer.bytes
    }

    mutating func newline() {
        bytes.append(0x0A)
        needsComma = false
    }

    mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .integer(let number): integer(number)
        case .double(let number): double(number)
        case .string(let text): string(text)
        case .array(let values):
            beginArray()
            for value in values { self.value(value) }
            endArray()
        case .object(let fields):
            beginObject()
            self.fields(fields)
            endObject()
        }
    }

    /// Fields of the object that is open.
    mutating func fields(_ fields: [JSONValue.Field]) {
        for field in fields {
            key(field.key)
            value(field.value)
        }
    }

    /// Forgets what was written and keeps the memory and the place.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func separate() {
        if needsComma { bytes.append(0x2C) }
    }

    /// `{"bits":"7ff8000000000000"}`
    private mutating func bits(of number: Double) {
        let digits = String(number.bitPattern, radix: 16)
        beginObject()
        field("bits", String(repeating: "0", count: 16 - digits.count) + digits)
        endObject()
    }

    /// Writes a number with up to three decimals; returns `false` for other numbers. No two decimals of at most fifteen
    /// digits are the same double, so a text that reads back as this double is the shortest, without a search for it.
    private mutating func appendThousandths(_ number: Double) -> Bool {
        let product = number.magnitude * 1_000 + 0.5
        guard product < 1e15 else { return false }
        let scaled = UInt64(product)
        guard scaled > 0, Double(scaled) / 1_000 == number.magnitude else { return false }
        let (whole, rest) = scaled.quotientAndRemainder(dividingBy: 1_000)
        if number < 0 { bytes.append(0x2D) }
        appendDigits(Int64(whole))
        bytes.append(0x2E)
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest / 100))
        if rest % 100 != 0 { bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest / 10 % 10)) }
        if rest % 10 != 0 { bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest % 10)) }
        return true
    }

    private mutating func appendDigits(_ number: Int64) {
        if number < 0 { bytes.append(0x2D) }
        var rest = number.magnitude
        if rest < 10 { return bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest)) }
        var count = 1
        var limit: UInt64 = 10
        while rest >= limit, count < 19 {
            count += 1
            limit *= 10
        }
        bytes.append(contentsOf: JSONWriter.zeros[..<count])
        var span = bytes.mutableSpan
        for place in 1...count {
            span[span.count - place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
    }

    private static let zeros = [UInt8](repeating: 0x30, count: 19)

    private mutating func quote(_ text: String) {
        bytes.append(0x22)
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        if needsEscape(from: start) { escape(from: start) }
        bytes.append(0x22)
    }

    private func needsEscape(from start: Int) -> Bool {
        let span = bytes.span
        for index in start..<span.count where JSONWriter.mustEscape(span[index]) || span[index] == 0xC2 { return true }
        return false
    }

    /// Returns `true` for a quote, a backslash, and a control character of one byte.
    private static func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F
    }

    private mutating func escape(from start: Int) {
        let plain = Array(bytes[start...])
        bytes.removeSubrange(start...)
        for (index, byte) in plain.enumerated() {
            // The control characters from 0x80 on, which a terminal obeys as well, are this byte and another one.
            if byte == 0xC2, plain[index + 1] < 0xA0 { continue }
            let isSecond = index > 0 && plain[index - 1] == 0xC2 && byte < 0xA0
            guard isSecond || JSONWriter.mustEscape(byte) else {
                bytes.append(byte)
                continue
            }
            bytes.append(0x5C)
            switch byte {
            case 0x22, 0x5C: bytes.append(byte)
            case 0x08: bytes.append(0x62)
            case 0x09: bytes.append(0x74)
            case 0x0A: bytes.append(0x6E)
            case 0x0C: bytes.append(0x66)
            case 0x0D: bytes.append(0x72)
            default:
                bytes.append(contentsOf: "u00".utf8)
                bytes.append(JSONWriter.digits[Int(byte >> 4)])
                bytes.append(JSONWriter.digits[Int(byte & 15)])
            }
        }
    }
}
