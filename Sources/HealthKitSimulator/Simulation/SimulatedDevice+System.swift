import Foundation

/// What the system and the user, besides apps, do with health data.
extension SimulatedDevice {
    /// Deletes a sample of any app, as the user does in the Health app. Returns the deleted samples: none if the sample
    /// no longer existed, and more than one if members are deleted with their correlation.
    @discardableResult
    public func userDeletes(_ uuid: UUID) -> [SimulatedSample] {
        let now = clock.now
        let gone = state.withLock { state -> [HealthRecord] in
            // The Health app is available only on an unlocked device.
            state.mergeJournal(at: now)
            guard let record = state.database.record(uuid) else { return [] }
            let held = [record] + (record.content.members ?? []).compactMap { state.database.record($0) }
            state.remove([uuid], at: now)
            return held.filter { state.database.record($0.uuid) == nil }
        }
        deliver()
        return gone.map { SimulatedSample($0) }
    }

    /// Deletes all data of a type, or all of it from one source, as the user does in the Health app. Returns how many
    /// samples were deleted.
    @discardableResult
    public func userDeletesAll(of type: String, from source: String? = nil) -> Int {
        let (now, type) = (clock.now, KnownType.identifier(of: type))
        let count = state.withLock { state in
            state.mergeJournal(at: now)
            let records = state.database.all.filter {
                $0.type.identifier == type && (source == nil || $0.source == source)
            }
            state.remove(records.map(\.uuid), at: now)
            return records.count
        }
        deliver()
        return count
    }

    /// Forgets deletions that are older than an age, as the system does (A11).
    public func purgeDeletions(olderThan age: TimeInterval = 0) {
        let date = clock.now.addingTimeInterval(-age)
        state.withLock { $0.database.purgeDeletions(before: age == 0 ? .distantFuture : date) }
    }

    /// Rebuilds the database from the objects that it holds: their order is counted from the beginning, and deletions
    /// are forgotten.
    public func rebuildDatabase() {
        let now = clock.now
        state.withLock { state in
            state.mergeJournal(at: now)
            state.database.rebuild()
        }
        deliver()
    }

    /// Condenses the samples of a source in a span into one, as the system does: many deletions, one addition (A27).
    /// Returns how many samples it condensed.
    @discardableResult
    public func condense(_ type: String, of source: String, from start: Date, to end: Date) -> Int {
        let (now, type) = (clock.now, KnownType.identifier(of: type))
        let count = state.withLock { state -> Int in
            let records = state.database.all.filter {
                $0.type.identifier == type && $0.source == source && $0.start >= start && $0.end <= end
            }
            guard let condensed = HealthRecord(condensing: records) else { return 0 }
            state.remove(records.map(\.uuid), at: now)
            state.observers.noteNews(of: state.database.save([condensed]), at: now)
            return records.count
        }
        deliver()
        return count
    }

    /// Sets the user's order of the sources of a type. Sources that are not named come last (A20).
    public func setPriority(of sources: [String], for type: String) {
        let type = KnownType.identifier(of: type)
        state.withLock { $0.priorities[type] = sources }
    }

    /// Returns all live samples of a type, with the value in the type's unit, source, sync identifier and version, for
    /// tests to check. Samples in the journal of a locked device count as merged.
    public func contents(of type: String) -> [SimulatedSample] {
        let type = KnownType.identifier(of: type)
        // Within the lock: a copy of the database would share its memory with what the device writes next.
        return state.withLock { state in
            var merged = state.database
            for records in state.journaled { _ = merged.save(records) }
            return merged.all.filter { $0.type.identifier == type }.map { SimulatedSample($0) }
        }
    }
}

/// A sample as the device holds it, independent of read access.
public struct SimulatedSample: Sendable, Hashable {
    /// The sample's UUID in HealthKit.
    public let uuid: UUID
    /// When it starts.
    public let start: Date
    /// When it ends.
    public let end: Date
    /// The value in the type's own unit, the number of a category's case, a workout's duration in seconds, or the
    /// number of a correlation's members.
    public let value: Double
    /// The bundle identifier of the app that wrote it.
    public let source: String
    /// Its sync identifier.
    public let syncIdentifier: String?
    /// Its sync version.
    public let version: Double?
    /// The keys of its metadata.
    public let metadataKeys: Set<String>

    init(_ record: HealthRecord) {
        uuid = record.uuid
        start = record.start
        end = record.end
        source = record.source
        syncIdentifier = record.metadata.syncIdentifier
        version = record.metadata.syncVersion
        metadataKeys = Set(record.metadata.items.keys)
        switch record.content {
        case .quantity: value = record.amount ?? .nan
        case .category(let number): value = Double(number)
        case .workout(let workout): value = workout.duration(from: record.start, to: record.end)
        case .correlation(let members): value = Double(members.count)
        case .none: value = .nan
        }
    }
}
