/// The totals of a workout. HealthKit sums them up from the samples that belong to the workout.
package enum WorkoutPart {
    private static let distances: [SampleType] = [
        .distanceWalkingRunning, .distanceCycling, .distanceSwimming, .distanceWheelchair, .distanceDownhillSnowSports,
        .distanceRowing, .distancePaddleSports, .distanceCrossCountrySkiing, .distanceSkatingSports,
    ]
    package static let types: [SampleType] = distances + [.activeEnergyBurned, .swimmingStrokeCount, .flightsClimbed]

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

    /// Returns the known totals, each with the type of the sample that carries it.
    package static func totals(of workout: Workout) -> [(type: SampleType, total: Quantity)] {
        let all: [(SampleType, Quantity?)] = [
            (.activeEnergyBurned, workout.energy), (distanceType(workout.activityType), workout.distance),
            (.swimmingStrokeCount, workout.strokes), (.flightsClimbed, workout.flights),
        ]
        return all.compactMap { type, total in total.map { (type, $0) } }
    }

    /// Sets the totals from the workout's statistics.
    package static func setTotals(of workout: inout Workout) {
        let statistics = workout.statistics
        func sum(_ types: [SampleType]) -> Quantity? {
            types.lazy.compactMap { type in statistics.first { $0.type == type }?.sum }.first
        }
        let distance = sum([distanceType(workout.activityType)] + distances)
        (workout.energy, workout.distance) = (sum([.activeEnergyBurned]), distance)
        (workout.strokes, workout.flights) = (sum([.swimmingStrokeCount]), sum([.flightsClimbed]))
    }
}
