/// Reads decimal numbers.
enum ExportNumbers {
    private static let powers: [Double] = (0...22).map { (0..<$0).reduce(1.0) { power, _ in power * 10 } }

    /// Returns the number in a range; `nil` if the range holds anything else, or a number that is not finite.
    ///
    /// A number of at most fifteen digits and a power of ten up to 22 are both exact, so one operation rounds rightly.
    /// All others go through the standard library.
    @inline(__always)
    static func read(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Double? {
        var place = range.lowerBound
        let end = range.upperBound
        guard place < end else { return nil }
        let isNegative = bytes[place] == 0x2D
        if isNegative { place += 1 }
        var (digits, decimals, mantissa, isBehindPoint) = (0, 0, UInt64(0), false)
        while place < end {
            let byte = bytes[place]
            if byte &- 0x30 < 10 {
                mantissa = mantissa &* 10 &+ UInt64(byte &- 0x30)
                digits += mantissa == 0 ? 0 : 1
                if isBehindPoint { decimals += 1 }
                if digits > 15 || decimals > 22 { return slow(bytes, range) }
            } else if byte == 0x2E, !isBehindPoint {
                isBehindPoint = true
            } else {
                return slow(bytes, range)
            }
            place += 1
        }
        let last = bytes[end - 1]
        guard last &- 0x30 < 10 else { return slow(bytes, range) }
        let number = Double(mantissa) / powers[decimals]
        return isNegative ? -number : number
    }

    /// Returns the number that an attribute holds.
    static func read(_ attribute: ExportAttribute, in bytes: borrowing Span<UInt8>) -> Double? {
        if let number = read(bytes, attribute.value) { return number }
        if attribute.isPlain { return nil }
        // Somebody wrote characters as references.
        let whole = ExportText(attribute, in: bytes)
        if whole.isMended { return nil }
        let text = Array(whole.text.utf8)
        return read(text.span, 0..<text.count)
    }

    private static func slow(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Double? {
        guard range.count < 400 else { return nil }
        for place in range {
            let byte = bytes[place]
            // The standard library reads hexadecimal numbers and names of numbers, too.
            guard byte &- 0x30 < 10 || byte == 0x2E || byte == 0x2D || byte == 0x2B || byte | 0x20 == 0x65 else {
                return nil
            }
        }
        guard let number = Double(String(decoding: bytes.copied(range), as: UTF8.self)), number.isFinite else {
            return nil
        }
        return number
    }
}
