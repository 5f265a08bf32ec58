import HealthKVSync

/// Metadata keys that this adapter writes, so that it recognizes samples that belong together.
enum OwnKey {
    /// The group of a sample, and of the correlation that represents the group.
    static let group = "HealthKVGroup"
    /// The sync identifier of the workout that a sample is a total of.
    static let workout = "HealthKVWorkout"
    /// The duration of a workout in seconds, as the app states it. HealthKit derives a duration of its own from the
    /// span and the recorded pauses.
    static let duration = "HealthKVDuration"
    /// Marks a workout that the app gave no activities. HealthKit may add one that lasts as long as the workout.
    static let plain = "HealthKVNoActivities"

    static let all: Set<String> = [group, workout, duration, plain]
}

/// The units in which quantities in metadata are stored, because HealthKit does not report their original units.
enum MetadataUnits {
    /// HealthKit accepts a count as a percentage and the reverse, and nothing else distinguishes them. The percentage
    /// comes first, because the dimensionless values that HealthKit itself records, such as humidity and slope, are
    /// percentages.
    static let all: [HealthUnit] = [
        .meter, .kilogram, .second, .kilocalorie, .liter, .percent, .count, .countPerMinute, .meterPerSecond,
        .degreeCelsius, .millimeterOfMercury, .watt, .kilocaloriePerHourKilogram, .soundPressureLevel,
        .milligramPerDeciliter, .milliliterPerMinuteKilogram, .internationalUnit, .siemens, .effortScore,
    ]
}

/// The form in which HealthKit gives samples back, without the fields that it adds or derives. Two samples that are
/// equal in this form are equal for HealthKit.
enum StoredForm {
    private static let partID = SampleID.zero

    static func of(_ sample: Sample) -> Sample {
        var sample = sample
        // HealthKit counts the measurements of a sample itself.
        sample.count = 1
        if sample.metadata.isEmpty, sample.workout == nil { return sample }
        sample.metadata = sample.metadata.mapValues(value)
        sample.workout = sample.workout.map(workout)
        return sample
    }

    private static func workout(_ workout: Workout) -> Workout {
        var workout = workout
        workout.statistics = []
        (workout.energy, workout.distance) = (workout.energy.map(quantity), workout.distance.map(quantity))
        (workout.strokes, workout.flights) = (workout.strokes.map(quantity), workout.flights.map(quantity))
        workout.events = workout.events.map(event)
        workout.activities = workout.activities.map { activity in
            WorkoutActivity(
                activity.activityType, from: activity.start, to: activity.end, id: partID,
                metadata: activity.metadata.mapValues(value))
        }
        return workout
    }

    private static func event(_ event: WorkoutEvent) -> WorkoutEvent {
        var event = event
        event.metadata = event.metadata.mapValues(value)
        return event
    }

    private static func value(_ value: MetadataValue) -> MetadataValue {
        if case .quantity(let quantity) = value { .quantity(Self.quantity(quantity)) } else { value }
    }

    /// Converts a quantity to the first compatible unit of the list, which is the one that reading uses.
    private static func quantity(_ quantity: Quantity) -> Quantity {
        for unit in MetadataUnits.all {
            if let value = try? quantity.value(in: unit) { return Quantity(value, unit) }
        }
        return quantity
    }
}
