import Foundation
import GRDB

/// The meal logger of `SmallApps` on GRDB: meals with their nutrients, the day's totals, and what was eaten when.
public struct MealLogger: Sendable {
    public struct Meal: Codable, FetchableRecord, PersistableRecord, Sendable {
        public static let databaseTableName = "meal"
        public static let nutrients = hasMany(Nutrient.self, using: ForeignKey(["meal"]))
        public var id: String
        public var name: String?
        public var time: Date
    }

    public struct Nutrient: Codable, FetchableRecord, PersistableRecord, Sendable {
        public static let databaseTableName = "nutrient"
        public var meal: String
        public var name: String
        public var amount: Double
    }

    public struct Glass: Codable, FetchableRecord, PersistableRecord, Sendable {
        public static let databaseTableName = "glass"
        public var id: UUID
        public var time: Date
        public var milliliters: Double
    }

    public struct Day: Sendable {
        public var totals: [String: Double] = [:]
        public var milliliters = 0.0
        public var meals = 0
    }

    public let database: DatabasePool

    public init(folder: URL) throws {
        database = try DatabasePool(path: folder.appendingPathComponent("meals.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("meals") { db in
            try db.create(table: "meal") { table in
                table.primaryKey("id", .text)
                table.column("name", .text)
                table.column("time", .datetime).notNull().indexed()
            }
            try db.create(table: "nutrient") { table in
                table.column("meal", .text).notNull().references("meal", onDelete: .cascade)
                table.column("name", .text).notNull()
                table.column("amount", .double).notNull()
                table.primaryKey(["meal", "name"])
            }
            try db.create(table: "glass") { table in
                table.primaryKey("id", .blob)
                table.column("time", .datetime).notNull().indexed()
                table.column("milliliters", .double).notNull()
            }
        }
        try migrator.migrate(database)
    }

    public func log(_ meal: Meal, _ nutrients: [Nutrient]) async throws {
        try await database.write { db in
            try meal.save(db)
            try Nutrient.filter(Column("meal") == meal.id).deleteAll(db)
            for nutrient in nutrients { try nutrient.insert(db) }
        }
    }

    public func remove(_ id: String) async throws {
        _ = try await database.write { try Meal.deleteOne($0, key: id) }
    }

    public func drink(_ milliliters: Double, at date: Date = .now) async throws {
        let glass = Glass(id: UUID(), time: date, milliliters: milliliters)
        try await database.write { try glass.insert($0) }
    }

    public func day(of date: Date, calendar: Calendar = .current) async throws -> Day {
        let start = calendar.startOfDay(for: date)
        let end = calendar.date(byAdding: .day, value: 1, to: start)!
        return try await database.read { db in
            var day = Day()
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT nutrient.name AS name, SUM(amount) AS amount FROM nutrient JOIN meal ON meal.id = nutrient.meal
                    WHERE time >= ? AND time < ? GROUP BY nutrient.name
                    """, arguments: [start, end])
            for row in rows { day.totals[row["name"]] = row["amount"] }
            day.milliliters =
                try Glass.filter(Column("time") >= start && Column("time") < end)
                .select(sum(Column("milliliters")), as: Double.self).fetchOne(db) ?? 0
            day.meals = try Meal.filter(Column("time") >= start && Column("time") < end).fetchCount(db)
            return day
        }
    }

    public func meals(on day: DateInterval) async throws -> [(name: String, energy: Double)] {
        try await database.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT meal.name AS name, amount FROM meal
                    LEFT JOIN nutrient ON nutrient.meal = meal.id AND nutrient.name = 'energy'
                    WHERE time >= ? AND time < ? ORDER BY time
                    """, arguments: [day.start, day.end])
            return rows.map { (($0["name"] as String?) ?? "Meal", $0["amount"] ?? 0) }
        }
    }
}
