import HealthKV
import Observation

/// The status of the sync, for a view to observe.
///
/// ```swift
/// let model = await SyncStatusModel(sync)
/// Task { await model.follow() }
/// let waiting = await model.status.pending
/// ```
@MainActor @Observable
public final class SyncStatusModel {
    /// The current status; it changes with the store.
    public private(set) var status: SyncStatus
    private let engine: SyncEngine

    /// Creates a model that shows the current status.
    public init(_ engine: SyncEngine) {
        self.engine = engine
        status = (try? engine.status()) ?? SyncStatus()
    }

    /// Follows the status until the task is cancelled or the store is closed.
    public func follow() async {
        for await status in engine.statusUpdates() { self.status = status }
    }
}
