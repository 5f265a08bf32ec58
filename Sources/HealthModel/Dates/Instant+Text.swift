/// Instants as ISO 8601 text in UTC, exact to the nanosecond.
extension Instant: LosslessStringConvertible, CustomStringConvertible {
    /// The text for an unknown end: the distant future of Apple's platforms.
    package static let distantFutureText = "4001-01-01T00:00:00Z"
    /// The text for the distant past, as Apple's platforms write it.
    package static let distantPastText = "0001-01-01T00:00:00Z"

    private static let secondsPerDay = 86_400

    /// Date and time in UTC with as many decimals as needed, such as `2024-02-29T06:30:00.125Z`.
    ///
    /// ```swift
    /// assert(Instant(nanoseconds: 1).description == "2001-01-01T00:00:00.000000001Z")
    /// assert(Instant("2001-01-01T00:00:01Z") == Instant(nanoseconds: 1_000_000_000))
    /// ```
    public var description: String {
        if self == .distantFuture { return Instant.distantFutureText }
        if self == .distantPast { return Instant.distantPastText }
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: Instant.nanosecondsPerSecond)
        let borrow: Int64 = remainder < 0 ? 1 : 0
        let seconds = Int(quotient - borrow + Instant.secondsFrom1970To2001)
        let fraction = Int(remainder + borrow * Instant.nanosecondsPerSecond)
        let whole = Instant.secondsPerDay
        let day = seconds >= 0 ? seconds / whole : (seconds - whole + 1) / whole
        let date = CivilDate(daysSince1970: day)
        let time = seconds - day * whole
        var text =
            Instant.digits(date.year, 4) + "-" + Instant.digits(date.month, 2) + "-" + Instant.digits(date.day, 2)
        text += "T" + Instant.digits(time / 3_600, 2) + ":" + Instant.digits(time / 60 % 60, 2)
        text += ":" + Instant.digits(time % 60, 2)
        if fraction != 0 {
            var decimals = Instant.digits(fraction, 9)
            while decimals.hasSuffix("0") { decimals.removeLast() }
            text += "." + decimals
        }
        return text + "Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    /// Reads the form that ``description`` writes, with up to nine decimals and, in place of the `Z`, any offset from
    /// UTC.
    public init?(_ text: String) {
        guard let instant = try? Instant(reading: text) else { return nil }
        self = instant
    }

    /// Reads a date. Throws different errors for a text that is not a date and for a date out of range.
    private init(reading text: String) throws(ModelError) {
        if text == Instant.distantFutureText {
            self = .distantFuture
            return
        }
        if text == Instant.distantPastText {
            self = .distantPast
            return
        }
        var reader = ISOReader(bytes: Array(text.utf8))
        guard let seconds = reader.seconds(), let fraction = reader.fraction(), let offset = reader.offset(),
            reader.isAtEnd
        else { throw .malformedDate }
        let (since, overflow) = Int64(seconds - offset).subtractingReportingOverflow(Instant.secondsFrom1970To2001)
        let (scaled, tooFar) = since.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        let (sum, beyond) = scaled.addingReportingOverflow(Int64(fraction))
        // Multiplying the earliest whole second overflows although its decimals bring the result back into range, so
        // begin one second later and subtract.
        if overflow || tooFar || beyond {
            let (next, far) = (since + 1).multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
            let (total, over) = next.addingReportingOverflow(Int64(fraction) - Instant.nanosecondsPerSecond)
            if overflow || far || over { throw .instantOutOfRange }
            self.init(nanoseconds: total)
            return
        }
        self.init(nanoseconds: sum)
    }
}

extension Instant: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        try self.init(reading: text)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Reads the parts of an ISO 8601 date in order.
private struct ISOReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func number(_ digits: Int, upTo most: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var number = 0
        for byte in bytes[position..<position + digits] {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        position += digits
        return number <= most ? number : nil
    }

    /// Reads date and time of day, as seconds since 1970.
    mutating func seconds() -> Int? {
        guard let year = number(4, upTo: 9_999), skip(0x2D), let month = number(2, upTo: 12), skip(0x2D),
            let day = number(2, upTo: 31), let date = CivilDate(year: year, month: month, day: day), skip(0x54),
            let hour = number(2, upTo: 23), skip(0x3A), let minute = number(2, upTo: 59), skip(0x3A),
            let second = number(2, upTo: 59)
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// Reads the decimals of a second, in nanoseconds; 0 without a decimal point.
    mutating func fraction() -> Int? {
        guard skip(0x2E) else { return 0 }
        var (nanoseconds, unit, digits) = (0, 100_000_000, 0)
        while position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 {
            guard digits < 9 else { return nil }
            nanoseconds += Int(bytes[position] - 0x30) * unit
            unit /= 10
            digits += 1
            position += 1
        }
        return digits > 0 ? nanoseconds : nil
    }

    /// Reads the offset from UTC in seconds, east positive.
    mutating func offset() -> Int? {
        if skip(0x5A) { return 0 }
        let sign = skip(0x2B) ? 1 : skip(0x2D) ? -1 : 0
        guard sign != 0, let hours = number(2, upTo: 23) else { return nil }
        _ = skip(0x3A)
        guard let minutes = number(2, upTo: 59) else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }
}
