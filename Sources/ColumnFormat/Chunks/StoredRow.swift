import HealthModel

/// One sample as a chunk stores it: names are numbers, and rare fields are behind one reference.
public struct StoredRow: Sendable, Equatable {
    public var start: Int64
    public var end: Int64
    public var id: SampleID
    public var value: Double
    /// The number of the unit as entered.
    public var unit: UInt32
    /// The number of the source revision.
    public var revision: UInt32
    public var flags: Flags
    public var version: Int64
    public var clockTime: Int64
    public var clockReplica: UInt32
    /// The commit of the last change, and the change's position in it.
    public var commit: UInt64
    public var ordinal: UInt32
    /// The number of the device, or 0.
    public var device: UInt32
    public var count: Int32
    public var multiplicity: Int32
    public var rare: RareFields?

    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        // Files contain the low byte: do not change it.
        public static let userEntered = Flags(rawValue: 1)
        public static let shadowed = Flags(rawValue: 2)
        /// The sync identifier is the text form of the id.
        public static let syncIsID = Flags(rawValue: 4)
        public static let imported = Flags(rawValue: 8)
        /// The id is derived from content and not stored. This flag comes from the column of ids, not from the flags on
        /// disk.
        public static let derivedID = Flags(rawValue: 0x100)

        /// Without the general algebra of sets, which a debug build calls through witnesses.
        @inlinable
        public func contains(_ flags: Flags) -> Bool { rawValue & flags.rawValue == flags.rawValue }

        static let stored = Flags(rawValue: 0xFF)
        static let known = Flags(rawValue: 0x0F)
    }

    // Inlined, because a call would copy the row once more.
    @inlinable
    public init(
        start: Int64, end: Int64, id: SampleID, value: Double, unit: UInt32, revision: UInt32, flags: Flags,
        version: Int64, clockTime: Int64, clockReplica: UInt32, commit: UInt64, ordinal: UInt32
    ) {
        self.start = start
        self.end = end
        self.id = id
        self.value = value
        self.unit = unit
        self.revision = revision
        self.flags = flags
        self.version = version
        self.clockTime = clockTime
        self.clockReplica = clockReplica
        self.commit = commit
        self.ordinal = ordinal
        device = 0
        count = 1
        multiplicity = 0
        rare = nil
    }

    public var point: Point { Point(start: start, end: end, id: id) }
    public var isShadowed: Bool { flags.contains(.shadowed) }
    public var durationClass: DurationClass { DurationClass(start: start, end: end) }
}

/// The information about names that the format needs to recompute a derived id.
public protocol DerivedIDResolver: AnyObject {
    /// Returns the hashes of a type and of a revision's source; `nil` for unknown names.
    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix?
    /// Returns the value from which the id is derived.
    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double
}
