import HealthKV

/// Merges records of another store. They are stored unchanged, and the greater version wins (SEMANTICS C1).
struct RecordMerger: Sendable {
    let peer: PeerID
    let plan: SyncPlan
    let now: Instant
    /// How far the peer may know our feed. It does not know edits after this place.
    let known: ChangeToken?
    private(set) var report = PullReport()
    /// Samples that another peer had deleted before this one brought them.
    private var deletedUnseen: [Sample] = []
    /// Samples that the peer shows although it was told that they are deleted.
    private var putBack: [Sample] = []
    /// Samples that nobody here knew.
    private var news: [Sample] = []

    init(peer: PeerID, plan: SyncPlan, now: Instant, known: ChangeToken?) {
        (self.peer, self.plan, self.now, self.known) = (peer, plan, now, known)
    }

    /// Merges a page of the peer's feed, or of an enumerated window.
    mutating func apply(_ page: PullPage, in txn: inout WriteTransaction) throws {
        try txn.receiving(from: peer) { try applyRecords(page, in: &$0) }
        try buryUnseen(in: &txn)
        try tellDeletionsAgain(in: &txn)
        let lost = try txn.joinExports(among: news)
        for edit in lost.replaced { try note(.editReplaced, edit, in: &txn) }
        for edit in lost.deleted { try note(.editDeleted, edit, in: &txn) }
        news = []
    }

    private mutating func applyRecords(_ page: PullPage, in txn: inout WriteTransaction) throws {
        var unknown = SampleBatch()
        let databases = try txn.databases()
        for addition in page.additions {
            guard plan.plan(of: addition.sample.type)?.pulls ?? false, report.takes(addition) else { continue }
            noteSkew(addition.sample.modified)
            if let held = try txn.held(as: addition.sample) {
                try merge(addition.sample, held, in: &txn)
            } else if try txn.isDeletedUnseen(addition.sample, by: databases) {
                deletedUnseen.append(addition.sample)
            } else {
                unknown.append(addition.sample)
                news.append(addition.sample)
            }
        }
        if !unknown.isEmpty {
            let imported = try txn.importBatch(unknown)
            report.count(imported)
            if imported.vetoed > 0 { try notePutBack(page.additions.map(\.sample), in: &txn) }
            // What is held already, a health database may have brought.
            try txn.markReceived(news, from: peer)
        }
        var deletions = DeletionsOfDifferentSamples()
        for deletion in page.deletions {
            // A deletion whose version no sample here can have is invalid.
            guard let told = deletion.record, plan.plan(of: told.type)?.pulls ?? false else { continue }
            let record = told.raised(to: RecordMerger.unrounded(told.version))
            guard (0...Sample.versionLimit).contains(record.version) else {
                report.leaveOut(record.id, record.type, ModelError.numberOutOfRange(field: "version"))
                continue
            }
            noteSkew(record.modified)
            // A second deletion of the same sample must find it gone.
            if deletions.mayMean(sampleOf: record) { try merge(deletions.take(), in: &txn) }
            deletions.append(record)
        }
        try merge(deletions.take(), in: &txn)
    }

    /// The deletion of an import has the greatest version. A peer that keeps numbers as JavaScript does rounds it up.
    private static func unrounded(_ version: Int64) -> Int64 {
        version > Sample.versionLimit && version - Sample.versionLimit < 1 << 10 ? Sample.versionLimit : version
    }

    /// Deletes samples that another peer had deleted before this one brought them. Runs after the received changes, so
    /// that this peer is told of the deletions.
    private mutating func buryUnseen(in txn: inout WriteTransaction) throws {
        for sample in deletedUnseen { try txn.buryUnseen(sample) }
        report.deleted += deletedUnseen.count
        deletedUnseen = []
    }

    /// Notes samples that the peer shows although it was told of their deletion: the peer was put back to an earlier
    /// state.
    private mutating func notePutBack(_ samples: [Sample], in txn: inout WriteTransaction) throws {
        guard known != nil else { return }
        putBack += try samples.filter { sample in
            guard plan.plan(of: sample.type)?.pushes ?? false else { return false }
            // What is hidden here may have been undeleted there.
            if try txn.deletedSample(id: sample.id)?.isHidden == true { return false }
            return try txn.sample(id: sample.id) == nil
        }
    }

