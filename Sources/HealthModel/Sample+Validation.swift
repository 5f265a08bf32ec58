/// Validation of the rare fields.
extension Sample {
    /// The maximum number of parts (statistics, events, activities) in a workout.
    public static let workoutPartLimit = 10_000

    func validateRareFields() throws(ModelError) {
        try Sample.validate(timeZone, "time zone", required: true)
        try Sample.validate(local)
        if let workout {
            guard type == .workout else { throw .misplacedField("workout") }
            try validate(workout)
        }
        if let route {
            guard type == .workoutRoute else { throw .misplacedField("route") }
            try route.validate()
        }
        if let original {
            guard origin == .imported else { throw .misplacedField("original") }
            try Sample.validate(span: original.start, original.end)
            try Sample.validate(original.metadata)
            guard original.version >= 1, original.version < Sample.versionLimit else {
                throw .numberOutOfRange(field: "original version")
            }
            try Sample.validate(original.quantity, in: type.canonicalUnit, "original value")
        }
        if let reversion {
            guard origin == .imported, original == nil else { throw .misplacedField("reversion") }
            guard reversion.version >= 1, reversion.version < Sample.versionLimit else {
                throw .numberOutOfRange(field: "reversion version")
            }
        }
    }

    private static func validate(span start: Instant, _ end: Instant) throws(ModelError) {
        guard start.isRepresentable, end.isRepresentable || end == .distantFuture else { throw .instantOutOfRange }
        guard start <= end else { throw .startAfterEnd }
    }

    private static func validate(
        _ quantity: Quantity?, in unit: HealthUnit?, _ field: @autoclosure () -> String
    ) throws(ModelError) {
        if let quantity, let unit, !quantity.unit.isCompatible(with: unit) {
            throw .incompatibleUnits(from: quantity.unit.symbol, to: unit.symbol)
        }
        try validate(finite: quantity, unit, field())
    }

    private func validate(_ workout: Workout) throws(ModelError) {
        var parts = workout.statistics.count + workout.events.count + workout.activities.count
        for activity in workout.activities { parts += activity.statistics.count + activity.events.count }
        guard parts <= Sample.workoutPartLimit else { throw .numberOutOfRange(field: "parts of a workout") }
        try Sample.validate(workout.energy, in: .kilocalorie, "a workout's energy")
        try Sample.validate(workout.distance, in: .meter, "a workout's distance")
        try Sample.validate(workout.strokes, in: .count, "a workout's strokes")
        try Sample.validate(workout.flights, in: .count, "a workout's flights")
        try Sample.validate(workout.statistics)
        try Sample.validate(workout.events)
        for activity in workout.activities {
            try Sample.validate(span: activity.start, activity.end)
            try Sample.validate(activity.duration, in: .second, "an activity's duration")
            try Sample.validate(activity.metadata)
            try Sample.validate(activity.statistics)
            try Sample.validate(activity.events)
        }
    }

    private static func validate(_ statistics: [WorkoutStatistics]) throws(ModelError) {
        for item in statistics {
            try validate(item.type.identifier, "type", required: true)
            try validate(span: item.start, item.end)
            for quantity in [item.sum, item.average, item.minimum, item.maximum] {
                try validate(quantity, in: item.type.canonicalUnit, "a workout's statistics")
            }
        }
    }

    private static func validate(_ events: [WorkoutEvent]) throws(ModelError) {
        for event in events {
            try validate(span: event.start, event.end)
            try validate(event.metadata)
        }
    }
}
