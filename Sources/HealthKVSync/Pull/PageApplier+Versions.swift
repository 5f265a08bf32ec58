import HealthKV

/// Versions of what others wrote. A row's version rises by itself: when an edit is taken off an import, when one comes back, when
/// its content changes under one version. So what the peer shows is compared with what it showed last, which a link keeps wherever
/// the row does not say it.
extension PageApplier {
    /// Takes what is older than the row and newer than what the peer showed last, where only this store has raised the row above
    /// that.
    mutating func overtake(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        let version = max(1, addition.sample.version)
        guard let held = try named(addition, in: &txn), held.origin == .imported,
            let last = try txn.link(peer: peer, sample: held.id)?.shown, last < version,
            version < held.versionBeneath,
            // Another store may know of a newer version than the peer.
            held.replicaBeneath == txn.replica
        else { return }
        var sample = addition.sample
        (sample.origin, sample.version) = (.imported, held.versionBeneath)
        guard try txn.save(sample) == .replaced else { return }
        report.imported += 1
        report.unchanged -= 1
    }

    /// Keeps what the peer calls a sample and which version it has, where that is not what the row says: after an edit at its source,
    /// and where the row was raised.
    func link(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        guard let held = try named(addition, in: &txn) else { return }
        let version = max(1, addition.sample.version)
        let known = try txn.link(peer: peer, sample: held.id)
        // What is older than what it showed before was replaced there.
        if let last = known?.shown, version < last { return }
        let isOfRow = held.id == addition.peerID
        if isOfRow, known?.isFromElsewhere ?? false { return }
        if isOfRow, held.versionBeneath <= version {
            if let known { try txn.removeLink(known) }
            return
        }
        let link = PeerLink(peer: peer, sample: held.id, peerID: addition.peerID, version: version)
        if known != link { try txn.setLink(link) }
    }

    /// A sample comes back that was only presumed gone (SEMANTICS C26), or that is newer than what the peer deleted, while the
    /// deletion here has the version to which this store had raised it (C22).
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
        guard try txn.save(sample) == .inserted else { return }
        try txn.removeLink(link)
        try self.link(addition, in: &txn)
        try layBack(link.sample, in: &txn)
        report.imported += 1
        report.unchanged -= 1
    }

    /// What a sample was when it was presumed gone, as the audit has it. That is read once for all samples of a page that come back.
    mutating func presumedGone(_ id: SampleID, in txn: inout WriteTransaction) throws -> Sample? {
        if let known = gone { return known[id] }
        var known: [SampleID: Sample] = [:]
        for conflict in try txn.conflicts() where conflict.event == .presumedGone {
            known[conflict.displaced.id] = conflict.displaced
        }
        gone = known
        return known[id]
    }

    /// Lays the edit back over an import that shows itself again.
    private mutating func layBack(_ id: SampleID, in txn: inout WriteTransaction) throws {
        guard let kept = try presumedGone(id, in: &txn), kept.original != nil || kept.reversion != nil else { return }
        // With its own version and clock: another store may have a newer edit.
        try txn.merge(kept)
    }

    /// Forgets what the peer called a sample that it deleted, unless it may show a newer one that is not above what was held.
    func unlink(_ held: Sample, _ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        let known = try txn.link(peer: peer, sample: held.id)
        let last = max(1, deletion.version ?? known?.shown ?? .max)
        if held.origin == .imported, held.syncIdentifier != nil, last < held.lastChange.version {
            try txn.setLink(PeerLink(peer: peer, sample: held.id, peerID: deletion.peerID, version: last))
        } else if let known {
            try txn.removeLink(known)
        }
    }

    /// Whether another store brought a newer version than the peer has shown: that does not go with the peer's.
    func isNewerElsewhere(_ held: Sample, _ link: PeerLink, in txn: inout WriteTransaction) -> Bool {
        guard let shown = link.shown, held.origin == .imported else { return false }
        return shown < held.versionBeneath && held.replicaBeneath != txn.replica
    }

    /// The live sample that has the sync identifier of one that another app wrote.
    private func named(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> Sample? {
        let sample = addition.sample
        guard let text = sample.syncIdentifier else { return nil }
        return try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity)
    }

    /// What the peer called a deleted sample: it may show it under another id than before.
    private func linkOfDeleted(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> PeerLink? {
        if let link = try txn.link(peer: peer, peerID: addition.peerID) { return link }
        let sample = addition.sample
        guard let text = sample.syncIdentifier,
            let deleted = try txn.deletedSample(
                syncIdentifier: text, type: sample.type, source: sample.source.identity)
        else { return nil }
        return try txn.link(peer: peer, sample: deleted.id)
    }
}

extension Sample {
    /// The version that the next import is compared with.
    var versionBeneath: Int64 { original?.version ?? version }

    /// Which replica imported that version.
    var replicaBeneath: UInt32? { (original == nil ? modified : original?.modified)?.replica }
}
