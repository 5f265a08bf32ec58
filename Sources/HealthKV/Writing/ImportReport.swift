/// What an import did, by outcome.
public struct ImportReport: Sendable, Hashable {
    public var inserted = 0
    public var replaced = 0
    public var unchanged = 0
    public var older = 0
    public var vetoed = 0

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

    public static func += (left: inout ImportReport, right: ImportReport) {
        left.inserted += right.inserted
        left.replaced += right.replaced
        left.unchanged += right.unchanged
        left.older += right.older
        left.vetoed += right.vetoed
    }
}
