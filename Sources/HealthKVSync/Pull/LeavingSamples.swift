import HealthKV

/// Samples that a page deletes. Until they are deleted together, the store still finds them as live samples.
struct LeavingSamples: Sendable {
    private var deletions: [(sample: Sample, version: Int64)] = []
    /// The ids of the samples, here and at the peer.
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    mutating func append(_ held: Sample, _ deletion: PulledDeletion, version: Int64) {
        deletions.append((held, version))
        ids.formUnion([held.id, deletion.idAtPeer])
        if let text = held.syncIdentifier { identifiers.insert(text) }
    }

    /// Returns `true` if a deletion may mean one of these samples.
    func mayBeMeant(by deletion: PulledDeletion) -> Bool {
        if deletions.isEmpty { return false }
        if ids.contains(deletion.idAtPeer) { return true }
        guard let text = deletion.syncIdentifier else { return false }
        return identifiers.contains(text) || SampleID(text).map { ids.contains($0) } ?? false
    }

    mutating func take() -> [(sample: Sample, version: Int64)] {
        defer { self = LeavingSamples() }
        return deletions
    }
}

extension PulledDeletion {
    /// The deleted version in the order of stores, or one that is not below it. A deletion with the greatest version
    /// hides a sample permanently, because no sample has a version above it.
    var deletedVersion: Int64? { version.map { min(PeerNumber.slot(of: $0), Sample.versionLimit - 1) } }
}
