import HealthKV

/// Compares a database by enumeration, since it hides unreadable samples and forgets deletions after a while: with each
/// rescan of a type, and once more later if something was missing (SEMANTICS C26).
struct Comparison: SessionJob {
    let core: SessionCore

    /// Up to this many missing own samples are deleted after one comparison. More need a second comparison that misses
    /// them too; so does any number if the peer shows nothing that the store knows. If the peer lacks more own samples
    /// than it shows known ones, no comparison is enough.
    private static let vanishedAtMost = 8

    /// For how many samples without a sync identifier a comparison asks the peer.
    private static let askedAtMost = 32

    /// The number of deletions in one commit.
    private static let deletedAtOnce = 500

    /// A type that is only sent is never read from its beginning again. So its comparison becomes due by itself, as
    /// often as other feeds are.
    private func compareSentIfDue() async throws {
        let (now, days, known) = (now, options.rescanDays, try state())
        let sent = try enumeratedTypes().filter { plan.types[$0]?.pulls == false && known[$0].phase.isAdopted }
        let due = sent.filter { known[$0].lastRescan?.hasPassed(.days(days), at: now) ?? true }
        guard !due.isEmpty else { return }
        try await update { _, state in
            for type in due {
                if state[type].lastRescan != nil { state[type].checkDue = now }
                state[type].lastRescan = now
            }
        }
    }

    /// Continues the comparisons that are due, for a limited number of pages. The rest waits for the next pass, so that
    /// no caller waits for a whole comparison.
    func checkSome(_ isLocked: Bool) async throws -> PullReport {
        var report = PullReport()
        guard peer.hidesUnreadable else { return report }
        try await compareSentIfDue()
        let (now, known) = (now, try state())
        var pages = options.checkPages
        for type in try enumeratedTypes() where pages > 0 {
            guard let due = known[type].checkDue, due.isDue(at: now, longest: options.longestDelay) else { continue }
            do {
                guard !isLocked, known[type].pulls.failure == nil else {
                    throw PeerError(.locked, "it cannot be read now")
                }
                if let found = try await check(type, pages: &pages) {
                    report.imported += found.imported
                    report.deleted += found.deleted
                }
            } catch let error as PeerError {
                try Task.checkCancellation()
                // A comparison is not urgent, and its failure does not make the pass fail.
                let later = now + options.slowDelay
                try await update { _, state in state[type].checkDue = later }
                if error.code == .badAnswer { throw error }
            }
        }
        return report
    }

    /// Compares all types from beginning to end.
    func reconcileByEnumeration() async throws -> ReconcileReport {
        var report = ReconcileReport()
        let name = name
        for type in try enumeratedTypes() {
            try await holdLease()
            try await update { txn, _ in
                var note = try txn.checkNote(name, type)
                note.check = nil
                try txn.setCheckNote(note, name, type)
            }
            var pages = Int.max
            let result: ReconcileReport?
            do {
                result = try await check(type, pages: &pages)
            } catch let error as PeerError where error.isRefusal && plan.types[type]?.pulls == false {
                // A type that is only sent need not be readable.
                continue
            }
            guard let found = result else { continue }
            report.imported += found.imported
            report.missing += found.missing
            report.deleted += found.deleted
            report.unverified += found.unverified
        }
        return report
    }

