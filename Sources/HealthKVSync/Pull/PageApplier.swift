import HealthKV

/// Applies a page of a database's feed to the store, in the transaction that also stores the place after the page.
struct PageApplier: Sendable {
    let peer: PeerID
    /// The type of the feed.
    let feed: SampleType
    let plan: SyncPlan
    let now: Instant
    /// What the engine remembers of the feed's type; applying the page changes it.
    var state: TypeState
    /// The source of the samples that this app writes.
    let ownSource: SourceIdentity
    /// The time zone of the daily totals.
    let zone: String
    /// How many deletions that wait for the end of the feed are kept in one block.
    let blockSize: Int
    /// Returns the form in which the peer's samples are compared with the store's (``DatabasePeer/stored(_:)``).
    let stored: @Sendable (Sample) -> Sample
    var report = PullReport()
    /// The samples that the page deletes.
    var leaving = LeavingSamples()
    /// The own samples that the peer's deletions took, as far as they were applied together.
    var deletedNow: Set<SampleID> = []
    /// The samples that were presumed gone, by id; `nil` until they are read.
    var gone: [SampleID: Sample]?

    /// Applies additions, then deletions (SEMANTICS C22), and then the deletions that waited for the end of the feed.
    mutating func apply(_ page: PullPage, in txn: inout WriteTransaction) throws {
        try txn.receiving(from: peer) { txn in
            let (additions, late, over) = try withoutLate(page, in: &txn)
            try applySamples(additions, isFed: true, in: &txn)
            try applyDeletions(page, over: over, in: &txn)
            try applySamples(late, isFed: true, in: &txn)
        }
        state.imported += report.imported
        state.noteArrival(isEnd: page.isDrained, at: now)
    }

    /// Separates the additions of own versions that came late, and returns the peer's ids of the deleted versions that
    /// they follow. If a page has the deletion of the version that was sent last and an own version with a lower
    /// number, an abandoned call saved that version after the deletion. The user has deleted the sample, so the late
    /// version is deleted too.
    private func withoutLate(
        _ page: PullPage, in txn: inout WriteTransaction
    ) throws -> (additions: [PulledSample], late: [PulledSample], over: Set<SampleID>) {
        guard !page.deletions.isEmpty, page.additions.contains(where: \.isOwn) else { return (page.additions, [], []) }
        let deleted = Set(page.deletions.map(\.idAtPeer))
        var (additions, late, over): ([PulledSample], [PulledSample], Set<SampleID>) = ([], [], [])
        for addition in page.additions {
            if addition.isOwn, let link = try sentLater(addition, in: &txn), deleted.contains(link.idAtPeer) {
                late.append(addition)
                over.insert(link.idAtPeer)
            } else {
                additions.append(addition)
            }
        }
        return (additions, late, over)
    }

