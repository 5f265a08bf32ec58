/// A meal as an app logs it. Its nutrients become samples of one group, which are written and deleted together.
///
/// ```swift
/// var meal = Meal(
///     id: "log-17", at: now, name: "Porridge", energy: .kilocalories(310), protein: .grams(11), fiber: .grams(8.2))
/// meal[.dietarySodium] = .milligrams(180)
/// assert(meal.samples().map(\.group) == Array(repeating: "log-17", count: 4))
/// ```
///
/// A write transaction saves a meal as a whole and deletes it by its id. Each nutrient has the sync identifier
/// `app.log.<id>.<nutrient>`, so saving the same meal again, after a crash or on another device, updates the stored
/// samples and creates no duplicates. A meal belongs to one source: a meal with the same id from another app is another
/// meal.
public struct Meal: Hashable, Sendable, Identifiable {
    /// The app's own identifier of the log entry, and the group of the samples.
    public var id: String
    /// The time of the meal.
    public var at: Instant
    /// The name of the food, HealthKit's food type. The samples of a meal without a name carry ``usualName``.
    public var name: String?
    /// The amounts by type; set them by subscript.
    public private(set) var nutrients: [SampleType: Quantity] = [:]
    /// The app's own metadata, the same for all nutrients.
    public var metadata: [String: MetadataValue] = [:]
    /// The place of the meal, as the name of a time zone.
    public var timeZone: String?
    /// Whether a person typed the amounts in.
    public var isUserEntered = false

    /// HealthKit's key for the name of a food.
    public static let foodTypeKey = "HKFoodType"

    /// The name for the samples of a meal without a name.
    public static let usualName = "Logged meal"

    /// Creates a meal. The usual nutrients have parameters of their own; `more` takes any of the catalog, such as
    /// `[.dietaryVitaminC: .milligrams(60)]`.
    public init(
        id: String, at instant: Instant, name: String? = nil, energy: Quantity? = nil, protein: Quantity? = nil,
        carbohydrates: Quantity? = nil, fat: Quantity? = nil, fiber: Quantity? = nil,
        more: [SampleType: Quantity] = [:], metadata: [String: MetadataValue] = [:]
    ) {
        self.id = id
        at = instant
        self.name = name
        self.metadata = metadata
        nutrients = more
        let usual: [(SampleType, Quantity?)] = [
            (.dietaryEnergyConsumed, energy), (.dietaryProtein, protein), (.dietaryCarbohydrates, carbohydrates),
            (.dietaryFatTotal, fat), (.dietaryFiber, fiber),
        ]
        for (type, quantity) in usual { if let quantity { self[type] = quantity } }
    }

    /// The amount of a nutrient; set `nil` to remove it.
    public subscript(type: SampleType) -> Quantity? {
        get { nutrients[type] }
        set { nutrients[type] = newValue }
    }

    /// Returns the sync identifier of a nutrient.
    public func syncIdentifier(of type: SampleType) -> String { "app.log.\(id).\(type.shortName)" }

    /// Returns the samples of the meal, sorted by type.
    public func samples(source: Source = .thisApp) -> [Sample] {
        var all = metadata
        all[Meal.foodTypeKey] = .string(name ?? Meal.usualName)
        return nutrients.sorted { $0.key < $1.key }.map { type, quantity in
            var sample = Sample(
                type, quantity.value, quantity.unit, at: at, source: source, syncIdentifier: syncIdentifier(of: type),
                isUserEntered: isUserEntered, metadata: all, group: id)
            sample.timeZone = timeZone
            return sample
        }
    }

    /// Creates the meal that samples of one group and source describe; `nil` if there is no quantity sample with a
    /// group, or if groups or sources differ. The samples remain the source of truth: the meal drops the fields that it
    /// has no property for.
    public init?(_ samples: [Sample]) {
        let nutrients = samples.filter { $0.type.kind == .quantity }
        guard let first = nutrients.first, let group = first.group,
            samples.allSatisfy({ $0.group == group && $0.source.identity == first.source.identity })
        else { return nil }
        self.init(id: group, at: first.start, metadata: first.metadata)
        if case .string(let name) = metadata[Meal.foodTypeKey], name != Meal.usualName { self.name = name }
        metadata[Meal.foodTypeKey] = nil
        timeZone = first.timeZone
        isUserEntered = first.isUserEntered
        for sample in nutrients { self.nutrients[sample.type] = sample.quantity }
    }
}
