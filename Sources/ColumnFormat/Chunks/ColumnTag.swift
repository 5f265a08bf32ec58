/// What a column of a chunk holds. Embedded on disk: never change or reuse a number. An unknown tag is refused, so what
/// comes later is an addition that older releases do not misread.
enum ColumnTag: UInt8 {
    // Hot: what range reads and statistics need.
    case start = 1
    case duration = 2
    case value = 3
    case unit = 4
    case revision = 5
    case flags = 6
    // Cold: what identity, sync and whole samples need.
    case id = 16
    case version = 17
    case clockTime = 18
    case clockReplica = 19
    case commit = 20
    case ordinal = 21
    case device = 22
    case metadata = 23
    case group = 24
    case syncIdentifier = 25
    case count = 26
    case multiplicity = 27
    // Reserved: 28 note, 29 zone, 30 payload, 31 overlay.

    static let hot: Set<UInt8> = [1, 2, 3, 4, 5, 6]
    static let details: Set<UInt8> = [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]
}
