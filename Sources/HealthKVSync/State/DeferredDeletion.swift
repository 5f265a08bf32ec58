import HealthKV

/// A deletion that may turn out to be half of a replacement.
struct DeferredDeletion: Codable, Sendable, Equatable {
    var idAtPeer: SampleID
    var syncIdentifier: String?
    var version: Int64?

    init(_ deletion: PulledDeletion) {
        (idAtPeer, syncIdentifier, version) = (deletion.idAtPeer, deletion.syncIdentifier, deletion.version)
    }

    var deletion: PulledDeletion {
        PulledDeletion(idAtPeer: idAtPeer, syncIdentifier: syncIdentifier, version: version)
    }
}

/// Blocks of deletions that wait for the end of a feed, each in a note of its own. There are as many blocks as the feed
/// needs, and only one is in memory at a time.
struct DeferredBlocks: Codable, Sendable, Equatable {
    /// The number of the first remaining block.
    var first = 0
    /// The number after that of the last block.
    var next = 0
}
