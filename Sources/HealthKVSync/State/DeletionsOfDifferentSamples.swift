import HealthKV

/// A set of deletions, each of a different sample.
struct DeletionsOfDifferentSamples {
    private var deletions: [DeletedSample] = []
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    /// Returns `true` if another deletion may mean the same sample as one of these.
    func mayMean(sampleOf other: DeletedSample) -> Bool {
        ids.contains(other.id) || other.syncIdentifier.map { identifiers.contains($0) } ?? false
    }

    mutating func append(_ deletion: DeletedSample) {
        deletions.append(deletion)
        ids.insert(deletion.id)
        if let text = deletion.syncIdentifier { identifiers.insert(text) }
    }

    mutating func take() -> [DeletedSample] {
        defer { self = DeletionsOfDifferentSamples() }
        return deletions
    }
}
