@testable import HealthKV

/// What a store must hold, in plain dictionaries: written from the rules of SEMANTICS (A3-A9, C1, C2, C22, C30), not from
/// the engine. Every lookup is a scan.
struct ReferenceModel {
    /// A4: one sample of a source and type has one sync identifier.
    struct SyncKey: Hashable {
        var type: SampleType
        var source: SourceIdentity
        var identifier: String
    }

    /// What stays of a deleted sample.
    struct Grave {
        var id: SampleID
        var type: SampleType
        var source: SourceIdentity
        var syncIdentifier: String?
        var version: Int64
        var clock: ChangeClock
        var time: Instant
        /// The commit that deleted it; known once that is done.
        var commit: UInt64 = 0
    }

    enum Rule { case local, merge }

    let ownSource: Source
    let replica: UInt32
    var live: [SampleID: Sample] = [:]
    var gravesByID: [SampleID: Grave] = [:]
    var gravesBySync: [SyncKey: Grave] = [:]
    /// In the order in which they were first seen.
    var sources: [SourceIdentity] = []
    var shadowing: [SampleType: Bool] = [:]
    /// No local change may be stamped at or before this.
    var lastClock = Instant.distantPast
    /// Tokens of commits before this one have expired.
    var prunedCommit: UInt64 = 0

    init(ownSource: Source, replica: UInt32) {
        self.ownSource = ownSource
        self.replica = replica
    }

    /// The sync identifier that a sample has: the one it was given, or for our own samples the text of the id.
    static func syncIdentifier(of sample: Sample) -> String? {
        sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
    }

    static func syncKey(of sample: Sample) -> SyncKey? {
        syncIdentifier(of: sample).map { SyncKey(type: sample.type, source: sample.source.identity, identifier: $0) }
    }

    /// The live sample that `sample` is a version of: by id, else by source, type and sync identifier.
    func held(_ sample: Sample) -> Sample? {
        if let held = live[sample.id] { return held }
        guard let key = ReferenceModel.syncKey(of: sample) else { return nil }
        return live.values.first { ReferenceModel.syncKey(of: $0) == key }
    }

    /// Stores a sample and tells what that did, and to which id.
    ///
    /// - Parameter clock: what a change made here is stamped with.
    mutating func save(_ given: Sample, _ rule: Rule, clock: ChangeClock, now: Instant) -> (SaveOutcome, SampleID) {
        let (outcome, id) = store(given, rule, clock: clock)
        // What changes nothing need not be remembered, the clock neither.
        if outcome == .inserted || outcome == .replaced, let read = given.modified { witness(read, now: now) }
        return (outcome, id)
    }

    private mutating func store(_ given: Sample, _ rule: Rule, clock: ChangeClock) -> (SaveOutcome, SampleID) {
        var sample = given
        sample.isShadowed = false
        if sample.source == .thisApp { sample.source = ownSource }
        guard let held = held(sample) else { return insert(sample, rule, clock: clock) }
        if rule == .local, held.original != nil, given.original == nil, given.origin == .imported,
            given.type == held.type
        {
            return (importBeneath(held, sample, clock: clock), held.id)
        }
        if held.origin == .authored { sample.original = nil }
        sample.id = held.id
        sample.origin = held.origin
        if rule == .local, given.syncIdentifier == nil { sample.syncIdentifier = held.syncIdentifier }
        sample.syncIdentifier = ReferenceModel.syncIdentifier(of: sample)
        let isEqual = ReferenceModel.bytes(sample) == ReferenceModel.bytes(held)
        switch rule {
        case .local:
            if sample.version > 0, sample.version < held.version { return (.older, held.id) }
            if isEqual, sample.version <= held.version { return (.unchanged, held.id) }
            sample.version = sample.version > held.version ? sample.version : held.version + 1
            sample.modified = clock
        case .merge:
            sample.version = max(1, sample.version)
            if isEqual, sample.version <= held.version, sample.modified == nil { return (.unchanged, held.id) }
            // A record that brings no clock was changed at an unknown time, before all others.
            let brought = sample.modified ?? ChangeClock(time: .distantPast, replica: 0)
            let order =
                (sample.version, brought) == (held.version, held.modified!)
                ? 0
                : (sample.version, brought) < (held.version, held.modified!) ? -1 : 1
            if order == 0, isEqual { return (.unchanged, held.id) }
            let wins =
                order == 0
                ? ReferenceModel.bytes(held).lexicographicallyPrecedes(ReferenceModel.bytes(sample)) : order > 0
            if !wins { return (.older, held.id) }
            sample.modified = sample.modified ?? clock
        }
        live[held.id] = sample
        return (.replaced, held.id)
    }

