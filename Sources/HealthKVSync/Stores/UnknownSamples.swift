import HealthKV

extension SampleReading where Self: ~Copyable {
    /// Returns those samples of another store that were deleted here and forgotten: nothing is known of them, and no
    /// sample of their type and source ever left this store without being deleted, as cached samples do.
    func forgotten(among samples: [Sample]) throws -> [Sample] {
        try samples.filter { try isUnknown($0) && !hasPurged($0.type, of: $0.source.identity) }
    }

    /// Returns `true` if nothing is known of a sample: it is neither stored here nor known as deleted.
    fileprivate func isUnknown(_ other: Sample) throws -> Bool {
        if try sample(id: other.id) != nil || deletedSample(id: other.id) != nil { return false }
        guard let text = other.syncIdentifier else { return true }
        let source = other.source.identity
        return try sample(syncIdentifier: text, type: other.type, source: source) == nil
            && deletedSample(syncIdentifier: text, type: other.type, source: source) == nil
    }
}
