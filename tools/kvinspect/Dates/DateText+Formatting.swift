import HealthKV

extension DateText {
    /// Appends an instant as ISO 8601 with its zone's distance from UTC, and as many decimals as it needs, up to nine.
    ///
    /// An open end is ``openEnd``, in whatever zone.
    static func append(_ instant: Instant, in zone: Zone, to bytes: inout [UInt8]) {
        if instant == .distantFuture { return bytes.append(contentsOf: openEnd.utf8) }
        let (whole, nanoseconds) = split(instant)
        // ISO 8601 has no seconds in the distance, local mean time of former centuries has.
        let offset = zone.offset(at: whole) / 60 * 60
        let local = whole + offset
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        let time = local - day * 86_400
        let date = CivilDate(daysSince1970: day)
        append(date.year / 100, to: &bytes)
        append(date.year % 100, to: &bytes)
        bytes.append(0x2D)
        append(date.month, to: &bytes)
        bytes.append(0x2D)
        append(date.day, to: &bytes)
        bytes.append(0x54)
        append(time / 3600, to: &bytes)
        bytes.append(0x3A)
        append(time / 60 % 60, to: &bytes)
        bytes.append(0x3A)
        append(time % 60, to: &bytes)
        if nanoseconds != 0 { appendFraction(nanoseconds, to: &bytes) }
        appendOffset(offset, to: &bytes)
    }

    static func text(_ instant: Instant, in zone: Zone) -> String {
        var bytes: [UInt8] = []
        append(instant, in: zone, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
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

    /// Two digits.
    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + number / 10))
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
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
        bytes.append(seconds < 0 ? 0x2D : 0x2B)
        append(abs(seconds) / 3600, to: &bytes)
        bytes.append(0x3A)
        append(abs(seconds) / 60 % 60, to: &bytes)
    }
}
