import Foundation
import SwiftData

/// The weight journal of `SmallApps` on SwiftData: entries, undo, a list that loads as it is scrolled, and the trend.
@Model public final class WeightEntry {
    @Attribute(.unique) public var id: UUID
    public var time: Date
    public var kilograms: Double
    public var isUserEntered: Bool
    public var deleted: Date?

    public init(time: Date, kilograms: Double) {
        (id, self.time, self.kilograms, isUserEntered) = (UUID(), time, kilograms, true)
    }
}

@ModelActor public actor WeightJournal {
    public enum Problem: Error { case notPositive }

    public struct Row: Sendable {
        public var id: UUID
        public var time: Date
        public var kilograms: Double
    }

    public init(folder: URL) throws {
        let configuration = ModelConfiguration(url: folder.appendingPathComponent("weights.store"))
        self.init(modelContainer: try ModelContainer(for: WeightEntry.self, configurations: configuration))
    }

    public func log(_ kilograms: Double, at date: Date = .now) throws -> UUID {
        guard kilograms > 0 else { throw Problem.notPositive }
        let entry = WeightEntry(time: date, kilograms: kilograms)
        modelContext.insert(entry)
        try modelContext.save()
        return entry.id
    }

    public func correct(_ id: UUID, to kilograms: Double) throws {
        guard kilograms > 0 else { throw Problem.notPositive }
        try entry(id)?.kilograms = kilograms
        try modelContext.save()
    }

    public func remove(_ id: UUID) throws {
        try entry(id)?.deleted = .now
        try modelContext.save()
    }

    public func restore(_ id: UUID) throws {
        try entry(id)?.deleted = nil
        try modelContext.save()
    }

    private func entry(_ id: UUID) throws -> WeightEntry? {
        try modelContext.fetch(FetchDescriptor<WeightEntry>(predicate: #Predicate { $0.id == id })).first
    }

    public func page(before time: Date = .distantFuture) throws -> [Row] {
        var descriptor = FetchDescriptor<WeightEntry>(
            predicate: #Predicate { $0.deleted == nil && $0.time < time },
            sortBy: [SortDescriptor(\.time, order: .reverse)])
        descriptor.fetchLimit = 50
        return try modelContext.fetch(descriptor).map { Row(id: $0.id, time: $0.time, kilograms: $0.kilograms) }
    }

    /// The change in a week, by the line that fits the last four weeks best.
    public func weeklyTrend(until now: Date = .now) throws -> Double? {
        let from = now - 28 * 86_400
        let entries = try modelContext.fetch(
            FetchDescriptor<WeightEntry>(
                predicate: #Predicate { $0.deleted == nil && $0.time >= from && $0.time < now }))
        let days = entries.map { $0.time.timeIntervalSince(now) / 86_400 }
        let values = entries.map(\.kilograms)
        let count = Double(entries.count)
        let (meanDay, meanValue) = (days.reduce(0, +) / count, values.reduce(0, +) / count)
        let spread = days.reduce(0) { $0 + ($1 - meanDay) * ($1 - meanDay) }
        guard spread > 0 else { return nil }
        return zip(days, values).reduce(0) { $0 + ($1.0 - meanDay) * ($1.1 - meanValue) } / spread * 7
    }
}
