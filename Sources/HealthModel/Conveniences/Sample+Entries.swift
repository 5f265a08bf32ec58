/// The samples that apps write most often.
extension Sample {
    /// Returns a weight that a person typed in, with local data that never goes to HealthKit: a note and body fat.
    ///
    /// ```swift
    /// let entry = Sample.weight(Quantity(160.4, .pound), at: now, note: "before breakfast", bodyFat: 0.184)
    /// let kilograms = try entry.value(in: .kilogram)
    /// ```
    public static func weight(
        _ weight: Quantity, at instant: Instant, note: String? = nil, bodyFat: Double? = nil,
        source: Source = .thisApp, syncIdentifier: String? = nil
    ) -> Sample {
        var sample = Sample(
            .bodyMass, weight.value, weight.unit, at: instant, source: source, syncIdentifier: syncIdentifier,
            isUserEntered: true)
        sample.note = note
        sample.bodyFat = bodyFat
        return sample
    }

    /// Returns a sample of drunk water, in milliliters.
    public static func water(
        _ milliliters: Double, at instant: Instant, source: Source = .thisApp, isUserEntered: Bool = false
    ) -> Sample {
        Sample(.dietaryWater, milliliters, .milliliter, at: instant, source: source, isUserEntered: isUserEntered)
    }

    /// Returns the samples of a walk: its steps and, if known, its distance in meters.
    public static func walking(
        steps: Double, meters: Double? = nil, from start: Instant, to end: Instant, source: Source = .thisApp,
        isUserEntered: Bool = false
    ) -> [Sample] {
        let count = Sample(
            .stepCount, steps, .count, from: start, to: end, source: source, isUserEntered: isUserEntered)
        let distance = meters.map {
            Sample(
                .distanceWalkingRunning, $0, .meter, from: start, to: end, source: source,
                isUserEntered: isUserEntered)
        }
        return [count] + [distance].compactMap(\.self)
    }
}
