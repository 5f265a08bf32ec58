import HealthKV

/// The result of a pull.
public struct PullReport: Sendable, Hashable {
    /// Samples that are new here, or newer than the stored version.
    public var imported = 0
    /// Samples that were already stored.
    public var unchanged = 0
    /// Samples that this app wrote and that were found at the peer again.
    public var adopted = 0
    /// Samples that were deleted here because the peer deleted them.
    public var deleted = 0
    /// Deletions of versions that another version had replaced.
    public var superseded = 0
    /// Resolved conflicts, which an app can show.
    public var conflicts = 0
    /// Samples that break the rules of the store, such as one with a negative version, and were left out.
    public var invalid = 0
    /// The first of the samples that were left out.
    public var leftOut: [LeftOutSample] = []
    /// The largest lead of a peer's clock that exceeds a day, in seconds.
    public var skewSeconds: Double?

    /// A report lists at most so many of the samples that were left out.
    private static let mostLeftOut = 32

    /// Creates an empty report.
    public init() {}

    /// Notes a sample or a deletion that breaks a rule of the store.
    mutating func leaveOut(_ id: SampleID, _ type: SampleType, _ error: any Error) {
        invalid += 1
        guard leftOut.count < PullReport.mostLeftOut else { return }
        leftOut.append(LeftOutSample(id: id, type: type, reason: "\(error)"))
    }

    mutating func count(_ imported: ImportReport) {
        self.imported += imported.inserted + imported.replaced
        unchanged += imported.unchanged + imported.older + imported.vetoed
    }

    static func += (left: inout PullReport, right: PullReport) {
        left.imported += right.imported
        left.unchanged += right.unchanged
        left.adopted += right.adopted
        left.deleted += right.deleted
        left.superseded += right.superseded
        left.conflicts += right.conflicts
        left.invalid += right.invalid
        left.leftOut = Array((left.leftOut + right.leftOut).prefix(mostLeftOut))
        left.skewSeconds = [left.skewSeconds, right.skewSeconds].compactMap(\.self).max()
    }
}

/// A sample of a peer that breaks a rule of the store. It stays at the peer, and its feed is read past it.
public struct LeftOutSample: Sendable, Hashable {
    /// What the peer calls the sample.
    public let id: SampleID
    /// The type of the sample.
    public let type: SampleType
    /// The rule that it breaks, without any health value.
    public let reason: String
}
