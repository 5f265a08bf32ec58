import HealthKV

extension SampleReading where Self: ~Copyable {
    /// Returns those samples of another store that were deleted here and forgotten: nothing is known of them, and no
    /// sample of their type and source ever left this store without being deleted, as cached samples do.
    func forgotten(among samples: [Sample]) throws -> [Sample] {
        try samples.filter { try isUnknown($0) && !hasPurged($0.type, of: $0.source.identity) }
    }

    /// Returns `true` if nothing is known of a sample: it is neither stored here nor known as deleted.
    fileprivate func isUnknown(_ other: Sample) throws -> Bool {
        if try held(as: other) != nil || deletedSample(id: other.id) != nil { return false }
        guard let text = other.syncIdentifier else { return true }
        return try deletedSample(syncIdentifier: text, type: other.type, source: other.source.identity) == nil
    }

    /// Returns the live sample that another store's sample is here: by its id, otherwise by its sync identifier.
    func held(as other: Sample) throws -> Sample? {
        try sample(id: other.id) ?? named(as: other)
    }

    /// Returns the live sample of a sample's type and source that has its sync identifier.
    func named(as other: Sample) throws -> Sample? {
        guard let text = other.syncIdentifier else { return nil }
        return try sample(syncIdentifier: text, type: other.type, source: other.source.identity)
    }

    /// Returns the live sample that has the sync identifier of a deleted one of its type and source.
    func named(as deleted: DeletedSample) throws -> Sample? {
        guard let text = deleted.syncIdentifier else { return nil }
        return try sample(syncIdentifier: text, type: deleted.type, source: deleted.source)
    }
}
