import HealthKV

/// Writes instants as ISO 8601 with the zone's offset from UTC, and with as many decimals as they need, up to nine.
struct DateWriter {
    /// Year, month, day and time of the instant written last, to the second.
    private var text = Array("0000-00-00T00:00:00".utf8)
    /// The day that stands in `text`: neighbours share it.
    private var day = Int.min

    /// Appends an instant. An open end is ``DateText/openEnd``, in whatever zone.
    mutating func append(_ instant: Instant, in zone: Zone, to bytes: inout [UInt8]) {
        if DateWriter.appendUnknown(instant, to: &bytes) { return }
        let (whole, nanoseconds) = DateWriter.split(instant)
        // Offsets of ISO 8601 have no seconds, but local mean time of former centuries has.
        let offset = zone.offset(at: whole) / 60 * 60
        append(local: whole + offset, nanoseconds, to: &bytes)
        DateWriter.appendOffset(offset, to: &bytes)
    }

    /// The same in UTC, for which no zone has to be asked.
    mutating func append(utc instant: Instant, to bytes: inout [UInt8]) {
        if DateWriter.appendUnknown(instant, to: &bytes) { return }
        let (whole, nanoseconds) = DateWriter.split(instant)
        append(local: whole, nanoseconds, to: &bytes)
        bytes.append(0x5A)
    }

    /// Overwrites the 20 bytes of a date in UTC. Returns `false`, and writes nothing, if the instant does not fit.
    mutating func write(utc instant: Instant, into text: inout MutableSpan<UInt8>, at start: Int) -> Bool {
        let (whole, nanoseconds) = DateWriter.split(instant)
        guard nanoseconds == 0, instant != .distantFuture, instant != .distantPast else { return false }
        let day = setDay(ofLocal: whole)
        let written = self.text.span
        for index in 0..<11 { text[start + index] = written[index] }
        DateWriter.setTime(whole - day * 86_400, &text, at: start)
        return true
    }

    /// Appends the marker of an unknown start or end; returns `false` for other instants.
    private static func appendUnknown(_ instant: Instant, to bytes: inout [UInt8]) -> Bool {
        if instant == .distantFuture {
            bytes.append(contentsOf: DateText.openEnd.utf8)
        } else if instant == .distantPast {
            bytes.append(contentsOf: Instant.distantPastText.utf8)
        } else {
            return false
        }
        return true
    }

    private mutating func append(local: Int, _ nanoseconds: Int, to bytes: inout [UInt8]) {
        let day = setDay(ofLocal: local)
        var span = text.mutableSpan
        DateWriter.setTime(local - day * 86_400, &span, at: 0)
        bytes.append(contentsOf: text)
        if nanoseconds != 0 { DateWriter.appendFraction(nanoseconds, to: &bytes) }
    }

    /// Writes hours, minutes and seconds into the date that begins at a place.
    private static func setTime(_ seconds: Int, _ text: inout MutableSpan<UInt8>, at start: Int) {
        set(seconds / 3600, &text, at: start + 11)
        set(seconds / 60 % 60, &text, at: start + 14)
        set(seconds % 60, &text, at: start + 17)
    }

    /// Sets the day of a local time in seconds since 1970, and returns its number.
    private mutating func setDay(ofLocal local: Int) -> Int {
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        if day == self.day { return day }
        self.day = day
        let date = CivilDate(daysSince1970: day)
        var span = text.mutableSpan
        DateWriter.set(date.year / 100, &span, at: 0)
        DateWriter.set(date.year % 100, &span, at: 2)
        DateWriter.set(date.month, &span, at: 5)
        DateWriter.set(date.day, &span, at: 8)
        return day
    }

    /// Two digits.
    private static func set(_ number: Int, _ text: inout MutableSpan<UInt8>, at index: Int) {
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
