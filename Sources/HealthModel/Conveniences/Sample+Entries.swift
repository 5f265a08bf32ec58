/// Samples as the apps write them most often.
extension Sample {
    /// A weight that a person typed in, with what stays on the device beside it.
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

    /// Water that was drunk, in milliliters.
    public static func water(_ milliliters: Double, at instant: Instant, source: Source = .thisApp) -> Sample {
        Sample(.dietaryWater, milliliters, .milliliter, at: instant, source: source)
    }

    /// A day of walking: its steps and, where it is known, its distance in meters.
    public static func walking(
        steps: Double, meters: Double? = nil, from start: Instant, to end: Instant, source: Source = .thisApp
    ) -> [Sample] {
        let count = Sample(.stepCount, steps, .count, from: start, to: end, source: source)
        let distance = meters.map {
            Sample(.distanceWalkingRunning, $0, .meter, from: start, to: end, source: source)
        }
        return [count] + [distance].compactMap(\.self)
    }
}
