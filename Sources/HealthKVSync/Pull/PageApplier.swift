import HealthKV

/// Brings a page of a peer's feed into the store, inside the transaction that also stores the place behind it.
struct PageApplier: Sendable {
    let peer: String
    /// The type whose feed it is.
    let feed: SampleType
    let traits: PeerTraits
    let plan: SyncPlan
    let now: Instant
    /// What is remembered of the feed's type; changed as the page is applied.
    var state: TypeState
    /// Where the peer stood in our feed: an edit behind it is one that the peer does not know.
    var acknowledged: ChangeToken?
    /// The source of what this app writes.
    let ownSource: SourceIdentity
    /// The zone in whose days totals are kept.
    let zone: String
    /// How many deletions that wait for the end of the feed are kept together.
    let blockSize: Int
    /// The form in which the peer's samples are compared with what is held (``Peer/stored(_:)``).
    let stored: @Sendable (Sample) -> Sample
    var report = PullReport()
    /// What another peer had deleted before this one brought it.
    var deletedUnseen: [Sample] = []
    /// What the peer shows, and was told that it is deleted.
    var putBack: [Sample] = []
    /// What the deletions of the page take away.
    var leaving = LeavingSamples()
    /// What was presumed gone, by id, once it was read.
    var gone: [SampleID: Sample]?

    /// Applies additions, then deletions (SEMANTICS C22), and what waited for the end of the feed.
    mutating func apply(_ page: PullPage, in txn: inout WriteTransaction) throws {
        try txn.receiving(from: peer) { txn in
            if traits.keepsRecords {
                try applyRecords(page, in: &txn)
            } else {
                let (additions, late, over) = try withoutLate(page, in: &txn)
                try applySamples(additions, isFed: true, in: &txn)
                try applyDeletions(page, over: over, in: &txn)
                try applySamples(late, isFed: true, in: &txn)
            }
        }
        try buryUnseen(in: &txn)
        try tellDeletionsAgain(in: &txn)
        state.imported += report.imported
        note(isDrained: page.isDrained && state.blocks == nil)
    }

    /// The additions of a page, those of own versions that came late, and the names of what was deleted under them.
    /// Where the deletion of what was sent last comes with a version of a lower number, that was saved after the
    /// deletion, by a call that was left behind: the user has deleted the sample, and what came late goes, too.
    private func withoutLate(
        _ page: PullPage, in txn: inout WriteTransaction
    ) throws -> (additions: [PulledSample], late: [PulledSample], over: Set<SampleID>) {
        guard !page.deletions.isEmpty, page.additions.contains(where: \.isOwn) else { return (page.additions, [], []) }
        let deleted = Set(page.deletions.map(\.peerID))
        var (additions, late, over): ([PulledSample], [PulledSample], Set<SampleID>) = ([], [], [])
        for addition in page.additions {
            if addition.isOwn, let link = try sentLater(addition, in: &txn), deleted.contains(link.peerID) {
                late.append(addition)
                over.insert(link.peerID)
            } else {
                additions.append(addition)
            }
        }
        return (additions, late, over)
    }

