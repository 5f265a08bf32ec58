import HealthKV

/// The result of the pulls of a pass.
struct PullOutcome: Sendable {
    var report = PullReport()
    /// Whether nothing could be read because the device is locked.
    var isLocked = false
    /// Whether feeds were pulled and none of them failed.
    var isWhole = false
    /// The feeds that were read to their ends, and those that may not be read.
    var read: Set<SampleType> = []
    /// Whether the feed was continued from a place in it, without a gap.
    var isContinuous = false
}

/// The progress of an import.
public struct SyncProgress: Sendable, Hashable {
    /// The type of the imported samples.
    public var type: SampleType
    /// How many samples this step imported.
    public var imported: Int
    /// Whether the feed of the type was read to its end.
    public var isDrained: Bool
    /// How many samples of all types the import has brought so far.
    public var completed = 0
    /// How many samples of all types there are to import; `nil` if that is not known.
    public var total: Int?
}
