import HealthKV

// A peer that hides what may not be read, and forgets deletions in time, is compared by enumeration: with each rescan of a type, and once more
// later when something was missing (SEMANTICS C26).
extension PeerSession {
    /// Deletions of one commit.
    private static let deletedAtOnce = 500

    nonisolated var comparesForeign: Bool { peer.traits.hidesUnreadable && !peer.traits.keepsRecords }

    /// Goes on with the comparisons that are due, for some pages: what is left waits for the next pass, so that none is kept waiting.
    func checkSome(_ isLocked: Bool) async throws -> PullReport {
        var report = PullReport()
        guard comparesForeign else { return report }
        let (now, known) = (now, try state())
        var pages = options.checkPages
        for type in plan.pulled.sorted() where pages > 0 {
            guard let due = known[type].checkDue, due.isDue(at: now, longest: options.longestDelay) else { continue }
            do {
                guard !isLocked, known[type].failure == nil else { throw PeerError(.locked, "it cannot be read now") }
                if let found = try await check(type, pages: &pages) {
                    report.imported += found.imported
                    report.deleted += found.deleted
                }
            } catch is PeerError {
                try Task.checkCancellation()
                // A comparison is in no hurry, and says nothing of the pass.
                let later = now + options.slowDelay
                try await update { _, state in state[type].checkDue = later }
            }
        }
        return report
    }

    /// Compares all types from their beginning to their end.
    func reconcileForeign() async throws -> ReconcileReport {
        var report = ReconcileReport()
        let name = name
        for type in plan.pulled.sorted() {
            try await holdLease()
            try await update { txn, _ in
                var note = try txn.checkNote(name, type)
                note.check = nil
                try txn.setCheckNote(note, name, type)
            }
            var pages = Int.max
            guard let found = try await check(type, pages: &pages) else { continue }
            report.imported += found.imported
            report.missing += found.missing
            report.deleted += found.deleted
            report.unverified += found.unverified
        }
        return report
    }

