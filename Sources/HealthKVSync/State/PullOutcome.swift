import HealthKV

/// The result of the pulls of a pass.
struct PullOutcome: Sendable {
    var report = PullReport()
    /// Whether nothing could be read because the device is locked.
    var isLocked = false
    /// Whether a feed failed, other than for want of access that was never asked for or is not needed.
    var hasFailed = false
    /// The feeds that were read to their ends, in the order of the pulls.
    var drained: [SampleType] = []
    /// The feeds that may not be read: nothing of them can be seen before something is sent.
    var refused: Set<SampleType> = []
    /// Whether the feed was continued from a place in it, without a gap.
    var isContinuous = false

    /// Whether feeds were read to their ends and none failed. Types that the user is asked for later are no failure.
    var isWhole: Bool { !hasFailed && !isLocked && !drained.isEmpty }
    /// The feeds of which all is known that can be: those that were read to their ends, and those that may not be read.
    var read: Set<SampleType> { refused.union(drained) }
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
