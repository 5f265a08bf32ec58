import ColumnFormat
import HealthModel

/// The rules by which a sample is saved or merged: what it is matched with, and which version wins.
enum Saving {
    /// How to compare a sample with the stored one.
    enum StoreRule {
        /// A change made here.
        case local
        /// A record of another store, with its own version and clock.
        case merge
    }

    static func store(_ sample: Sample, rule: StoreRule, in txn: inout WriteTransaction) throws -> SaveOutcome {
        try txn.checkRoom()
        var sample = sample
        let namesNoSource = sample.source == .thisApp
        if namesNoSource { sample.source = txn.environment.source }
        try sample.validate()
        if rule == .local {
            // A local change gets a clock of this store.
            sample.modified = nil
        } else if let clock = sample.modified {
            txn.witness(clock)
        }
        if sample.hasRareFields { for clock in sample.clocks { txn.witness(clock) } }
        let known = try match(sample, in: &txn)
        if let found = known.live {
            return try replace(found, by: sample, namesNoSource: namesNoSource, rule, in: &txn)
        }
        return try insert(sample, rule, mayBeDead: known.mayBeDead, in: &txn)
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
    private static func match(_ sample: Sample, in txn: inout WriteTransaction) throws -> Match {
        let hints = try IdentityIndex.hints(IdentityHash.of(sample.id, txn.state.header.hashKey), in: txn.snapshot)
        var byID = DerivedID.isDerived(sample.id) ? try SampleLookup.find(sample.id, in: txn.snapshot) : nil
        if byID == nil { byID = try SampleLookup.find(sample.id, among: hints, in: txn.snapshot) }
        if let found = try settled(byID, in: &txn) { return Match(live: found) }
        var candidates: [FoundRow] = []
        if let text = sample.syncIdentifier, text != sample.id.description {
            candidates = try SampleLookup.find(syncIdentifier: text, in: txn.snapshot)
        } else if !hints.isEmpty, sample.syncIdentifier != nil || sample.origin == .authored {
            let text = sample.id.description
            candidates = try SampleLookup.findAll(.syncIdentifier, text, among: hints, in: txn.snapshot)
        }
        if let found = try live(candidates, sample, in: &txn) { return Match(live: found) }
        return Match(mayBeDead: byID != nil || !candidates.isEmpty || hints.contains { $0.kind.isTombstone })
    }

    /// Returns the live row with a sample's type and source among the rows with its sync identifier.
    private static func live(_ candidates: [FoundRow], _ sample: Sample, in txn: inout WriteTransaction) throws
        -> FoundRow?
    {
        guard !candidates.isEmpty, let type = try NameTable.number(of: sample.type, in: txn.snapshot),
            let source = try NameTable.number(of: sample.source.identity, in: txn.snapshot)
        else { return nil }
        for candidate in candidates where candidate.lane.type == type {
            guard try NameTable.revision(candidate.row.revision, in: txn.snapshot).sourceNumber == source else {
                continue
            }
            if let found = try settled(candidate, in: &txn) { return found }
        }
        return nil
    }

    /// Returns a found row if it is live; removes a hidden row from its chunk and returns `nil`.
    static func settled(_ found: FoundRow?, in txn: inout WriteTransaction) throws -> FoundRow? {
        guard let found, found.isHidden else { return found }
        try LaneWriter.purgeChunk(found.lane, found.row.point, in: &txn)
        return nil
    }

    private static func replace(
        _ found: FoundRow, by sample: Sample, namesNoSource: Bool, _ rule: StoreRule, in txn: inout WriteTransaction
    ) throws -> SaveOutcome {
        let old = try NameTable.sample(found.row, found.lane.type, in: txn.snapshot)
        var sample = sample
        // An edit that names no source keeps the one of the sample, which may be another part of the app.
        if rule == .local, namesNoSource, sample.source.identity != old.source.identity { sample.source = old.source }
        if old.origin == .imported, sample.type == old.type, old.hasOverlay || sample.hasOverlay {
            if rule == .merge { return try Overlays.mergeOverlaid(found, old, sample, in: &txn) }
            if sample.original == nil, sample.origin == .imported {
                return try Overlays.replaceBeneath(found, old, by: sample, in: &txn)
            }
        }
        if rule == .local { try refuseOtherIdentity(of: sample, insteadOf: old, in: txn) }
        sample.id = old.id
        sample.origin = old.origin
        // A sample that was written here has no import beneath it.
        if old.origin == .authored, sample.hasOverlay { (sample.original, sample.reversion) = (nil, nil) }
        if sample.syncIdentifier == nil {
            let own = old.origin == .authored ? old.id.description : nil
            sample.syncIdentifier = rule == .local ? old.syncIdentifier : own
        }
        let (brought, stored) = (bytes(sample, in: txn), bytes(old, in: txn))
        let isEqual = brought == stored
        let clock: ChangeClock
        switch rule {
        case .local:
            if sample.version > 0, sample.version < old.version { return .older }
            if isEqual, sample.version <= old.version { return .unchanged }
            if sample.version <= old.version { sample.version = Sample.version(after: old.version) }
            clock = txn.state.importClock ?? txn.tick()
            if old.hasOverlay || sample.hasOverlay { sample.follow(old, clock) }
        case .merge:
            sample.version = max(1, sample.version)
            if sample.order == old.order, isEqual { return .unchanged }
            if isEqual, sample.modified == nil, sample.version <= old.version { return .unchanged }
            if sample.order < old.order { return .older }
            if sample.order == old.order, !stored.lexicographicallyPrecedes(brought) { return .older }
            clock = sample.modified ?? txn.tick()
        }
        let type = try NameTable.number(of: sample.type, in: &txn)
        let row = try Saving.row(sample, clock: clock, keepingDerivedID: found.row, type: type, in: &txn)
        // Do not tell a peer that holds the content about another clock: there it would be a greater number for the
        // same content.
        let isSame = isEqual && rule == .merge && sample.version == old.version
        try replaceRow(found, by: row, type: type, isSameContent: isSame, in: &txn)
        return .replaced
    }

    /// An edit keeps the sample's type, source and sync identifier, by which peers and other stores recognise it: a
    /// store that learns of such an edit after what took the old identity could not tell the two samples apart. An
    /// import may get a sync identifier that it did not have.
    private static func refuseOtherIdentity(
        of sample: Sample, insteadOf old: Sample, in txn: borrowing WriteTransaction
    ) throws {
        let held = old.syncIdentifier ?? (old.origin == .authored ? old.id.description : nil)
        try refuse(
            old.id, type: sample.type != old.type, source: sample.source.identity != old.source.identity,
            syncIdentifier: held != nil && sample.syncIdentifier ?? held != held, in: txn)
    }

    /// Throws if a change of the app changes the identity of a sample. What a peer brings is stored as it is, because
    /// nothing that a peer says may block a sync.
    private static func refuse(
        _ id: SampleID, type: Bool, source: Bool, syncIdentifier: Bool, in txn: borrowing WriteTransaction
    ) throws {
        guard type || source || syncIdentifier, txn.environment.sender == nil else { return }
        throw StoreError(
            .identityChanged, path: txn.environment.path,
            "The change of sample \(id) gives it another \(type ? "type" : source ? "source" : "sync identifier"), "
                + "by which peers recognise it")
    }

    /// Returns the canonical form of the fields in which versions of one sample may differ.
    static func bytes(_ sample: Sample, in txn: borrowing WriteTransaction) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.append(sample.syncIdentifier)
        encoder.encodeContent(of: sample)
        return encoder.bytes
    }

