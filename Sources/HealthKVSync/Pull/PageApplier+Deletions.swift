import HealthKV

/// A deletion names one version of a sample: it removes the sample only if the store holds that version (SEMANTICS
/// C22).
extension PageApplier {
    /// Carries out a page's deletions, or defers them to the end of the feed.
    ///
    /// - Parameter over: The peer's ids of deleted versions that no replacement can follow.
    mutating func applyDeletions(
        _ page: PullPage, over: Set<SampleID> = [], in txn: inout WriteTransaction
    ) throws {
        for deletion in page.deletions {
            try deleteLeaving(before: deletion, in: &txn)
            if !page.isDrained, !over.contains(deletion.idAtPeer),
                try mayBeReplacement(deletion, in: &txn) || isPartOfSum(deletion, in: &txn)
            {
                // A later page may contain the replacement, or the sample that this one was condensed into.
                state.waiting.latest.append(DeferredDeletion(deletion))
                if state.waiting.latest.count >= blockSize { try putAside(in: &txn) }
            } else {
                try apply(deletion, in: &txn)
            }
        }
        try deleteLeaving(in: &txn)
        guard page.isDrained, !state.waiting.latest.isEmpty else { return }
        // If there are many, they are applied block by block after this page.
        if state.waiting.blocks != nil { return try putAside(in: &txn) }
        let waiting = state.waiting.latest
        state.waiting.latest = []
        try apply(waiting, in: &txn)
    }

    /// Applies deletions that waited for the end of the feed.
    mutating func apply(_ waiting: [DeferredDeletion], in txn: inout WriteTransaction) throws {
        for deletion in waiting.lazy.map(\.deletion) {
            try deleteLeaving(before: deletion, in: &txn)
            try apply(deletion, in: &txn)
        }
        try deleteLeaving(in: &txn)
    }

    /// Deletes the collected samples if a deletion may mean one of them: it must find that sample gone.
    private mutating func deleteLeaving(before deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        if leaving.mayBeMeant(by: deletion) { try deleteLeaving(in: &txn) }
    }

    /// Deletes the collected samples together: each chunk of the store is written once, however many of its samples are
    /// deleted.
    private mutating func deleteLeaving(in txn: inout WriteTransaction) throws {
        try txn.delete(leaving.take())
    }

