import HealthModel

/// Dates of the proleptic Gregorian calendar as day numbers since 2001-01-01, a Monday.
enum CivilTime {
    static let secondsPerDay: Int64 = 86_400

    /// Returns the day of a date; months below 1 and above 12 carry over into other years.
    static func day(year: Int, month: Int, day: Int) -> Int {
        let months = year * 12 + month - 1
        let (year, month) = (months.dividedDown(by: 12), months - months.dividedDown(by: 12) * 12 + 1)
        // Years begin in March here, so that the leap day is the last day of the year.
        let shifted = month > 2 ? year : year - 1
        let era = shifted.dividedDown(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468 - 11_323
    }

    /// Returns the date of a day.
    static func date(_ day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468 + 11_323
        let era = shifted.dividedDown(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    /// Returns the day a number of months later. The day of the month is limited to the length of that month.
    static func day(_ day: Int, addingMonths months: Int) -> Int {
        let date = date(day)
        let first = self.day(year: date.year, month: date.month + months, day: 1)
        let length = self.day(year: date.year, month: date.month + months + 1, day: 1) - first
        return first + min(date.day, length) - 1
    }

    /// Returns a day as `YYYY-MM-DD`.
    static func text(_ day: Int) -> String {
        let date = date(day)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(abs(number))
            return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
    }

    /// Returns the day of a text `YYYY-MM-DD`; `nil` for any other text, including dates that do not exist.
    static func day(_ text: String) -> Int? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
            let year = Int(parts[0]), let month = Int(parts[1]), let number = Int(parts[2]), (1...12).contains(month)
        else { return nil }
        let day = day(year: year, month: month, day: number)
        return CivilTime.text(day) == text ? day : nil
    }
}

extension FixedWidthInteger where Self: SignedInteger {
    /// Returns the quotient rounded towards negative infinity.
    @inline(__always)
    func dividedDown(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Instant {
    /// The second that contains an instant, since 2001.
    var second: Int64 { nanoseconds.dividedDown(by: Instant.nanosecondsPerSecond) }
}
