import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Saves a sample and returns the outcome.
    ///
    /// A sample is identified by its id, otherwise by its sync identifier within source and type. Equal content changes
    /// nothing. Different content is an edit, with a version one above the stored one unless the sample brings a
    /// greater one. A deleted sample is vetoed unless its version is above the deleted one.
    ///
    /// Two outcomes mean that nothing was stored, and neither throws: ``SaveOutcome/older`` if the store holds a
    /// greater version, ``SaveOutcome/vetoed`` if the sample was deleted. If the data must not be lost silently, check
    /// the outcome: read the sample and save the change on top of it, or give it a new id. A sample with the version 0
    /// is never older. To edit an imported sample use ``overlay(id:_:)``: a sample saved over an import counts as the
    /// next version of the import, and a later pull may replace it. An edit that would take the sync identifier of
    /// another sample is refused (``StoreError/Code/identifierTaken``), because a peer would treat the two as one.
    ///
    /// ```swift
    /// let outcome = try store.write { txn in
    ///     try txn.save(Sample(.bodyMass, 72.4, .kilogram, at: now))
    /// }
    /// assert(outcome == .inserted)
    /// ```
    @discardableResult
    public mutating func save(_ sample: Sample) throws -> SaveOutcome {
        try whole { try $0.store(sample, rule: .local) }
    }

    /// Saves a sample as ``save(_:)-(Sample)`` does, and throws ``StoreError/Code/notStored`` if nothing was stored
    /// although the sample may contain something new: it was deleted, or the store holds a greater version.
    ///
    /// ```swift
    /// let sample = Sample(.bodyMass, 72.4, .kilogram, at: now)
    /// try store.write { try $0.save(sample, orThrow: true) }
    /// ```
    ///
    /// - Parameters:
    ///   - sample: the sample to save.
    ///   - orThrow: `false` to return the outcome instead of throwing.
    @discardableResult
    public mutating func save(_ sample: Sample, orThrow: Bool) throws -> SaveOutcome {
        let outcome = try save(sample)
        guard orThrow, outcome == .vetoed || outcome == .older else { return outcome }
        let why = outcome == .vetoed ? "was deleted, in that version or a later one" : "is held in a later version"
        throw StoreError(.notStored, path: environment.path, "Sample \(sample.id) \(why)")
    }

    /// Saves several samples in order: all of them, or none if one is refused.
    @discardableResult
    public mutating func save(_ samples: [Sample]) throws -> [SaveOutcome] {
        for sample in samples { try sample.validate() }
        var outcomes: [SaveOutcome] = []
        try whole { transaction in
            for sample in samples { outcomes.append(try transaction.store(sample, rule: .local)) }
        }
        return outcomes
    }

    /// Merges a sample as another store holds it: version and clock stay as given, and the greater of (version, clock,
    /// content) wins, so that merging gives the same result in any order.
    @discardableResult
    public mutating func merge(_ sample: Sample) throws -> SaveOutcome {
        try whole { try $0.store(sample, rule: .merge) }
    }

    /// How to compare a sample with the stored one.
    enum StoreRule {
        /// A change made here.
        case local
        /// A record of another store, with its own version and clock.
        case merge
    }

    mutating func store(_ sample: Sample, rule: StoreRule) throws -> SaveOutcome {
        try checkRoom()
        var sample = sample
        if sample.source == .thisApp { sample.source = environment.source }
        try sample.validate()
        if rule == .local {
            // A local change gets a clock of this store.
            sample.modified = nil
        } else if let clock = sample.modified {
            witness(clock)
        }
        if sample.hasRareFields { for clock in sample.clocks { witness(clock) } }
        let known = try match(sample)
        if let found = known.live { return try replace(found, by: sample, rule) }
        return try insert(sample, rule, mayBeDead: known.mayBeDead)
    }

    /// The result of looking up a sample's identity.
    private struct Match {
        /// The live row of which the sample is a version.
        var live: FoundRow?
        /// Whether there may be a tombstone under the sample's id, or under a sync identifier that is the text of the
        /// id.
        var mayBeDead = true
    }

    /// Finds the row of which a sample is a version: by id, otherwise by the sync identifier, which for authored
    /// samples defaults to the text of the id. Rows that a mass operation hid are removed first, so that their
    /// tombstones exist.
    private mutating func match(_ sample: Sample) throws -> Match {
        let hints = try IdentityIndex.hints(IdentityHash.of(sample.id, state.header.hashKey), in: snapshot)
        var byID = DerivedID.isDerived(sample.id) ? try SampleLookup.find(sample.id, in: snapshot) : nil
        if byID == nil { byID = try SampleLookup.find(sample.id, among: hints, in: snapshot) }
        if let found = try settled(byID) { return Match(live: found) }
        var candidates: [FoundRow] = []
        if let text = sample.syncIdentifier, text != sample.id.description {
            candidates = try SampleLookup.find(syncIdentifier: text, in: snapshot)
        } else if !hints.isEmpty, sample.syncIdentifier != nil || sample.origin == .authored {
            let text = sample.id.description
            candidates = try SampleLookup.findAll(.syncIdentifier, text, among: hints, in: snapshot)
        }
        if let found = try live(candidates, sample) { return Match(live: found) }
        return Match(mayBeDead: byID != nil || !candidates.isEmpty || hints.contains { $0.kind.isTombstone })
    }

    /// Returns the live row with a sample's type and source among the rows with its sync identifier.
    private mutating func live(_ candidates: [FoundRow], _ sample: Sample) throws -> FoundRow? {
        guard !candidates.isEmpty, let type = try NameTable.number(of: sample.type, in: snapshot),
            let source = try NameTable.number(of: sample.source.identity, in: snapshot)
        else { return nil }
        for candidate in candidates where candidate.lane.type == type {
            guard try NameTable.revision(candidate.row.revision, in: snapshot).sourceNumber == source else { continue }
            if let found = try settled(candidate) { return found }
        }
        return nil
    }

    /// Returns a found row if it is live; removes a hidden row from its chunk and returns `nil`.
    mutating func settled(_ found: FoundRow?) throws -> FoundRow? {
        guard let found, found.isHidden else { return found }
        try LaneWriter.purgeChunk(found.lane, found.row.point, in: &self)
        return nil
    }

    private mutating func replace(_ found: FoundRow, by sample: Sample, _ rule: StoreRule) throws -> SaveOutcome {
        let old = try NameTable.sample(found.row, found.lane.type, in: snapshot)
        if old.origin == .imported, sample.type == old.type, old.hasOverlay || sample.hasOverlay {
            if rule == .merge { return try mergeOverlaid(found, old, sample) }
            if sample.original == nil, sample.origin == .imported { return try replaceBeneath(found, old, by: sample) }
        }
        if rule == .local { try refuseTakenIdentifier(of: sample, insteadOf: old, found) }
        var sample = sample
        sample.id = old.id
        sample.origin = old.origin
        // A sample that was written here has no import beneath it.
        if old.origin == .authored, sample.hasOverlay { (sample.original, sample.reversion) = (nil, nil) }
        if sample.syncIdentifier == nil {
            let own = old.origin == .authored ? old.id.description : nil
            sample.syncIdentifier = rule == .local ? old.syncIdentifier : own
        }
        let (brought, stored) = (bytes(sample), bytes(old))
        let isEqual = brought == stored
        let clock: ChangeClock
        switch rule {
        case .local:
            if sample.version > 0, sample.version < old.version { return .older }
            if isEqual, sample.version <= old.version { return .unchanged }
            if sample.version <= old.version { sample.version = Sample.version(after: old.version) }
            clock = state.importClock ?? tick()
            if old.hasOverlay || sample.hasOverlay { sample.follow(old, clock) }
        case .merge:
            let given = sample.modified ?? .unknown
            let held = old.modified ?? .unknown
            let version = max(1, sample.version)
            if version == old.version, given == held, isEqual { return .unchanged }
            if isEqual, sample.modified == nil, version <= old.version { return .unchanged }
            if (version, given) < (old.version, held) { return .older }
            if version == old.version, given == held, !stored.lexicographicallyPrecedes(brought) { return .older }
            sample.version = version
            clock = sample.modified ?? tick()
        }
        let type = try NameTable.number(of: sample.type, in: &self)
        let row = try self.row(sample, clock: clock, keepingDerivedID: found.row, type: type)
        // Do not tell a peer that holds the content about another clock: there it would be a greater number for the
        // same content.
        let isSame = isEqual && rule == .merge && sample.version == old.version
        try replaceRow(found, by: row, type: type, isSameContent: isSame)
        return .replaced
    }

    /// Authored samples must not share a sync identifier within type and source: a peer would keep only one of them.
    /// Samples that stores created independently are merged nevertheless, and samples that a peer holds twice are
    /// imported as they are.
    private mutating func refuseTakenIdentifier(
        of sample: Sample, insteadOf old: Sample, _ found: FoundRow
    ) throws {
        guard old.origin == .authored else { return }
        let held = old.syncIdentifier ?? old.id.description
        let text = sample.syncIdentifier ?? held
        if text == held, sample.type == old.type, sample.source.identity == old.source.identity { return }
        let others = try SampleLookup.find(syncIdentifier: text, in: snapshot).filter { $0.row.id != old.id }
        guard try live(others, sample) != nil else { return }
        throw StoreError(
            .identifierTaken, path: environment.path,
            "The edit of sample \(old.id) takes the sync identifier of another sample of its type and source")
    }

    /// Returns the canonical form of the fields in which versions of one sample may differ.
    func bytes(_ sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.append(sample.syncIdentifier)
        encoder.encodeContent(of: sample)
        return encoder.bytes
    }

    mutating func replaceRow(
        _ found: FoundRow, by row: StoredRow, type: UInt32, isSameContent: Bool = false
    ) throws {
        let lane = Lane(type: type, duration: row.durationClass)
        if lane == found.lane {
            let removals = row.point == found.row.point ? [] : [found.row.point]
            try LaneWriter.apply(lane, inserts: [row], removals: removals, in: &self)
        } else {
            try LaneWriter.apply(found.lane, inserts: [], removals: [found.row.point], in: &self)
            try LaneWriter.apply(lane, inserts: [row], in: &self)
        }
        try IdentityIndex.reindex(from: (found.row, found.lane), to: (row, lane), in: &self)
        try PeerQueues.queue(row, type, .save, isSameContent: isSameContent, in: &self)
        let isMoved =
            try row.start != found.row.start || lane.type != found.lane.type
            || NameTable.revision(row.revision, in: snapshot).sourceNumber
                != NameTable.revision(found.row.revision, in: snapshot).sourceNumber
        guard isMoved else { return }
        // A mass operation may remove the row at its new place, so report to readers that know only the old place that
        // the row left it.
        state.deletions.append(
            ChangeRecord.Deletion(commit: commit, ordinal: state.takeOrdinal(), id: found.row.id, type: found.lane.type)
        )
    }

    private mutating func insert(_ sample: Sample, _ rule: StoreRule, mayBeDead: Bool) throws -> SaveOutcome {
        var sample = sample
        let type = try NameTable.number(of: sample.type, in: &self)
        let source = try NameTable.number(of: sample.source.identity, in: &self)
        sample.version = max(1, sample.version)
        let isGiven = sample.syncIdentifier.map { $0 != sample.id.description } ?? false
        if isGiven || mayBeDead {
            let text = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
            let sync = text.map { SyncIdentity(type: type, source: source, identifier: $0) }
            let tombstones = [
                try TombstoneTable.tombstone(sample.id, in: snapshot),
                try sync.flatMap { try TombstoneTable.tombstone($0, in: snapshot) },
            ]
            .compactMap(\.self)
            // All tombstones must permit the sample before any of them is removed.
            for tombstone in tombstones where vetoes(tombstone, sample, rule) { return .vetoed }
            try TombstoneTable.revive(sample.id, sync, tombstones, in: &self)
        }
        let clock = (rule == .merge ? sample.modified : state.importClock) ?? tick()
        let row = try self.row(sample, clock: clock, keepingDerivedID: nil, type: type)
        let lane = Lane(type: type, duration: row.durationClass)
        try LaneWriter.apply(lane, inserts: [row], in: &self)
        try IdentityIndex.reindex(from: nil, to: (row, lane), in: &self)
        try PeerQueues.queue(row, type, .save, in: &self)
        return .inserted
    }

    /// Returns `true` if a tombstone vetoes a sample: the version of the tombstone is not below the sample's. At an
    /// equal version, only a merged record with a later clock lives again.
    private func vetoes(_ tombstone: Tombstone, _ sample: Sample, _ rule: StoreRule) -> Bool {
        let last = sample.lastChange
        if last.version != tombstone.version { return last.version < tombstone.version }
        return rule == .local || last.clock <= tombstone.clock
    }

    /// Returns a sample as a row of this commit.
    mutating func row(
        _ sample: Sample, clock: ChangeClock, keepingDerivedID old: StoredRow?, type: UInt32
    ) throws -> StoredRow {
        var flags: StoredRow.Flags = []
        if sample.isUserEntered { flags.insert(.userEntered) }
        if sample.origin == .imported { flags.insert(.imported) }
        let idText = sample.id.description
        let ownSync = sample.syncIdentifier == idText || sample.syncIdentifier == nil && sample.origin == .authored
        if ownSync { flags.insert(.syncIsID) }
        var row = StoredRow(
            start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id, value: sample.quantity.value,
            unit: try NameTable.number(of: sample.quantity.unit, in: &self),
            revision: try NameTable.number(ofRevision: sample.source, in: &self), flags: flags,
            version: sample.version, clockTime: clock.time.nanoseconds, clockReplica: clock.replica, commit: commit,
            ordinal: state.takeOrdinal())
        row.device = try NameTable.number(of: sample.device, in: &self)
        row.count = Int32(sample.count)
        row.multiplicity = Int32(sample.multiplicity)
        var rare = RareFields.Content(sample)
        rare.syncIdentifier = ownSync ? nil : sample.syncIdentifier
        row.rare = RareFields(rare)
        // A derived id stays derived as long as it matches the content; an edit stores the id.
        if old == nil || old!.flags.contains(.derivedID), DerivedID.isDerived(sample.id), followsFromContent(row, type)
        {
            row.flags.insert(.derivedID)
        }
        return row
    }

    func followsFromContent(_ row: StoredRow, _ type: UInt32) -> Bool {
        guard let prefix = context.derivedPrefix(type: type, revision: row.revision) else { return false }
        let value = context.canonicalValue(row.value, unit: row.unit, type: type)
        return DerivedID.id(
            prefix, start: row.start, end: row.end, value: value, multiplicity: Int(row.multiplicity)) == row.id
    }
}