    static func replaceRow(
        _ found: FoundRow, by row: StoredRow, type: UInt32, isSameContent: Bool = false, in txn: inout WriteTransaction
    ) throws {
        let lane = Lane(type: type, duration: row.durationClass)
        if lane == found.lane {
            let removals = row.point == found.row.point ? [] : [found.row.point]
            try LaneWriter.apply(lane, inserts: [row], removals: removals, in: &txn)
        } else {
            try LaneWriter.apply(found.lane, inserts: [], removals: [found.row.point], in: &txn)
            try LaneWriter.apply(lane, inserts: [row], in: &txn)
        }
        try IdentityIndex.reindex(from: (found.row, found.lane), to: (row, lane), in: &txn)
        try PeerQueues.queue(row, type, .save, isSameContent: isSameContent, in: &txn)
        if (row.start, row.end) != (found.row.start, found.row.end) {
            try PeerQueues.noteMoved(found.row, found.lane.type, in: &txn)
        }
        let isMoved =
            try row.start != found.row.start || lane.type != found.lane.type
            || NameTable.revision(row.revision, in: txn.snapshot).sourceNumber
                != NameTable.revision(found.row.revision, in: txn.snapshot).sourceNumber
        guard isMoved else { return }
        // A mass operation may remove the row at its new place, so report to readers that know only the old place that
        // the row left it.
        txn.state.deletions.append(
            ChangeRecord.Deletion(
                commit: txn.commit, ordinal: txn.state.takeOrdinal(), id: found.row.id, type: found.lane.type)
        )
    }

