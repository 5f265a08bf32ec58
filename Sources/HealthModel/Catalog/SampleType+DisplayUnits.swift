extension SampleType {
    /// The unit in which people read values of the type, where that is a smaller one than ``canonicalUnit``: sodium in mg, vitamin D in mcg.
    ///
    /// ```swift
    /// assert(SampleType.dietarySodium.displayUnit == .milligram)
    /// assert(SampleType.bodyMass.displayUnit == .kilogram)
    /// ```
    public var displayUnit: HealthUnit? {
        if SampleType.shownInMilligrams.contains(self) { return .milligram }
        return SampleType.shownInMicrograms.contains(self) ? .microgram : canonicalUnit
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
