import HealthKV

/// Dates as ISO 8601 text.
enum DateText {
    /// A bound of a range: outside the years of samples it means "from the beginning" or "for ever".
    typealias Bound = Instant

    /// The text that stands for an end that is not known yet: the distant future of Apple's platforms.
    static let openEnd = Instant.distantFutureText

    /// A date, with a zone or in `zone`; `nil` when it is malformed or lies outside 1710 to 2290.
    static func instant(_ bytes: Span<UInt8>, in zone: Zone) -> Instant? {
        let instant = Parsed(bytes, zone)?.instant
        return instant.flatMap { $0.isRepresentable ? $0 : nil }
    }

    static func instant(_ text: String, in zone: Zone) -> Instant? {
        let bytes = Array(text.utf8)
        return instant(bytes.span, in: zone)
    }

    /// A bound of a range, with a zone or in `zone`; saturates outside 1710 to 2290.
    static func bound(_ text: String, in zone: Zone) -> Bound? {
        let bytes = Array(text.utf8)
        guard let parsed = Parsed(bytes.span, zone) else { return nil }
        if let instant = parsed.instant, instant.isRepresentable { return instant }
        return parsed.seconds < 0 ? .distantPast : .distantFuture
    }

    /// Seconds of a distance from UTC such as `Z`, `+05:45`, `-0800` or `+02`.
    static func offset(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        var reader = DateReader(bytes.span)
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        return offset
    }

    /// A date as seconds since 1970 and nanoseconds.
    private struct Parsed {
        var seconds: Int
        var nanoseconds: Int

        init?(_ bytes: Span<UInt8>, _ zone: Zone) {
            var reader = DateReader(bytes)
            guard let day = reader.day() else { return nil }
            var time = (seconds: 0, nanoseconds: 0)
            var offset: Int?
            if !reader.isAtEnd {
                guard let clock = reader.time() else { return nil }
                time = clock
                if !reader.isAtEnd {
                    guard let distance = reader.offset(), reader.isAtEnd else { return nil }
                    offset = distance
                }
            }
            let local = day.daysSince1970 * 86_400 + time.seconds
            seconds = offset.map { local - $0 } ?? zone.seconds(ofLocal: local)
            nanoseconds = time.nanoseconds
        }

        var instant: Instant? {
            let (scaled, overflow) = Int64(seconds).subtractingReportingOverflow(Instant.secondsFrom1970To2001)
            let (whole, tooFar) = scaled.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
            let (sum, beyond) = whole.addingReportingOverflow(Int64(nanoseconds))
            return overflow || tooFar || beyond ? nil : Instant(nanoseconds: sum)
        }
    }
}

/// Reads the parts of a date one after another.
private struct DateReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// `2024-05-31`
    @_lifetime(self: copy self)
    mutating func day() -> CivilDate? {
        guard let year = number(digits: 4), skip("-"), let month = number(digits: 2), skip("-"),
            let day = number(digits: 2)
        else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    /// `T08:15`, `T08:15:30`, `T08:15:30.123456789`; a space may stand for the T.
    @_lifetime(self: copy self)
    mutating func time() -> (seconds: Int, nanoseconds: Int)? {
        guard skip("T") || skip("t") || skip(" "), let hour = number(digits: 2), hour < 24, skip(":"),
            let minute = number(digits: 2), minute < 60
        else { return nil }
        let seconds = hour * 3600 + minute * 60
        guard skip(":") else { return (seconds, 0) }
        guard let second = number(digits: 2), second < 60 else { return nil }
        guard skip(".") else { return (seconds + second, 0) }
        guard let fraction = fraction() else { return nil }
        return (seconds + second, fraction)
    }

    /// `Z`, `+05:45`, `+0545` or `+05`; a space may stand before it.
    @_lifetime(self: copy self)
    mutating func offset() -> Int? {
        if skip("Z") || skip("z") { return 0 }
        _ = skip(" ")
        let sign: Int
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(digits: 2), hours < 24 else { return nil }
        var minutes = 0
        if skip(":") || !isAtEnd {
            guard let part = number(digits: 2), part < 60 else { return nil }
            minutes = part
        }
        return sign * (hours * 3600 + minutes * 60)
    }

    /// Digits after the point as nanoseconds, rounded where there are more than nine.
    @_lifetime(self: copy self)
    private mutating func fraction() -> Int? {
        var nanoseconds = 0
        var digits = 0
        while let byte = next, byte >= 0x30, byte <= 0x39 {
            if digits < 9 { nanoseconds = nanoseconds * 10 + Int(byte - 0x30) }
            if digits == 9, byte >= 0x35 { nanoseconds += 1 }
            digits += 1
            position += 1
        }
        guard digits > 0 else { return nil }
        for _ in digits..<max(digits, 9) { nanoseconds *= 10 }
        return nanoseconds
    }

    @_lifetime(self: copy self)
    private mutating func number(digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var value = 0
        for index in position..<position + digits {
            let byte = bytes[index]
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        position += digits
        return value
    }

    @_lifetime(self: copy self)
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let byte = next, UInt32(byte) == character.value else { return false }
        position += 1
        return true
    }
}
