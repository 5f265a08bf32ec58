/// The details of a workout, without its span and duration. The duration, without pauses, is the value of its sample.
///
/// ```swift
/// let run = Sample.workout(.running, from: a, to: b, duration: 1_750, energy: Quantity(312, .kilocalorie))
/// assert(run.workout?.activityType.displayName == "Running")
/// assert(run.duration == 1_750)
/// ```
public struct Workout: Hashable, Sendable {
    /// The activity.
    public var activityType: WorkoutActivityType
    /// The total active energy.
    public var energy: Quantity?
    /// The total distance.
    public var distance: Quantity?
    /// The total number of swimming strokes.
    public var strokes: Quantity?
    /// The total number of flights climbed.
    public var flights: Quantity?
    /// Sums and means of samples that were taken during the workout.
    public var statistics: [WorkoutStatistics]
    /// Pauses, laps, segments.
    public var events: [WorkoutEvent]
    /// The parts of a workout of several sports.
    public var activities: [WorkoutActivity]

    /// Creates a workout; leave unknown fields out.
    public init(
        _ activityType: WorkoutActivityType, energy: Quantity? = nil, distance: Quantity? = nil,
        strokes: Quantity? = nil, flights: Quantity? = nil, statistics: [WorkoutStatistics] = [],
        events: [WorkoutEvent] = [], activities: [WorkoutActivity] = []
    ) {
        self.activityType = activityType
        self.energy = energy
        self.distance = distance
        self.strokes = strokes
        self.flights = flights
        self.statistics = statistics
        self.events = events
        self.activities = activities
    }
}

/// Sum, mean and extremes of one type during a workout or a part of it. A value that does not apply to the type is
/// absent.
public struct WorkoutStatistics: Hashable, Sendable, Codable {
    /// The type of the samples.
    public var type: SampleType
    /// The start of the interval that the statistics cover.
    public var start: Instant
    /// The end of the interval.
    public var end: Instant
    /// The sum; for cumulative types.
    public var sum: Quantity?
    /// The mean; for discrete types.
    public var average: Quantity?
    /// The smallest value; for discrete types.
    public var minimum: Quantity?
    /// The largest value; for discrete types.
    public var maximum: Quantity?

    /// Creates statistics; leave out values that do not apply.
    public init(
        _ type: SampleType, from start: Instant, to end: Instant, sum: Quantity? = nil, average: Quantity? = nil,
        minimum: Quantity? = nil, maximum: Quantity? = nil
    ) {
        self.type = type
        self.start = start
        self.end = end
        self.sum = sum
        self.average = average
        self.minimum = minimum
        self.maximum = maximum
    }
}

/// An event during a workout.
public struct WorkoutEvent: Hashable, Sendable {
    /// The kind of an event, by HealthKit's number; the set is open.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// HealthKit's number.
        public let rawValue: UInt32
        /// Creates the kind with HealthKit's number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The person paused.
        public static let pause = Kind(rawValue: 1)
        /// The person resumed.
        public static let resume = Kind(rawValue: 2)
        /// A lap.
        public static let lap = Kind(rawValue: 3)
        /// A marked moment.
        public static let marker = Kind(rawValue: 4)
        /// The device detected that motion stopped.
        public static let motionPaused = Kind(rawValue: 5)
        /// The device detected that motion resumed.
        public static let motionResumed = Kind(rawValue: 6)
        /// A segment.
        public static let segment = Kind(rawValue: 7)
        /// A request to pause or resume.
        public static let pauseOrResumeRequest = Kind(rawValue: 8)
    }

    /// The kind of the event.
    public var kind: Kind
    /// The start of the event.
    public var start: Instant
    /// The end of the event; equal to the start for a moment.
    public var end: Instant
    /// Further facts by key.
    public var metadata: [String: MetadataValue]

    /// Creates an event over a span, or at a moment.
    public init(_ kind: Kind, from start: Instant, to end: Instant, metadata: [String: MetadataValue] = [:]) {
        self.kind = kind
        self.start = start
        self.end = end
        self.metadata = metadata
    }
}

/// A part of a workout of several sports.
public struct WorkoutActivity: Hashable, Sendable, Identifiable {
    /// Its own UUID.
    public var id: SampleID
    /// The activity of the part.
    public var activityType: WorkoutActivityType
    /// The start of the part.
    public var start: Instant
    /// The end of the part; ``Instant/distantFuture`` while it is not known yet.
    public var end: Instant
    /// The duration without pauses.
    public var duration: Quantity?
    /// Further facts by key.
    public var metadata: [String: MetadataValue]
    /// Sums and means of samples that were taken during the part.
    public var statistics: [WorkoutStatistics]
    /// The events during the part.
    public var events: [WorkoutEvent]

    /// Creates a part of a workout; leave unknown fields out.
    public init(
        _ activityType: WorkoutActivityType, from start: Instant, to end: Instant, duration: Quantity? = nil,
        id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:], statistics: [WorkoutStatistics] = [],
        events: [WorkoutEvent] = []
    ) {
        self.id = id
        self.activityType = activityType
        self.start = start
        self.end = end
        self.duration = duration
        self.metadata = metadata
        self.statistics = statistics
        self.events = events
    }
}

extension Sample {
    /// Creates a workout sample. Without a duration, the duration is the time from start to end. A workout with an
    /// unknown end needs a duration; the store refuses it otherwise.
    public static func workout(
        _ workout: Workout, from start: Instant, to end: Instant, duration seconds: Double? = nil,
        source: Source = .thisApp, id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:]
    ) -> Sample {
        let whole = end == .distantFuture ? .nan : (end - start.nanoseconds).secondsSinceReference
        var sample = Sample(
            .workout, seconds ?? whole, .second, from: start, to: end, source: source, id: id, metadata: metadata)
        sample.workout = workout
        return sample
    }

    /// Creates a workout sample of one sport with its totals.
    public static func workout(
        _ activityType: WorkoutActivityType, from start: Instant, to end: Instant, duration seconds: Double? = nil,
        energy: Quantity? = nil, distance: Quantity? = nil, source: Source = .thisApp
    ) -> Sample {
        workout(
            Workout(activityType, energy: energy, distance: distance), from: start, to: end, duration: seconds,
            source: source)
    }

    /// The duration in seconds: of a workout without pauses, of other samples from start to end. `nil` while the end is
    /// unknown, unless a workout has a duration so far.
    public var duration: Double? {
        if type == .workout, let seconds = try? quantity.value(in: .second), !seconds.isNaN { return seconds }
        return isOpenEnded ? nil : (end - start.nanoseconds).secondsSinceReference
    }
}
