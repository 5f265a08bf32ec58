import ColumnFormat
import HealthModel

/// Editing and deleting what belongs to somebody else: the import stays beneath, or stays hidden (SEMANTICS C7).
extension WriteTransaction {
    /// Lays an edit over an imported sample. What was imported stays beneath, and later imports change only that.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     guard let weight = try txn.latest(of: .bodyMass), weight.origin == .imported else { return }
    ///     try txn.overlay(id: weight.id) { $0.quantity = Quantity(72.1, .kilogram) }
    /// }
    /// ```
    ///
    /// Times, quantity, metadata, ``Sample/isUserEntered`` and ``Sample/local`` may be changed; the rest stays as it was imported.
    /// An authored sample is edited by saving it; for such a one, or one that is not there, this answers `nil`.
    @discardableResult
    public mutating func overlay(id: SampleID, _ change: (inout Sample) -> Void) throws -> SaveOutcome? {
        guard let held = try sample(id: id), held.origin == .imported else { return nil }
        var wanted = held
        change(&wanted)
        var edited = held
        edited.takeOverlay(of: wanted)
        (edited.version, edited.modified) = (0, nil)
        edited.original = held.original ?? Sample.Original(of: held)
        return try save(edited)
    }

    /// Takes the edit off an imported sample again. Answers false where none lies over it.
    @discardableResult
    public mutating func removeOverlay(id: SampleID) throws -> Bool {
        guard var sample = try sample(id: id), let original = sample.original else { return false }
        (sample.start, sample.end, sample.quantity) = (original.start, original.end, original.quantity)
        (sample.isUserEntered, sample.metadata) = (original.isUserEntered, original.metadata)
        sample.original = nil
        sample.version = Sample.version(after: max(sample.version, original.version))
        sample.modified = nil
        return try whole { transaction in
            guard let found = try transaction.settled(transaction.snapshot.find(id)) else { return false }
            if sample.syncIdentifier != nil { try transaction.keepShownVersion(id, original.version) }
            return try transaction.replaceSample(found, by: sample) == .replaced
        }
    }

    /// The row's version says no longer which one was imported. Peers like a database of health go on from that.
    private mutating func keepShownVersion(_ id: SampleID, _ version: Int64) throws {
        for peer in try peers() where peer.queue?.takesImports == false {
            guard try link(peer: peer.name, sample: id) == nil, try link(peer: peer.name, peerID: id) == nil else {
                continue
            }
            try setLink(PeerLink(peer: peer.name, sample: id, peerID: id, version: version))
        }
    }

    /// Hides an imported sample for good: it is deleted here, no later import or merge brings it back, whatever its version,
    /// and nothing is deleted at its source. Answers false when there is no such sample.
    @discardableResult
    public mutating func hide(id: SampleID) throws -> Bool {
        guard let found = try snapshot.find(id), found.row.flags.contains(.imported) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            try transaction.deleteRows([LeavingRow(live, version: Sample.versionLimit)])
            return true
        }
    }

    /// Lets a hidden sample be imported again. Answers false when it was not hidden.
    @discardableResult
    public mutating func unhide(id: SampleID) throws -> Bool {
        guard let tombstone = try snapshot.tombstone(id), tombstone.version == Sample.versionLimit else { return false }
        return try whole { transaction in
            try transaction.revive(id, tombstone.sync, [tombstone])
            if let sync = tombstone.sync, try transaction.snapshot.tombstone(sync) != nil {
                try transaction.remove(
                    tombstone, Tombstone.key(sync: sync, transaction.state.header.hashKey))
            }
            return true
        }
    }

    /// An import of a sample over which an edit lies: it changes what lies beneath.
    mutating func replaceBeneath(
        _ found: FoundRow, _ held: Sample, _ original: Sample.Original, by sample: Sample
    ) throws -> SaveOutcome {
        if sample.version > 0, sample.version < original.version { return .older }
        var beneath = Sample.Original(of: sample)
        if sample.version == 0 { beneath.version = original.version }
        var kept = sample
        kept.takeOverlay(of: held)
        (kept.id, kept.origin, kept.source, kept.original) = (held.id, held.origin, held.source, beneath)
        kept.syncIdentifier = sample.syncIdentifier ?? held.syncIdentifier
        (kept.version, kept.modified, kept.isShadowed) = (held.version, held.modified, held.isShadowed)
        if bytes(kept) == bytes(held) { return .unchanged }
        kept.version = Sample.version(after: held.version)
        return try replaceSample(found, by: kept)
    }

    private mutating func replaceSample(_ found: FoundRow, by sample: Sample) throws -> SaveOutcome {
        let type = try number(of: sample.type)
        let row = try self.row(sample, clock: tick(), keepingDerivedID: found.row, type: type)
        try replaceRow(found, by: row, type: type)
        return .replaced
    }
}

extension Sample {
    /// Takes over from another version what an edit may lay over an import.
    fileprivate mutating func takeOverlay(of other: Sample) {
        (start, end, quantity) = (other.start, other.end, other.quantity)
        (isUserEntered, metadata, local) = (other.isUserEntered, other.metadata, other.local)
    }
}
