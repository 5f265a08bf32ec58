extension SampleType {
    /// The unit in which people read values of the type. It differs from ``canonicalUnit`` where a smaller unit is
    /// usual: sodium in mg, vitamin D in mcg.
    ///
    /// ```swift
    /// assert(SampleType.dietarySodium.displayUnit == .milligram)
    /// assert(SampleType.bodyMass.displayUnit == .kilogram)
    /// ```
    public var displayUnit: HealthUnit? {
        if SampleType.shownInMilligrams.contains(self) { return .milligram }
        if self == .electrodermalActivity { return .microsiemens }
        return SampleType.shownInMicrograms.contains(self) ? .microgram : canonicalUnit
    }

    /// The number of decimals for values of the type, where the usual number for their unit is too small.
    var displayDigits: Int? {
        switch self {
        case .bodyMassIndex: 1
        case .bloodAlcoholContent: 2
        default: nil
        }
    }

    private static let shownInMilligrams: Set<SampleType> = [
        .dietarySodium, .dietaryCholesterol, .dietaryCaffeine, .dietaryCalcium, .dietaryChloride, .dietaryCopper,
        .dietaryIron, .dietaryMagnesium, .dietaryManganese, .dietaryNiacin, .dietaryPantothenicAcid,
        .dietaryPhosphorus, .dietaryPotassium, .dietaryRiboflavin, .dietaryThiamin, .dietaryVitaminB6,
        .dietaryVitaminC, .dietaryVitaminE, .dietaryZinc,
    ]

    private static let shownInMicrograms: Set<SampleType> = [
        .dietaryBiotin, .dietaryChromium, .dietaryFolate, .dietaryIodine, .dietaryMolybdenum, .dietarySelenium,
        .dietaryVitaminA, .dietaryVitaminB12, .dietaryVitaminD, .dietaryVitaminK,
    ]
}
