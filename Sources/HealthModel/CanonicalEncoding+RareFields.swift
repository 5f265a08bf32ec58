/// The fields that few samples have. Each field follows a tag, and an absent field writes no bytes, so a sample without
/// rare fields keeps the encoding that it had before rare fields existed.
extension CanonicalEncoder {
    mutating func encodeRareFields(of sample: Sample) {
        if !sample.local.isEmpty {
            append(28 as UInt8)
            encode(sample.local)
        }
        if let timeZone = sample.timeZone {
            append(29 as UInt8)
            append(timeZone)
        }
        if let workout = sample.workout {
            append(30 as UInt8)
            encode(workout)
        }
        if let route = sample.route {
            append(34 as UInt8)
            encode(route)
        }
        if let original = sample.original {
            append(31 as UInt8)
            append(UInt64(bitPattern: original.start.nanoseconds))
            append(UInt64(bitPattern: original.end.nanoseconds))
            encode(original.quantity)
            append(original.isUserEntered ? 1 : 0 as UInt8)
            encode(original.metadata)
            append(UInt64(bitPattern: original.version))
        }
    }

    /// Encodes the versions and clocks that order an import separately from an edit that overlays it now or did so
    /// earlier. They are not part of the content.
    public mutating func encodeOverlay(of sample: Sample) {
        if let clock = sample.original?.modified {
            append(32 as UInt8)
            encode(clock)
        }
        if let reversion = sample.reversion {
            append(33 as UInt8)
            append(UInt64(bitPattern: reversion.version))
            encode(reversion.modified)
        }
    }

    private mutating func encode(_ clock: ChangeClock) {
        append(UInt64(bitPattern: clock.time.nanoseconds))
        append(UInt64(clock.replica))
    }

    private mutating func encode(_ quantity: Quantity) {
        append(quantity.value.bitPattern)
        append(quantity.unit.symbol)
    }

    private mutating func encode(_ quantity: Quantity?) {
        append(quantity == nil ? 0 : 1 as UInt8)
        if let quantity { encode(quantity) }
    }

    mutating func encode(_ workout: Workout) {
        append(UInt64(workout.activityType.rawValue))
        for total in [workout.energy, workout.distance, workout.strokes, workout.flights] { encode(total) }
        encode(workout.statistics)
        encode(workout.events)
        append(UInt64(workout.activities.count))
        for activity in workout.activities {
            append(activity.id.high)
            append(activity.id.low)
            append(UInt64(activity.activityType.rawValue))
            append(UInt64(bitPattern: activity.start.nanoseconds))
            append(UInt64(bitPattern: activity.end.nanoseconds))
            encode(activity.duration)
            encode(activity.metadata)
            encode(activity.statistics)
            encode(activity.events)
        }
    }

    private mutating func encode(_ route: WorkoutRoute) {
        append(UInt64(route.points.count))
        for point in route.points {
            append(UInt64(bitPattern: point.time.nanoseconds))
            for number in point.numbers {
                append(number == nil ? 0 : 1 as UInt8)
                if let number { append(number.bitPattern) }
            }
        }
    }

    private mutating func encode(_ statistics: [WorkoutStatistics]) {
        append(UInt64(statistics.count))
        for item in statistics {
            append(item.type.identifier)
            append(UInt64(bitPattern: item.start.nanoseconds))
            append(UInt64(bitPattern: item.end.nanoseconds))
            for quantity in [item.sum, item.average, item.minimum, item.maximum] { encode(quantity) }
        }
    }

    private mutating func encode(_ events: [WorkoutEvent]) {
        append(UInt64(events.count))
        for event in events {
            append(UInt64(event.kind.rawValue))
            append(UInt64(bitPattern: event.start.nanoseconds))
            append(UInt64(bitPattern: event.end.nanoseconds))
            encode(event.metadata)
        }
    }
}