    /// C7: an import of a sample that was edited here changes what lies beneath the edit.
    private mutating func importBeneath(_ held: Sample, _ given: Sample, clock: ChangeClock) -> SaveOutcome {
        if given.version > 0, given.version < held.original!.version { return .older }
        var changed = given
        (changed.id, changed.origin, changed.source) = (held.id, held.origin, held.source)
        (changed.version, changed.modified, changed.isShadowed) = (held.version, held.modified, held.isShadowed)
        changed.syncIdentifier = given.syncIdentifier ?? held.syncIdentifier
        // What an edit may lie over.
        (changed.start, changed.end, changed.quantity) = (held.start, held.end, held.quantity)
        (changed.isUserEntered, changed.metadata, changed.local) = (held.isUserEntered, held.metadata, held.local)
        changed.original = Sample.Original(of: given)
        if given.version == 0 { changed.original!.version = held.original!.version }
        if ReferenceModel.bytes(changed) == ReferenceModel.bytes(held) { return .unchanged }
        changed.version = held.version + 1
        changed.modified = clock
        live[held.id] = changed
        return .replaced
    }

    private mutating func insert(_ given: Sample, _ rule: Rule, clock: ChangeClock) -> (SaveOutcome, SampleID) {
        var sample = given
        sample.version = max(1, sample.version)
        sample.syncIdentifier = ReferenceModel.syncIdentifier(of: sample)
        let key = ReferenceModel.syncKey(of: sample)
        for grave in [gravesByID[sample.id], key.flatMap { gravesBySync[$0] }] {
            guard let grave, sample.version <= grave.version else { continue }
            // At an equal version the later change wins; a deletion wins a tie, and against what brings no clock.
            let isLater = rule == .merge && sample.modified.map { grave.clock < $0 } ?? false
            guard sample.version == grave.version, isLater else { return (.vetoed, sample.id) }
        }
        gravesByID[sample.id] = nil
        if let key { release(key) }
        sample.modified = rule == .merge ? sample.modified ?? clock : clock
        live[sample.id] = sample
        if !sources.contains(sample.source.identity) { sources.append(sample.source.identity) }
        return (.inserted, sample.id)
    }

    /// A clock that was read pulls ours along, unless it is more than a day ahead.
    mutating func witness(_ clock: ChangeClock, now: Instant) {
        if clock.time <= now + 86_400 * Instant.nanosecondsPerSecond { lastClock = max(lastClock, clock.time) }
    }

    /// A sample as its deletion here records it: no later version of an import brings it back.
    static func asDeleted(_ sample: Sample) -> Sample {
        var deleted = sample
        if sample.origin == .imported { deleted.version = Sample.versionLimit }
        return deleted
    }

    /// Takes a live sample away and leaves a tombstone under its id and its sync identifier.
    mutating func bury(_ sample: Sample, clock: ChangeClock, now: Instant) {
        live[sample.id] = nil
        var grave = Grave(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: sample.version, clock: clock, time: now)
        if let key = ReferenceModel.syncKey(of: sample) {
            // Of two deletions of one sync identifier the greater speaks for it.
            if let other = gravesBySync[key], other.id != grave.id,
                (grave.version, grave.clock) < (other.version, other.clock)
            {
                grave.syncIdentifier = nil
            } else {
                release(key)
                gravesBySync[key] = grave
            }
        }
        gravesByID[sample.id] = grave
    }

    /// What is dead under a sync identifier stays dead under its id.
    private mutating func release(_ key: SyncKey) {
        gravesBySync[key] = nil
        for (id, grave) in gravesByID
        where grave.syncIdentifier == key.identifier && grave.type == key.type && grave.source == key.source {
            gravesByID[id]!.syncIdentifier = nil
        }
    }

    /// The content and sync identifier in the canonical form: what decides whether two versions are equal.
    static func bytes(_ sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.append(syncIdentifier(of: sample))
        encoder.encodeContent(of: sample)
        return encoder.bytes
    }

    /// Everything that a sample says, bit for bit.
    static func wholeBytes(_ sample: Sample, ignoringShadow: Bool = false) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        encoder.append(sample.isShadowed && !ignoringShadow ? 1 : 0 as UInt8)
        return encoder.bytes
    }
}
