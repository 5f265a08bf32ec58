import Foundation
import HealthKV

/// A meal logger: meals with their nutrients, the day's totals, and what was eaten when.
public struct MealLogger: Sendable {
    public let store: SampleStore

    public init(_ store: SampleStore) { self.store = store }

    public func log(_ meal: Meal) async throws { _ = try await store.write { try $0.save(meal, orThrow: true) } }
    public func remove(_ id: String) async throws { _ = try await store.write { try $0.deleteMeal(id: id) } }

    public func drink(_ milliliters: Double, at date: Date = .now) async throws {
        let glass = try Sample.water(.milliliters(milliliters), at: date, isUserEntered: true)
        _ = try await store.write { try $0.save(glass, orThrow: true) }
    }

    public func day(of date: Date, calendar: Calendar = .current) async throws -> NutritionDay {
        try await store.read { try $0.nutrition(on: date, calendar: calendar) }
    }

    public func meals(on day: DateInterval) async throws -> [(name: String, energy: Double)] {
        try await store.read { txn in
            try txn.meals(in: day).map { meal in
                (meal.name ?? "Meal", try meal[.dietaryEnergyConsumed]?.value(in: .kilocalorie) ?? 0)
            }
        }
    }
}
