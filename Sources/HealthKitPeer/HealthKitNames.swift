import HealthKVSync

/// Keys of metadata that this adapter writes, so that it knows again what belongs together.
enum OwnKey {
    /// The group of a sample, and of the correlation that shows it.
    static let group = "HealthKVGroup"
    /// The sync identifier of the workout that a sample is a total of.
    static let workout = "HealthKVWorkout"
    /// How many seconds a workout lasted, as the app says. HealthKit derives a duration of its own from the span and the recorded pauses.
    static let duration = "HealthKVDuration"

    static let all: Set<String> = [group, workout, duration]
}

/// The correlations of HealthKit that groups of samples are shown as.
enum Correlation {
    /// The correlation that may hold a type, if any does.
    static func type(holding type: SampleType) -> SampleType? {
        if type == .bloodPressureSystolic || type == .bloodPressureDiastolic { return .bloodPressure }
        return type.identifier.hasPrefix("HKQuantityTypeIdentifierDietary") ? .food : nil
    }

    /// The correlation that may hold all of these types.
    static func type(holding types: [SampleType]) -> SampleType? {
        let owners = Set(types.map { type(holding: $0) })
        return owners.count == 1 ? owners.first ?? nil : nil
    }
}

/// The totals of a workout, which HealthKit sums up from samples that belong to it.
enum WorkoutPart {
    private static let distances: [SampleType] = [
        .distanceWalkingRunning, .distanceCycling, .distanceSwimming, .distanceWheelchair, .distanceDownhillSnowSports,
        .distanceRowing, .distancePaddleSports, .distanceCrossCountrySkiing, .distanceSkatingSports,
    ]
    static let types: [SampleType] = distances + [.activeEnergyBurned, .swimmingStrokeCount, .flightsClimbed]

    private static func distanceType(_ activity: WorkoutActivityType) -> SampleType {
        switch activity {
        case .cycling, .handCycling: .distanceCycling
        case .swimming: .distanceSwimming
        case .rowing: .distanceRowing
        case .paddleSports: .distancePaddleSports
        case .crossCountrySkiing: .distanceCrossCountrySkiing
        case .downhillSkiing, .snowboarding: .distanceDownhillSnowSports
        case .skatingSports: .distanceSkatingSports
        case .wheelchairWalkPace, .wheelchairRunPace: .distanceWheelchair
        default: .distanceWalkingRunning
        }
    }

    /// The totals that are known, by the type of the sample that tells them.
    static func totals(of workout: Workout) -> [(type: SampleType, total: Quantity)] {
        let all: [(SampleType, Quantity?)] = [
            (.activeEnergyBurned, workout.energy), (distanceType(workout.activityType), workout.distance),
            (.swimmingStrokeCount, workout.strokes), (.flightsClimbed, workout.flights),
        ]
        return all.compactMap { type, total in total.map { (type, $0) } }
    }

    /// Sets the totals that statistics tell.
    static func setTotals(of workout: inout Workout) {
        let statistics = workout.statistics
        func sum(_ types: [SampleType]) -> Quantity? {
            types.lazy.compactMap { type in statistics.first { $0.type == type }?.sum }.first
        }
        let distance = sum([distanceType(workout.activityType)] + distances)
        (workout.energy, workout.distance) = (sum([.activeEnergyBurned]), distance)
        (workout.strokes, workout.flights) = (sum([.swimmingStrokeCount]), sum([.flightsClimbed]))
    }
}

/// The units in which quantities in metadata are kept, since HealthKit does not tell which unit they came in.
enum MetadataUnits {
    /// HealthKit takes a count for a percentage and the other way round, and nothing else tells them apart: the percentage
    /// stands first, since what HealthKit itself notes without a dimension, such as humidity and slope, is one.
    static let all: [HealthUnit] = [
        .meter, .kilogram, .second, .kilocalorie, .liter, .percent, .count, .countPerMinute, .meterPerSecond,
        .degreeCelsius, .millimeterOfMercury, .watt, .kilocaloriePerHourKilogram, .soundPressureLevel,
        .milligramPerDeciliter, .milliliterPerMinuteKilogram, .internationalUnit, .siemens, .effortScore,
    ]
}

/// Samples as HealthKit gives them back, without what it adds or derives: two that are equal in this form are one to it.
enum StoredForm {
    private static let partID = SampleID.zero

    static func of(_ sample: Sample) -> Sample {
        var sample = sample
        // HealthKit counts the measurements of a sample by itself.
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

    /// In the first unit of the list that fits, which is the one that reading uses.
    private static func quantity(_ quantity: Quantity) -> Quantity {
        for unit in MetadataUnits.all {
            if let value = try? quantity.value(in: unit) { return Quantity(value, unit) }
        }
        return quantity
    }
}
