/// A meal as an app logs it: its nutrients become samples of one group, written and deleted as one.
///
/// ```swift
/// var meal = Meal(id: "log-17", at: now, name: "Porridge", energy: Quantity(310, .kilocalorie), protein: 11, fiber: 8.2)
/// meal[.dietarySodium] = Quantity(180, .milligram)
/// assert(meal.samples().map(\.group) == Array(repeating: "log-17", count: 4))
/// ```
///
/// A writing transaction saves a meal as a whole, and deletes it by its id. Each nutrient has the sync identifier
/// `app.log.<id>.<nutrient>`, so that writing the meal again, after a crash or on another device, finds it instead of doubling
/// it. A meal is of one source: what another app keeps under the same id is another meal.
public struct Meal: Hashable, Sendable, Identifiable {
    /// The app's own identifier of the entry in its log, and the group of the samples.
    public var id: String
    /// When it was eaten.
    public var at: Instant
    /// What was eaten; HealthKit calls it the food type. Samples of a meal without a name have ``usualName`` in its place.
    public var name: String?
    /// The amounts by type; set them by subscript.
    public private(set) var nutrients: [SampleType: Quantity] = [:]
    /// The app's own metadata, the same for all nutrients.
    public var metadata: [String: MetadataValue] = [:]
    /// Where it was eaten, as the name of a time zone.
    public var timeZone: String?

    /// HealthKit's key for the name of a food.
    public static let foodTypeKey = "HKFoodType"

    /// The name of a meal that has none of its own.
    public static let usualName = "Logged meal"

    /// A meal with the usual nutrients, in grams where only a number is asked for.
    public init(
        id: String, at instant: Instant, name: String? = nil, energy: Quantity? = nil, protein: Double? = nil,
        carbohydrates: Double? = nil, fat: Double? = nil, fiber: Double? = nil,
        metadata: [String: MetadataValue] = [:]
    ) {
        self.id = id
        at = instant
        self.name = name
        self.metadata = metadata
        self[.dietaryEnergyConsumed] = energy
        let grams: [(SampleType, Double?)] = [
            (.dietaryProtein, protein), (.dietaryCarbohydrates, carbohydrates), (.dietaryFatTotal, fat),
            (.dietaryFiber, fiber),
        ]
        for (type, value) in grams { self[type] = value.map { Quantity($0, .gram) } }
    }

    /// The amount of a nutrient; setting `nil` takes it out.
    public subscript(type: SampleType) -> Quantity? {
        get { nutrients[type] }
        set { nutrients[type] = newValue }
    }

    /// The sync identifier of a nutrient.
    public func syncIdentifier(of type: SampleType) -> String { "app.log.\(id).\(type.shortName)" }

    /// The samples of the meal, by type.
    public func samples(source: Source = .thisApp) -> [Sample] {
        var all = metadata
        all[Meal.foodTypeKey] = .string(name ?? Meal.usualName)
        return nutrients.sorted { $0.key < $1.key }.map { type, quantity in
            var sample = Sample(
                type, quantity.value, quantity.unit, at: at, source: source, syncIdentifier: syncIdentifier(of: type),
                metadata: all, group: id)
            sample.timeZone = timeZone
            return sample
        }
    }

    /// The meal that samples of one group and source make; `nil` where they are of none or of several. The samples remain the
    /// truth: what a meal has no place for is not in it.
    public init?(_ samples: [Sample]) {
        let nutrients = samples.filter { $0.type.kind == .quantity }
        guard let first = nutrients.first, let group = first.group,
            samples.allSatisfy({ $0.group == group && $0.source.identity == first.source.identity })
        else { return nil }
        self.init(id: group, at: first.start, metadata: first.metadata)
        if case .string(let name) = metadata[Meal.foodTypeKey], name != Meal.usualName { self.name = name }
        metadata[Meal.foodTypeKey] = nil
        timeZone = first.timeZone
        for sample in nutrients { self.nutrients[sample.type] = sample.quantity }
    }
}