    /// Sends deletions again that the peer has forgotten. Runs after the received changes, so that this peer is told of
    /// them.
    private mutating func tellDeletionsAgain(in txn: inout WriteTransaction) throws {
        guard !putBack.isEmpty, let known else { return }
        try txn.tellDeletionsAgain(of: putBack, before: known)
        putBack = []
    }

    private mutating func merge(_ sample: Sample, _ held: Sample, in txn: inout WriteTransaction) throws {
        let overtaken = try overtakenLink(held.id, in: &txn)
        let isUnknown = try overtaken != nil && held.isEdit(of: txn.replica) || isUnknownToPeer(held.id, in: &txn)
        // Another store may have edited the same version and sent it to the peer before it had ours.
        let isOfSameVersion =
            sample.version == held.version && sample.clock.replica != held.clock.replica
            && held.isEdit(of: txn.replica)
        let isConflict = (isUnknown || isOfSameVersion) && sample.contentBytes != held.contentBytes
        switch try txn.merge(sample) {
        case .replaced, .inserted:
            report.imported += 1
            if let overtaken { try txn.removeLink(overtaken) }
            let mayDisplace = isConflict || isNeverSent(held, in: txn)
            if mayDisplace, try !isShownStill(held, in: txn) { try note(.editReplaced, held, in: &txn) }
        case .older:
            report.unchanged += 1
            // What is never sent differs from the peer's form for good.
            if isConflict, !isNeverSent(held, in: txn) { try note(.editKept, sample, in: &txn) }
        case .unchanged, .vetoed: report.unchanged += 1
        }
    }

    /// Merges deletions of different samples in one step.
    private mutating func merge(_ deletions: [DeletedSample], in txn: inout WriteTransaction) throws {
        let displaced = try deletions.map { deletion -> Sample? in
            guard let held = try txn.sample(id: deletion.id) ?? txn.named(as: deletion) else { return nil }
            let overtaken = try overtakenLink(held.id, in: &txn)
            let isUnknown = try overtaken != nil && held.isEdit(of: txn.replica) || isUnknownToPeer(held.id, in: &txn)
            return isUnknown || isNeverSent(held, in: txn) ? held : nil
        }
        for (displaced, isDeleted) in zip(displaced, try txn.merge(deletions)) where isDeleted {
            report.deleted += 1
            if let displaced { try note(.editDeleted, displaced, in: &txn) }
        }
    }

    private mutating func note(
        _ event: SyncConflict.Event, _ displaced: Sample, in txn: inout WriteTransaction
    ) throws {
        try txn.appendAudit(event, displaced)
        report.conflicts += 1
    }

    /// Returns the link of a sample of which the peer has a greater version than it was sent.
    private func overtakenLink(_ id: SampleID, in txn: inout WriteTransaction) throws -> PeerLink? {
        guard try txn.hasLinks(of: peer), let link = try txn.link(peer: peer, sample: id) else { return nil }
        return link.version == PeerLink.overtaken ? link : nil
    }

    /// Returns `true` if a sample was changed here after the place up to which the peer has seen our changes.
    private func isUnknownToPeer(_ id: SampleID, in txn: inout WriteTransaction) throws -> Bool {
        guard let known else { return true }
        return try txn.isChanged(id: id, since: known)
    }

    /// Returns `true` if a sample was edited here and is not sent to the peer at all.
    private func isNeverSent(_ held: Sample, in txn: borrowing WriteTransaction) -> Bool {
        !(plan.plan(of: held.type)?.pushes ?? false) && held.isEdit(of: txn.replica)
    }

    /// Returns `true` if an edit lies over whatever a merge brought beneath it.
    private func isShownStill(_ held: Sample, in txn: borrowing WriteTransaction) throws -> Bool {
        try txn.sample(id: held.id)?.isShown(like: held) ?? false
    }

    private mutating func noteSkew(_ clock: ChangeClock?) {
        guard let clock else { return }
        let ahead = Double(clock.time.nanoseconds.subtractingReportingOverflow(now.nanoseconds).partialValue) / 1e9
        if ahead > 86_400, clock.time > now { report.skewSeconds = max(report.skewSeconds ?? 0, ahead) }
    }
}

extension Sample {
    /// Returns `true` if the last change is an edit that the user made in the store with this replica.
    fileprivate func isEdit(of replica: UInt32) -> Bool {
        (origin == .authored || original != nil) && clock.replica == replica
    }
}
