@testable import HealthKV

/// What a store must hold, in plain dictionaries: written from the rules of SEMANTICS (A3-A9, C1, C2, C22, C30), not
/// from the engine. Every lookup is a scan.
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

    /// Whether a sample has the id of another one of which it is no version: its type, source or sync identifier
    /// differ.
    func changesIdentity(_ sample: Sample) -> Bool {
        if let held = live[sample.id] {
            let text = ReferenceModel.syncIdentifier(of: held)
            return (sample.type, sample.source.identity) != (held.type, held.source.identity)
                || text != nil && sample.syncIdentifier ?? text != text
        }
        guard let grave = gravesByID[sample.id] else { return false }
        return (sample.type, sample.source.identity) != (grave.type, grave.source)
            || grave.syncIdentifier != nil && sample.syncIdentifier ?? grave.syncIdentifier != grave.syncIdentifier
    }

    /// Stores a sample and tells what that did, and to which id.
    ///
    /// - Parameter clock: what a change made here is stamped with.
    mutating func save(_ given: Sample, _ rule: Rule, clock: ChangeClock, now: Instant) -> (SaveOutcome, SampleID) {
        let (outcome, id) = store(given, rule, clock: clock)
        // What changes nothing need not be remembered, the clock neither.
        if outcome == .inserted || outcome == .replaced {
            for read in [rule == .merge ? given.modified : nil, given.original?.modified, given.reversion?.modified] {
                if let read { witness(read, now: now) }
            }
        }
        return (outcome, id)
    }

    private mutating func store(_ given: Sample, _ rule: Rule, clock: ChangeClock) -> (SaveOutcome, SampleID) {
        var sample = given
        sample.isShadowed = false
        if sample.source == .thisApp { sample.source = ownSource }
        guard let held = held(sample) else { return insert(sample, rule, clock: clock) }
        let isOverlaid = [held, given].contains { $0.original != nil || $0.reversion != nil }
        if held.origin == .imported, given.type == held.type, isOverlaid {
            if rule == .merge { return (mergeHalves(held, sample, clock: clock), held.id) }
            if given.original == nil, given.origin == .imported {
                return (importBeneath(held, sample, clock: clock), held.id)
            }
        }
        if held.origin == .authored { (sample.original, sample.reversion) = (nil, nil) }
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
            if sample.original != nil, let taken = held.reversion {
                sample.version = max(sample.version, taken.version + 1)
            } else if sample.original == nil, let beneath = held.original {
                // Something else stands in the place of an edit, which is gone for good.
                sample.version = max(sample.version, beneath.version + 1)
                sample.reversion = Sample.Reversion(
                    version: max(held.version, beneath.version) + 1, modified: clock)
            } else if sample.original == nil {
                sample.reversion = held.reversion
            }
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
        let before = ReferenceModel.beneath(held)
        var after = given
        (after.id, after.origin, after.local, after.reversion) = (held.id, held.origin, before.local, nil)
        after.syncIdentifier = given.syncIdentifier ?? held.syncIdentifier
        if given.version > 0, given.version < before.version { return .older }
        let isEqual = ReferenceModel.bytes(after) == ReferenceModel.bytes(before)
        if isEqual, given.version <= before.version { return .unchanged }
        after.version = given.version > before.version ? given.version : before.version + 1
        after.modified = clock
        live[held.id] = ReferenceModel.lay(held, over: after)
        return .replaced
    }

    /// C7: of two states of an import the newer import and the newer edit, each by its own version and clock.
    private mutating func mergeHalves(_ held: Sample, _ given: Sample, clock: ChangeClock) -> SaveOutcome {
        var brought = given
        (brought.id, brought.origin, brought.version) = (held.id, held.origin, max(1, given.version))
        let (ours, theirs) = (ReferenceModel.beneath(held), ReferenceModel.beneath(brought))
        let beneath = ReferenceModel.importOrder(ours) < ReferenceModel.importOrder(theirs) ? theirs : ours
        let over = ReferenceModel.isEditNewer(brought, than: held) ? brought : held
        var merged = ReferenceModel.lay(over, over: beneath)
        if ReferenceModel.wholeBytes(merged, ignoringShadow: true)
            == ReferenceModel.wholeBytes(held, ignoringShadow: true)
        {
            let isSame =
                ReferenceModel.wholeBytes(brought, ignoringShadow: true)
                == ReferenceModel.wholeBytes(held, ignoringShadow: true)
            return isSame ? .unchanged : .older
        }
        merged.modified = merged.modified ?? clock
        live[held.id] = merged
        return .replaced
    }

    /// What was imported, without what lies over it.
    private static func beneath(_ sample: Sample) -> Sample {
        guard sample.original != nil || sample.reversion != nil else { return sample }
        var bare = sample
        bare.local = [:]
        bare.reversion = nil
        if let original = sample.original {
            (bare.start, bare.end, bare.quantity) = (original.start, original.end, original.quantity)
            (bare.isUserEntered, bare.metadata) = (original.isUserEntered, original.metadata)
            (bare.version, bare.modified, bare.original) = (original.version, original.modified, nil)
        }
        return bare
    }

    /// An import with the edit of another state over it, if that has one.
    private static func lay(_ edited: Sample, over beneath: Sample) -> Sample {
        var sample = beneath
        if let reversion = edited.reversion { (sample.reversion, sample.local) = (reversion, edited.local) }
        guard edited.original != nil else { return sample }
        (sample.start, sample.end, sample.quantity) = (edited.start, edited.end, edited.quantity)
        (sample.isUserEntered, sample.metadata, sample.local) = (edited.isUserEntered, edited.metadata, edited.local)
        (sample.version, sample.modified) = (edited.version, edited.modified)
        sample.original = Sample.Original(of: beneath)
        return sample
    }

    /// What decides between two versions: version, clock, then bytes.
    private struct Order: Comparable {
        let version: Int64
        let clock: ChangeClock
        let bytes: [[UInt8]]

        init(_ version: Int64, _ clock: ChangeClock?, _ bytes: [[UInt8]]) {
            (self.version, self.bytes) = (version, bytes)
            self.clock = clock ?? ChangeClock(time: .distantPast, replica: 0)
        }

        static func < (left: Order, right: Order) -> Bool {
            let (one, other) = ((left.version, left.clock), (right.version, right.clock))
            if one != other { return one < other }
            guard let (mine, theirs) = zip(left.bytes, right.bytes).first(where: { $0 != $1 }) else { return false }
            return mine.lexicographicallyPrecedes(theirs)
        }
    }

    private static func importOrder(_ sample: Sample) -> Order {
        var bare = sample
        bare.local = [:]
        var notes = CanonicalEncoder()
        notes.encode(sample.local)
        return Order(sample.version, sample.modified, [bytes(bare), notes.bytes])
    }

    /// `nil` where nothing lies over the sample, and nothing did.
    private static func editOrder(_ sample: Sample) -> Order? {
        var encoder = CanonicalEncoder()
        if let reversion = sample.reversion {
            encoder.encode(sample.local)
            return Order(reversion.version, reversion.modified, [[1], encoder.bytes])
        }
        guard sample.original != nil else { return nil }
        var bare = Sample(
            sample.type, sample.quantity.value, sample.quantity.unit, from: sample.start, to: sample.end, id: sample.id,
            isUserEntered: sample.isUserEntered, metadata: sample.metadata)
        bare.local = sample.local
        encoder.encodeContent(of: bare)
        return Order(sample.version, sample.modified, [[0], encoder.bytes])
    }

    private static func isEditNewer(_ sample: Sample, than other: Sample) -> Bool {
        guard let mine = editOrder(sample) else { return false }
        return editOrder(other).map { $0 < mine } ?? true
    }

    /// The greatest version and clock of what makes up a sample.
    static func last(_ sample: Sample) -> (version: Int64, clock: ChangeClock) {
        let never = ChangeClock(time: .distantPast, replica: 0)
        var all = [(sample.version, sample.modified ?? never)]
        if let original = sample.original { all.append((original.version, original.modified ?? never)) }
        if let reversion = sample.reversion { all.append((reversion.version, reversion.modified)) }
        return all.max(by: <)!
    }

    private mutating func insert(_ given: Sample, _ rule: Rule, clock: ChangeClock) -> (SaveOutcome, SampleID) {
        var sample = given
        sample.version = max(1, sample.version)
        if rule == .local, given.syncIdentifier == nil {
            sample.syncIdentifier = gravesByID[sample.id]?.syncIdentifier
        }
        sample.syncIdentifier = ReferenceModel.syncIdentifier(of: sample)
        let key = ReferenceModel.syncKey(of: sample)
        for grave in [gravesByID[sample.id], key.flatMap { gravesBySync[$0] }] {
            let last = ReferenceModel.last(sample)
            guard let grave, last.version <= grave.version else { continue }
            // At an equal version the later change wins; a deletion wins a tie, and against what brings no clock.
            let isLater = rule == .merge && grave.clock < last.clock
            guard last.version == grave.version, isLater else { return (.vetoed, sample.id) }
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

    /// Samples that are deleted, and the routes that go with the workouts among them.
    func withRoutes(_ samples: [Sample]) -> [Sample] {
        let leaving = Set(samples.map(\.id))
        let routes = live.values.filter { route in
            guard route.type == .workoutRoute, !leaving.contains(route.id) else { return false }
            let holders = live.values.filter { $0.type == .workout && holds($0, halfOf: route) }
            let own = holders.filter { isOneApp($0.source, route.source) }
            let workouts = own.isEmpty ? holders : own
            return !workouts.isEmpty && workouts.allSatisfy { leaving.contains($0.id) }
        }
        return samples + routes.sorted { $0.id < $1.id }
    }

    private func isOneApp(_ left: Source, _ right: Source) -> Bool {
        if left.bundle.isEmpty || right.bundle.isEmpty { return Array(left.name.utf8) == Array(right.name.utf8) }
        return Array(left.bundle.utf8) == Array(right.bundle.utf8)
    }

    /// Whether a workout lasts for at least half of a route, in 128 bits. One without an end lasts for its duration.
    private func holds(_ workout: Sample, halfOf route: Sample) -> Bool {
        func end(_ sample: Sample) -> Int128 {
            let start = Int128(sample.start.nanoseconds)
            guard sample.isOpenEnded else { return Int128(sample.end.nanoseconds) }
            guard sample.type == .workout, let seconds = try? sample.quantity.value(in: .second), seconds > 0,
                seconds < 1e8
            else { return start }
            let end = start + Int128(seconds * 1e9)
            return end > Int128(Int64.max) ? start : end
        }
        let (from, to) = (Int128(max(workout.start, route.start).nanoseconds), min(end(workout), end(route)))
        return from <= to && 2 * (to - from) >= end(route) - Int128(route.start.nanoseconds)
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
