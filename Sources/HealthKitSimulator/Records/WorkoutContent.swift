import Foundation

/// The content of a workout besides its span.
struct WorkoutContent: Sendable {
    struct Event: Sendable {
        let type: HKWorkoutEventType
        let interval: DateInterval
        let metadata: CheckedMetadata
    }

    struct Activity: Sendable {
        let uuid: UUID
        let activity: HKWorkoutActivityType
        let start: Date
        let end: Date?
        let metadata: CheckedMetadata
    }

    var activity = HKWorkoutActivityType.other
    var activities: [Activity] = []
    var events: [Event] = []
    var members: [UUID] = []

    func duration(from start: Date, to end: Date) -> TimeInterval {
        var running: Date? = start
        var total = 0.0
        for event in events.sorted(by: { $0.interval.start < $1.interval.start }) {
            switch event.type {
            case .pause, .motionPaused:
                if let from = running { total += event.interval.start.timeIntervalSince(from) }
                running = nil
            case .resume, .motionResumed: running = running ?? event.interval.start
            default: break
            }
        }
        return total + (running.map { end.timeIntervalSince($0) } ?? 0)
    }
}