    /// The link of the sample that an own one is a version of, where the peer has held a version of a greater number.
    private func sentLater(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> PeerLink? {
        guard let text = addition.sample.syncIdentifier,
            let held = try txn.authored(text, addition.sample.type, by: ownSource),
            let link = try txn.link(peer: peer, sample: held.id), link.isHeldThere,
            link.peerID != addition.peerID, addition.sample.version < link.version
        else { return nil }
        return link
    }

    /// Notes whether the feed was read to its end, and all that it said is applied.
    mutating func note(isDrained: Bool) {
        state.isDrained = isDrained
        state.isMidway = !isDrained
        state.midwaySince = isDrained ? nil : now
        guard isDrained else { return }
        state.isAdopted = true
        state.isInOrder = true
        if state.skipped != nil { state.isPastBaseline = true }
    }

    /// Samples of a page, or of a window that was enumerated. Those of a feed that goes on behind its baseline are news.
    mutating func applySamples(
        _ additions: [PulledSample], isFed: Bool = false, in txn: inout WriteTransaction
    ) throws {
        try withdraw(additions, in: &txn)
        var foreign: [PulledSample] = []
        // Most pages are of one type.
        var last: (type: SampleType, pulls: Bool)?
        for addition in additions {
            let type = addition.sample.type
            if last?.type != type { last = (type, plan.plan(of: type)?.pulls ?? false) }
            if !addition.isOwn {
                if last?.pulls ?? false { foreign.append(addition) }
            } else if isStorable(addition) {
                try applyOwn(addition, in: &txn)
            }
        }
        if let horizon = state.horizon { foreign.removeAll { $0.sample.start < horizon } }
        let isNews = isFed && state.isPastBaseline == true
        if let skipped = state.skipped, !isNews { try leaveOut(&foreign, upTo: skipped, in: &txn) }
        try importForeign(foreign, isFed: isFed, in: &txn)
    }

    /// Leaves out what was at the peer when the import was skipped (SEMANTICS C9). Whoever reads from the beginning cannot tell it from what came
    /// since but by its date; what is held already came since.
    private mutating func leaveOut(
        _ foreign: inout [PulledSample], upTo skipped: Instant, in txn: inout WriteTransaction
    ) throws {
        let count = foreign.count
        foreign = try foreign.filter { try $0.sample.start > skipped || isHeld($0, in: &txn) }
        // They were seen, so the first that is kept is no sign that more can be read than before.
        if foreign.count < count, !state.isAdopted { state.lastForeign = now }
    }

    /// Another app may write what breaks the rules of the store. That is left out and counted, and keeps nothing else from coming.
    mutating func isStorable(_ addition: PulledSample) -> Bool {
        var sample = addition.sample
        // What this app wrote with a version below the first is taken for the first.
        if addition.isOwn { sample.version = max(1, sample.version) }
        if (try? sample.validate()) != nil { return true }
        report.invalid += 1
        return false
    }

    /// Tells of what was left out.
    func note(in state: inout PeerState) {
        guard report.invalid > 0 else { return }
        state.note(.invalidSamples, "samples of \(feed) break the rules of the store and were left out", at: now)
    }

    private func isHeld(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> Bool {
        let sample = addition.sample
        if try txn.link(peer: peer, peerID: addition.peerID) != nil || txn.sample(id: sample.id) != nil { return true }
        guard let text = sample.syncIdentifier else { return false }
        return try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity) != nil
    }

    private mutating func importForeign(
        _ pulled: [PulledSample], isFed: Bool, in txn: inout WriteTransaction
    ) throws {
        var foreign = pulled
        var batch = PageApplier.batch(of: foreign)
        // All at once, and one by one only where one of them is not as it must be.
        if !batch.isStorable {
            foreign = foreign.filter { isStorable($0) }
            batch = PageApplier.batch(of: foreign)
        }
        guard !foreign.isEmpty else { return }
        if try txn.hasLinks(of: peer) { try nameAsHeld(foreign, &batch, in: &txn) }
        for source in batch.kinds.map(\.source.identity) where state.sources.insert(source).inserted {
            try markReceived(from: source, in: &txn)
        }
        let others = try txn.peers().contains { $0.name != peer && $0.queue != nil }
        let unknown = others ? try foreign.map(\.sample).filter { try txn.sample(id: $0.id) == nil } : []
        try noteDaysOfReplaced(foreign, in: &txn)
        try noteSeenAgain(foreign, in: &txn)
        let imported = try txn.importFeed(
            batch, lastLook: isFed ? state.lastLook : nil, ordersHeld: isFed && state.isInOrder != true)
        try txn.markReceived(unknown, from: peer)
        report.count(imported)
        if state.isAdopted, state.lastForeign.map({ $0.hasPassed(.days(30), at: now) }) ?? true {
            state.needsRescan = true
        }
        state.lastForeign = now
        if keepsTotals { noteDays(foreign.map(\.sample)) }
        // Of several versions in one page the latest has the last word.
        let named = foreign.filter { $0.sample.syncIdentifier != nil }
            .sorted { $0.sample.version < $1.sample.version }
        if imported.older > 0 { for addition in named { try overtake(addition, in: &txn) } }
        for addition in named { try link(addition, in: &txn) }
        if imported.vetoed > 0 { for addition in foreign { try revive(addition, in: &txn) } }
    }

    private static func batch(of foreign: [PulledSample]) -> SampleBatch {
        var batch = SampleBatch()
        batch.reserveCapacity(foreign.count)
        for addition in foreign { batch.append(addition.sample, origin: .imported) }
        return batch
    }

    /// A version that the peer called otherwise before is held already, under the id that it has here.
    private func nameAsHeld(
        _ foreign: [PulledSample], _ batch: inout SampleBatch, in txn: inout WriteTransaction
    ) throws {
        for (row, addition) in foreign.enumerated() {
            guard let link = try txn.link(peer: peer, peerID: addition.peerID) else { continue }
            batch.setID(link.sample, row: row)
            // The peer shows it, whatever was known of it before.
            let isShown = link.isFromElsewhere && addition.sample.syncIdentifier == nil
            if isShown || link.version == PeerLink.deletedUnseen { try txn.removeLink(link) }
        }
    }

    /// While links are in doubt: only the database of health that was read before shows what it called so.
    private mutating func noteSeenAgain(_ foreign: [PulledSample], in txn: inout WriteTransaction) throws {
        guard state.isDoubted == true, state.isSeenAgain != true, let commit = state.doubtedAt else { return }
        for addition in foreign {
            let id = try txn.link(peer: peer, peerID: addition.peerID)?.sample ?? addition.sample.id
            guard try txn.isHeld(id, since: commit) else { continue }
            state.isSeenAgain = true
            return
        }
    }

    private var keepsTotals: Bool {
        plan.types.values.contains(where: \.keepsDailyTotals) || plan.others?.keepsDailyTotals ?? false
    }

    /// What is replaced by a version of another day leaves a day behind.
    private mutating func noteDaysOfReplaced(_ foreign: [PulledSample], in txn: inout WriteTransaction) throws {
        guard keepsTotals else { return }
        for sample in foreign.map(\.sample) {
            // A peer replaces only what has a sync identifier.
            guard let text = sample.syncIdentifier, plan.plan(of: sample.type)?.keepsDailyTotals ?? false,
                let held = try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity)
            else { continue }
            if held.start != sample.start || held.end != sample.end { noteDays([held]) }
        }
    }