    /// Returns `true` if a deletion may be half of a replacement. A peer replaces only samples with a sync identifier.
    private func mayBeReplacement(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Bool {
        if deletion.syncIdentifier != nil { return true }
        return try txn.link(peer: peer, idAtPeer: deletion.idAtPeer) != nil
    }

    /// Returns `true` if the deleted sample counts in a sum. The system condenses samples into series: many deletions
    /// and one addition, possibly several pages apart. Sums must not dip in between (SEMANTICS A27).
    private func isPartOfSum(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Bool {
        guard feed.aggregation == .cumulative else { return false }
        return try txn.sample(id: deletion.idAtPeer) != nil
    }

    /// Decides about one deletion. The sample is collected, to be deleted together with others.
    private mutating func apply(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        guard let held = try held(deletion, in: &txn) else {
            try keepInMind(deletion, in: &txn)
            report.superseded += 1
            return
        }
        let link = try txn.link(peer: peer, sample: held.id)
        // Where no link knows which version the peer showed last, the deletion itself says it.
        let isUnknown = link?.isFromElsewhere ?? true
        let shown = isUnknown && held.syncIdentifier != nil ? deletion.version.map { max(1, $0) } : link?.shown
        if held.isNewer(thanShown: shown, txn.replica) {
            let elsewhere = PeerLink(peer: peer, sample: held.id, idAtPeer: held.id, version: PeerLink.fromElsewhere)
            try txn.setLink(elsewhere)
            report.superseded += 1
            return
        }
        let waiting = try txn.pending(peer: peer, sample: held.id)
        let isEdited = isEdit(waiting, of: held, after: deletion) || held.original != nil
        if isEdited, plan.plan(of: held.type)?.conflicts == .editWins, held.origin == .authored {
            return try keep(held, deletion, in: &txn)
        }
        if isEdited {
            try txn.appendAudit(.editDeleted, held)
            report.conflicts += 1
        }
        if let waiting { try txn.removePending(waiting) }
        // The version that this store sent last is the version that it holds, whatever its number at the peer.
        let isLastSent =
            try deletion.version != nil && txn.link(peer: peer, sample: held.id)?.version == deletion.version
        let version = isLastSent ? 0 : deletion.deletedVersion ?? 0
        let clock = held.clock
        leaving.append(held, deletion, version: max(version, held.versionDeletedAtSource))
        if held.origin == .authored, let link = try txn.link(peer: peer, sample: held.id), link.isHeldThere,
            !link.isProvisional, link.idAtPeer != deletion.idAtPeer
        {
            // An abandoned call saved an earlier version after the deletion. The peer still shows it.
            try deleteLeaving(in: &txn)
            try txn.enqueue(.delete, of: held.id, version: held.version, clock, for: peer, above: link.version)
        } else {
            try unlink(held, deletion, in: &txn)
            if held.origin == .authored {
                deletedNow.insert(held.id)
                // Another store may still bring the version that was deleted, made by a clock that is ahead.
                if let number = deletion.version, !held.isVersion(number) {
                    try noteUnseen(held.id, deletion, in: &txn)
                }
            }
        }
        noteDays([held])
        report.deleted += 1
    }

    /// Returns `true` if a waiting operation is an edit of what was deleted. A save that is only tried again sends the
    /// version that the user has seen and deleted.
    private func isEdit(
        _ waiting: PendingOperation?, of held: Sample, after deletion: PulledDeletion
    ) -> Bool {
        guard let waiting, waiting.kind == .save, held.origin == .authored else { return false }
        guard waiting.isSent, let number = deletion.version, PeerNumber.isOurs(number) else { return true }
        return PeerNumber.slot(of: number) != held.version || !PeerNumber.isMade(number, of: held.clock)
    }

    /// Returns the live sample whose version a deletion names.
    private func held(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Sample? {
        // The id of a version that was deleted before names no version that lives now.
        if let link = try txn.link(peer: peer, idAtPeer: deletion.idAtPeer), link.deletedNumber == nil {
            // If the peer did not return its id for the sent version, the link may name the version before it.
            let isOlder = link.isProvisional && deletion.version.map { $0 < link.version } ?? false
            return isOlder ? nil : try txn.sample(id: link.sample)
        }
        if let sample = try txn.sample(id: deletion.idAtPeer) {
            // A sample is identified by its own id only if no link says otherwise.
            let link = try txn.link(peer: peer, sample: sample.id)
            if link == nil, sample.origin == .imported || sample.syncIdentifier == nil { return sample }
        }
        // Two apps may use the same identifier, and one app may use it for two types (SEMANTICS A4). A deletion with an
        // unknown UUID belongs to this app.
        guard let text = deletion.syncIdentifier, let number = deletion.version, let version = deletion.deletedVersion
        else { return nil }
        return try txn.samples(syncIdentifier: text).first { sample in
            guard sample.type == feed, sample.origin == .authored, sample.source.identity.isSameApp(as: ownSource),
                version >= sample.version
            else { return false }
            // The peer's id for an older version does not matter: the peer has moved on without our knowledge. The
            // version that was sent last is alive once it was pulled back: if it was sent twice, it may have replaced
            // itself.
            guard let link = try txn.link(peer: peer, sample: sample.id), link.deletedNumber == nil else { return true }
            // What was sent and not pulled back may have given way to a greater number.
            if link.isProvisional { return number >= link.version }
            return number != link.version && PeerNumber.covers(number, link.version)
        }
    }

    /// Remembers the deletion of a sample that is not here. The sample may still arrive from elsewhere, and must then
    /// count as deleted.
    private mutating func keepInMind(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        if let text = deletion.syncIdentifier, let version = deletion.deletedVersion {
            // Delete the collected samples first: clocks must follow the order in which the deletions were reported.
            try deleteLeaving(in: &txn)
            let named = try txn.samples(syncIdentifier: text)
            // Another version of the sample is live here.
            if named.contains(where: { $0.type == feed && $0.source.identity.isSameApp(as: ownSource) }) { return }
            if let known = try txn.deletedSample(syncIdentifier: text, type: feed, source: ownSource) {
                // Several versions may have been deleted since the last pull. The deletion covers the greatest of them.
                let isRaised = try txn.raise(known, to: version)
                // Two versions that were made at once may both have been deleted. What this store deleted itself is not
                // noted: its own deletions come back to it.
                if isRaised || deletedNow.contains(known.id) { try noteUnseen(known.id, deletion, in: &txn) }
                return
            }
            // A number with the mark may be this app's, from an earlier installation or from another device. Other apps
            // number in the same way, so nothing counts as this app's until it shows itself, here or at a store.
            if let number = deletion.version, PeerNumber.isOurs(number), named.isEmpty, let id = SampleID(text),
                id.description == text, try txn.sample(id: id) == nil, try txn.deletedSample(id: id) == nil
            {
                return try noteUnseen(id, deletion, in: &txn)
            }
        }
        guard plan.plan(of: feed)?.pulls ?? false,
            try txn.link(peer: peer, idAtPeer: deletion.idAtPeer) == nil,
            try txn.link(peer: peer, sample: deletion.idAtPeer) == nil,
            try txn.sample(id: deletion.idAtPeer) == nil, try txn.deletedSample(id: deletion.idAtPeer) == nil
        else { return }
        let isBuried = try buryRemoved(deletion, in: &txn)
        try txn.setLink(
            PeerLink(
                peer: peer, sample: deletion.idAtPeer, idAtPeer: deletion.idAtPeer,
                version: isBuried ? PeerLink.presumedGone : PeerLink.deletedUnseen))
    }

    /// Leaves a tombstone of a deleted sample that this store may have purged, as a cache does: others still hold it.
    /// The sample lives again if the peer shows it again. Returns `true` if there is a tombstone now.
    private mutating func buryRemoved(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Bool {
        // The sample's own source is not known here any more; its id is all that tells it.
        var purged: SourceIdentity?
        try txn.forEachPurged { type, source, _ in if type == feed { purged = source } }
        guard let source = purged,
            try txn.peers().contains(where: { $0.id != peer && $0.queue == nil && !$0.isRetired })
        else { return false }
        try deleteLeaving(in: &txn)
        let deleted = DeletedSample(
            id: deletion.idAtPeer, type: feed, source: source, syncIdentifier: nil, version: 0, modified: .unknown)
        // A replacement has a greater version, and others may hold it under this id.
        let version = deletion.syncIdentifier == nil ? Sample.aboveAllVersions : deletion.deletedVersion ?? 0
        return try txn.raise(deleted, to: version)
    }

    /// Records the number of a deleted version, which may never have been seen here. Its clock is unknown, so its
    /// tombstone may have a lower version; the number tells what the deletion covers.
    private func noteUnseen(_ id: SampleID, _ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        guard let number = deletion.version, PeerNumber.isOurs(number) else { return }
        let known = try txn.link(peer: peer, sample: id)
        guard known == nil || known?.deletedNumber.map({ $0 < number }) ?? false else { return }
        try txn.setLink(.deletedUnseen(id, deletion, number, by: peer))
    }

    /// Keeps an edit: sends it again, with a version above the deleted one, which other stores may know.
    private mutating func keep(
        _ held: Sample, _ deletion: PulledDeletion, in txn: inout WriteTransaction
    ) throws {
        try deleteLeaving(in: &txn)
        var raised = held
        raised.version = Sample.version(after: max(held.version, deletion.deletedVersion ?? 0))
        raised.modified = nil
        try txn.merge(raised)
        let clock = try txn.sample(id: held.id)?.clock ?? held.clock
        let link = try txn.link(peer: peer, sample: held.id)
        let number = max(deletion.version ?? 0, link?.version ?? 0)
        if let link { try txn.removeLink(link) }
        try txn.enqueue(.save, of: held.id, version: raised.version, clock, for: peer, above: number)
        report.conflicts += 1
    }
}

extension Sample {
    /// Returns `true` if a number is that of this version of an own sample, perhaps raised.
    fileprivate func isVersion(_ number: Int64) -> Bool {
        PeerNumber.slot(of: number) == version && PeerNumber.isMade(number, of: clock)
    }
}

// Blocks of deletions that wait for the end of the feed.
extension PageApplier {
    /// Moves the waiting deletions into a block.
    mutating func putAside(in txn: inout WriteTransaction) throws {
        guard !state.waiting.latest.isEmpty else { return }
        var blocks = state.waiting.blocks ?? DeferredBlocks()
        try txn.setSyncNote(EngineNotes.deferred(peer, feed, blocks.next), try EngineNotes.encode(state.waiting.latest))
        blocks.next += 1
        state.waiting = WaitingDeletions(blocks: blocks)
    }

    /// Drops waiting deletions of samples that the peer shows now: a cloud may bring back, under its old id, a version
    /// that another version replaced. At the end of the feed it would otherwise count as deleted by the user.
    mutating func withdraw(_ additions: [PulledSample], in txn: inout WriteTransaction) throws {
        guard !state.waiting.isEmpty else { return }
        let shown = Set(additions.map(\.idAtPeer))
        state.waiting.latest.removeAll { shown.contains($0.idAtPeer) }
        guard let blocks = state.waiting.blocks else { return }
        // A deletion waits only for a sample that may have been replaced, or that the store holds.
        let mayWait = try additions.contains { addition in
            try addition.sample.syncIdentifier != nil || txn.link(peer: peer, idAtPeer: addition.idAtPeer) != nil
                || txn.sample(id: addition.idAtPeer) != nil
        }
        guard mayWait else { return }
        for block in blocks.first..<blocks.next {
            let name = EngineNotes.deferred(peer, feed, block)
            // Blocks follow each other without a gap, however many a damaged state claims.
            guard let note = try txn.syncNote(name) else { return }
            let waiting = EngineNotes.decode(note, as: [DeferredDeletion].self) ?? []
            let left = waiting.filter { !shown.contains($0.idAtPeer) }
            if left.count < waiting.count { try txn.setSyncNote(name, try EngineNotes.encode(left)) }
        }
    }

    /// Applies the first block. The feed counts as read to its end once no block is left.
    mutating func applyBlock(in txn: inout WriteTransaction) throws {
        guard var blocks = state.waiting.blocks else { return }
        let name = EngineNotes.deferred(peer, feed, blocks.first)
        let note = try txn.syncNote(name)
        if let waiting = EngineNotes.decode(note, as: [DeferredDeletion].self) {
            try txn.receiving(from: peer) { txn in try apply(waiting, in: &txn) }
        } else {
            // The feed does not tell of these deletions again. A comparison finds what is missing.
            state.checkDue = now
        }
        try txn.setSyncNote(name, nil)
        blocks.first += 1
        state.waiting.blocks = note != nil && blocks.first < blocks.next ? blocks : nil
        state.noteArrival(isEnd: true, at: now)
    }
}
