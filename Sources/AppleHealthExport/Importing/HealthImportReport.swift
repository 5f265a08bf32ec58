/// What an import came to, as numbers of records.
public struct HealthImportReport: Sendable, Hashable {
    /// Records that the file holds, as far as it was read.
    public var read = 0
    /// Records that are new to the store.
    public var inserted = 0
    /// Records that are a later version of a stored sample, or bring it into a group.
    public var replaced = 0
    /// Records that the store holds already, in whatever unit.
    public var unchanged = 0
    /// Records of samples that were deleted here.
    public var vetoed = 0
    /// Elements with defects that could be mended. They are counted among the others as well.
    public var mended = 0
    /// Parts of the file that were not taken.
    public var quarantined = 0
    /// Records that the options leave out.
    public var skipped = 0
    /// Daily totals of activity summaries that are new to the store or newer than what it holds. They are no records.
    public var totals = 0
    /// Whether the file ends before its root does.
    public var isCutOff = false
    /// What an import does not take, by kind.
    public var keptOut: [String: KeptOut] = [:]

    /// Parts of an export of a kind that no import takes.
    public struct KeptOut: Sendable, Hashable {
        /// How many there are.
        public var count = 0
        /// How many bytes they have.
        public var bytes = 0
    }

    /// Creates an empty report.
    public init() {}

    /// - Parameter isNew: whether the bytes are more than the rest of what was counted before.
    mutating func keepOut(_ kind: String, bytes: Int, isNew: Bool = true) {
        var kind = kind
        // The names of elements come from the file.
        if keptOut[kind] == nil, keptOut.count >= HealthImportReport.mostKinds || kind.utf8.count > 100 {
            kind = "other elements"
        }
        if isNew || keptOut[kind] == nil { keptOut[kind, default: KeptOut()].count += 1 }
        keptOut[kind, default: KeptOut()].bytes += bytes
    }

    private static let mostKinds = 100
}
