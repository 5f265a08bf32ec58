import HealthKV

/// The text of ids as bytes.
enum IDText {
    /// As long as an id.
    static let blank = Array("00000000-0000-0000-0000-000000000000".utf8)

    /// Two capital hexadecimal digits for each byte, the first one low.
    private static let pairs: [UInt16] = (0...255).map { byte in
        let digits = Array("0123456789ABCDEF".utf8)
        return UInt16(digits[byte >> 4]) | UInt16(digits[byte & 15]) << 8
    }

    /// The value of a hexadecimal digit by its byte; 255 for what is none.
    private static let values: [UInt8] = (0...255).map { byte in
        Character(Unicode.Scalar(byte as UInt8)).hexDigitValue.map { UInt8($0) } ?? 255
    }

    /// Reads the id at `place`; `nil` if its text is malformed or the id is the nil UUID.
    static func id(in bytes: Span<UInt8>, at place: Int) -> SampleID? {
        guard place + 36 <= bytes.count else { return nil }
        let text = bytes.extracting(place..<place + 36)
        let values = values.span
        var seen: UInt8 = 0
        func word(_ ranges: (Range<Int>, Range<Int>, Range<Int>)) -> UInt64 {
            var word: UInt64 = 0
            func take(_ range: Range<Int>) {
                for index in range {
                    let value = values[Int(text[index])]
                    seen |= value
                    word = word << 4 | UInt64(value & 15)
                }
            }
            take(ranges.0)
            take(ranges.1)
            take(ranges.2)
            return word
        }
        let id = SampleID(high: word((0..<8, 9..<13, 14..<18)), low: word((19..<23, 24..<30, 30..<36)))
        let isDashed = text[8] == 0x2D && text[13] == 0x2D && text[18] == 0x2D && text[23] == 0x2D
        return seen < 16 && isDashed && id != .zero ? id : nil
    }

    /// Writes the digits of an id; the dashes are already in place.
    static func write(_ id: SampleID, into text: inout MutableSpan<UInt8>, at start: Int) {
        let pairs = pairs.span
        var place = start
        var word = id.high
        for position in 0..<16 {
            if position == 4 || position == 6 || position == 8 || position == 10 { place += 1 }
            if position == 8 { word = id.low }
            let pair = pairs[Int(truncatingIfNeeded: word >> 56)]
            word <<= 8
            text[place] = UInt8(truncatingIfNeeded: pair)
            text[place + 1] = UInt8(truncatingIfNeeded: pair >> 8)
            place += 2
        }
    }
}
