import Foundation
import HealthKV

/// A weight journal: entries, undo, a list that loads while it is scrolled, and the trend.
public struct WeightJournal: Sendable {
    public let store: SampleStore

    public init(folder: URL) throws { store = try SampleStore.open(at: folder) }

    public func log(_ kilograms: Double, at date: Date = .now) async throws -> SampleID {
        let entry = try Sample(.bodyMass, .kilograms(kilograms), at: date, isUserEntered: true)
        _ = try await store.write { try $0.save(entry, orThrow: true) }
        return entry.id
    }

    public func correct(_ id: SampleID, to kilograms: Double) async throws {
        try await store.write { txn in
            guard var entry = try txn.sample(id: id) else { return }
            entry.quantity = .kilograms(kilograms)
            _ = try txn.save(entry, orThrow: true)
        }
    }

    public func remove(_ id: SampleID) async throws { _ = try await store.write { try $0.delete(id: id) } }
    public func restore(_ id: SampleID) async throws { _ = try await store.write { try $0.undelete(id: id) } }

    public func page(after place: SamplePlace? = nil) async throws -> SamplePage {
        try await store.read { try $0.page(SampleQuery(.bodyMass, order: .descending), size: 50, after: place) }
    }

    /// The change in a week, by the line that fits the last four weeks best.
    public func weeklyTrend(until now: Date = .now) async throws -> Double? {
        try await store.read { txn in
            try txn.trend(SampleQuery(.bodyMass, in: now - 28 * 86_400..<now)).map { $0.perDay * 7 }
        }
    }
}
