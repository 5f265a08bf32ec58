import HealthKV

/// The values of a line's tokens.
struct LineValues {
    var id: SampleID?
    var start = Instant(nanoseconds: 0)
    var end: Instant?
    var value = 0.0
    var modified: Instant?
    var replica: UInt32 = 0
    var syncIdentifier: String?
    var group: String?
}

/// Reads ids, dates, numbers and texts in the plainest form, which dumps have. Returns `nil` for every other form,
/// valid or not, and ``JSONScanner`` decides.
struct LineTokenReader {
    /// The day that was read last: neighbours share it.
    private var date = CivilDate(daysSince1970: 0)
    private var days = 0

    /// Reads the token at `place`; returns its end, or `nil` if the text is not such a token.
    mutating func read(
        _ token: LineToken, in line: Span<UInt8>, at place: Int, into values: inout LineValues
    ) -> Int? {
        var place = place
        switch token {
        case .id:
            guard let id = IDText.id(in: line, at: place) else { return nil }
            values.id = id
            place += IDText.blank.count
        case .start:
            guard let instant = instant(line, &place) else { return nil }
            values.start = instant
        case .end:
            guard let instant = instant(line, &place) else { return nil }
            values.end = instant
        case .modified:
            guard let instant = instant(line, &place) else { return nil }
            values.modified = instant
        case .value:
            guard let value = ShortDecimal.number(line, &place) else { return nil }
            values.value = value
        case .replica:
            guard let replica = LineTokenReader.whole(line, &place) else { return nil }
            values.replica = replica
        case .syncIdentifier:
            guard let text = LineTokenReader.text(line, &place) else { return nil }
            values.syncIdentifier = text
        case .group:
            guard let text = LineTokenReader.text(line, &place) else { return nil }
            values.group = text
        }
        return place
    }

    /// `2024-05-31T08:15:30Z`, with up to nine decimals, in a year that the model holds completely.
    private mutating func instant(_ line: Span<UInt8>, _ place: inout Int) -> Instant? {
        guard place + 20 <= line.count else { return nil }
        let text = line.extracting(place..<place + 20)
        var isWrong = text[4] != 0x2D || text[7] != 0x2D || text[10] != 0x54 || text[13] != 0x3A || text[16] != 0x3A
        func digits(_ index: Int) -> Int {
            let (tens, ones) = (text[index] &- 0x30, text[index + 1] &- 0x30)
            if tens > 9 || ones > 9 { isWrong = true }
            return Int(tens) * 10 + Int(ones)
        }
        let year = digits(0) * 100 + digits(2)
        let (month, day) = (digits(5), digits(8))
        let (hour, minute, second) = (digits(11), digits(14), digits(17))
        guard !isWrong, year > 1710, year < 2290, hour < 24, minute < 60, second < 60 else { return nil }
        if day != date.day || month != date.month || year != date.year {
            guard let new = CivilDate(year: year, month: month, day: day) else { return nil }
            date = new
            days = new.daysSince1970
        }
        place += 19
        var nanoseconds = 0
        if text[19] == 0x2E {
            place += 1
            guard let fraction = LineTokenReader.fraction(line, &place) else { return nil }
            nanoseconds = fraction
        }
        guard place < line.count, line[place] == 0x5A else { return nil }
        place += 1
        let seconds = Int64(days * 86_400 + hour * 3600 + minute * 60 + second) - Instant.secondsFrom1970To2001
        return Instant(nanoseconds: seconds * Instant.nanosecondsPerSecond + Int64(nanoseconds))
    }

    private static func fraction(_ line: Span<UInt8>, _ place: inout Int) -> Int? {
        var nanoseconds = 0
        var unit = 1_000_000_000
        while place < line.count, line[place] &- 0x30 <= 9 {
            unit /= 10
            if unit == 0 { return nil }
            nanoseconds += Int(line[place] &- 0x30) * unit
            place += 1
        }
        return unit == 1_000_000_000 ? nil : nanoseconds
    }

    private static func whole(_ line: Span<UInt8>, _ place: inout Int) -> UInt32? {
        let start = place
        var number: UInt64 = 0
        while place < line.count, line[place] &- 0x30 <= 9, place - start < 10 {
            number = number * 10 + UInt64(line[place] &- 0x30)
            place += 1
        }
        guard place > start, line[start] != 0x30 || place == start + 1 else { return nil }
        if place < line.count, line[place] &- 0x30 <= 9 { return nil }
        return UInt32(exactly: number)
    }

    /// ASCII without escapes, of a length that every text may have.
    private static func text(_ line: Span<UInt8>, _ place: inout Int) -> String? {
        let start = place
        while place < line.count, line[place] != 0x22 {
            guard line[place] >= 0x20, line[place] < 0x80, line[place] != 0x5C else { return nil }
            place += 1
        }
        guard place > start, place - start <= Sample.textLimit else { return nil }
        let text = line.extracting(start..<place)
        let bytes = [UInt8](capacity: text.count) { output in for index in text.indices { output.append(text[index]) } }
        return String(decoding: bytes, as: UTF8.self)
    }
}