    /// Daily totals are asked for again for every day that a change touched (SEMANTICS C15).
    mutating func noteDays(_ samples: [Sample]) {
        guard keepsTotals else { return }
        for sample in samples where plan.plan(of: sample.type)?.keepsDailyTotals ?? false {
            let end = sample.isOpenEnded ? max(sample.start, now) : sample.end
            state.staleDays.formUnion(LocalDays.names(from: sample.start, to: end, zone: zone, limit: 400))
        }
    }

    /// Keeps what a conflict displaced, so that it can be restored.
    func audit(_ event: SyncConflict.Event, _ displaced: Sample, in txn: inout WriteTransaction) throws {
        try txn.appendAudit(
            event: event.rawValue, sample: displaced.id, displaced: try EngineNotes.encode(displaced))
    }
}

extension PeerLink {
    /// Stands in place of a version where the sample was presumed gone because two enumerations missed it.
    static let presumedGone: Int64 = -1
    /// Stands in place of a version where the peer holds a sample of ours without a sync identifier.
    static let unnamed: Int64 = 0
    /// Stands in place of a version where the sample came from another peer, though this one brings samples of its source too.
    static let fromElsewhere: Int64 = -2

    /// Stands in place of a version where the peer deleted a sample that was never seen here. Another store may still bring it.
    static let deletedUnseen: Int64 = -3

    /// Stands in place of a version where another store refused a sample and the app gave it up: that store was never
    /// given it.
    static let refused: Int64 = -4
    static func refused(_ sample: SampleID, by peer: String) -> PeerLink {
        PeerLink(peer: peer, sample: sample, peerID: sample, version: refused)
    }

    /// What says that the peer deleted a version of this app's that was never seen here: its number, below zero. Another store may still bring
    /// that version, or one before it.
    static func deletedUnseen(_ sample: SampleID, _ deletion: PulledDeletion, _ number: Int64, by peer: String)
        -> PeerLink
    {
        PeerLink(peer: peer, sample: sample, peerID: deletion.peerID, version: -number)
    }

    /// The number of the greatest version of this app's that the peer deleted before it was seen here.
    var deletedNumber: Int64? { PeerNumber.isOurs(0 &- version) ? -version : nil }

    /// Whether another peer brought the sample: this one need not hold it, and does not decide over it.
    package var isFromElsewhere: Bool { version == PeerLink.fromElsewhere }
    /// Whether the peer held the sample when the link was made.
    var isHeldThere: Bool { version >= PeerLink.unnamed }
    /// The version that the peer showed last; `nil` where that is not known.
    var shown: Int64? { version > 0 ? version : nil }
}

/// What a pull did.
public struct PullReport: Sendable, Hashable {
    /// Samples that are new here, or newer than what was held.
    public var imported = 0
    /// Samples that were held already.
    public var unchanged = 0
    /// Samples that this app wrote and that were found again at the peer.
    public var adopted = 0
    /// Samples that were deleted here since the peer deleted them.
    public var deleted = 0
    /// Deletions that spoke of a version which another had replaced.
    public var superseded = 0
    /// Conflicts that were resolved and can be looked at.
    public var conflicts = 0
    /// Samples that break the rules of the store, such as one with a negative version, and were left out.
    public var invalid = 0
    /// The farthest that a clock of the peer was ahead by more than a day, in seconds.
    public var skewSeconds: Double?

    /// A report of nothing.
    public init() {}

    mutating func count(_ imported: ImportReport) {
        self.imported += imported.inserted + imported.replaced
        unchanged += imported.unchanged + imported.older + imported.vetoed
    }

    static func += (left: inout PullReport, right: PullReport) {
        left.imported += right.imported
        left.unchanged += right.unchanged
        left.adopted += right.adopted
        left.deleted += right.deleted
        left.superseded += right.superseded
        left.conflicts += right.conflicts
        left.invalid += right.invalid
        left.skewSeconds = [left.skewSeconds, right.skewSeconds].compactMap(\.self).max()
    }
}
