import Foundation

/// Buckets that tile time in both directions from an anchor date, by a calendar: days have 23 or 25 hours at clock
/// changes (A21).
struct CalendarTiles {
    let anchor: Date
    let step: DateComponents
    let calendar: Calendar

    init(anchor: Date, step: DateComponents) {
        self.anchor = anchor
        self.step = step
        var calendar = step.calendar ?? Calendar(identifier: .gregorian)
        if let zone = step.timeZone { calendar.timeZone = zone }
        self.calendar = calendar
    }

    private func border(_ number: Int) -> Date {
        var components = DateComponents()
        components.year = step.year.map { $0 * number }
        components.month = step.month.map { $0 * number }
        components.day = step.day.map { $0 * number }
        components.hour = step.hour.map { $0 * number }
        components.minute = step.minute.map { $0 * number }
        components.second = step.second.map { $0 * number }
        return calendar.date(byAdding: components, to: anchor) ?? anchor
    }

    private func number(of date: Date) -> Int {
        let length = border(1).timeIntervalSince(border(0))
        guard length > 0 else { return 0 }
        var number = Int((date.timeIntervalSince(anchor) / length).rounded(.down))
        while border(number) > date { number -= 1 }
        while border(number + 1) <= date { number += 1 }
        return number
    }

    func tile(around date: Date) -> (start: Date, end: Date) {
        let number = number(of: date)
        return (border(number), border(number + 1))
    }

    /// Returns the tiles that samples touch, in order.
    func covering(_ records: [HealthRecord]) -> [(start: Date, end: Date)] {
        var numbers = Set<Int>()
        for record in records {
            let last = record.end == .distantFuture ? record.start : record.end
            for number in number(of: record.start)...number(of: last) { numbers.insert(number) }
        }
        return numbers.sorted().map { (border($0), border($0 + 1)) }
    }
}
