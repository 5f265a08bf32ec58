import Foundation
import HealthKVSync

/// Days of a time zone with their borders, which are 23 or 25 hours apart at clock changes.
struct LocalDays: Sendable {
    struct Day: Sendable {
        let name: String
        let start: Date
        let end: Date
    }

    let calendar: Calendar
    let days: [Day]

    /// Returns `nil` if the zone or a day is unknown.
    init?(_ names: [String], zone: String) {
        guard let timeZone = TimeZone(identifier: zone) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        var days: [Day] = []
        for name in names {
            let parts = name.split(separator: "-").compactMap { Int($0) }
            guard parts.count == 3,
                let noon = calendar.date(
                    from: DateComponents(year: parts[0], month: parts[1], day: parts[2], hour: 12)),
                let interval = calendar.dateInterval(of: .day, for: noon)
            else { return nil }
            days.append(Day(name: name, start: interval.start, end: interval.end))
        }
        self.calendar = calendar
        self.days = days.sorted { $0.start < $1.start }
    }
}
