/// The tables of a store. The raw values are in every value's header on disk: never change or reuse one.
public enum TableCode: UInt8, Sendable, CaseIterable {
    case meta = 1
    case names = 2
    case namesReverse = 3
    case chunks = 4
    case details = 5
    case tombstones = 6
    case identity = 7
    case summaries = 8
    case changes = 9
    case peers = 10
    case anchors = 11
    case links = 12
    case pending = 13
    case totals = 14
    case audit = 15
    case upkeep = 16

    /// The name of the LMDB database.
    public var name: String { TableCode.allNames[Int(rawValue)] }

    /// Creates the table with a name.
    public init?(name: String) {
        guard let code = TableCode.codes[name] else { return nil }
        self = code
    }

    // Computed once: looking up the name of a case is slow, and a walk does it for each entry.
    private static let allNames = [""] + allCases.map { $0 == .namesReverse ? "names-reverse" : "\($0)" }
    private static let codes = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// Whether the table can be rebuilt from others.
    public var isDerived: Bool { self == .identity || self == .summaries }
}

/// The format that this release writes and reads.
public enum FormatVersion {
    public static let current: UInt8 = 2
}
