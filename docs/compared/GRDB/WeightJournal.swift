import Foundation
import GRDB

/// The weight journal of `SmallApps` on GRDB: entries, undo, a list that loads while it is scrolled, and the trend.
public struct WeightJournal: Sendable {
    public struct Entry: Codable, FetchableRecord, PersistableRecord, Sendable {
        public static let databaseTableName = "weight"
        public var id: UUID
        public var time: Date
        public var kilograms: Double
        public var isUserEntered: Bool
        public var deleted: Date?
    }

    public struct Place: Sendable {
        public var time: Date
        public var id: UUID
    }

    public let database: DatabasePool

    public init(folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = try DatabasePool(path: folder.appendingPathComponent("weights.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("weights") { db in
            try db.create(table: "weight") { table in
                table.primaryKey("id", .blob)
                table.column("time", .datetime).notNull()
                table.column("kilograms", .double).notNull().check { $0 > 0 }
                table.column("isUserEntered", .boolean).notNull()
                table.column("deleted", .datetime)
            }
            try db.create(index: "weightByTime", on: "weight", columns: ["time", "id"])
        }
        try migrator.migrate(database)
    }

    public func log(_ kilograms: Double, at date: Date = .now) async throws -> UUID {
        let entry = Entry(id: UUID(), time: date, kilograms: kilograms, isUserEntered: true)
        try await database.write { try entry.insert($0) }
        return entry.id
    }

    public func correct(_ id: UUID, to kilograms: Double) async throws {
        try await database.write { db in
            guard var entry = try Entry.fetchOne(db, key: id) else { return }
            entry.kilograms = kilograms
            try entry.update(db)
        }
    }

    public func remove(_ id: UUID) async throws { try await setDeleted(.now, of: id) }
    public func restore(_ id: UUID) async throws { try await setDeleted(nil, of: id) }

    private func setDeleted(_ time: Date?, of id: UUID) async throws {
        _ = try await database.write { db in
            try Entry.filter(key: id).updateAll(db, Column("deleted").set(to: time))
        }
    }

    public func page(after place: Place? = nil) async throws -> [Entry] {
        try await database.read { db in
            var entries = Entry.filter(Column("deleted") == nil).order(Column("time").desc, Column("id").desc)
            if let place {
                entries = entries.filter(
                    Column("time") < place.time || Column("time") == place.time && Column("id") < place.id)
            }
            return try entries.limit(50).fetchAll(db)
        }
    }

    /// The change in a week, by the line that fits the last four weeks best.
    public func weeklyTrend(until now: Date = .now) async throws -> Double? {
        let entries = try await database.read { db in
            try Entry.filter(Column("deleted") == nil)
                .filter(Column("time") >= now - 28 * 86_400 && Column("time") < now).fetchAll(db)
        }
        let days = entries.map { $0.time.timeIntervalSince(now) / 86_400 }
        let values = entries.map(\.kilograms)
        let count = Double(entries.count)
        let (meanDay, meanValue) = (days.reduce(0, +) / count, values.reduce(0, +) / count)
        let spread = days.reduce(0) { $0 + ($1 - meanDay) * ($1 - meanDay) }
        guard spread > 0 else { return nil }
        return zip(days, values).reduce(0) { $0 + ($1.0 - meanDay) * ($1.1 - meanValue) } / spread * 7
    }
}