    private static func insert(_ sample: Sample, _ rule: StoreRule, mayBeDead: Bool, in txn: inout WriteTransaction)
        throws -> SaveOutcome
    {
        var sample = sample
        let type = try NameTable.number(of: sample.type, in: &txn)
        let source = try NameTable.number(of: sample.source.identity, in: &txn)
        sample.version = max(1, sample.version)
        let isGiven = sample.syncIdentifier.map { $0 != sample.id.description } ?? false
        if isGiven || mayBeDead {
            let own = try TombstoneTable.tombstone(sample.id, in: txn.snapshot)
            if rule == .local, sample.syncIdentifier == nil { sample.syncIdentifier = own?.syncIdentifier }
            let text = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
            let sync = text.map { SyncIdentity(type: type, source: source, identifier: $0) }
            let tombstones = [own, try sync.flatMap { try TombstoneTable.tombstone($0, in: txn.snapshot) }]
                .compactMap(\.self)
            // All tombstones must permit the sample before any of them is removed.
            for tombstone in tombstones where vetoes(tombstone, sample, rule, in: txn) { return .vetoed }
            if rule == .local, let own {
                try refuse(
                    own.id, type: type != own.type, source: source != own.source,
                    syncIdentifier: own.syncIdentifier != nil && text != own.syncIdentifier, in: txn)
            }
            try TombstoneTable.revive(sample.id, sync, tombstones, in: &txn)
        }
        let clock = (rule == .merge ? sample.modified : txn.state.importClock) ?? txn.tick()
        let row = try Saving.row(sample, clock: clock, keepingDerivedID: nil, type: type, in: &txn)
        let lane = Lane(type: type, duration: row.durationClass)
        try LaneWriter.apply(lane, inserts: [row], in: &txn)
        try IdentityIndex.reindex(from: nil, to: (row, lane), in: &txn)
        try PeerQueues.queue(row, type, .save, in: &txn)
        return .inserted
    }

    /// Returns `true` if a tombstone vetoes a sample: the version of the tombstone is not below the sample's. At an
    /// equal version, only a merged record with a later clock lives again.
    private static func vetoes(
        _ tombstone: Tombstone, _ sample: Sample, _ rule: StoreRule, in txn: borrowing WriteTransaction
    ) -> Bool {
        let last = sample.lastChange
        return rule == .local ? last.version <= tombstone.version : last <= tombstone.order
    }

    /// Returns a sample as a row of this commit.
    static func row(
        _ sample: Sample, clock: ChangeClock, keepingDerivedID old: StoredRow?, type: UInt32,
        in txn: inout WriteTransaction
    ) throws -> StoredRow {
        var flags: StoredRow.Flags = []
        if sample.isUserEntered { flags.insert(.userEntered) }
        if sample.origin == .imported { flags.insert(.imported) }
        let idText = sample.id.description
        let ownSync = sample.syncIdentifier == idText || sample.syncIdentifier == nil && sample.origin == .authored
        if ownSync { flags.insert(.syncIsID) }
        var row = StoredRow(
            start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id, value: sample.quantity.value,
            unit: try NameTable.number(of: sample.quantity.unit, in: &txn),
            revision: try NameTable.number(ofRevision: sample.source, in: &txn), flags: flags,
            version: sample.version, clockTime: clock.time.nanoseconds, clockReplica: clock.replica, commit: txn.commit,
            ordinal: txn.state.takeOrdinal())
        row.device = try NameTable.number(of: sample.device, in: &txn)
        row.count = Int32(sample.count)
        row.multiplicity = Int32(sample.multiplicity)
        var rare = RareFields.Content(sample)
        rare.syncIdentifier = ownSync ? nil : sample.syncIdentifier
        row.rare = RareFields(rare)
        // A derived id stays derived as long as it matches the content; an edit stores the id.
        if old == nil || old!.flags.contains(.derivedID), DerivedID.isDerived(sample.id),
            followsFromContent(row, type, in: txn)
        {
            row.flags.insert(.derivedID)
        }
        return row
    }

    static func followsFromContent(_ row: StoredRow, _ type: UInt32, in txn: borrowing WriteTransaction) -> Bool {
        guard let prefix = txn.context.derivedPrefix(type: type, revision: row.revision) else { return false }
        let value = txn.context.canonicalValue(row.value, unit: row.unit, type: type)
        return DerivedID.id(
            prefix, start: row.start, end: row.end, value: value, multiplicity: Int(row.multiplicity)) == row.id
    }
}
