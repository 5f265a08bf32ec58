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

extension Sample {
    /// The version with which a database's deletion of this sample is recorded; 0 if the versions of sample and
    /// deletion decide. A database shows a foreign sample without a sync identifier in one version only. Its deletion
    /// covers whatever other stores made of that version: the same import under a clock that is ahead, and edits over
    /// it (SEMANTICS C22).
    var versionDeletedAtSource: Int64 {
        origin == .imported && syncIdentifier == nil ? Sample.aboveAllVersions : 0
    }

    /// Above the versions that sources and edits reach, and below the greatest, so that a sample that is shown again
    /// can live.
    static let aboveAllVersions = versionLimit / 2
}
