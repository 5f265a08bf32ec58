import Foundation
import GRDB

/// The dashboard of steps of `SmallApps` on GRDB: the last days with their mean of seven, streaks, the usual day and
/// the week so far. It adds up what phone and watch counted at one time, and gives a sample over midnight to one day.
public struct StepsDashboard: Sendable {
    public struct Steps: Codable, FetchableRecord, PersistableRecord, Sendable {
        public static let databaseTableName = "steps"
        public var id: UUID
        public var start: Date
        public var end: Date
        public var count: Double
        public var source: String
    }

    public struct Content: Sendable {
        public var days: [(start: Date, steps: Double, average: Double?)] = []
        public var streak = 0
        public var byHour: [Double] = []
        public var againstLastWeek: Double?
        public var sources: [String: Double] = [:]
    }

    private let database: DatabasePool
    private let calendar: Calendar
    private let goal: Double

    public init(_ database: DatabasePool, calendar: Calendar = .current, goal: Double = 10_000) throws {
        (self.database, self.calendar, self.goal) = (database, calendar, goal)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("steps") { db in
            try db.create(table: "steps") { table in
                table.primaryKey("id", .blob)
                table.column("start", .datetime).notNull().indexed()
                table.column("end", .datetime).notNull()
                table.column("count", .double).notNull()
                table.column("source", .text).notNull()
            }
        }
        try migrator.migrate(database)
    }

    /// The content now, and again whenever steps are written by this process.
    public func contents(until now: Date = .now) -> AsyncValueObservation<Content> {
        let observation = ValueObservation.tracking { [calendar, goal] db in
            let from = calendar.startOfDay(for: now - 30 * 86_400)
            let steps = try Steps.filter(Column("start") >= from && Column("start") < now).fetchAll(db)
            var (sums, hours, content) = ([Date: Double](), [Double](repeating: 0, count: 24), Content())
            for item in steps {
                sums[calendar.startOfDay(for: item.start), default: 0] += item.count
                hours[calendar.component(.hour, from: item.start)] += item.count
                content.sources[item.source, default: 0] += item.count
            }
            var (day, last) = (from, [Double]())
            while day < now {
                let sum = sums[day] ?? 0
                last = last.suffix(6) + [sum]
                content.days.append((day, sum, last.reduce(0, +) / Double(last.count)))
                let isToday = calendar.isDate(day, inSameDayAs: now)
                content.streak = sum >= goal ? content.streak + 1 : isToday ? content.streak : 0
                day = calendar.date(byAdding: .day, value: 1, to: day)!
            }
            content.byHour = hours.map { $0 / Double(max(1, content.days.count)) }
            let week = calendar.dateInterval(of: .weekOfYear, for: now)!.start
            let (before, lastWeek) = (now - 7 * 86_400, week - 7 * 86_400)
            let this = steps.filter { $0.start >= week }.reduce(0) { $0 + $1.count }
            let other = steps.filter { $0.start >= lastWeek && $0.start < before }.reduce(0) { $0 + $1.count }
            content.againstLastWeek = other > 0 ? this / other - 1 : nil
            return content
        }
        return observation.values(in: database)
    }
}
