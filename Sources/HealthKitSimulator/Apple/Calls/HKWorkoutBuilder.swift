import Foundation
import Synchronization

// A lock guards its state; Apple marks it `Sendable` too.
public class HKWorkoutBuilder: NSObject, @unchecked Sendable {
    private struct State {
        var content = WorkoutContent()
        var metadata: [String: MetadataItem] = [:]
        var members: [HealthRecord] = []
        var start: Date?
        var end: Date?
    }

    private let app: SimulatedApp
    private let device: HKDevice?
    private let state = Mutex(State())

    public init(healthStore: HKHealthStore, configuration: HKWorkoutConfiguration, device: HKDevice?) {
        app = healthStore.app
        self.device = device
        let activity = configuration.activityType
        super.init()
        state.withLock { $0.content.activity = activity }
    }

    public func beginCollection(at startDate: Date) async throws {
        state.withLock { $0.start = startDate }
    }

    public func addSamples(_ samples: [HKSample]) async throws {
        let records = samples.map { HealthRecord($0, by: app.revision) }
        try app.device.authorizeSaving(records.map(\.type), by: app)
        state.withLock { $0.members += records }
    }

    public func addWorkoutEvents(_ workoutEvents: [HKWorkoutEvent]) async throws {
        let events = workoutEvents.map {
            WorkoutContent.Event(type: $0.type, interval: $0.dateInterval, metadata: $0.checked)
        }
        state.withLock { $0.content.events += events }
    }

    public func addWorkoutActivity(_ workoutActivity: HKWorkoutActivity) async throws {
        let activity = WorkoutContent.Activity(
            uuid: workoutActivity.uuid, activity: workoutActivity.workoutConfiguration.activityType,
            start: workoutActivity.startDate, end: workoutActivity.endDate, metadata: workoutActivity.checked)
        state.withLock { $0.content.activities.append(activity) }
    }

    public func addMetadata(_ metadata: [String: Any]) async throws {
        let checked = CheckedMetadata(metadata)
        state.withLock { $0.metadata.merge(checked.items) { $1 } }
    }

    public func endCollection(at endDate: Date) async throws {
        state.withLock { $0.end = endDate }
    }

    /// Saves the workout with everything that was added. Throws an invalid argument error without a beginning and an
    /// end. A locked device saves the workout, but returns `nil`.
    public func finishWorkout() async throws -> HKWorkout? {
        let built = state.withLock { $0 }
        guard let start = built.start, let end = built.end, start <= end else {
            throw HKError(.errorInvalidArgument, "A workout without beginning or end")
        }
        for activity in built.content.activities
        where activity.start < start || activity.end.map({ $0 > end }) ?? false {
            throw HKError(.errorInvalidArgument, "An activity outside of its workout")
        }
        var content = built.content
        content.members = built.members.map(\.uuid)
        if content.activities.isEmpty, app.device.options.addsWorkoutActivity {
            content.activities = [
                WorkoutContent.Activity(
                    uuid: SimulatedIdentifiers.next(), activity: content.activity, start: start, end: end,
                    metadata: CheckedMetadata([:]))
            ]
        }
        let record = HealthRecord(
            uuid: SimulatedIdentifiers.next(), type: HKObjectType.workoutType(), start: start, end: end,
            content: .workout(content),
            metadata: CheckedMetadata(built.metadata.mapValues(\.value)), revision: app.revision, device: device)
        try await app.device.returning { try app.device.save(built.members + [record], by: app) }
        return app.device.isLocked ? nil : HKWorkout(record, content, members: built.members)
    }
}
