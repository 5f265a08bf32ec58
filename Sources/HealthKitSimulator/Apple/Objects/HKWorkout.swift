import Foundation

public class HKWorkoutEvent: NSObject {
    public let type: HKWorkoutEventType
    public let dateInterval: DateInterval
    let checked: CheckedMetadata

    public var metadata: [String: Any]? { checked.values }

    public init(type: HKWorkoutEventType, dateInterval: DateInterval, metadata: [String: Any]?) {
        self.type = type
        self.dateInterval = dateInterval
        checked = CheckedMetadata(metadata)
        if dateInterval.duration > 0, type != .lap, type != .segment {
            SimulatedMisuse.found("A workout event of this kind has no duration")
        }
    }

    init(_ content: WorkoutContent.Event) {
        type = content.type
        dateInterval = content.interval
        checked = content.metadata
    }
}

public class HKWorkoutConfiguration: NSObject {
    public var activityType: HKWorkoutActivityType = .other
}

/// A part of a workout that has several sports.
public class HKWorkoutActivity: NSObject {
    public let uuid: UUID
    public let workoutConfiguration: HKWorkoutConfiguration
    public let startDate: Date
    public let endDate: Date?
    let checked: CheckedMetadata
    private var events: [WorkoutContent.Event] = []
    private var members: [HealthRecord] = []

    public init(
        workoutConfiguration: HKWorkoutConfiguration, start startDate: Date, end endDate: Date?,
        metadata: [String: Any]?
    ) {
        uuid = SimulatedIdentifiers.next()
        self.workoutConfiguration = workoutConfiguration
        self.startDate = startDate
        self.endDate = endDate
        checked = CheckedMetadata(metadata)
        if let endDate, startDate > endDate { SimulatedMisuse.found("A workout activity ends before it starts") }
    }

    /// Creates an activity as it is read. Events and samples of the workout that begin in it are its own.
    init(_ content: WorkoutContent.Activity, of workout: WorkoutContent, members: [HealthRecord]) {
        let end = content.end ?? .distantFuture
        events = workout.events.filter { $0.interval.start >= content.start && $0.interval.start < end }
        self.members = members.filter { $0.start >= content.start && $0.start < end }
        uuid = content.uuid
        workoutConfiguration = HKWorkoutConfiguration()
        workoutConfiguration.activityType = content.activity
        startDate = content.start
        endDate = content.end
        checked = content.metadata
    }

    public var metadata: [String: Any]? { checked.values }
    public var workoutEvents: [HKWorkoutEvent] { events.map { HKWorkoutEvent($0) } }
    public var allStatistics: [HKQuantityType: HKStatistics] {
        HKStatistics.all(of: members, from: startDate, to: endDate ?? .distantFuture)
    }
    /// The duration without pauses.
    public var duration: TimeInterval {
        WorkoutContent(events: events).duration(from: startDate, to: endDate ?? startDate)
    }
}

public class HKWorkout: HKSample {
    private let workout: WorkoutContent
    /// The readable samples that were added to the workout.
    private let members: [HealthRecord]

    init(_ record: HealthRecord, _ workout: WorkoutContent, members: [HealthRecord]) {
        self.workout = workout
        self.members = members
        super.init(record)
    }

    public var workoutActivityType: HKWorkoutActivityType { workout.activity }
    public var workoutEvents: [HKWorkoutEvent]? {
        workout.events.isEmpty ? nil : workout.events.map { HKWorkoutEvent($0) }
    }
    public var workoutActivities: [HKWorkoutActivity] {
        workout.activities.map { HKWorkoutActivity($0, of: workout, members: members) }
    }
    /// The duration without pauses.
    public var duration: TimeInterval { workout.duration(from: startDate, to: endDate) }

    public var allStatistics: [HKQuantityType: HKStatistics] {
        HKStatistics.all(of: members, from: startDate, to: endDate)
    }

    override var content: HealthRecord.Content { .workout(workout) }
}