    /// Enumerates a type page by page, the latest samples first. Returns the result of the comparison, or `nil` if the
    /// pages ran out before its end.
    private func check(_ type: SampleType, pages: inout Int) async throws -> ReconcileReport? {
        let (name, now, known) = (name, now, try state()[type])
        var check = try store.blockingRead { try $0.checkNote(name, type) }.check ?? PeerComparison(at: now)
        // Samples that were shown a day ago prove little about today: start over. So does a comparison that ended, but
        // whose last look at the feed failed.
        if check.hasEnded == true || check.began.hasPassed(.days(1), at: now) { check = PeerComparison(at: now) }
        let bound = max(known.history.horizon ?? .distantPast, known.authorization?.earliest ?? .distantPast)
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
                    limit: options.shortPage))
            check.cursor = page.cursor
            check.imported += try await take(page, type)
            try compare(type, page, bound, &check)
        } while check.cursor != nil
        return try await judge(type, check)
    }

    /// Imports the samples of a page that the store does not hold.
    private func take(_ page: EnumerationPage, _ type: SampleType) async throws -> Int {
        let (name, applier) = (name, try applier(type, state()[type]))
        return try await update { txn, state in
            var applier = applier
            applier.state = state[type]
            try txn.receiving(from: name) { try applier.applySamples(page.samples, in: &$0) }
            state[type] = applier.state
            state.noteArrivals(applier.report, of: type, at: applier.now)
            return applier.report.imported
        }
    }

    /// Compares the samples in the store with a page, over the time range that the page covers.
    private func compare(
        _ type: SampleType, _ page: EnumerationPage, _ bound: Instant, _ check: inout PeerComparison
    ) throws {
        let foreign = page.samples.filter { !$0.isOwn }
        let all = page.samples
        let isLast = page.cursor == nil
        // More samples with the start of the page's earliest one may follow on the next page.
        let start = isLast ? bound : page.samples.map(\.sample.start).min() ?? check.end
        let end = check.end == .distantFuture ? check.end : check.end + 1
        let earliest = foreign.map(\.sample.start).min()
        let shown = check.shown.union(all.map(\.idAtPeer))
        if let earliest {
            check.isSeen = true
            if earliest <= check.end { check.settleOpen() }
        }
        let from = isLast ? start : start + 1
        let middle = min(end, max(from, earliest ?? end))
        try count(type, TimeRange(from: from, to: middle), shown, isCovered: false, isLast: isLast, &check)
        try count(type, TimeRange(from: middle, to: end), shown, isCovered: true, isLast: isLast, &check)
        try countOwn(type, TimeRange(from: from, to: end), shown, &check)
        check.end = start
        let edge = start + 1_000_000
        check.shown = Set(all.filter { $0.sample.start <= edge }.map(\.idAtPeer))
    }

    private func count(
        _ type: SampleType, _ window: TimeRange, _ shown: Set<SampleID>, isCovered: Bool, isLast: Bool,
        _ check: inout PeerComparison
    ) throws {
        guard window.from < window.to else { return }
        let (name, sources) = (name, try state()[type].sources)
        var counted = check
        try store.read { txn in
            // Samples that the last comparison missed too are deleted by this one, so they do not count against its
            // limit.
            let limit = options.missingLimit + (try txn.checkNote(name, type).missing.count)
            try txn.forEachSample(
                SampleQuery(type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true)
            ) { sample in
                guard sample.origin == .imported, sources.contains(sample.source.identity) else { return true }
                let link = try txn.link(peer: name, sample: sample.id)
                // A sample from another peer need not be at this one.
                guard link?.isFromElsewhere != true else { return true }
                let isShown = shown.contains(link?.idAtPeer ?? sample.id)
                // The peer shows the sample where it was before it was edited here, or before another store brought a
                // newer version: this window proves nothing about it.
                if !isShown,
                    sample.isPlacedElsewhere || sample.isNewer(thanShown: link?.shown, txn.replica)
                {
                    return true
                }
                counted.held += 1
                if isShown {
                    counted.known += 1
                } else {
                    counted.note(sample.id, isCovered: isCovered, limit: limit)
                }
                // No earlier page follows the last one, so nothing can prove these deletions: stop at the limit.
                return isCovered || !isLast || counted.openCount <= limit
            }
        }
        check = counted
    }

    /// Counts samples that this app wrote and that the peer does not show. A link made in this life of the store proves
    /// that the peer held the sample. Under a link from an earlier life the peer may never have held it, because a new
    /// device may still be filled from elsewhere. Such a sample is kept.
    private func countOwn(
        _ type: SampleType, _ window: TimeRange, _ shown: Set<SampleID>, _ check: inout PeerComparison
    ) throws {
        guard window.from < window.to else { return }
        let (name, limit) = (name, options.missingLimit)
        var counted = check
        try store.read { txn in
            try txn.forEachSample(
                SampleQuery(type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true)
            ) { sample in
                guard sample.origin == .authored, let link = try txn.link(peer: name, sample: sample.id),
                    link.isHeldThere, try txn.pending(peer: name, sample: sample.id) == nil
                else { return true }
                if shown.contains(link.idAtPeer) {
                    counted.known += 1
                } else if link.isProvisional {
                    counted.doubtful += 1
                } else {
                    counted.noteOwn(link, limit: limit)
                }
                return true
            }
        }
        check = counted
    }

    /// Deletes own samples that the peer did not show and whose links no later page of the feed has changed: a sample
    /// that was edited elsewhere during the comparison has another id at the peer by now.
    ///
    /// - Returns: `nil` if so many are missing that the peer is doubted. Then the comparison concludes nothing.
    private func judgeOwn(
        _ type: SampleType, _ check: PeerComparison
    ) async throws -> (gone: Int, missing: Set<OwnMissing>)? {
        var missing = check.ownMissing
        guard !missing.isEmpty else { return (0, []) }
        let (name, now) = (name, now)
        // Without permission to write, the peer may hide the app's own samples too.
        if let writing = try state()[type].authorization?.writing, writing != .granted { return (0, []) }
        var open: Set<OwnMissing> = []
        let (isMany, known) = (missing.count > Self.vanishedAtMost, check.known)
        // If the peer shows nothing that the store knows, a few missing samples may be all that there were.
        if isMany || known == 0 {
            if isMany, missing.count > known {
                // This points to another database, or to one that is still being filled, and not to so many deletions.
                try await update { txn, state in
                    let isOnlyOwn = !state.isDoubted && state.types.values.allSatisfy { $0.lastForeign == nil }
                    try state.beginDoubt(of: name, at: now, in: &txn)
                    if isOnlyOwn, state.isDoubted { state.doubt = .absence }
                }
                return nil
            }
            let before = try store.blockingRead { try $0.checkNote(name, type) }.ownMissing
            open = Set(missing).subtracting(before)
            missing.removeAll { !before.contains($0) }
            if missing.isEmpty { return (0, open) }
        }
        _ = try await puller.pullPages(type)
        // A peer that answers badly may have left out a page. Then the samples still live there.
        let names = try store.blockingRead { txn in
            try missing.compactMap { item in try txn.sample(id: item.id).map { $0.syncIdentifier ?? $0.id.description }
            }
        }
        var living = try await replacements.living(Set(names), of: type)
        living += try await unnamedLiving(among: &missing, of: type)
        let applier = try applier(type, state()[type])
        let (found, named) = (Set(living.map(\.idAtPeer)), Set(living.compactMap(\.sample.syncIdentifier)))
        var gone = 0
        for from in stride(from: 0, to: missing.count, by: Self.deletedAtOnce) {
            try await holdLease()
            let some = missing[from..<min(missing.count, from + Self.deletedAtOnce)]
            gone += try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                let ids = try some.filter { item in
                    guard let link = try txn.link(peer: name, sample: item.id), !found.contains(item.idAtPeer),
                        let sample = try txn.sample(id: item.id),
                        !named.contains(sample.syncIdentifier ?? item.id.description)
                    else { return false }
                    return try link.idAtPeer == item.idAtPeer && link.isHeldThere
                        && txn.pending(peer: name, sample: item.id) == nil
                }.map(\.id)
                let gone = try txn.receiving(from: name) { try applier.presumeGone(ids[...], in: &$0) }
                state[type] = applier.state
                return gone
            }
        }
        return (gone, open)
    }

    /// Returns what the peer shows at the starts of samples that it holds without a sync identifier: it cannot be asked
    /// for them otherwise. If there are many, the rest is left to the next comparison.
    private func unnamedLiving(
        among missing: inout [OwnMissing], of type: SampleType
    ) async throws -> [PulledSample] {
        let name = name
        let all = missing
        let (starts, left) = try store.blockingRead { txn in
            var (starts, left): (Set<Instant>, Set<OwnMissing>) = ([], [])
            for item in all where try txn.link(peer: name, sample: item.id)?.version == PeerLink.unnamed {
                guard let start = try txn.sample(id: item.id)?.start else { continue }
                if starts.count < Self.askedAtMost { starts.insert(start) }
                if !starts.contains(start) { left.insert(item) }
            }
            return (starts, left)
        }
        missing.removeAll { left.contains($0) }
        var found: [PulledSample] = []
        for start in starts.sorted() {
            var cursor: [UInt8]?
            repeat {
                try Task.checkCancellation()
                try await holdLease()
                // The peer may have rounded the time.
                let window = TimeRange(from: start - 1_000_000, to: start + 1_000_000)
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, window: window, cursor: cursor, limit: options.shortPage))
                found += page.samples
                cursor = page.cursor
            } while cursor != nil
        }
        return found
    }

    /// Marks samples that the peer does not show as coming from elsewhere. After a copy or a restoration the peer may
    /// be another database, or one that is still being filled. It must not take these samples away until it shows them.
    private func giveToOthers(_ type: SampleType, _ check: PeerComparison) async throws -> ReconcileReport {
        let (name, now) = (name, now)
        let strangers = check.missing + check.open
        for from in stride(from: 0, to: strangers.count, by: Self.deletedAtOnce) {
            try await holdLease()
            let some = strangers[from..<min(strangers.count, from + Self.deletedAtOnce)]
            try await update { txn, _ in
                for id in some where try txn.link(peer: name, sample: id)?.isProvisional ?? true {
                    try txn.setLink(.received(id, by: name))
                }
            }
        }
        var report = ReconcileReport()
        (report.imported, report.unverified) = (check.imported, strangers.count + check.doubtful)
        let (isNews, isCut) = (report.unverified > 0, check.isCut)
        try await update { txn, state in
            try txn.setCheckNote(CheckNote(), name, type)
            if isNews { state.note(.unverified, "samples are missing at the peer and kept", at: now) }
            if !isCut { state[type].doubt.end() }
            state[type].checkDue = isCut ? now : nil
        }
        return report
    }

    /// Returns a comparison that ended, and what the one before missed. If both missed a sample, reads the feed to its
    /// end first: the sample may have come back while the comparison went on behind its place, and what the feed shows
    /// leaves the lists. Returns `nil` if the feed shows that the peer is another database.
    private func stillMissing(
        _ type: SampleType, _ check: PeerComparison
    ) async throws -> (check: PeerComparison, before: Set<SampleID>)? {
        let name = name
        let before = try store.blockingRead { try $0.checkNote(name, type) }.missing
        guard check.missing.contains(where: before.contains) else { return (check, before) }
        try await update { txn, _ in
            var note = try txn.checkNote(name, type)
            note.check = check
            note.check?.hasEnded = true
            try txn.setCheckNote(note, name, type)
        }
        _ = try await puller.pullPages(type)
        let note = try store.blockingRead { try $0.checkNote(name, type) }
        return note.check.map { ($0, note.missing) }
    }

    /// Deletes samples that two comparisons missed, if each comparison showed another foreign sample that is no later.
    private func judge(_ type: SampleType, _ ended: PeerComparison) async throws -> ReconcileReport {
        var report = ReconcileReport()
        guard let own = try await judgeOwn(type, ended) else {
            (report.imported, report.unverified) = (ended.imported, ended.missing.count + ended.openCount)
            return report
        }
        let (name, now) = (name, now)
        if try state()[type].doubt.isOpen { return try await giveToOthers(type, ended) }
        guard let (check, before) = try await stillMissing(type, ended) else { return report }
        let applier = try applier(type, state()[type])
        let agreed = check.missing.filter { before.contains($0) }
        report.deleted = own.gone
        for from in stride(from: 0, to: agreed.count, by: Self.deletedAtOnce) {
            try await holdLease()
            let some = agreed[from..<min(agreed.count, from + Self.deletedAtOnce)]
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
        let (again, message) = (now + options.slowDelay, plan.noticeMessages[.readingRevoked])
        let issue = issue(.accessRevoked, "what was readable vanished twice")
        try await update { txn, state in
            try txn.setCheckNote(CheckNote(missing: missing, ownMissing: own.missing), name, type)
            let unverified = check.openCount + check.doubtful
            if unverified > 0 { state.note(.unverified, "samples are missing at the peer and kept", at: now) }
            state.noteVanished(type, hasVanished, issue, at: now, message: message)
            let isFirstTime = if case .vanished = state[type].visibility { true } else { false }
            let isCut = check.isCut && !(check.missing.isEmpty && check.ownMissing.isEmpty)
            let isDoubtful = !missing.isEmpty || !own.missing.isEmpty || isCut || isFirstTime
            state[type].checkDue = isDoubtful ? again : nil
        }
        (report.imported, report.missing, report.unverified) = (
            check.imported, missing.count + own.missing.count, check.openCount + check.doubtful
        )
        return report
    }
}

extension SessionJob {
    var comparison: Comparison { Comparison(core: core) }
}

extension PeerState {
    /// Notes whether the foreign samples of a type have vanished, and suspects a revocation if they did twice.
    mutating func noteVanished(
        _ type: SampleType, _ hasVanished: Bool, _ issue: SyncIssue, at now: Instant, message: String?
    ) {
        // What was written while nothing showed, the feed may have passed (SEMANTICS A17, C23).
        if self[type].visibility != .shown, !hasVanished { self[type].needsRescan = true }
        self[type].visibility.look(at: now, hasVanished: hasVanished)
        if endRevocationNotice() { return }
        note(.readingRevoked, "reading was probably revoked", at: now, message: message)
        self.issue = issue
    }

    /// Removes the notice of a revocation if no type is revoked any more. Returns `true` if none is.
    @discardableResult
    mutating func endRevocationNotice() -> Bool {
        if types.values.contains(where: \.visibility.isRevoked) { return false }
        notices.removeAll { $0.code == .readingRevoked }
        return true
    }
}
