import HealthKV

/// A deletion names one version of a sample: it removes the sample only if that version is the one we know (SEMANTICS C22).
extension PageApplier {
    ///
    /// - Parameter over: what no replacement can follow.
    mutating func applyDeletions(
        _ page: PullPage, over: Set<SampleID> = [], in txn: inout WriteTransaction
    ) throws {
        for deletion in page.deletions {
            try deleteLeaving(before: deletion, in: &txn)
            if !page.isDrained, !over.contains(deletion.peerID),
                try mayBeReplacement(deletion, in: &txn) || isPartOfSum(deletion, in: &txn)
            {
                // Its replacement, or what it was condensed into, may stand on a later page.
                state.deferred.append(DeferredDeletion(deletion))
                if state.deferred.count >= blockSize { try putAside(in: &txn) }
            } else {
                try apply(deletion, in: &txn)
            }
        }
        try deleteLeaving(in: &txn)
        guard page.isDrained, !state.deferred.isEmpty else { return }
        // Many of them are applied block by block, behind this page.
        if state.blocks != nil { return try putAside(in: &txn) }
        let waiting = state.deferred
        state.deferred = []
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

    /// Deletes what is to go, where a deletion may mean one of those samples: it must find them gone.
    private mutating func deleteLeaving(before deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        if leaving.mayBeMeant(by: deletion) { try deleteLeaving(in: &txn) }
    }

    /// Deletes what is to go, together: each chunk of the store is written once, however many samples go from it.
    private mutating func deleteLeaving(in txn: inout WriteTransaction) throws {
        try txn.delete(leaving.take())
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

    /// Decides over one deletion. The sample is left to go with others.
    private mutating func apply(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        guard let held = try held(deletion, in: &txn) else {
            try keepInMind(deletion, in: &txn)
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
            return try keep(held, deletion, in: &txn)
        }
        if isEdited {
            try audit(.editDeleted, held, in: &txn)
            report.conflicts += 1
        }
        if let waiting { try txn.removePending(waiting) }
        // What this store sent last has the version that it has here, whatever its number.
        let isLastSent =
            try deletion.version != nil && txn.link(peer: peer, sample: held.id)?.version == deletion.version
        leaving.append(held, deletion, version: isLastSent ? 0 : deletion.deletedVersion ?? 0)
        try unlink(held, deletion, in: &txn)
        noteDays([held])
        report.deleted += 1
    }

    /// The live sample whose version a deletion names.
    private func held(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws -> Sample? {
        if let link = try txn.link(peer: peer, peerID: deletion.peerID) {
            // Where the peer did not say what it calls the version that was sent, the link may name the one before.
            let isOlder = link.isProvisional && deletion.version.map { $0 < link.version } ?? false
            return isOlder ? nil : try txn.sample(id: link.sample)
        }
        if let sample = try txn.sample(id: deletion.peerID) {
            // Under its own id it is known only as long as no link says otherwise.
            let link = try txn.link(peer: peer, sample: sample.id)
            if link == nil, sample.origin == .imported || sample.syncIdentifier == nil { return sample }
        }
        // Two apps may use one identifier, and one app may use it for two types (SEMANTICS A4): whose UUID is not known, is ours.
        guard let text = deletion.syncIdentifier, let number = deletion.version, let version = deletion.deletedVersion
        else { return nil }
        return try txn.samples(syncIdentifier: text).first { sample in
            guard sample.type == feed, sample.origin == .authored, sample.source.identity.isSameApp(as: ownSource),
                version >= sample.version
            else { return false }
            // What it called an older version before does not matter: it went on without our knowing. What was sent last lives, once
            // it was pulled back: sent twice, it may have been replaced by itself.
            guard let link = try txn.link(peer: peer, sample: sample.id) else { return true }
            return number > link.version || number == link.version && link.isProvisional
        }
    }

    /// A deletion of what is not here: the sample may still come from elsewhere, and is to be known as deleted then.
    private mutating func keepInMind(_ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        if let text = deletion.syncIdentifier, let version = deletion.deletedVersion {
            // In the order in which they were told of, as their clocks say.
            try deleteLeaving(in: &txn)
            let named = try txn.samples(syncIdentifier: text)
            // Another version of it lives here.
            if named.contains(where: { $0.type == feed && $0.source.identity.isSameApp(as: ownSource) }) { return }
            if let known = try txn.deletedSample(syncIdentifier: text, type: feed, source: ownSource) {
                // Several versions may have gone since we looked last. The deletion covers the greatest of them.
                if try txn.raise(known, to: version) { try noteUnseen(known.id, deletion, in: &txn) }
                return
            }
            // A number with the mark may have been this app's, in an earlier installation or on another device. Other apps number as it
            // does, so nothing is taken for this app's until it shows itself, here or at a store.
            if let number = deletion.version, PeerNumber.isOurs(number), named.isEmpty, let id = SampleID(text),
                id.description == text, try txn.sample(id: id) == nil, try txn.deletedSample(id: id) == nil
            {
                return try noteUnseen(id, deletion, in: &txn)
            }
        }
        // Where not all is read, what took its place may have been left out.
        guard state.horizon == nil, state.skipped == nil, plan.plan(of: feed)?.pulls ?? false,
            try txn.link(peer: peer, peerID: deletion.peerID) == nil,
            try txn.link(peer: peer, sample: deletion.peerID) == nil,
            try txn.sample(id: deletion.peerID) == nil, try txn.deletedSample(id: deletion.peerID) == nil
        else { return }
        try txn.setLink(
            PeerLink(peer: peer, sample: deletion.peerID, peerID: deletion.peerID, version: PeerLink.deletedUnseen))
    }

    /// Nobody here knows the clock of the version that went, so its tombstone may stand below it. The number tells what the deletion covers.
    private func noteUnseen(_ id: SampleID, _ deletion: PulledDeletion, in txn: inout WriteTransaction) throws {
        guard let number = deletion.version, PeerNumber.isOurs(number) else { return }
        let known = try txn.link(peer: peer, sample: id)
        guard known == nil || known?.deletedNumber.map({ $0 < number }) ?? false else { return }
        try txn.setLink(.deletedUnseen(id, deletion, number, by: peer))
    }

    /// The edit is sent again, and as a version above the deleted one, which other stores may have heard of.
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

/// Samples that a page deletes. Until they are deleted together, the store finds them as if they lived.
struct LeavingSamples: Sendable {
    private var deletions: [(sample: Sample, version: Int64)] = []
    /// Their ids, and what the peer called them.
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    mutating func append(_ held: Sample, _ deletion: PulledDeletion, version: Int64) {
        deletions.append((held, version))
        ids.formUnion([held.id, deletion.peerID])
        if let text = held.syncIdentifier { identifiers.insert(text) }
    }

    /// Whether a deletion may mean one of them.
    func mayBeMeant(by deletion: PulledDeletion) -> Bool {
        if deletions.isEmpty { return false }
        if ids.contains(deletion.peerID) { return true }
        guard let text = deletion.syncIdentifier else { return false }
        return identifiers.contains(text) || SampleID(text).map { ids.contains($0) } ?? false
    }

    mutating func take() -> [(sample: Sample, version: Int64)] {
        defer { self = LeavingSamples() }
        return deletions
    }
}

extension PulledDeletion {
    /// The version that went, in the order of stores, or one that is not below it. A deletion with the greatest version hides a sample for
    /// good, and no sample has one above it.
    var deletedVersion: Int64? { version.map { min(PeerNumber.slot(of: $0), Sample.versionLimit - 1) } }
}
