import HealthModel

/// The numbers of category values, which exports write as names.
struct CategoryNames {
    private var known: [SampleType: [String: Double]] = [:]

    private static let family = "HKCategoryValue"

    /// Returns the number of a value, or `nil` for a name that the catalog does not know.
    mutating func number(_ text: String, of type: SampleType) -> Double? {
        if let number = known[type]?[text] { return number }
        guard let number = CategoryNames.find(text, of: type) else { return nil }
        known[type, default: [:]][text] = number
        return number
    }

    /// Returns the number that stands for the name of an unknown case. It is negative, as no case of HealthKit's is,
    /// and follows from the name, so that two cases are two values.
    static func unknownNumber(of name: String) -> Double {
        var hash: UInt32 = 0x811C_9DC5
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return -1 - Double(hash >> 2)
    }

    private static func find(_ text: String, of type: SampleType) -> Double? {
        if let number = Int32(text) { return Double(number) }
        let cases = type.categoryCases
        if let found = cases.first(where: { $0.identifier == text }) { return Double(found.number) }
        guard text.hasPrefix(family) else { return nil }
        // Earlier exports name other families for some types: what counts is the name of the case.
        if text == "HKCategoryValueSleepAnalysisAsleep" { return 1 }
        if text == "HKCategoryValueNotApplicable" { return 0 }
        if text == "HKCategoryValueOvulationTestResultPositive" { return 2 }
        if text == "HKCategoryValueAudioExposureEventLoudEnvironment" { return 1 }
        // A name of the family of today is exact: `NotInBed` is no `InBed`.
        if let today = cases.first?.family, today != family, text.hasPrefix(today) { return nil }
        let fitting = cases.filter { text.hasSuffix($0.name.prefix(1).uppercased() + $0.name.dropFirst()) }
        return fitting.max { $0.name.utf8.count < $1.name.utf8.count }.map { Double($0.number) }
    }
}
