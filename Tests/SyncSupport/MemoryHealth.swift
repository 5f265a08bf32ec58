import HealthKVSync
import Synchronization

/// A database like HealthKit's in memory: UUIDs of its own, sync identifiers with versions, a feed of additions and
/// deletions, several apps.
package final class MemoryHealth: Sendable {
    package struct Entry: Sendable {
        package var sample: Sample
        package var app: String
    }

    enum Event: Sendable {
        case added(SampleID)
        case deleted(PulledDeletion, SampleType, Instant, app: String)
    }

    struct State: Sendable {
        var live: [SampleID: Entry] = [:]
        var events: [Event] = []
        var generator = MinimalGenerator(seed: 1)
        var isLocked = false
        var availability = PeerAvailability.available
        var locksAtPull = false
        var writing: [SampleType: TypeAuthorization.Writing] = [:]
        var unreadable: Set<SampleType> = []
        var earliest: Instant?
        var epoch = 1
        var refuse: (@Sendable (PushOperation) -> PushOutcome?)?
        var fail: (@Sendable (SampleType) -> PeerError?)?
        var afterPush: (@Sendable () -> Void)?
        var pushes = 0
        var pulls = 0
        var completed = 0
        var watchers: [Int: AsyncStream<WakeUp>.Continuation] = [:]
        var totals: [String: Quantity] = [:]
    }

    let state = Mutex(State())

    /// Two databases of one test need two seeds, or their ids are the same.
    package init(seed: UInt64 = 1) { state.withLock { $0.generator = MinimalGenerator(seed: seed) } }

    package var live: [Entry] { state.withLock { Array($0.live.values) } }
    package var pushes: Int { state.withLock { $0.pushes } }
    package var pulls: Int { state.withLock { $0.pulls } }
    package var completed: Int { state.withLock { $0.completed } }

    /// Another app saves a sample, or a newer version of one with a sync identifier. Answers what the database calls
    /// it.
    @discardableResult
    package func save(_ sample: Sample, app: String = "scale") -> SampleID {
        let id = state.withLock { $0.save(sample, app) }
        wake([sample.type])
        return id
    }

    /// Another app deletes one.
    package func delete(_ id: SampleID) {
        let type = state.withLock { $0.delete(id) }
        if let type { wake([type]) }
    }

    /// A sample goes, and the feed does not tell: its deletion was purged.
    package func forget(_ id: SampleID) { state.withLock { _ = $0.live.removeValue(forKey: id) } }

    /// A cloud brings a sample again that is gone, under the name that it had.
    package func bringBack(_ entry: Entry) {
        state.withLock { state in
            state.live[entry.sample.id] = entry
            state.events.append(.added(entry.sample.id))
        }
    }

    /// A sample that could not be seen for a while shows itself again.
    package func restore(_ id: SampleID, _ sample: Sample, app: String = "scale") {
        state.withLock { state in
            var stored = sample
            stored.id = id
            state.live[id] = Entry(sample: stored, app: app)
        }
    }

    package func set(writing: TypeAuthorization.Writing, of type: SampleType) {
        state.withLock { $0.writing[type] = writing }
    }
    package func set(unreadable types: Set<SampleType>) { state.withLock { $0.unreadable = types } }
    package var availability: PeerAvailability { state.withLock { $0.availability } }
    package func set(availability: PeerAvailability) { state.withLock { $0.availability = availability } }
    /// It is locked by the time that it is read next, though it says beforehand that it is there.
    package func lockAtNextPull() { state.withLock { $0.locksAtPull = true } }
    package func set(earliest: Instant?) { state.withLock { $0.earliest = earliest } }
    package func set(total: Quantity?, of type: SampleType, _ day: String) {
        state.withLock { $0.totals["\(type) \(day)"] = total }
    }
    /// What is answered in place of doing an operation.
    package func set(refusal: (@Sendable (PushOperation) -> PushOutcome?)?) { state.withLock { $0.refuse = refusal } }
    /// What a pull of a type ends with.
    package func set(failure: (@Sendable (SampleType) -> PeerError?)?) { state.withLock { $0.fail = failure } }
    package var watchers: Int { state.withLock { $0.watchers.count } }
    /// Called when a push is done and before it is answered.
    package func set(afterPush: (@Sendable () -> Void)?) { state.withLock { $0.afterPush = afterPush } }
    /// The system makes a new database: it is empty, and counts its changes from the beginning. Anchors stay valid,
    /// and are ahead.
    package func rebuild() { state.withLock { ($0.live, $0.events) = ([:], []) } }

    /// The system counts a sample among the first, behind which all anchors are, as a repair of the database may do.
    package func countFirst(_ id: SampleID) {
        state.withLock { state in
            guard let place = state.events.lastIndex(where: { if case .added(id) = $0 { true } else { false } })
            else { return }
            state.events.insert(state.events.remove(at: place), at: 0)
        }
    }

    /// All anchors that were given become invalid.
    package func invalidateAnchors() { state.withLock { $0.epoch += 1 } }

    private func wake(_ types: Set<SampleType>) {
        let watchers = state.withLock { Array($0.watchers.values) }
        for watcher in watchers {
            watcher.yield(WakeUp(types) { [self] in state.withLock { $0.completed += 1 } })
        }
    }
}

extension MemoryHealth.State {
    mutating func save(_ sample: Sample, _ app: String) -> SampleID {
        if let text = sample.syncIdentifier {
            let known = live.first {
                $0.value.app == app && $0.value.sample.type == sample.type && $0.value.sample.syncIdentifier == text
            }
            if let known {
                // An equal or lower version is skipped, and the save reports success.
                if sample.version <= known.value.sample.version { return known.key }
                _ = delete(known.key)
            }
        }
        var stored = sample
        stored.id = SampleID(using: &generator)
        stored.modified = nil
        live[stored.id] = MemoryHealth.Entry(sample: stored, app: app)
        events.append(.added(stored.id))
        return stored.id
    }

    mutating func delete(_ id: SampleID) -> SampleType? {
        guard let entry = live.removeValue(forKey: id) else { return nil }
        let deletion = PulledDeletion(
            idAtPeer: id, syncIdentifier: entry.sample.syncIdentifier,
            version: entry.sample.syncIdentifier == nil ? nil : entry.sample.version)
        events.append(.deleted(deletion, entry.sample.type, entry.sample.start, app: entry.app))
        return entry.sample.type
    }

    func isReadable(_ type: SampleType, _ start: Instant, _ app: String, by reader: String) -> Bool {
        if app == reader { return true }
        return !unreadable.contains(type) && start >= earliest ?? .distantPast
    }
}

/// Ids that a run repeats.
struct MinimalGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}
