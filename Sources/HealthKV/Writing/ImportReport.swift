/// What an import did, by outcome.
public struct ImportReport: Sendable, Hashable {
    /// Samples that are new to the store.
    public var inserted = 0
    /// Samples that were an edit of one that the store had.
    public var replaced = 0
    /// Samples that the store held already as they are.
    public var unchanged = 0
    /// Samples of which the store holds a greater version.
    public var older = 0
    /// Samples that were deleted here at this version or a greater one.
    public var vetoed = 0

    /// A report of nothing; add others to it.
    public init() {}

    /// How many samples were offered.
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

    /// Adds what another batch did.
    public static func += (left: inout ImportReport, right: ImportReport) {
        left.inserted += right.inserted
        left.replaced += right.replaced
        left.unchanged += right.unchanged
        left.older += right.older
        left.vetoed += right.vetoed
    }
}
