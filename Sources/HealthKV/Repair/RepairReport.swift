import HealthModel

/// What a repair found and did. It names types and times, but no value of a sample.
public struct RepairReport: Sendable {
    /// Samples of one type that start in a range.
    public struct Part: Sendable, Hashable {
        /// The type.
        public let type: SampleType
        /// The first start; `nil` where it is not known.
        public let from: Instant?
        /// The last start; `nil` where it is not known.
        public let to: Instant?
        /// The number of samples; `nil` where it is not known.
        public let samples: Int?
        /// Whether the number and the range are known for certain.
        public let isCertain: Bool
    }

    /// The folder that was repaired.
    public internal(set) var source: String
    /// Whether the file was sound: then the new store is a copy of it.
    public internal(set) var isSound = true
    /// What was wrong with the pages of the file, in words.
    public internal(set) var findings: [String] = []
    /// The number of LMDB's transactions that are lost. What they changed is as it was before.
    public internal(set) var transactionsLost = 0
    /// The number of commits of the journal that are lost.
    public internal(set) var commitsLost = 0
    /// The samples in the new store.
    public internal(set) var kept: [Part] = []
    /// The number of values in which one wrong bit was set right.
    public internal(set) var mendedValues = 0
    /// The samples in whose values one wrong bit was set right: each part is a chunk of the store, of which the start
    /// is known. Other mended values, such as names, have no part here.
    public internal(set) var mended: [Part] = []
    /// The samples that are lost.
    public internal(set) var lost: [Part] = []
    /// Samples that may have been changed or deleted since the state in which they were found.
    public internal(set) var doubtful: [Part] = []
    /// Samples whose columns were found without their ids.
    public internal(set) var identitiesLost: [Part] = []
    /// Samples of which only type, times, value, unit and source were found. Their versions, metadata, sync
    /// identifiers, devices, groups, counts, notes, edits and what workouts hold are stored beside the ids, so they are
    /// the samples of ``identitiesLost``.
    public internal(set) var detailsLost: [Part] = []
    /// Whether values of commits that never happened may be in the new store: several processes wrote commits of the
    /// same number and all but one of them were killed, and nothing in the file tells which.
    public internal(set) var isOfDoubtfulSessions = false
    /// Whether samples that were deleted, or changed since, may be in the new store: what tells older states and
    /// deletions is lost with pages of the file; or a deletion of a range or a source, which removes its samples step
    /// by step, may have been under way.
    public internal(set) var mayHoldDeleted = false
    /// The number of records that are lost, by table; 0 where records may be lost, and how many is not known.
    public internal(set) var recordsLost: [String: Int] = [:]
    /// Whether doubtful samples are in the new store.
    public internal(set) var includesDoubtful = false
    /// Whether samples whose ids are lost are in the new store, under new ids. A store that was never synced keeps
    /// them. Where a peer may hold them under the old ids, or ``mayHoldDeleted``, they are kept only on request.
    public internal(set) var keepsNameless = false
    /// The number of peers that adopt before anything is sent.
    public internal(set) var peers = 0
    /// The number of operations that still wait for peers.
    public internal(set) var pending = 0
    /// What the check of the new store found.
    public internal(set) var check = CheckReport()

    /// Whether something that the store held is not in the new store.
    public var isLossy: Bool {
        transactionsLost > 0 || commitsLost > 0 || !lost.isEmpty || !identitiesLost.isEmpty || !recordsLost.isEmpty
            || !doubtful.isEmpty || isOfDoubtfulSessions || mayHoldDeleted || !check.isClean
    }
}

/// How to repair a store.
public struct RepairOptions: Sendable {
    /// Keep samples that may have been changed or deleted since. In a store with peers, also keep samples whose ids are
    /// lost; a store without peers keeps them in any case.
    public var includesDoubtful = false
    /// Set single wrong bits right.
    public var mends = true
    /// The cipher of a sealed store. The new store is sealed by it as well. A store that is sealed cannot be repaired
    /// without it.
    public var sealer: (any StoreSealer)?
    /// Leave out values of commits that never happened, as the record of sessions says. Turned off only by a test.
    package var asksSessions = true

    /// Creates options under which nothing doubtful is kept and single wrong bits are set right.
    public init() {}
}
