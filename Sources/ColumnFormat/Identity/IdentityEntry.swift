import HealthModel

/// A hint to the location of an identity: the hash of an identifier, a lane, and a range of about 18 minutes in that
/// lane.
///
/// Readers verify hints against the chunk. A surplus hint costs one lookup; a missing hint is damage.
public struct IdentityEntry: Hashable, Sendable, Comparable {
    /// 40 bits of hash, then 24 bits of time, in the order of the index.
    public var key: UInt64
    /// Lane and flags, packed.
    public var kind: Kind

    public struct Kind: Hashable, Sendable, Comparable {
        public var packed: UInt64

        /// Cancels one entry with the same hash and place.
        public static let removalBit: UInt64 = 1
        /// Points to the table of tombstones, not to a chunk.
        public static let tombstoneBit: UInt64 = 2

        public init(packed: UInt64) { self.packed = packed }

        /// Creates the kind of a sample's identity in a lane.
        public init(lane: Lane) { packed = UInt64(lane.type) << 16 | UInt64(lane.duration.rawValue) << 8 }

        public static let tombstone = Kind(packed: tombstoneBit)

        public var isRemoval: Bool { packed & Kind.removalBit != 0 }
        public var isTombstone: Bool { packed & Kind.tombstoneBit != 0 }
        /// The same kind as a removal, or as the entry that the removal cancels.
        public var removal: Kind { Kind(packed: packed | Kind.removalBit) }
        public var addition: Kind { Kind(packed: packed & ~Kind.removalBit) }

        /// The lane that the entry points to; `nil` if its duration class is unknown.
        public var lane: Lane? {
            DurationClass(rawValue: UInt8(truncatingIfNeeded: packed >> 8)).map {
                Lane(type: UInt32(truncatingIfNeeded: packed >> 16), duration: $0)
            }
        }

        public static func < (left: Kind, right: Kind) -> Bool { left.packed < right.packed }
    }

    public init(key: UInt64, kind: Kind) {
        self.key = key
        self.kind = kind
    }

    /// Creates the entry of a hash for a sample that starts at `start` in `lane`.
    @inline(__always)
    public init(hash: UInt64, start: Int64, lane: Lane) {
        key = (hash >> IdentityEntry.quantumBits) << IdentityEntry.quantumBits | IdentityEntry.quantum(of: start)
        kind = Kind(lane: lane)
    }

    /// Creates an entry that points to a tombstone.
    public init(tombstone hash: UInt64) {
        key = (hash >> IdentityEntry.quantumBits) << IdentityEntry.quantumBits
        kind = .tombstone
    }

    public static let quantumBits: UInt64 = 24
    private static let timeShift: UInt64 = 40

    /// The 40 bits of hash.
    @inline(__always)
    public var hash: UInt64 { key >> IdentityEntry.quantumBits }

    /// Returns the 40 bits of an identifier's 64-bit hash that an entry keeps.
    @inline(__always)
    public static func hash(_ hash: UInt64) -> UInt64 { hash >> quantumBits }

    @inline(__always)
    static func quantum(of start: Int64) -> UInt64 { (UInt64(bitPattern: start) ^ 1 << 63) >> timeShift }

    /// The range of starts that the entry points to.
    public var starts: ClosedRange<Int64> {
        let quantum = key & ((1 << IdentityEntry.quantumBits) - 1)
        let first = Int64(bitPattern: quantum << IdentityEntry.timeShift ^ 1 << 63)
        return first...(first | ((1 << Int64(IdentityEntry.timeShift)) - 1))
    }

    public static func < (left: IdentityEntry, right: IdentityEntry) -> Bool {
        left.key != right.key ? left.key < right.key : left.kind < right.kind
    }
}
