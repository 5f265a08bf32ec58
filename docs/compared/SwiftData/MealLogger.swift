import Foundation
import SwiftData

/// The meal logger of `SmallApps` on SwiftData: meals with their nutrients, the day's totals, and what was eaten when.
@Model public final class LoggedMeal {
    @Attribute(.unique) public var id: String
    public var name: String?
    public var time: Date
    @Relationship(deleteRule: .cascade) public var nutrients: [LoggedNutrient]

    public init(id: String, name: String?, time: Date, nutrients: [LoggedNutrient]) {
        (self.id, self.name, self.time, self.nutrients) = (id, name, time, nutrients)
    }
}

@Model public final class LoggedNutrient {
    public var name: String
    public var amount: Double

    public init(name: String, amount: Double) { (self.name, self.amount) = (name, amount) }
}

@Model public final class LoggedGlass {
    @Attribute(.unique) public var id: UUID
    public var time: Date
    public var milliliters: Double

    public init(time: Date, milliliters: Double) { (id, self.time, self.milliliters) = (UUID(), time, milliliters) }
}

@ModelActor public actor MealLogger {
    public struct Day: Sendable {
        public var totals: [String: Double] = [:]
        public var milliliters = 0.0
        public var meals = 0
    }

    public func log(_ id: String, _ name: String?, at time: Date, _ nutrients: [String: Double]) throws {
        try remove(id)
        let parts = nutrients.map { LoggedNutrient(name: $0.key, amount: $0.value) }
        modelContext.insert(LoggedMeal(id: id, name: name, time: time, nutrients: parts))
        try modelContext.save()
    }

    public func remove(_ id: String) throws {
        for meal in try modelContext.fetch(FetchDescriptor<LoggedMeal>(predicate: #Predicate { $0.id == id })) {
            modelContext.delete(meal)
        }
        try modelContext.save()
    }

    public func drink(_ milliliters: Double, at date: Date = .now) throws {
        modelContext.insert(LoggedGlass(time: date, milliliters: milliliters))
        try modelContext.save()
    }

    public func day(of date: Date, calendar: Calendar = .current) throws -> Day {
        let start = calendar.startOfDay(for: date)
        let end = calendar.date(byAdding: .day, value: 1, to: start)!
        var day = Day()
        for meal in try meals(from: start, to: end) {
            day.meals += 1
            for nutrient in meal.nutrients { day.totals[nutrient.name, default: 0] += nutrient.amount }
        }
        let glasses = FetchDescriptor<LoggedGlass>(predicate: #Predicate { $0.time >= start && $0.time < end })
        day.milliliters = try modelContext.fetch(glasses).reduce(0) { $0 + $1.milliliters }
        return day
    }

    public func meals(on day: DateInterval) throws -> [(name: String, energy: Double)] {
        try meals(from: day.start, to: day.end).map { meal in
            (meal.name ?? "Meal", meal.nutrients.first { $0.name == "energy" }?.amount ?? 0)
        }
    }

    private func meals(from: Date, to: Date) throws -> [LoggedMeal] {
        try modelContext.fetch(
            FetchDescriptor<LoggedMeal>(
                predicate: #Predicate { $0.time >= from && $0.time < to }, sortBy: [SortDescriptor(\.time)]))
    }
}
