/// Numbers as JSON writes them.
extension JSONScanner {
    /// The bytes of a number by JSON's grammar, which is stricter than Swift's.
    @_lifetime(self: copy self)
    mutating func rawNumber() throws(JSONError) -> Range<Int> {
        _ = peek()
        let start = position
        _ = skipByte(0x2D)
        if !skipByte(0x30) { try digits() }
        if skipByte(0x2E) { try digits() }
        if skipByte(0x65) || skipByte(0x45) {
            if !skipByte(0x2B) { _ = skipByte(0x2D) }
            try digits()
        }
        if let next = nextByte, JSONScanner.isDigit(next) { throw JSONError(reason: "a number begins with a zero") }
        return start..<position
    }

    /// A number; `{"bits":"7ff8…"}` where it is not finite.
    @_lifetime(self: copy self)
    mutating func double() throws(JSONError) -> Double {
        if peek() == 0x7B { return try bits() }
        let range = try rawNumber()
        var start = range.lowerBound
        if let number = ShortDecimal.number(bytes, &start) { return number }
        var text: [UInt8] = []
        for index in range { text.append(bytes[index]) }
        guard let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else {
            throw JSONError(reason: "a number is too large")
        }
        return number
    }

    /// A whole number without point or exponent.
    @_lifetime(self: copy self)
    mutating func integer() throws(JSONError) -> Int64 {
        let range = try rawNumber()
        let isNegative = bytes[range.lowerBound] == 0x2D
        var value: Int64 = 0
        for index in range.lowerBound + (isNegative ? 1 : 0)..<range.upperBound {
            guard JSONScanner.isDigit(bytes[index]) else { throw JSONError(reason: "a whole number was expected") }
            let digit = Int64(bytes[index] - 0x30)
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooFar) = scaled.addingReportingOverflow(isNegative ? -digit : digit)
            guard !overflow, !tooFar else { throw JSONError(reason: "a whole number is too large") }
            value = sum
        }
        return value
    }

    /// `{"bits":"7ff8000000000000"}`
    @_lifetime(self: copy self)
    private mutating func bits() throws(JSONError) -> Double {
        let form = "bits of a number are 16 hexadecimal digits"
        try beginObject()
        guard let key = try nextKey(isFirst: true), try text(in: key) == "bits" else {
            throw JSONError(reason: "a number was expected")
        }
        let digits = try string()
        guard digits.utf8.count == 16, digits.allSatisfy(\.isHexDigit), let pattern = UInt64(digits, radix: 16) else {
            throw JSONError(reason: form)
        }
        try expect(0x7D, or: form)
        return Double(bitPattern: pattern)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    @_lifetime(self: copy self)
    private mutating func digits() throws(JSONError) {
        guard let first = nextByte, JSONScanner.isDigit(first) else { throw JSONError(reason: "a number was expected") }
        while let byte = nextByte, JSONScanner.isDigit(byte) { advance() }
    }
}
