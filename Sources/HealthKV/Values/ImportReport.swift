/// The result of an import: the number of samples by outcome.
public struct ImportReport: Sendable, Hashable {
    /// Samples that were new to the store.
    public var inserted = 0
    /// Samples that replaced an older version in the store.
    public var replaced = 0
    /// Samples that the store already held with the same content.
    public var unchanged = 0
    /// Samples of which the store holds a greater version.
    public var older = 0
    /// Samples that were deleted here at this version or a greater one.
    public var vetoed = 0

    /// Creates an empty report.
    public init() {}

    /// The number of samples that were offered.
    public var total: Int { inserted + replaced + unchanged + older + vetoed }

    mutating func count(_ outcome: SaveOutcome) {
        switch outcome {
        case .inserted: inserted += 1
        case .replaced: replaced += 1
        case .unchanged: unchanged += 1
        case .older: older += 1
        case .vetoed: vetoed += 1
        }
    }

    /// Adds the report of another batch.
    public static func += (left: inout ImportReport, right: ImportReport) {
        left.inserted += right.inserted
        left.replaced += right.replaced
        left.unchanged += right.unchanged
        left.older += right.older
        left.vetoed += right.vetoed
    }
}
