import HealthKV
import Observation

/// The status for a view to observe.
///
/// ```swift
/// let model = await SyncStatusModel(sync)
/// Task { await model.follow() }
/// let waiting = await model.status.pending
/// ```
@MainActor @Observable
public final class SyncStatusModel {
    /// How the sync stands; it changes with the store.
    public private(set) var status: SyncStatus
    private let engine: SyncEngine

    /// A model that shows the status as it stands now.
    public init(_ engine: SyncEngine) {
        self.engine = engine
        status = (try? engine.status()) ?? SyncStatus()
    }

    /// Follows the status until the task is cancelled or the store closed.
    public func follow() async {
        for await status in engine.statusUpdates() { self.status = status }
    }
}
