import HealthKV

/// A deletion names one version of a sample: it removes the sample only if that version is the one we know (SEMANTICS C22).
extension PageApplier {
    mutating func applyDeletions(_ page: PullPage, in txn: inout WriteTransaction) throws {
        for deletion in page.deletions {
            if !page.isDrained, try mayBeReplacement(deletion, in: &txn) || isPartOfSum(deletion, in: &txn) {
                // Its replacement, or what it was condensed into, may stand on a later page.
                state.deferred.append(DeferredDeletion(deletion))
                if state.deferred.count >= blockSize { try putAside(in: &txn) }
            } else {
                try apply(deletion, in: &txn)
            }
        }
        guard page.isDrained, !state.deferred.isEmpty else { return }
        // Many of them are applied block by block, behind this page.
        if state.blocks != nil { return try putAside(in: &txn) }
        let waiting = state.deferred
        state.deferred = []
        for deletion in waiting { try apply(deletion.deletion, in: &txn) }
    }

    /// A peer replaces only what has a sync identifier.
    private func mayBeReplacement(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Bool {
        if deletion.syncIdentifier != nil { return true }
        return try txn.link(peer: peer, peerID: deletion.peerID) != nil
    }

    /// The system condenses samples into series: many deletions and one addition, perhaps pages apart. No sum dips meanwhile (SEMANTICS A27).
    private func isPartOfSum(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Bool {
        guard feed.aggregation == .cumulative else { return false }
        return try txn.sample(id: deletion.peerID) != nil
    }

    mutating func apply(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        var deletion = deletion
        // A deletion with the greatest version hides a sample for good, and no sample here has one above it.
        deletion.version = deletion.version.map { min($0, Sample.versionLimit - 1) }
        guard let held = try held(deletion, in: &txn) else {
            try raise(deletion, in: &txn)
            report.superseded += 1
            return
        }
        if let link = try txn.link(peer: peer, sample: held.id), isNewerElsewhere(held, link, in: &txn) {
            let elsewhere = PeerLink(peer: peer, sample: held.id, peerID: held.id, version: PeerLink.fromElsewhere)
            try txn.setLink(elsewhere)
            report.superseded += 1
            return
        }
        let waiting = try txn.pending(peer: peer, sample: held.id)
        let isEdited = waiting?.kind == .save && held.origin == .authored || held.original != nil
        if isEdited, plan.plan(of: held.type)?.conflicts == .editWins, held.origin == .authored {
            return try keep(held, waiting, in: &txn)
        }
        if isEdited {
            try audit(.editDeleted, held, in: &txn)
            report.conflicts += 1
        }
        if let waiting { try txn.removePending(waiting) }
        try txn.delete(id: held.id, version: deletion.version ?? 0)
        try unlink(held, deletion, in: &txn)
        noteDays([held])
        report.deleted += 1
    }

    /// The live sample whose version a deletion names.
    private func held(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Sample? {
        if let link = try txn.link(peer: peer, peerID: deletion.peerID) { return try txn.sample(id: link.sample) }
        if let sample = try txn.sample(id: deletion.peerID) {
            // Under its own id it is known only as long as no link says otherwise.
            let link = try txn.link(peer: peer, sample: sample.id)
            if link == nil, sample.origin == .imported || sample.syncIdentifier == nil { return sample }
        }
        // Two apps may use one identifier, and one app may use it for two types (SEMANTICS A4): whose UUID is not known, is ours.
        guard let text = deletion.syncIdentifier, let version = deletion.version else { return nil }
        return try txn.samples(syncIdentifier: text).first { sample in
            guard sample.type == feed, sample.origin == .authored, sample.source.identity.isSameApp(as: ownSource),
                version >= sample.version
            else { return false }
            // What it called an older version before does not matter: it went on without our knowing.
            let known = try txn.link(peer: peer, sample: sample.id)?.version ?? 0
            return version > known
        }
    }

    /// Several versions of one sample may have gone since we looked last, and the first that is told of takes the sample along. Its deletion covers
    /// the greatest of them, which another store may still hold. So does that of a sample which this store forgot, when it was put back or made
    /// anew: what has the form of our identifiers was ours, or does no harm.
    private func raise(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        guard let text = deletion.syncIdentifier, let version = deletion.version,
            try txn.samples(syncIdentifier: text).allSatisfy({
                $0.type != feed || !$0.source.identity.isSameApp(as: ownSource)
            })
        else { return }
        if let known = try txn.deletedSample(syncIdentifier: text, type: feed, source: ownSource) {
            return _ = try txn.raise(known, to: version)
        }
        guard let id = SampleID(text), id.description == text, try txn.samples(syncIdentifier: text).isEmpty,
            try txn.sample(id: id) == nil, try txn.deletedSample(id: id) == nil
        else { return }
        let forgotten = DeletedSample(
            id: id, type: feed, source: ownSource, syncIdentifier: text, version: 0,
            modified: ChangeClock(time: .distantPast, replica: 0))
        try txn.raise(forgotten, to: version)
    }

    /// The edit is sent again, as a version above the deleted one.
    private mutating func keep(
        _ held: Sample, _ waiting: PendingOperation?, in txn: inout WriteTransaction
    ) throws {
        let version = max(held.version, waiting?.version ?? 0)
        if let waiting { try txn.removePending(waiting) }
        if let link = try txn.link(peer: peer, sample: held.id) { try txn.removeLink(link) }
        try send(held, as: Sample.version(after: version), in: &txn)
        report.conflicts += 1
    }

    /// Sends what is held as a greater version, which it then has here and for other stores too: else they would let another edit,
    /// which this one has overcome at the peer, win against it.
    mutating func send(_ held: Sample, as version: Int64, in txn: inout WriteTransaction) throws {
        if version > held.version {
            var raised = held
            raised.version = version
            try txn.merge(raised)
        }
        try txn.enqueue(PendingOperation(peer: peer, kind: .save, sample: held.id, version: version))
    }
}
