import HealthModel

/// Reads dates as exports write them: `2024-03-31 08:15:00 +0200`.
enum ExportDates {
    /// The number of bytes of a date.
    static let length = 25

    /// Returns the time of the date at a place, in nanoseconds since 2001; `nil` if there is none.
    @inline(__always)
    static func read(_ bytes: borrowing Span<UInt8>, at place: Int) -> Int64? {
        guard place >= 0, place <= bytes.count - length else { return nil }
        var isDate = bytes[place + 4] == 0x2D && bytes[place + 7] == 0x2D && bytes[place + 10] == 0x20
        isDate = isDate && bytes[place + 13] == 0x3A && bytes[place + 16] == 0x3A && bytes[place + 19] == 0x20
        let sign = bytes[place + 20]
        isDate = isDate && (sign == 0x2B || sign == 0x2D)
        guard isDate, let century = two(bytes, place), let years = two(bytes, place + 2),
            let month = two(bytes, place + 5), let day = two(bytes, place + 8), let hour = two(bytes, place + 11),
            let minute = two(bytes, place + 14), let second = two(bytes, place + 17),
            let hours = two(bytes, place + 21), let minutes = two(bytes, place + 23)
        else { return nil }
        guard hour < 24, minute < 60, second < 60, hours < 24, minutes < 60,
            let date = CivilDate(year: century * 100 + years, month: month, day: day)
        else { return nil }
        let offset = (hours * 60 + minutes) * (sign == 0x2D ? -60 : 60)
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - offset - secondsTo2001
        let (time, isTooFar) = Int64(seconds).multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        return isTooFar ? nil : time
    }

    /// Returns the time that an attribute holds.
    static func read(_ attribute: ExportAttribute, in bytes: borrowing Span<UInt8>) -> Int64? {
        if attribute.isPlain || attribute.value.count == length {
            return attribute.value.count == length ? read(bytes, at: attribute.value.lowerBound) : nil
        }
        // Somebody wrote characters as references.
        let read = ExportText(attribute, in: bytes)
        if read.isMended { return nil }
        let text = Array(read.text.utf8)
        return text.count == length ? self.read(text.span, at: 0) : nil
    }

    /// The end of a sample that has no end yet.
    static let openEnd = "4001-01-01 00:00:00 +0000"

    /// Returns the time of an end; ``Instant/distantFuture`` for an end that is open, to which HealthKit gives the year
    /// 4001.
    static func readEnd(_ attribute: ExportAttribute, in bytes: borrowing Span<UInt8>) -> Int64? {
        if let time = read(attribute, in: bytes) { return time }
        guard attribute.value.count == length else { return nil }
        let text = String(decoding: bytes.copied(attribute.value), as: UTF8.self)
        let isOpen = text.hasPrefix("4001-01-01 ") || text.hasPrefix("4000-12-31 ")
        return isOpen ? Instant.distantFuture.nanoseconds : nil
    }

    /// Seconds from 1970 to 2001.
    private static let secondsTo2001 = 978_307_200

    @inline(__always)
    private static func two(_ bytes: borrowing Span<UInt8>, _ place: Int) -> Int? {
        let (tens, ones) = (bytes[place] &- 0x30, bytes[place + 1] &- 0x30)
        return tens < 10 && ones < 10 ? Int(tens) * 10 + Int(ones) : nil
    }
}
