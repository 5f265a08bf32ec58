import HealthModel

/// A pattern of dates such as `dd.MM.yyyy HH:mm[:ss]`.
///
/// The letters are those of Unicode: `yyyy`, `MM` or `M`, `MMM` (English), `dd` or `d`, `HH` or `H`, `hh` or `h` with
/// `a`, `mm` or `m`, `ss` or `s`, `S` for one to nine decimals, and `X` or `Z` for an offset. Other letters stand in
/// single quotes. A part in brackets may be missing.
struct TimePattern {
    /// Why a text is no pattern.
    struct Mistake: Error {
        let problem: String
    }

    private enum Step: Equatable {
        case year, month, shortMonth, monthName, day, shortDay, hour, shortHour, halfDayHour, shortHalfDayHour, minute,
            shortMinute, second, shortSecond, fraction, halfOfDay, offset
        case literal(UInt8)
        /// A part that may be missing, and the number of its steps.
        case optional(Int)
    }

    private let steps: [Step]
    /// Whether each time has an offset.
    let hasOffset: Bool
    /// Whether the pattern has no time of day.
    private let isDay: Bool

    private static let stepsByLetters: [String: Step] = [
        "yyyy": .year, "MM": .month, "M": .shortMonth, "MMM": .monthName, "dd": .day, "d": .shortDay, "HH": .hour,
        "H": .shortHour, "hh": .halfDayHour, "h": .shortHalfDayHour, "mm": .minute, "m": .shortMinute, "ss": .second,
        "s": .shortSecond, "a": .halfOfDay,
    ]

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }

    init(_ text: String) throws(Mistake) {
        var steps: [Step] = []
        var opening: Int?
        let letters = Array(text.utf8)
        var index = 0
        while index < letters.count {
            let byte = letters[index]
            switch byte {
            case 0x5B:  // [
                guard opening == nil else { throw Mistake(problem: "has brackets inside brackets") }
                opening = steps.count
                steps.append(.optional(0))
                index += 1
            case 0x5D:  // ]
                guard let start = opening else {
                    throw Mistake(problem: "has a closing bracket without an opening one")
                }
                steps[start] = .optional(steps.count - start - 1)
                opening = nil
                index += 1
            case 0x27:  // '
                index = try TimePattern.readQuoted(letters, index, &steps)
            case 0x41...0x5A, 0x61...0x7A:
                var end = index
                while end < letters.count, letters[end] == byte { end += 1 }
                steps.append(try TimePattern.step(String(decoding: letters[index..<end], as: UTF8.self)))
                index = end
            default:
                steps.append(.literal(byte))
                index += 1
            }
        }
        guard opening == nil else { throw Mistake(problem: "has an opening bracket without a closing one") }
        self.steps = steps
        // Steps in brackets may be missing, so only the others count here.
        var (certain, place) = ([Step](), 0)
        while place < steps.count {
            if case .optional(let count) = steps[place] { place += count } else { certain.append(steps[place]) }
            place += 1
        }
        hasOffset = certain.contains(.offset)
        isDay = !steps.contains { [.hour, .shortHour, .halfDayHour, .shortHalfDayHour].contains($0) }
        try TimePattern.check(certain, all: steps)
    }

    private static func readQuoted(_ letters: [UInt8], _ start: Int, _ steps: inout [Step]) throws(Mistake) -> Int {
        guard let end = letters[(start + 1)...].firstIndex(of: 0x27) else {
            throw Mistake(problem: "has a single quote that is not closed")
        }
        // Two quotes stand for one.
        if end == start + 1 { steps.append(.literal(0x27)) }
        for byte in letters[start + 1..<end] { steps.append(.literal(byte)) }
        return end + 1
    }

    private static func step(_ letters: String) throws(Mistake) -> Step {
        if let step = stepsByLetters[letters] { return step }
        switch letters.utf8.first {
        case 0x53: return .fraction
        case 0x58, 0x78, 0x5A: return .offset
        default:
            throw Mistake(
                problem:
                    "has no \"\(letters)\". Letters are yyyy, MM, M, MMM, dd, d, HH, H, hh, h, a, mm, m, ss, s, S, X "
                    + "and Z; put others in single quotes")
        }
    }

    private static func check(_ certain: [Step], all steps: [Step]) throws(Mistake) {
        guard certain.contains(.year), certain.contains(where: { [.month, .shortMonth, .monthName].contains($0) }),
            certain.contains(where: { [.day, .shortDay].contains($0) })
        else { throw Mistake(problem: "needs a year (yyyy), a month and a day") }
        let isHalf = steps.contains { [.halfDayHour, .shortHalfDayHour].contains($0) }
        guard isHalf == steps.contains(.halfOfDay) else { throw Mistake(problem: "has hh or h with a, and only then") }
    }

    /// The parts of a date as far as they were read.
    private struct Parts {
        var (year, month, day) = (0, 0, 0)
        var (hour, minute, second, nanoseconds) = (0, 0, 0, 0)
        var halfDayHour: Int?
        var isAfternoon = false
        var offset: Int?
        var hasTime = false
    }

    /// Returns the time of a text; `nil` if the text does not have the pattern.
    func read(_ bytes: [UInt8], _ range: Range<Int>) -> WrittenTime? {
        var reader = TimeReader(bytes, range)
        var parts = Parts()
        guard read(0..<steps.count, &reader, &parts), reader.isAtEnd,
            let date = CivilDate(year: parts.year, month: parts.month, day: parts.day)
        else { return nil }
        if let hour = parts.halfDayHour {
            guard hour >= 1, hour <= 12 else { return nil }
            parts.hour = hour % 12 + (parts.isAfternoon ? 12 : 0)
        }
        guard parts.hour <= 23, parts.minute <= 59, parts.second <= 59 else { return nil }
        let start = date.daysSince1970 * WrittenTime.secondsPerDay
        let seconds = start + parts.hour * 3_600 + parts.minute * 60 + parts.second
        if let offset = parts.offset { return .instant(seconds: seconds - offset, nanoseconds: parts.nanoseconds) }
        if isDay || !parts.hasTime { return .day(date.daysSince1970) }
        return .local(seconds: seconds, nanoseconds: parts.nanoseconds)
    }

    private func read(_ range: Range<Int>, _ reader: inout TimeReader, _ parts: inout Parts) -> Bool {
        var index = range.lowerBound
        while index < range.upperBound {
            if case .optional(let count) = steps[index] {
                var (tried, found) = (reader, parts)
                if read(index + 1..<index + 1 + count, &tried, &found) { (reader, parts) = (tried, found) }
                index += count
            } else if !read(steps[index], &reader, &parts) {
                return false
            }
            index += 1
        }
        return true
    }

    private func read(_ step: Step, _ reader: inout TimeReader, _ parts: inout Parts) -> Bool {
        switch step {
        case .literal(let byte): return reader.skip(byte)
        case .year: return TimePattern.set(&parts.year, reader.number(digits: 4))
        case .month: return TimePattern.set(&parts.month, reader.number(digits: 2))
        case .shortMonth: return TimePattern.set(&parts.month, reader.shortNumber())
        case .monthName: return TimePattern.set(&parts.month, TimePattern.monthName(&reader))
        case .day: return TimePattern.set(&parts.day, reader.number(digits: 2))
        case .shortDay: return TimePattern.set(&parts.day, reader.shortNumber())
        case .hour, .shortHour:
            parts.hasTime = true
            return TimePattern.set(&parts.hour, step == .hour ? reader.number(digits: 2) : reader.shortNumber())
        case .halfDayHour, .shortHalfDayHour:
            parts.hasTime = true
            parts.halfDayHour = step == .halfDayHour ? reader.number(digits: 2) : reader.shortNumber()
            return parts.halfDayHour != nil
        case .minute: return TimePattern.set(&parts.minute, reader.number(digits: 2))
        case .shortMinute: return TimePattern.set(&parts.minute, reader.shortNumber())
        case .second: return TimePattern.set(&parts.second, reader.number(digits: 2))
        case .shortSecond: return TimePattern.set(&parts.second, reader.shortNumber())
        case .fraction: return TimePattern.set(&parts.nanoseconds, reader.fraction())
        case .halfOfDay:
            guard let letter = reader.next.map({ $0 | 0x20 }), letter == 0x61 || letter == 0x70 else { return false }
            parts.isAfternoon = letter == 0x70
            reader.move(to: reader.position + 1)
            return reader.skip(0x6D) || reader.skip(0x4D)
        case .offset:
            parts.offset = reader.offset()
            return parts.offset != nil
        case .optional: return false
        }
    }

    private static func set(_ part: inout Int, _ number: Int?) -> Bool {
        guard let number else { return false }
        part = number
        return true
    }

    private static func monthName(_ reader: inout TimeReader) -> Int? {
        guard reader.position + 3 <= reader.end else { return nil }
        let letters = reader.bytes[reader.position..<reader.position + 3].map { $0 | 0x20 }
        guard let index = months.firstIndex(of: letters) else { return nil }
        reader.move(to: reader.position + 3)
        return index + 1
    }
}
