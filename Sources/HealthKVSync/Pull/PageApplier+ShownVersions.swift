import HealthKV

/// Versions of foreign samples. The store may raise a row's version by itself: when an edit is removed from an import,
/// when an import comes back, or when its content changes under one version. So the version that the peer shows is
/// compared with the one that it showed last. A link stores that version wherever the row does not have it.
extension PageApplier {
    /// Imports a version that is older than the row's and newer than the one that the peer showed last, if only this
    /// store has raised the row above it.
    mutating func overtake(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        let version = max(1, addition.sample.version)
        guard let held = try txn.named(as: addition.sample), held.origin == .imported,
            let last = try txn.link(peer: peer, sample: held.id)?.shown, last < version,
            version < held.versionBeneath,
            // Another store may know a newer version than the peer.
            held.isImportedHere(txn.replica)
        else { return }
        var sample = addition.sample
        (sample.origin, sample.version) = (.imported, held.versionBeneath)
        guard try txn.take(sample) == .replaced else { return }
        report.imported += 1
        report.unchanged -= 1
    }

    /// Stores the peer's id and version of a sample in a link if the row has others: after an edit at its source, or
    /// after the row's version was raised.
    func link(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        guard let held = try txn.named(as: addition.sample) else { return }
        let version = max(1, addition.sample.version)
        let known = try txn.link(peer: peer, sample: held.id)
        // The peer has already replaced a version that is older than the one it showed last.
        if let last = known?.shown, version < last { return }
        let isOfRow = held.id == addition.idAtPeer
        // Another store brought a newer version than the peer shows.
        if isOfRow, known?.isFromElsewhere ?? false, version < held.versionBeneath { return }
        if isOfRow, held.versionBeneath <= version {
            if let known { try txn.removeLink(known) }
            return
        }
        let link = PeerLink(peer: peer, sample: held.id, idAtPeer: addition.idAtPeer, version: version)
        if known != link { try txn.setLink(link) }
    }

    /// Revives a deleted sample that was only presumed gone (SEMANTICS C26), or whose version is newer than the one
    /// that the peer deleted if the tombstone here has a version to which this store had raised it (C22).
    mutating func revive(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        guard let link = try linkOfDeleted(addition, in: &txn), let deleted = try txn.deletedSample(id: link.sample),
            !deleted.isHidden
        else { return }
        let isNewer = link.shown.map { $0 < addition.sample.version } ?? false
        let isOurs = deleted.modified.replica == txn.replica
        guard link.version == PeerLink.presumedGone || isNewer && isOurs else { return }
        var sample = addition.sample
        (sample.id, sample.origin) = (link.sample, .imported)
        sample.version = Sample.version(after: deleted.version)
        guard try txn.take(sample) == .inserted else { return }
        try txn.removeLink(link)
        try self.link(addition, in: &txn)
        if link.version == PeerLink.presumedGone { try layBack(link.sample, in: &txn) }
        report.imported += 1
        report.unchanged -= 1
    }

    /// Returns a sample as it was when it was presumed gone. Reads the audit record once for all samples of a page that
    /// come back.
    mutating func presumedGone(_ id: SampleID, in txn: inout WriteTransaction) throws -> Sample? {
        if let known = gone { return known[id] }
        var known: [SampleID: Sample] = [:]
        for conflict in try txn.conflicts() where conflict.event == .presumedGone {
            known[conflict.displaced.id] = conflict.displaced
        }
        gone = known
        return known[id]
    }

    /// Restores the edit over an import that the peer shows again.
    private mutating func layBack(_ id: SampleID, in txn: inout WriteTransaction) throws {
        guard let kept = try presumedGone(id, in: &txn), kept.original != nil || kept.reversion != nil else { return }
        // Keep the edit's own version and clock: another store may have a newer edit.
        try txn.merge(kept)
    }

    /// Removes the link of a sample that the peer deleted. Keeps a link if the peer may later show a newer version that
    /// is not above the stored one.
    func unlink(_ held: Sample, _ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        let known = try txn.link(peer: peer, sample: held.id)
        let last = max(1, deletion.version ?? known?.shown ?? .max)
        if held.origin == .imported, held.syncIdentifier != nil, last < held.lastChange.version {
            try txn.setLink(PeerLink(peer: peer, sample: held.id, idAtPeer: deletion.idAtPeer, version: last))
        } else if let known {
            try txn.removeLink(known)
        }
    }

    /// Returns the link of a deleted sample. The peer may show the sample under another id than before.
    private func linkOfDeleted(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> PeerLink? {
        if let link = try txn.link(peer: peer, idAtPeer: addition.idAtPeer) { return link }
        let sample = addition.sample
        guard let text = sample.syncIdentifier,
            let deleted = try txn.deletedSample(
                syncIdentifier: text, type: sample.type, source: sample.source.identity)
        else { return nil }
        return try txn.link(peer: peer, sample: deleted.id)
    }
}

extension PageApplier {
    /// Deletes samples that two comparisons missed. Returns how many. A sample that the peer shows again comes back.
    mutating func presumeGone(_ ids: ArraySlice<SampleID>, in txn: inout WriteTransaction) throws -> Int {
        var gone = 0
        for id in ids {
            guard let sample = try txn.sample(id: id) else { continue }
            // Keep an edit that waits to be sent.
            if sample.origin == .authored, try txn.pending(peer: peer, sample: id) != nil { continue }
            try txn.appendAudit(.presumedGone, sample)
            try txn.delete(id: id, version: 0)
            // A sample that was edited at its source has another id at the peer, and will show up under that id.
            let idAtPeer = try txn.link(peer: peer, sample: id)?.idAtPeer ?? id
            try txn.setLink(PeerLink(peer: peer, sample: id, idAtPeer: idAtPeer, version: PeerLink.presumedGone))
            noteDays([sample])
            gone += 1
        }
        return gone
    }
}

extension Sample {
    /// Returns `true` if another store brought a newer version of this import than a peer has shown: the peer's
    /// deletion does not remove that version.
    func isNewer(thanShown shown: Int64?, _ replica: UInt32) -> Bool {
        guard let shown, origin == .imported else { return false }
        return shown < versionBeneath && !isImportedHere(replica)
    }

    /// Whether an edit over an import has moved it to another time than its import has.
    var isPlacedElsewhere: Bool { original.map { $0.start != start } ?? false }

    /// The version that the next import is compared with.
    var versionBeneath: Int64 { original?.version ?? version }

    /// Whether this store imported that version: from a peer, or from a file that says when it was written, whose clock
    /// has no replica.
    func isImportedHere(_ replica: UInt32) -> Bool {
        guard let clock = original == nil ? modified : original?.modified else { return false }
        return clock.replica == replica || clock.isOfFile
    }
}
