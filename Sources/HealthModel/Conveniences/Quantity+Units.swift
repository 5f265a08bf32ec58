/// Quantities in the units that apps use most, for code that reads like a label.
extension Quantity {
    /// A quantity in kilograms.
    public static func kilograms(_ value: Double) -> Quantity { Quantity(value, .kilogram) }
    /// A quantity in grams.
    public static func grams(_ value: Double) -> Quantity { Quantity(value, .gram) }
    /// A quantity in milligrams.
    public static func milligrams(_ value: Double) -> Quantity { Quantity(value, .milligram) }
    /// A quantity in micrograms.
    public static func micrograms(_ value: Double) -> Quantity { Quantity(value, .microgram) }
    /// A quantity in pounds.
    public static func pounds(_ value: Double) -> Quantity { Quantity(value, .pound) }
    /// A quantity in kilocalories, which food labels call calories.
    public static func kilocalories(_ value: Double) -> Quantity { Quantity(value, .kilocalorie) }
    /// A quantity in kilojoules.
    public static func kilojoules(_ value: Double) -> Quantity { Quantity(value, .kilojoule) }
    /// A quantity in millilitres.
    public static func milliliters(_ value: Double) -> Quantity { Quantity(value, .milliliter) }
    /// A quantity in litres.
    public static func liters(_ value: Double) -> Quantity { Quantity(value, .liter) }
    /// A quantity in metres.
    public static func meters(_ value: Double) -> Quantity { Quantity(value, .meter) }
    /// A quantity in kilometres.
    public static func kilometers(_ value: Double) -> Quantity { Quantity(value, .kilometer) }
    /// A quantity in miles.
    public static func miles(_ value: Double) -> Quantity { Quantity(value, .mile) }
    /// A number of things, such as steps.
    public static func count(_ value: Double) -> Quantity { Quantity(value, .count) }
}

extension Sample {
    /// Creates a sample of one instant with a quantity.
    ///
    /// ```swift
    /// let weight = Sample(.bodyMass, .kilograms(72.4), at: now)
    /// assert(weight.quantity.unit == .kilogram)
    /// ```
    public init(
        _ type: SampleType, _ quantity: Quantity, at instant: Instant, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) {
        self.init(
            type, quantity.value, quantity.unit, at: instant, source: source, id: id, syncIdentifier: syncIdentifier,
            isUserEntered: isUserEntered, metadata: metadata, group: group)
    }
}
