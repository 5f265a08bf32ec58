import HealthModel

/// A time as a file writes it.
enum WrittenTime: Equatable {
    /// Seconds and nanoseconds since 1970 in UTC.
    case instant(seconds: Int, nanoseconds: Int)
    /// A time on a clock of an unknown zone, counted as if it were UTC.
    case local(seconds: Int, nanoseconds: Int)
    /// A day of an unknown zone, by its number since 1970-01-01.
    case day(Int)
    /// An end that is not known yet.
    case unknownEnd

    /// Seconds of a day.
    static let secondsPerDay = 86_400
}

/// Reads the parts of a date in order.
struct TimeReader {
    let bytes: [UInt8]
    let end: Int
    private(set) var position: Int

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        end = range.upperBound
        position = range.lowerBound
    }

    var isAtEnd: Bool { position == end }
    var next: UInt8? { position < end ? bytes[position] : nil }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func move(to place: Int) { position = place }

    /// Reads a number of a fixed count of digits.
    @inline(__always)
    mutating func number(digits: Int) -> Int? {
        guard position + digits <= end else { return nil }
        var number = 0
        for index in position..<position + digits {
            let digit = bytes[index] &- 0x30
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
        }
        position += digits
        return number
    }

    /// Reads a number of one digit or two.
    mutating func shortNumber() -> Int? {
        guard position < end, bytes[position] >= 0x30, bytes[position] <= 0x39 else { return nil }
        var number = Int(bytes[position] - 0x30)
        position += 1
        if position < end, bytes[position] >= 0x30, bytes[position] <= 0x39 {
            number = number * 10 + Int(bytes[position] - 0x30)
            position += 1
        }
        return number
    }

    /// Reads one to nine decimals of a second, in nanoseconds.
    mutating func fraction() -> Int? {
        var (nanoseconds, unit, digits) = (0, 100_000_000, 0)
        while position < end, bytes[position] >= 0x30, bytes[position] <= 0x39 {
            guard digits < 9 else { return nil }
            nanoseconds += Int(bytes[position] - 0x30) * unit
            unit /= 10
            digits += 1
            position += 1
        }
        return digits > 0 ? nanoseconds : nil
    }

    /// Reads an offset from UTC in seconds, east positive: `Z`, `UTC`, `+2`, `+0200`, `+02:00`, `UTC+0200`.
    mutating func offset() -> Int? {
        if skip(0x5A) || skip(0x7A) { return 0 }
        let hasName = skipName()
        let sign = skip(0x2B) ? 1 : skip(0x2D) ? -1 : 0
        guard sign != 0 else { return hasName ? 0 : nil }
        let start = position
        while position < end, bytes[position] >= 0x30, bytes[position] <= 0x39 { position += 1 }
        let count = position - start
        guard count >= 1, count <= 4, count != 3 else { return nil }
        var digits = 0
        for index in start..<position { digits = digits * 10 + Int(bytes[index] - 0x30) }
        let hours = count == 4 ? digits / 100 : digits
        var minutes = count == 4 ? digits % 100 : 0
        if count <= 2, skip(0x3A) {
            guard let more = number(digits: 2) else { return nil }
            minutes = more
        }
        let offset = hours * 3_600 + minutes * 60
        guard minutes <= 59, offset <= ZoneBook.offsetLimit else { return nil }
        return sign * offset
    }

    /// Skips `UTC` or `GMT`.
    private mutating func skipName() -> Bool {
        guard position + 3 <= end else { return false }
        let name = (bytes[position], bytes[position + 1], bytes[position + 2])
        guard name == (0x55, 0x54, 0x43) || name == (0x47, 0x4D, 0x54) else { return false }
        position += 3
        return true
    }
}

/// The forms in which a column may write times.
enum TimeFormat {
    /// `2024-05-31T08:00:00.5Z`, with a blank in place of the `T`, without decimals, seconds or offset, or a day alone.
    case iso8601
    /// Seconds since 1970 in UTC, with decimals.
    case epochSeconds
    /// Milliseconds since 1970 in UTC.
    case epochMilliseconds
    /// Milliseconds from 1970-01-01 to a day, as if the day began in UTC: the day in the zone of the row.
    case localDayMilliseconds
    /// The most frequent pattern, `yyyy-MM-dd HH:mm:ss`, which is read three times as fast by itself.
    case usual
    case pattern(TimePattern)

