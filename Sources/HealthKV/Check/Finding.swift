/// Something in a store that is not as it must be. It names tables, keys and commits, never a health value.
public struct Finding: Sendable, Hashable {
    /// What is wrong. Raw values are stable; kinds may be added.
    public enum Kind: String, Sendable, CaseIterable {
        /// The header cannot be read, or belongs to another transaction.
        case header
        /// A chunk's hot value cannot be read.
        case chunkUnreadable
        /// Chunks of a lane leave a gap or overlap.
        case chunkGap
        /// A chunk has no details, details have no chunk, or the two do not fit.
        case detailsMismatch
        /// Two samples have one id.
        case duplicateID
        /// A sample's identity has no entry in the index.
        case identityMissing
        /// A part of the identity index cannot be read, or its partitions leave a gap.
        case identityUnreadable
        /// Kept counts differ from what is there.
        case countsWrong
        /// A name that rows use is gone or cannot be read.
        case nameMissing
        /// The two copies of a name differ, or one is gone.
        case nameCopiesDiffer
        /// A deleted sample lives.
        case tombstoneOfLiveSample
        /// The feed does not lead to a sample.
        case changeMissing
        /// A shadow mark is missing, or stands where it should not.
        case shadowWrong
        /// A record cannot be read.
        case recordUnreadable
    }

    public let kind: Kind
    /// The table it was found in.
    public let table: String
    /// Where and what, without any health value.
    public let detail: String
}

/// What a check found.
public struct CheckReport: Sendable {
    public internal(set) var findings: [Finding] = []
    /// Findings beyond the limit that were counted only.
    public internal(set) var omitted = 0
    public internal(set) var chunks = 0
    public internal(set) var samples = 0
    public internal(set) var records = 0
    /// Entries of the identity index that lead nowhere. They cost a look and are no damage.
    public internal(set) var surplusHints = 0

    public var isClean: Bool { findings.isEmpty && omitted == 0 }
}