    /// Returns the link of the sample that an own addition is a version of, if the peer has held a version with a
    /// greater number.
    private func sentLater(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> PeerLink? {
        guard let text = addition.sample.syncIdentifier,
            let held = try txn.authored(text, addition.sample.type, by: ownSource),
            let link = try txn.link(peer: peer, sample: held.id), link.isHeldThere,
            link.idAtPeer != addition.idAtPeer, addition.sample.version < link.version
        else { return nil }
        return link
    }

    /// Applies the samples of a page, or of an enumerated window. If a feed continues after its baseline, its samples
    /// are new.
    mutating func applySamples(
        _ additions: [PulledSample], isFed: Bool = false, in txn: inout WriteTransaction
    ) throws {
        try withdraw(additions, in: &txn)
        if isFed { try noteShown(additions, in: &txn) }
        var foreign = try withoutOwn(additions, in: &txn)
        if isFed, !foreign.isEmpty { state.history.noteShown() }
        if let horizon = state.history.horizon {
            // A sample that is held is followed, however old it is.
            foreign = try foreign.filter { try $0.sample.start >= horizon || isHeld($0, in: &txn) }
        }
        let isNews = isFed && state.history.isPastBaseline
        if let skipped = state.history.skipped, !isNews { try leaveOut(&foreign, upTo: skipped, in: &txn) }
        try importForeign(foreign, isFed: isFed, in: &txn)
    }

    /// Applies the own samples among additions, and returns the foreign ones that the plan pulls.
    private mutating func withoutOwn(
        _ additions: [PulledSample], in txn: inout WriteTransaction
    ) throws -> [PulledSample] {
        // On most pages of an import all samples are foreign and of one type.
        if let type = additions.first?.sample.type, plan.plan(of: type)?.pulls ?? false,
            additions.indices.allSatisfy({ !additions[$0].isOwn && additions[$0].sample.type == type })
        {
            return additions
        }
        var foreign: [PulledSample] = []
        var last: (type: SampleType, pulls: Bool)?
        for addition in additions {
            let type = addition.sample.type
            if last?.type != type { last = (type, plan.plan(of: type)?.pulls ?? false) }
            if !addition.isOwn {
                if last?.pulls ?? false { foreign.append(addition) }
            } else if report.takes(addition) {
                try applyOwn(addition, in: &txn)
            }
        }
        return foreign
    }

    /// Takes what the feed shows off the lists of a comparison, which may have passed its place before it came back.
    private func noteShown(_ additions: [PulledSample], in txn: inout WriteTransaction) throws {
        var note = try txn.checkNote(peer, feed)
        guard !note.missing.isEmpty || note.check != nil else { return }
        var shown = Set(
            try additions.map { try txn.link(peer: peer, idAtPeer: $0.idAtPeer)?.sample ?? $0.sample.id })
        // A new version is not linked to its sample yet.
        for addition in additions { if let held = try txn.named(as: addition.sample) { shown.insert(held.id) } }
        note.missing.subtract(shown)
        note.check?.forget(shown)
        try txn.setCheckNote(note, peer, feed)
    }

    /// Leaves out samples that the peer held when the import was skipped (SEMANTICS C9). In a feed that is read from
    /// its beginning, only the date separates them from later samples. A sample that the store already holds arrived
    /// later.
    private mutating func leaveOut(
        _ foreign: inout [PulledSample], upTo skipped: Instant, in txn: inout WriteTransaction
    ) throws {
        let count = foreign.count
        foreign = try foreign.filter { try $0.sample.start > skipped || isHeld($0, in: &txn) }
        // These samples were seen, so the first sample that is kept does not suggest that more became readable.
        if foreign.count < count, !state.phase.isAdopted { state.lastForeign = now }
    }

    private func isHeld(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> Bool {
        let sample = addition.sample
        if try txn.link(peer: peer, idAtPeer: addition.idAtPeer) != nil || txn.sample(id: sample.id) != nil {
            return true
        }
        guard let text = sample.syncIdentifier else { return false }
        return try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity) != nil
    }

    private mutating func importForeign(
        _ pulled: [PulledSample], isFed: Bool, in txn: inout WriteTransaction
    ) throws {
        var foreign = pulled
        var batch = PageApplier.batch(of: foreign)
        // Check the whole batch first, and single samples only if the batch has an invalid one.
        if !batch.isStorable {
            foreign = foreign.filter { report.takes($0) }
            batch = PageApplier.batch(of: foreign)
        }
        guard !foreign.isEmpty else { return }
        if try txn.hasLinks(of: peer) { try nameAsHeld(foreign, &batch, in: &txn) }
        for source in batch.kinds.map(\.source.identity) where state.sources.insert(source).inserted {
            try markReceived(from: source, in: &txn)
        }
        let others = try txn.peers().contains { $0.id != peer && $0.queue != nil }
        let unknown = others ? try foreign.map(\.sample).filter { try txn.sample(id: $0.id) == nil } : []
        try noteDaysOfReplaced(foreign, in: &txn)
        try noteSeenAgain(foreign, in: &txn)
        let imported = try txn.importFeed(
            batch, lastLook: isFed ? state.lastLook : nil, ordersHeld: isFed && !state.history.isInOrder)
        try txn.markReceived(unknown, from: peer)
        report.count(imported)
        if state.phase.isAdopted, state.lastForeign.map({ $0.hasPassed(.days(30), at: now) }) ?? true {
            state.needsRescan = true
        }
        state.lastForeign = now
        if keepsTotals { noteDays(foreign.map(\.sample)) }
        // If a page has several versions of a sample, apply the latest one last.
        let named = foreign.indices.filter { foreign[$0].sample.syncIdentifier != nil }.map { foreign[$0] }
            .sorted { $0.sample.version < $1.sample.version }
        if imported.older > 0 { for addition in named { try overtake(addition, in: &txn) } }
        for addition in named { try link(addition, in: &txn) }
        if imported.vetoed > 0 { for addition in foreign { try revive(addition, in: &txn) } }
    }

    private static func batch(of foreign: [PulledSample]) -> SampleBatch {
        var batch = SampleBatch()
        batch.reserveCapacity(foreign.count)
        for place in foreign.indices { batch.append(foreign[place].sample, origin: .imported) }
        return batch
    }

    /// Sets the stored id for each sample that the peer shows under an id of another version: the sample is already
    /// stored.
    private func nameAsHeld(
        _ foreign: [PulledSample], _ batch: inout SampleBatch, in txn: inout WriteTransaction
    ) throws {
        for (row, addition) in foreign.enumerated() {
            guard let link = try txn.link(peer: peer, idAtPeer: addition.idAtPeer) else { continue }
            batch.setID(link.sample, row: row)
            // The peer shows the sample, whatever was known of it before.
            let isShown = link.isFromElsewhere && addition.sample.syncIdentifier == nil
            if isShown || link.version == PeerLink.deletedUnseen { try txn.removeLink(link) }
        }
    }

    /// While links are in doubt, notes that the peer shows a sample under an id that the store held before. Only the
    /// health database that was read before does that.
    private mutating func noteSeenAgain(_ foreign: [PulledSample], in txn: inout WriteTransaction) throws {
        guard let commit = state.doubt.unseenSince else { return }
        for addition in foreign {
            let id = try txn.link(peer: peer, idAtPeer: addition.idAtPeer)?.sample ?? addition.sample.id
            guard try txn.isHeld(id, since: commit) else { continue }
            state.doubt.see()
            return
        }
    }

    private var keepsTotals: Bool {
        plan.types.values.contains(where: \.keepsDailyTotals) || plan.others?.keepsDailyTotals ?? false
    }

    /// Notes the old days of samples that a new version moves to other days.
    private mutating func noteDaysOfReplaced(_ foreign: [PulledSample], in txn: inout WriteTransaction) throws {
        guard keepsTotals else { return }
        for sample in foreign.map(\.sample) {
            // A peer replaces only samples with a sync identifier.
            guard let text = sample.syncIdentifier, plan.plan(of: sample.type)?.keepsDailyTotals ?? false,
                let held = try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity)
            else { continue }
            if held.start != sample.start || held.end != sample.end { noteDays([held]) }
        }
    }