    /// The formats by name; other texts are patterns.
    private static let named: [String: TimeFormat] = [
        "iso8601": .iso8601, "epochSeconds": .epochSeconds, "epochMilliseconds": .epochMilliseconds,
        "localDayMilliseconds": .localDayMilliseconds, "yyyy-MM-dd HH:mm:ss": .usual,
    ]

    init(_ text: String) throws(TimePattern.Mistake) {
        if let format = TimeFormat.named[text] {
            self = format
        } else {
            self = .pattern(try TimePattern(text))
        }
    }

    /// Whether a time of this format certainly needs a zone.
    var isLocal: Bool {
        switch self {
        case .iso8601, .epochSeconds, .epochMilliseconds: false
        case .localDayMilliseconds, .usual: true
        case .pattern(let pattern): !pattern.hasOffset
        }
    }

    /// Returns the time of a text; `nil` if the text does not have the format.
    func read(_ bytes: [UInt8], _ range: Range<Int>) -> WrittenTime? {
        switch self {
        case .iso8601: return TimeFormat.readISO(bytes, range)
        case .epochSeconds:
            if let seconds = DecimalNumber.wholeNumber(bytes.span, range) {
                return .instant(seconds: seconds, nanoseconds: 0)
            }
            guard let point = bytes[range].firstIndex(of: 0x2E), bytes[range.lowerBound] != 0x2D,
                let seconds = DecimalNumber.wholeNumber(bytes.span, range.lowerBound..<point)
            else { return nil }
            var reader = TimeReader(bytes, point + 1..<range.upperBound)
            guard let nanoseconds = reader.fraction(), reader.isAtEnd else { return nil }
            return .instant(seconds: seconds, nanoseconds: nanoseconds)
        case .epochMilliseconds:
            guard let number = DecimalNumber.wholeNumber(bytes.span, range) else { return nil }
            let seconds = number.flooredQuotient(by: 1_000)
            return .instant(seconds: seconds, nanoseconds: (number - seconds * 1_000) * 1_000_000)
        case .localDayMilliseconds:
            guard let number = DecimalNumber.wholeNumber(bytes.span, range) else { return nil }
            let perDay = WrittenTime.secondsPerDay * 1_000
            let day = number.flooredQuotient(by: perDay)
            return day * perDay == number ? .day(day) : nil
        case .usual:
            let start = range.lowerBound
            guard range.count == 19, bytes[start + 10] == 0x20, bytes[start + 16] == 0x3A else { return nil }
            return TimeFormat.readISO(bytes, range)
        case .pattern(let pattern): return pattern.read(bytes, range)
        }
    }

    private static let unknownEnd = Array(Instant.distantFutureText.utf8)

    private static func readISO(_ bytes: [UInt8], _ range: Range<Int>) -> WrittenTime? {
        var reader = TimeReader(bytes, range)
        guard let year = reader.number(digits: 4), reader.skip(0x2D), let month = reader.number(digits: 2),
            reader.skip(0x2D), let day = reader.number(digits: 2),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        if reader.isAtEnd { return .day(date.daysSince1970) }
        guard reader.skip(0x54) || reader.skip(0x20) || reader.skip(0x74), let hour = reader.number(digits: 2),
            hour <= 23,
            reader.skip(0x3A), let minute = reader.number(digits: 2), minute <= 59
        else { return nil }
        var (second, nanoseconds) = (0, 0)
        if reader.skip(0x3A) {
            guard let whole = reader.number(digits: 2), whole <= 59 else { return nil }
            second = whole
            if reader.skip(0x2E) || reader.skip(0x2C) {
                guard let fraction = reader.fraction() else { return nil }
                nanoseconds = fraction
            }
        }
        let seconds = date.daysSince1970 * WrittenTime.secondsPerDay + hour * 3_600 + minute * 60 + second
        if reader.isAtEnd { return .local(seconds: seconds, nanoseconds: nanoseconds) }
        _ = reader.skip(0x20)
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        if year == 4001, bytes[range].elementsEqual(unknownEnd) { return .unknownEnd }
        return .instant(seconds: seconds - offset, nanoseconds: nanoseconds)
    }
}

extension Int {
    /// Returns the quotient rounded towards negative infinity.
    func flooredQuotient(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