    /// Enumerates a type page by page, the latest first; answers what the comparison came to, or `nil` when pages ran out before its end.
    private func check(_ type: SampleType, pages: inout Int) async throws -> ReconcileReport? {
        let (name, now, known) = (name, now, try state()[type])
        var check = try store.read { try $0.checkNote(name, type) }.check ?? ForeignCheck(at: now)
        // What was shown a day ago says little of today.
        if check.began.hasPassed(.days(1), at: now) { check = ForeignCheck(at: now) }
        let bound = max(known.horizon ?? .distantPast, known.authorization?.earliest ?? .distantPast)
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            guard pages > 0 else {
                let place = check
                try await update { txn, _ in
                    var note = try txn.checkNote(name, type)
                    note.check = place
                    try txn.setCheckNote(note, name, type)
                }
                return nil
            }
            pages -= 1
            let page = try await peer.enumerate(
                EnumerationRequest(
                    type: type, window: TimeRange(from: bound, to: .distantFuture), cursor: check.cursor,
                    limit: options.pageSize))
            check.cursor = page.cursor
            check.imported += try await take(page, type)
            try compare(type, page, bound, &check)
        } while check.cursor != nil
        return try await judge(type, check)
    }

    /// Brings in what was not held.
    private func take(_ page: EnumerationPage, _ type: SampleType) async throws -> Int {
        let (name, applier) = (name, try applier(type, state()[type]))
        return try await update { txn, state in
            var applier = applier
            applier.state = state[type]
            try txn.receiving(from: name) { try applier.applySamples(page.samples, in: &$0) }
            state[type] = applier.state
            applier.note(in: &state)
            return applier.report.imported
        }
    }

    /// Compares what is held of the time that a page is about.
    private func compare(
        _ type: SampleType, _ page: EnumerationPage, _ bound: Instant, _ check: inout ForeignCheck
    ) throws {
        let foreign = page.samples.filter { !$0.isOwn }
        let isLast = page.cursor == nil
        // Samples that start with the last of the page may go on with the next.
        let start = isLast ? bound : page.samples.map(\.sample.start).min() ?? check.end
        let end = check.end == .distantFuture ? check.end : check.end + 1
        let earliest = foreign.map(\.sample.start).min()
        let shown = check.shown.union(foreign.map(\.peerID))
        if let earliest {
            check.isSeen = true
            if earliest <= check.end { check.settleOpen() }
        }
        let from = isLast ? start : start + 1
        let middle = min(end, max(from, earliest ?? end))
        try count(type, TimeRange(from: from, to: middle), shown, isCovered: false, isLast: isLast, &check)
        try count(type, TimeRange(from: middle, to: end), shown, isCovered: true, isLast: isLast, &check)
        check.end = start
        let edge = start + 1_000_000
        check.shown = Set(foreign.filter { $0.sample.start <= edge }.map(\.peerID))
    }

    private func count(
        _ type: SampleType, _ window: TimeRange, _ shown: Set<SampleID>, isCovered: Bool, isLast: Bool,
        _ check: inout ForeignCheck
    ) throws {
        guard window.from < window.to else { return }
        let (name, sources) = (name, try state()[type].sources)
        var counted = check
        try store.read { txn in
            // What the last comparison missed goes, and takes no room from what this one finds.
            let limit = options.missingLimit + (try txn.checkNote(name, type).missing.count)
            try txn.forEachSample(
                of: type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true
            ) { sample in
                guard sample.origin == .imported, sources.contains(sample.source.identity) else { return true }
                let link = try txn.link(peer: name, sample: sample.id)
                // What another peer brought need not be at this one.
                guard link?.isFromElsewhere != true else { return true }
                counted.held += 1
                if !shown.contains(link?.peerID ?? sample.id) {
                    counted.note(sample.id, isCovered: isCovered, limit: limit)
                }
                // Nothing earlier is to come that could show that these were deleted.
                return isCovered || !isLast || counted.openCount <= limit
            }
        }
        check = counted
    }

    /// Samples are gone when two comparisons missed them and each showed another foreign sample no later than theirs.
    private func judge(_ type: SampleType, _ check: ForeignCheck) async throws -> ReconcileReport {
        let (name, now, applier) = (name, now, try applier(type, state()[type]))
        let before = try store.read { try $0.checkNote(name, type) }.missing
        let agreed = check.missing.filter { before.contains($0) }
        var report = ReconcileReport()
        for from in stride(from: 0, to: agreed.count, by: PeerSession.deletedAtOnce) {
            try await holdLease()
            let some = agreed[from..<min(agreed.count, from + PeerSession.deletedAtOnce)]
            report.deleted += try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                let gone = try txn.receiving(from: name) { try applier.presumeGone(some, in: &$0) }
                state[type] = applier.state
                return gone
            }
        }
        let missing = Set(check.missing.lazy.filter { !before.contains($0) }.prefix(options.missingLimit))
        let hasVanished = check.held > 0 && !check.isSeen
        let again = now + options.slowDelay
        let issue = issue(.accessRevoked, "what was readable vanished twice")
        try await update { txn, state in
            try txn.setCheckNote(CheckNote(missing: missing), name, type)
            if check.openCount > 0 { state.note(.unverified, "samples are missing at the peer and kept", at: now) }
            state.noteVanished(type, hasVanished, issue, at: now)
            let isDoubtful = !missing.isEmpty || check.isCut && !check.missing.isEmpty || state[type].vanished == 1
            state[type].checkDue = isDoubtful ? again : nil
        }
        (report.imported, report.missing, report.unverified) = (check.imported, missing.count, check.openCount)
        return report
    }
}

extension PageApplier {
    /// Deletes what two comparisons missed, so that it is back should it show itself again. Answers how many there were.
    fileprivate mutating func presumeGone(_ ids: ArraySlice<SampleID>, in txn: inout WriteTransaction) throws -> Int {
        var gone = 0
        for id in ids {
            guard let sample = try txn.sample(id: id) else { continue }
            try audit(.presumedGone, sample, in: &txn)
            try txn.delete(id: id, version: 0)
            // Where it was edited at its source the peer calls it otherwise, and will show it so.
            let peerID = try txn.link(peer: peer, sample: id)?.peerID ?? id
            try txn.setLink(PeerLink(peer: peer, sample: id, peerID: peerID, version: PeerLink.presumedGone))
            noteDays([sample])
            gone += 1
        }
        return gone
    }
}

extension PeerState {
    /// A revoked access to read cannot be seen, only suspected: all that was seen of a type before vanished, twice (SEMANTICS C11). Access is revoked by
    /// type.
    fileprivate mutating func noteVanished(
        _ type: SampleType, _ hasVanished: Bool, _ issue: SyncIssue, at now: Instant
    ) {
        let count = self[type].vanished ?? 0
        self[type].vanished = hasVanished ? count + 1 : nil
        guard types.values.contains(where: { $0.vanished ?? 0 >= 2 }) else {
            notices.removeAll { $0.code == .readingRevoked }
            return
        }
        note(.readingRevoked, "reading was probably revoked", at: now)
        self.issue = issue
    }
}
