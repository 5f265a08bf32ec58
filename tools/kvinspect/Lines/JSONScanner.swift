/// What is wrong with a piece of JSON. The reason never repeats the content.
struct JSONError: Error {
    let reason: String
}

/// Reads JSON step by step, strictly and without building a tree.
///
/// The caller asks for what it expects; anything else is an error. So nesting is never deeper than the caller's code,
/// and a number stays text until the caller knows whether it must be whole.
struct JSONScanner: ~Escapable {
    let bytes: Span<UInt8>
    private(set) var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Skips white space and returns the next byte.
    @_lifetime(self: copy self)
    mutating func peek() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return byte }
            position += 1
        }
        return nil
    }

    /// The next byte, white space or not.
    var nextByte: UInt8? { position < bytes.count ? bytes[position] : nil }

    @_lifetime(self: copy self)
    mutating func advance() { position += 1 }

    /// Goes back to a place that it passed.
    @_lifetime(self: copy self)
    mutating func rewind(to place: Int) { position = place }

    /// Moves past the byte if it is the very next one.
    @_lifetime(self: copy self)
    mutating func skipByte(_ byte: UInt8) -> Bool {
        guard nextByte == byte else { return false }
        position += 1
        return true
    }

    @_lifetime(self: copy self)
    mutating func expect(_ byte: UInt8, or reason: String) throws(JSONError) {
        guard peek() == byte else { throw JSONError(reason: reason) }
        position += 1
    }

    @_lifetime(self: copy self)
    mutating func skip(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    @_lifetime(self: copy self)
    mutating func beginObject() throws(JSONError) { try expect(0x7B, or: "an object {…} was expected") }

    /// Reads the next key of an object and the colon after it, and returns the key's raw bytes; `nil` at the end of the
    /// object.
    @_lifetime(self: copy self)
    mutating func nextKey(isFirst: Bool) throws(JSONError) -> Range<Int>? {
        if skip(0x7D) { return nil }
        if !isFirst { try expect(0x2C, or: "a comma or } was expected") }
        let key = try rawString()
        try expect(0x3A, or: "a colon was expected")
        return key
    }

    /// Nothing but white space may follow.
    @_lifetime(self: copy self)
    mutating func end() throws(JSONError) {
        guard peek() == nil else { throw JSONError(reason: "something follows the end of the object") }
    }

    /// Skips `null` if it is next.
    @_lifetime(self: copy self)
    mutating func null() -> Bool {
        guard peek() == 0x6E else { return false }
        return word("null")
    }

    @_lifetime(self: copy self)
    mutating func bool() throws(JSONError) -> Bool {
        if peek() == 0x74, word("true") { return true }
        if peek() == 0x66, word("false") { return false }
        throw JSONError(reason: "true or false was expected")
    }

    @_lifetime(self: copy self)
    private mutating func word(_ word: String) -> Bool {
        guard position + word.utf8.count <= bytes.count else { return false }
        for (offset, byte) in word.utf8.enumerated() where bytes[position + offset] != byte { return false }
        position += word.utf8.count
        return true
    }

    /// Where the bytes between two quotes stand, escapes and all.
    @_lifetime(self: copy self)
    mutating func rawString() throws(JSONError) -> Range<Int> {
        try expect(0x22, or: "a text in quotes was expected")
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case 0x22:
                position += 1
                return start..<position - 1
            case 0x5C: position += 2
            case 0..<0x20: throw JSONError(reason: "a text holds a control character that is not escaped")
            default: position += 1
            }
        }
        throw JSONError(reason: "a text has no closing quote")
    }

    /// The text whose raw bytes stand in `range`.
    func text(in range: Range<Int>) throws(JSONError) -> String {
        var plain: [UInt8] = []
        plain.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            if bytes[index] == 0x5C {
                try unescape(&index, into: &plain)
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        if let text = String(validating: plain, as: UTF8.self) { return text }
        throw JSONError(reason: "a text is no valid UTF-8")
    }

    @_lifetime(self: copy self)
    mutating func string() throws(JSONError) -> String { try text(in: rawString()) }

    private func unescape(_ index: inout Int, into plain: inout [UInt8]) throws(JSONError) {
        let letter = bytes[index + 1]
        index += 2
        switch letter {
        case 0x22, 0x5C, 0x2F: plain.append(letter)
        case 0x62: plain.append(0x08)
        case 0x66: plain.append(0x0C)
        case 0x6E: plain.append(0x0A)
        case 0x72: plain.append(0x0D)
        case 0x74: plain.append(0x09)
        case 0x75:
            let scalar = try codePoint(&index)
            plain.append(contentsOf: Character(scalar).utf8)
        default: throw JSONError(reason: "a text holds an escape that JSON does not have")
        }
    }

    /// A scalar of four hexadecimal digits, or of two such halves.
    private func codePoint(_ index: inout Int) throws(JSONError) -> Unicode.Scalar {
        let first = try codeUnit(&index)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, index + 1 < bytes.count, bytes[index] == 0x5C, bytes[index + 1] == 0x75 else {
            throw JSONError(reason: "a text holds half a surrogate pair")
        }
        index += 2
        let second = try codeUnit(&index)
        guard second >= 0xDC00, second < 0xE000,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw JSONError(reason: "a text holds half a surrogate pair") }
        return scalar
    }

    private func codeUnit(_ index: inout Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else {
                throw JSONError(reason: "an escape \\u needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt32(digit)
            index += 1
        }
        return unit
    }
}
