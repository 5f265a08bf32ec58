#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// The nutrients of a day.
public struct NutritionDay: Sendable, Hashable {
    /// `YYYY-MM-DD`
    public let date: String
    /// By nutrient, in its canonical unit, sources merged. A nutrient without samples is left out.
    public let amounts: [SampleType: Double]

    /// The amount of a nutrient; `nil` if there is none.
    public subscript(type: SampleType) -> Quantity? { NutritionDay.quantity(amounts, type) }

    fileprivate static func quantity(_ amounts: [SampleType: Double], _ type: SampleType) -> Quantity? {
        guard let amount = amounts[type], let unit = type.canonicalUnit else { return nil }
        return Quantity(amount, unit)
    }
}

/// The nutrients of one meal, as they were entered.
public struct NutritionMeal: Sendable, Hashable {
    /// The group of its samples; `nil` for a sample without a group, which is a meal of its own.
    public let group: String?
    /// The name of the food; `nil` if the meal has none, or only the usual one.
    public let name: String?
    /// The start of its first sample.
    public let start: Instant
    /// By nutrient, in its canonical unit.
    public let amounts: [SampleType: Double]
    /// The samples of the meal.
    public let samples: [Sample]

    /// The amount of a nutrient; `nil` if there is none.
    public subscript(type: SampleType) -> Quantity? { NutritionDay.quantity(amounts, type) }
}

/// The data that a diet app shows of today.
public struct TodaySummary: Sendable, Hashable {
    /// Kilocalories of samples that start today (SEMANTICS C17 leaves this to the app; both are given).
    public let activeEnergyStrict: Double
    /// Kilocalories by the share of each sample's time that lies in today.
    public let activeEnergy: Double
    /// Kilocalories at rest, by the share of time.
    public let basalEnergy: Double
    /// Kilocalories that were eaten and drunk.
    public let dietaryEnergy: Double
    /// Workouts that overlap today, in the order of their starts.
    public let workouts: [Sample]
}

extension SampleType {
    /// The nutrients of the catalog: all types of food and drink.
    public static let nutrients = catalog.filter {
        $0.identifier.hasPrefix("HKQuantityTypeIdentifierDietary") && $0.aggregation == .cumulative
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns nutrition day by day. Days without any are left out.
    ///
    /// ```swift
    /// let days = try store.read { try $0.nutrition(from: a, to: b, calendar: calendar) }
    /// print(days.first?.amounts[.dietaryProtein] ?? 0)
    /// ```
    public func nutrition(
        of nutrients: [SampleType] = SampleType.nutrients, from: Instant, to: Instant, calendar: Calendar = .current
    ) throws -> [NutritionDay] {
        var amounts: [Int: [SampleType: Double]] = [:]
        let offsets = ZoneOffsets(calendar.timeZone, from: max(from, .earliest).second, to: min(to, .latest).second)
        for type in nutrients {
            for day in try statistics(type, by: .day, from: from, to: to, calendar: calendar) {
                amounts[offsets.day(at: day.start.second), default: [:]][type] = day.sum ?? 0
            }
        }
        return amounts.sorted { $0.key < $1.key }.map { NutritionDay(date: CivilTime.text($0.key), amounts: $0.value) }
    }

    /// Returns the nutrition of the local day that contains an instant, with all nutrients of the catalog.
    ///
    /// ```swift
    /// let today = try store.read { try $0.nutrition(on: now, calendar: calendar) }
    /// print(today[.dietaryProtein]?.value ?? 0)
    /// ```
    public func nutrition(
        on instant: Instant, of nutrients: [SampleType] = SampleType.nutrients, calendar: Calendar = .current
    ) throws -> NutritionDay {
        let day = LocalDay(of: instant, in: calendar.timeZone)
        guard let bounds = day.bounds else { throw ModelError.instantOutOfRange }
        let days = try nutrition(of: nutrients, from: bounds.from, to: bounds.to, calendar: calendar)
        return days.first ?? NutritionDay(date: CivilTime.text(day.number), amounts: [:])
    }

    /// Returns nutrition meal by meal: samples of one group and source together, in the order of their starts.
    ///
    /// Water alone is no meal: a glass of water counts for the day, and within a meal for the meal.
    public func meals(
        of nutrients: [SampleType] = SampleType.nutrients, from: Instant, to: Instant
    ) throws -> [NutritionMeal] {
        var groups: [MealKey: [Sample]] = [:]
        var meals: [NutritionMeal] = []
        for type in nutrients {
            for sample in try samples(SampleQuery(type, from: from, to: to, rule: .strictStart)) {
                if let group = sample.group {
                    groups[MealKey(group: group, source: sample.source.identity), default: []].append(sample)
                } else if type != .dietaryWater {
                    meals.append(try NutritionMeal(group: nil, [sample]))
                }
            }
        }
        for (key, samples) in groups where !samples.allSatisfy({ $0.type == .dietaryWater }) {
            meals.append(try NutritionMeal(group: key.group, samples))
        }
        return meals.sorted {
            ($0.start, $0.group ?? "", $0.samples[0].id) < ($1.start, $1.group ?? "", $1.samples[0].id)
        }
    }

    /// Returns energy and workouts of the local day that contains an instant.
    public func today(at now: Instant, calendar: Calendar = .current) throws -> TodaySummary {
        guard let day = LocalDay(of: now, in: calendar.timeZone).bounds else {
            throw ModelError.instantOutOfRange
        }
        func energy(_ type: SampleType, _ options: CumulativeOptions = CumulativeOptions()) throws -> Double {
            try statistics(of: type, from: day.from, to: day.to, unit: .kilocalorie, options: options).sum ?? 0
        }
        return TodaySummary(
            activeEnergyStrict: try energy(.activeEnergyBurned, CumulativeOptions(borders: .strictStart)),
            activeEnergy: try energy(.activeEnergyBurned), basalEnergy: try energy(.basalEnergyBurned),
            dietaryEnergy: try energy(.dietaryEnergyConsumed),
            workouts: try samples(of: .workout, from: day.from, to: day.to))
    }
}

/// Two apps that use the same text for a group have two meals.
private struct MealKey: Hashable {
    let group: String
    let source: SourceIdentity
}

extension Sample {
    /// The name of the food that the sample belongs to.
    fileprivate var foodName: String? {
        guard case .string(let name) = metadata[Meal.foodTypeKey], name != Meal.usualName else { return nil }
        return name
    }
}

extension NutritionMeal {
    fileprivate init(group: String?, _ samples: [Sample]) throws {
        self.group = group
        self.samples = samples.sorted { ($0.start, $0.type, $0.id) < ($1.start, $1.type, $1.id) }
        start = self.samples[0].start
        // Samples of one group have one name; if not, the first that has one gives it.
        name = self.samples.lazy.compactMap(\.foodName).first
        var amounts: [SampleType: Double] = [:]
        for sample in samples {
            let unit = sample.type.canonicalUnit ?? sample.quantity.unit
            let value = try sample.value(in: unit)
            // An older release stored values that are not finite (SEMANTICS C32).
            if value.isFinite { amounts[sample.type, default: 0] += value }
        }
        self.amounts = amounts
    }
}
