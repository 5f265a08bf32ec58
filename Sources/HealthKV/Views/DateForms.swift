#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

// What apps write, with the dates that they have. The attribute leaves `.now` to the form with an instant.

extension Sample {
    /// Creates a sample of a span of time with a quantity.
    public init(
        _ type: SampleType, _ quantity: Quantity, from start: Instant, to end: Instant, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) {
        self.init(
            type, quantity.value, quantity.unit, from: start, to: end, source: source, id: id,
            syncIdentifier: syncIdentifier, isUserEntered: isUserEntered, metadata: metadata, group: group)
    }

    /// Creates a sample of a span of time between two dates with a quantity.
    @_disfavoredOverload
    public init(
        _ type: SampleType, _ quantity: Quantity, from start: Date, to end: Date, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) throws(ModelError) {
        self.init(
            type, quantity, from: try Instant(start), to: try Instant(end), source: source, id: id,
            syncIdentifier: syncIdentifier, isUserEntered: isUserEntered, metadata: metadata, group: group)
    }

    /// Creates a category sample between two dates.
    @_disfavoredOverload
    public init(
        category type: SampleType, _ value: Int, from start: Date, to end: Date, source: Source = .thisApp,
        id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:]
    ) throws(ModelError) {
        self.init(
            category: type, value, from: try Instant(start), to: try Instant(end), source: source, id: id,
            metadata: metadata)
    }

    /// Returns a weight that a person typed in; see the form with an instant.
    @_disfavoredOverload
    public static func weight(
        _ weight: Quantity, at date: Date, note: String? = nil, bodyFat: Double? = nil, source: Source = .thisApp,
        syncIdentifier: String? = nil
    ) throws(ModelError) -> Sample {
        Sample.weight(
            weight, at: try Instant(date), note: note, bodyFat: bodyFat, source: source,
            syncIdentifier: syncIdentifier)
    }

    /// Returns a sample of drunk water, in any unit of volume.
    public static func water(
        _ volume: Quantity, at instant: Instant, source: Source = .thisApp, isUserEntered: Bool = false
    ) -> Sample {
        Sample(.dietaryWater, volume, at: instant, source: source, isUserEntered: isUserEntered)
    }

    /// Returns a sample of water drunk at a date, in any unit of volume.
    @_disfavoredOverload
    public static func water(
        _ volume: Quantity, at date: Date, source: Source = .thisApp, isUserEntered: Bool = false
    ) throws(ModelError) -> Sample {
        Sample.water(volume, at: try Instant(date), source: source, isUserEntered: isUserEntered)
    }

    /// Returns the samples of a walk between two dates; see the form with instants.
    @_disfavoredOverload
    public static func walking(
        steps: Double, meters: Double? = nil, from start: Date, to end: Date, source: Source = .thisApp,
        isUserEntered: Bool = false
    ) throws(ModelError) -> [Sample] {
        walking(
            steps: steps, meters: meters, from: try Instant(start), to: try Instant(end), source: source,
            isUserEntered: isUserEntered)
    }

    /// Creates a workout sample of one sport between two dates; see the form with instants.
    @_disfavoredOverload
    public static func workout(
        _ activityType: WorkoutActivityType, from start: Date, to end: Date, duration seconds: Double? = nil,
        energy: Quantity? = nil, distance: Quantity? = nil, source: Source = .thisApp
    ) throws(ModelError) -> Sample {
        workout(
            activityType, from: try Instant(start), to: try Instant(end), duration: seconds, energy: energy,
            distance: distance, source: source)
    }

    /// Creates a workout sample between two dates; see the form with instants.
    @_disfavoredOverload
    public static func workout(
        _ workout: Workout, from start: Date, to end: Date, duration seconds: Double? = nil,
        source: Source = .thisApp, id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:]
    ) throws(ModelError) -> Sample {
        Sample.workout(
            workout, from: try Instant(start), to: try Instant(end), duration: seconds, source: source, id: id,
            metadata: metadata)
    }
}

extension Meal {
    /// Creates a meal that was eaten at a date; see the form with an instant.
    @_disfavoredOverload
    public init(
        id: String, at date: Date, name: String? = nil, energy: Quantity? = nil, protein: Quantity? = nil,
        carbohydrates: Quantity? = nil, fat: Quantity? = nil, fiber: Quantity? = nil,
        more: [SampleType: Quantity] = [:], metadata: [String: MetadataValue] = [:]
    ) throws(ModelError) {
        self.init(
            id: id, at: try Instant(date), name: name, energy: energy, protein: protein, carbohydrates: carbohydrates,
            fat: fat, fiber: fiber, more: more, metadata: metadata)
    }
}

extension WorkoutEvent {
    /// Creates an event between two dates, or at one.
    @_disfavoredOverload
    public init(
        _ kind: Kind, from start: Date, to end: Date, metadata: [String: MetadataValue] = [:]
    ) throws(ModelError) {
        self.init(kind, from: try Instant(start), to: try Instant(end), metadata: metadata)
    }
}

extension WorkoutActivity {
    /// Creates a part of a workout between two dates; leave unknown fields out.
    @_disfavoredOverload
    public init(
        _ activityType: WorkoutActivityType, from start: Date, to end: Date, duration: Quantity? = nil,
        id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:], statistics: [WorkoutStatistics] = [],
        events: [WorkoutEvent] = []
    ) throws(ModelError) {
        self.init(
            activityType, from: try Instant(start), to: try Instant(end), duration: duration, id: id,
            metadata: metadata, statistics: statistics, events: events)
    }
}

extension SampleBatch {
    /// Creates a batch of one kind from dates; see the form with instants.
    @_disfavoredOverload
    public init(
        _ type: SampleType, _ unit: HealthUnit, source: Source, origin: Sample.Origin = .imported, starts: [Date],
        ends: [Date]? = nil, values: [Double], ids: [SampleID]? = nil
    ) throws(ModelError) {
        func instants(_ dates: [Date]) throws(ModelError) -> [Instant] {
            var instants: [Instant] = []
            instants.reserveCapacity(dates.count)
            for date in dates { instants.append(try Instant(date)) }
            return instants
        }
        try self.init(
            type, unit, source: source, origin: origin, starts: try instants(starts),
            ends: try ends.map { (dates) throws(ModelError) in try instants(dates) }, values: values, ids: ids)
    }
}
