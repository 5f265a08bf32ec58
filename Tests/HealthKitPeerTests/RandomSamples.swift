import HealthKVSync
import TestSupport

/// Samples of all types, most of them wrong in some way.
struct RandomSamples {
    private var generator: SeededGenerator
    private let start: Instant
    private var number = 0

    init(seed: UInt64, start: Instant) {
        generator = SeededGenerator(seed: seed)
        self.start = start
    }

    mutating func sample() -> Sample {
        number += 1
        let type = generator.chance(percent: 5) ? SampleType("Mood") : generator.pick(SampleType.catalog)
        let unit = generator.chance(percent: 10) ? .liter : type.canonicalUnit ?? .count
        let seconds = Int64(generator.pick([0, 0, 60, 3_600, 400_000, -1]))
        let value = generator.pick([0, 1, 2, 5, 70, -1, 1e300, .nan, .infinity])
        var sample = Sample(
            type, value, unit, from: start, to: start + seconds * Instant.nanosecondsPerSecond,
            syncIdentifier: generator.chance(percent: 10) ? nil : "s-\(number)")
        sample.version = Int64(generator.number(0..<5))
        sample.isUserEntered = generator.chance(percent: 30)
        if generator.chance(percent: 10) { sample.end = .distantFuture }
        if generator.chance(percent: 40) { sample.metadata = metadata() }
        if type == .workout, generator.chance(percent: 80) { sample.workout = workout() }
        if generator.chance(percent: 10) { sample.timeZone = generator.pick(["Europe/Berlin", "Nowhere", ""]) }
        return sample
    }

    private mutating func metadata() -> [String: MetadataValue] {
        let keys = [
            "HKTimeZone", "HKFoodType", "HKWasUserEntered", "HKMenstrualCycleStart", "HKInsulinDeliveryReason",
            "HKLapLength", "own", "HealthKVGroup", "HKMetadataKeySyncVersion", "",
        ]
        let values: [MetadataValue] = [
            .string("a"), .number(1), .number(.nan), .bool(true), .date(start), .quantity(Quantity(3, .meter)),
        ]
        var metadata: [String: MetadataValue] = [:]
        for _ in 0..<generator.number(0..<3) { metadata[generator.pick(keys)] = generator.pick(values) }
        return metadata
    }

    private mutating func workout() -> Workout {
        var workout = Workout(WorkoutActivityType(rawValue: UInt32(generator.number(0..<90))))
        if generator.chance(percent: 50) { workout.energy = Quantity(generator.pick([3, -1, .nan]), .kilocalorie) }
        if generator.chance(percent: 50) { workout.distance = Quantity(5, generator.pick([.meter, .kilogram])) }
        for _ in 0..<generator.number(0..<3) {
            let from = start + Int64(generator.number(-10..<70)) * Instant.nanosecondsPerSecond
            let to = from + Int64(generator.number(-1..<3)) * Instant.nanosecondsPerSecond
            workout.events.append(
                WorkoutEvent(WorkoutEvent.Kind(rawValue: UInt32(generator.number(0..<11))), from: from, to: to))
        }
        return workout
    }
}