    /// Notes every day that a change touches, so that its totals are read again (SEMANTICS C15).
    mutating func noteDays(_ samples: [Sample]) {
        guard keepsTotals else { return }
        for sample in samples where plan.plan(of: sample.type)?.keepsDailyTotals ?? false {
            let end = sample.isOpenEnded ? max(sample.start, now) : sample.end
            state.staleDays.formUnion(LocalDays.names(from: sample.start, to: end, zone: zone, limit: 400))
        }
    }
}

extension PageApplier {
    /// Marks the stored samples of a source as coming from elsewhere when this peer brings its first sample of that
    /// source: they came from another peer, if another one brings records or samples of the source.
    func markReceived(from source: SourceIdentity, in txn: inout WriteTransaction) throws {
        let feed = feed
        let isShared = try txn.peers().contains { other in
            guard other.id != peer else { return false }
            return try other.queue == nil || txn.state(of: other.id)[feed].sources.contains(source)
        }
        guard isShared else { return }
        var ids: [SampleID] = []
        try txn.forEachSample(SampleQuery(feed, source: source, includeShadowed: true)) { sample in
            if sample.origin == .imported { ids.append(sample.id) }
            return true
        }
        for id in ids where try txn.mayComeFromElsewhere(id, at: peer) { try txn.setLink(.received(id, by: peer)) }
    }
}

extension PulledSample {
    /// Throws if the sample breaks a rule of the store. An own sample with a version below the first counts as the
    /// first version.
    fileprivate func validate() throws {
        var sample = sample
        if isOwn { sample.version = max(1, sample.version) }
        try sample.validate()
    }
}

extension PullReport {
    /// Returns `true` if a sample follows the rules of the store. Another app may write one that does not: it is noted
    /// and left out, and all others are still applied.
    mutating func takes(_ addition: PulledSample) -> Bool {
        do {
            try addition.validate()
            return true
        } catch {
            leaveOut(addition.idAtPeer, addition.sample.type, error)
            return false
        }
    }
}

extension PeerLink {
    /// Stored in place of a version: the sample was presumed gone because two enumerations missed it.
    static let presumedGone: Int64 = -1
    /// Stored in place of a version: the peer holds a sample of ours without a sync identifier.
    static let unnamed: Int64 = 0
    /// Stored in place of a version: the sample came from another peer, although this one also brings samples of its
    /// source.
    static let fromElsewhere: Int64 = -2

    /// Stored in place of a version: the peer deleted a sample that was never seen here. Another store may still bring
    /// it.
    static let deletedUnseen: Int64 = -3

    /// Stored in place of a version: another store refused a sample and the app gave it up, so that store was never
    /// given it.
    static let refused: Int64 = -4
    static func refused(_ sample: SampleID, by peer: PeerID) -> PeerLink {
        PeerLink(peer: peer, sample: sample, idAtPeer: sample, version: refused)
    }

    /// Stored in place of a version: another store holds a greater version of the sample than it was sent, and has not
    /// shown it since.
    static let overtaken: Int64 = -5
    static func overtaken(_ sample: SampleID, by peer: PeerID) -> PeerLink {
        PeerLink(peer: peer, sample: sample, idAtPeer: sample, version: overtaken)
    }

    /// Returns a link which records that the peer deleted a version of this app's that was never seen here. It stores
    /// the version's number, negated. Another store may still bring that version, or an earlier one.
    static func deletedUnseen(_ sample: SampleID, _ deletion: PulledDeletion, _ number: Int64, by peer: PeerID)
        -> PeerLink
    {
        PeerLink(peer: peer, sample: sample, idAtPeer: deletion.idAtPeer, version: -number)
    }

    /// The number of the greatest version of this app's that the peer deleted before it was seen here.
    var deletedNumber: Int64? { PeerNumber.isOurs(0 &- version) ? -version : nil }

    /// Whether another peer brought the sample: this peer need not hold it, and has no say over it.
    package var isFromElsewhere: Bool { version == PeerLink.fromElsewhere }
    /// The version that the peer showed last; `nil` if it is not known.
    var shown: Int64? { version > 0 ? version : nil }
}
