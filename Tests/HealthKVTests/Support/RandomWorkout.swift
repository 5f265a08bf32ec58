import HealthKV
import TestSupport

/// Workouts with everything that they may have.
enum RandomWorkout {
    static func make(_ random: inout SeededGenerator) -> Workout {
        var workout = Workout(WorkoutActivityType(rawValue: UInt32(random.pick([37, 20, 82, 3_000, 4_711]))))
        if random.chance(0.7) { workout.energy = quantity(.kilocalorie, &random) }
        if random.chance(0.5) { workout.distance = quantity(random.pick([.meter, .mile]), &random) }
        if random.chance(0.2) { workout.strokes = quantity(.count, &random) }
        if random.chance(0.2) { workout.flights = quantity(.count, &random) }
        workout.statistics = statistics(&random)
        workout.events = events(&random)
        for _ in 0..<random.pick([0, 0, 1, 3]) {
            let (start, end) = span(&random)
            workout.activities.append(
                WorkoutActivity(
                    random.pick([.swimming, .cycling, .running, .transition]), from: start,
                    to: random.chance(0.1) ? .distantFuture : end,
                    duration: random.chance(0.5) ? quantity(.minute, &random) : nil, id: SampleID(using: &random),
                    metadata: random.chance(0.3) ? ["lap \u{301}": .date(.distantPast)] : [:],
                    statistics: statistics(&random), events: events(&random)))
        }
        return workout
    }

    private static func span(_ random: inout SeededGenerator) -> (Instant, Instant) {
        let start = Instant(nanoseconds: Int64(random.number(0..<1_000)) * 999_999_999_937)
        return (start, start + Int64(random.pick([0, 1, 1_800_000_000_000])))
    }

    private static func quantity(_ unit: HealthUnit, _ random: inout SeededGenerator) -> Quantity {
        Quantity(random.pick([312.5, 0, -0.0, 1e-300, 1.0 / 3, Double(random.number(0..<9_000))]), unit)
    }

    private static func statistics(_ random: inout SeededGenerator) -> [WorkoutStatistics] {
        (0..<random.pick([0, 0, 1, 2])).map { _ in
            let (start, end) = span(&random)
            return random.chance(0.5)
                ? WorkoutStatistics(.activeEnergyBurned, from: start, to: end, sum: quantity(.kilojoule, &random))
                : WorkoutStatistics(
                    .heartRate, from: start, to: end, average: quantity(.countPerMinute, &random),
                    minimum: quantity(.countPerMinute, &random), maximum: quantity(.countPerMinute, &random))
        }
    }

    private static func events(_ random: inout SeededGenerator) -> [WorkoutEvent] {
        (0..<random.pick([0, 0, 2])).map { number in
            let (start, end) = span(&random)
            return WorkoutEvent(
                WorkoutEvent.Kind(rawValue: UInt32(random.pick([1, 2, 7, 99]))), from: start, to: end,
                metadata: number == 0 ? ["set": .number(Double(random.number(1..<9)))] : [:])
        }
    }
}
