/// What a workout is beside its span and its duration, which is the value of its sample: pauses shorten it.
///
/// ```swift
/// let run = Sample.workout(.running, from: a, to: b, duration: 1_750, energy: Quantity(312, .kilocalorie))
/// assert(run.workout?.activityType.displayName == "Running")
/// assert(run.duration == 1_750)
/// ```
public struct Workout: Hashable, Sendable {
    /// What was done.
    public var activityType: WorkoutActivityType
    /// Active energy that was burned in all.
    public var energy: Quantity?
    /// The distance in all.
    public var distance: Quantity?
    /// Strokes of swimming in all.
    public var strokes: Quantity?
    /// Flights that were climbed in all.
    public var flights: Quantity?
    /// Sums and means of samples that were taken during it.
    public var statistics: [WorkoutStatistics]
    /// Pauses, laps, segments.
    public var events: [WorkoutEvent]
    /// The parts of a workout of several sports.
    public var activities: [WorkoutActivity]

    /// What is not given is not known.
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

/// Sum, mean and extremes of one type during a workout or a part of it. What does not apply to the type is absent.
public struct WorkoutStatistics: Hashable, Sendable, Codable {
    /// What was measured.
    public var type: SampleType
    /// Where the stretch that they cover begins.
    public var start: Instant
    /// Where it ends.
    public var end: Instant
    /// The sum; for cumulative types.
    public var sum: Quantity?
    /// The mean; for discrete types.
    public var average: Quantity?
    /// The least value; for discrete types.
    public var minimum: Quantity?
    /// The greatest value; for discrete types.
    public var maximum: Quantity?

    /// What is not given does not apply.
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

/// Something that happened during a workout.
public struct WorkoutEvent: Hashable, Sendable {
    /// What happened, by HealthKit's number; the set is open.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// HealthKit's number.
        public let rawValue: UInt32
        /// The kind of HealthKit's number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The person paused.
        public static let pause = Kind(rawValue: 1)
        /// The person went on.
        public static let resume = Kind(rawValue: 2)
        /// A lap.
        public static let lap = Kind(rawValue: 3)
        /// A marked moment.
        public static let marker = Kind(rawValue: 4)
        /// The device saw the motion end.
        public static let motionPaused = Kind(rawValue: 5)
        /// The device saw the motion begin again.
        public static let motionResumed = Kind(rawValue: 6)
        /// A segment.
        public static let segment = Kind(rawValue: 7)
        /// A pause or its end was asked for.
        public static let pauseOrResumeRequest = Kind(rawValue: 8)
    }

    /// What happened.
    public var kind: Kind
    /// When it began.
    public var start: Instant
    /// When it ended; the start, for a moment.
    public var end: Instant
    /// What else is known of it.
    public var metadata: [String: MetadataValue]

    /// An event over a span, or at a moment.
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
    /// What was done in it.
    public var activityType: WorkoutActivityType
    /// When it began.
    public var start: Instant
    /// ``Instant/distantFuture`` when the end is not known yet.
    public var end: Instant
    /// How long it lasted without pauses.
    public var duration: Quantity?
    /// What else is known of it.
    public var metadata: [String: MetadataValue]
    /// Sums and means of samples that were taken during it.
    public var statistics: [WorkoutStatistics]
    /// What happened during it.
    public var events: [WorkoutEvent]

    /// What is not given is not known.
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
    /// A workout. Without a duration it lasted from start to end; one whose end is not known yet needs a duration, and is
    /// refused when it is stored without.
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

    /// A workout of one sport with its totals.
    public static func workout(
        _ activityType: WorkoutActivityType, from start: Instant, to end: Instant, duration seconds: Double? = nil,
        energy: Quantity? = nil, distance: Quantity? = nil, source: Source = .thisApp
    ) -> Sample {
        workout(
            Workout(activityType, energy: energy, distance: distance), from: start, to: end, duration: seconds,
            source: source)
    }

    /// How many seconds a workout lasted, pauses not counted; of other samples the time from start to end. `nil` while the end
    /// is not known, unless a workout says how long it has lasted.
    public var duration: Double? {
        if type == .workout, let seconds = try? quantity.value(in: .second), !seconds.isNaN { return seconds }
        return isOpenEnded ? nil : (end - start.nanoseconds).secondsSinceReference
    }
}
