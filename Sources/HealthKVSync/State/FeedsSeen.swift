import HealthKV

/// What a pass has read from its peer before it sends.
struct FeedsSeen: Sendable {
    /// Whether the peer shows nothing, because its device is locked.
    var isBlind = false
    /// The feeds that were read to their ends, and those that may not be read.
    var read: Set<SampleType> = []
}
