import HealthKV

/// Writes instants as ISO 8601 with their zone's distance from UTC, and as many decimals as they need, up to nine.
struct DateWriter {
    /// Year, month, day and time of the instant written last, to the second.
    private var text = Array("0000-00-00T00:00:00".utf8)
    /// The day that stands in `text`: neighbours share it.
    private var day = Int.min

    /// Appends an instant. An open end is ``DateText/openEnd``, in whatever zone.
    mutating func append(_ instant: Instant, in zone: Zone, to bytes: inout [UInt8]) {
        if instant == .distantFuture { return bytes.append(contentsOf: DateText.openEnd.utf8) }
        if instant == .distantPast { return bytes.append(contentsOf: Instant.distantPastText.utf8) }
        let (whole, nanoseconds) = DateWriter.split(instant)
        // ISO 8601 has no seconds in the distance, local mean time of former centuries has.
        let offset = zone.offset(at: whole) / 60 * 60
        let local = whole + offset
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        if day != self.day { setDay(day) }
        let time = local - day * 86_400
        set(time / 3600, at: 11)
        set(time / 60 % 60, at: 14)
        set(time % 60, at: 17)
        bytes.append(contentsOf: text)
        if nanoseconds != 0 { DateWriter.appendFraction(nanoseconds, to: &bytes) }
        DateWriter.appendOffset(offset, to: &bytes)
    }

    private mutating func setDay(_ day: Int) {
        self.day = day
        let date = CivilDate(daysSince1970: day)
        set(date.year / 100, at: 0)
        set(date.year % 100, at: 2)
        set(date.month, at: 5)
        set(date.day, at: 8)
    }

    /// Two digits.
    private mutating func set(_ number: Int, at index: Int) {
        text[index] = UInt8(truncatingIfNeeded: 0x30 + number / 10)
        text[index + 1] = UInt8(truncatingIfNeeded: 0x30 + number % 10)
    }

    /// Whole seconds since 1970, and the nanoseconds after them.
    private static func split(_ instant: Instant) -> (seconds: Int, nanoseconds: Int) {
        let (quotient, remainder) = instant.nanoseconds.quotientAndRemainder(dividingBy: Instant.nanosecondsPerSecond)
        let borrow: Int64 = remainder < 0 ? 1 : 0
        return (
            Int(quotient - borrow + Instant.secondsFrom1970To2001),
            Int(remainder + borrow * Instant.nanosecondsPerSecond)
        )
    }

    private static func appendFraction(_ nanoseconds: Int, to bytes: inout [UInt8]) {
        bytes.append(0x2E)
        var rest = nanoseconds
        var unit = 100_000_000
        while rest > 0 {
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest / unit))
            rest %= unit
            unit /= 10
        }
    }

    private static func appendOffset(_ seconds: Int, to bytes: inout [UInt8]) {
        if seconds == 0 { return bytes.append(0x5A) }
        let minutes = abs(seconds) / 60
        let digits = [minutes / 600, minutes / 60 % 10, minutes % 60 / 10, minutes % 10].map {
            UInt8(truncatingIfNeeded: 0x30 + $0)
        }
        bytes.append(contentsOf: [seconds < 0 ? 0x2D : 0x2B, digits[0], digits[1], 0x3A, digits[2], digits[3]])
    }
}

extension DateText {
    static func text(_ instant: Instant, in zone: Zone) -> String {
        var bytes: [UInt8] = []
        var writer = DateWriter()
        writer.append(instant, in: zone, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
