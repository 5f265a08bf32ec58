import HealthKV

/// Pulls feeds to their ends, page by page. A first import brings the newest samples first, by windows, so that the
/// screen fills immediately; the feed, in the order in which samples were written, completes the import.
struct FeedPuller: SessionJob {
    let core: SessionCore

    /// Returns the feeds of a pass, one for each type or one for all: those that were requested, those whose last pull
    /// failed and is due for a retry, and those that hold back samples to be sent.
    func feedsToPull(_ request: PassRequest) throws -> [SampleType] {
        let (known, now) = (try state(), now)
        func isDue(_ failure: PullFailure?) -> Bool {
            guard let failure else { return false }
            return request.isUrgent || failure.nextTry.map { $0.isDue(at: now, longest: options.longestDelay) } ?? false
        }
        if peer.keepsRecords {
            let isAsked = request.pulls && request.types?.isEmpty != true
            return feeds.filter { isAsked || isDue(known[$0].unacknowledged) }
        }
        return feeds.filter { type in
            if isDue(known[type].unacknowledged) { return true }
            let isAsked = request.types.map { $0.contains(type) || $0.contains(.every) } ?? true
            // A type that is only sent is read as well: the user may have deleted what was sent, and no signal tells.
            // It is read in any case in the foreground, to adopt the samples that an earlier installation left, and
            // where another device has sent a greater version.
            let isWanted = request.isUrgent || !known[type].phase.isAdopted || known[type].isOvertaken
            if plan.types[type]?.pulls == false, isWanted, request.pulls { return true }
            return request.pulls && isAsked || isDue(known[type].pulls.failure)
        }.sorted()
    }

    /// Pulls each feed to its end. A feed that cannot be read does not stop the others.
    func pullAll(_ feeds: [SampleType]) async throws -> PullOutcome {
        let name = name
        var outcome = PullOutcome()
        memory.notTold = []
        memory.hasStartedOver = try store.blockingRead { try $0.anchors(of: name) }.isEmpty
        if let newestStored = memory.newestStored {
            memory.newestStored = nil
            outcome.report += try await pullNewest(feeds)
            try await newestStored()
        }
        for type in feeds {
            do {
                outcome.report += try await pull(type)
                try await forgetFailure(type)
                outcome.drained.append(type)
            } catch let error as PeerError {
                // A cancelled query has not failed.
                try Task.checkCancellation()
                if peer.isInterrupted { throw error }
                switch error.code {
                case .locked:
                    outcome.isLocked = true
                    return outcome
                case .unavailable, .restricted, .wentBackwards: throw error
                default:
                    if peer.keepsRecords { throw error }
                    if error.isRefusal { outcome.refused.insert(type) }
                    // A type that was never asked for has not failed, and one that is only sent need not be readable.
                    let isFailure = !error.isRefusal || error.code == .unauthorized && plan.types[type]?.pulls != false
                    outcome.hasFailed = outcome.hasFailed || isFailure
                    try await noteFailure(type, error)
                }
            }
        }
        outcome.isContinuous = !memory.hasStartedOver
        return outcome
    }

    /// Imports the newest window of each feed, before anything is counted. A feed that cannot be read is reported when
    /// it is pulled.
    private func pullNewest(_ feeds: [SampleType]) async throws -> PullReport {
        var total = PullReport()
        for type in feeds {
            do { total += try await pullNewestWindows(type, Self.windows.prefix(1)) } catch is PeerError {
                try Task.checkCancellation()
            }
        }
        return total
    }

    private func forgetFailure(_ type: SampleType) async throws {
        guard try state()[type].pulls != .well else { return }
        try await update { _, state in state[type].pulls.succeed() }
    }

    private func noteFailure(_ type: SampleType, _ error: PeerError) async throws {
        let (now, options, plan) = (now, options, plan)
        let issue = SyncIssue(SyncIssue.Code(error.code), error.detail, plan: plan, in: .read)
        try await update { _, state in
            let isRefused = error.isRefusal
            // If nothing may be read, there is nothing to adopt yet, and the type may be sent.
            if isRefused { state[type].pulls.refuse() }
            // A type that is only sent need not be readable.
            if isRefused, plan.types[type]?.pulls == false { return }
            var failure = state[type].pulls.failure ?? PullFailure(issue: issue)
            failure.issue = issue
            failure.count += 1
            switch error.code {
            case .notDetermined: (failure.count, failure.nextTry) = (1, nil)
            case .transient, .tokenExpired, .badAnswer:
                failure.nextTry = now + options.delay(afterFailures: failure.count, asked: error.retryAfter)
            default: failure.nextTry = now + options.slowDelay
            }
            state[type].pulls.fail(failure)
            // A feed that cannot be read is not acknowledged separately.
            state[type].unacknowledged?.nextTry = failure.nextTry
        }
    }

    /// Pulls one feed to its end, page by page; from its beginning if the peer no longer knows our place in it.
    private func pull(_ type: SampleType) async throws -> PullReport {
        do {
            return try await pullPages(type)
        } catch let error as ReaderWentBackwards {
            memory.hasStartedOver = true
            try await introduction.becomeRestored(type, readFrom: error.token)
            return try await pullPages(type)
        } catch let error as PeerError where error.code == .wentBackwards {
            memory.hasStartedOver = true
            try await introduction.beginAgain()
            return try await pullPages(type)
        } catch let error as PeerError where error.code == .tokenExpired {
            memory.hasStartedOver = true
        }
        let name = name
        // Do this before the peer is given anything: the forgotten samples would be live there again.
        let dropped = try await forgottenDeletions.dropForgotten(type)
        let now = now
        try await update { txn, state in
            try state.forgetPlace(of: type, at: name, in: &txn)
            // A health database that does not know our place was rebuilt, or is another one.
            if !state.isDoubted { try state.beginDoubt(of: name, at: now, in: &txn) }
            // The peer is another store, or an older state of it: its acknowledgements of our feed no longer count.
            if dropped == nil {
                state.told = nil
                try txn.forgetSent(to: name)
            }
        }
        var report = try await pullPages(type)
        report.deleted += dropped ?? 0
        return report
    }

    /// Pulls a feed from our place to its end.
    func pullPages(_ type: SampleType) async throws -> PullReport {
        try await beginRescanIfDue(type)
        var total = try await pullNewestWindows(type)
        var ahead: PageAhead?
        while true {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await pullPage(type, &ahead)
            total += page.report
            guard page.isDrained else { continue }
            total += try await applyDeferred(type)
            if try await !beginRescanIfNeeded(type) { break }
        }
        try await totals.pullTotals(type)
        return total
    }

    /// Pulls the page after our place, and during its commit the page after that: an import waits for the peer and for
    /// the disk at the same time.
    private func pullPage(
        _ type: SampleType, _ ahead: inout PageAhead?
    ) async throws -> (report: PullReport, isDrained: Bool) {
        let (name, known, asked) = (name, try state()[type], now)
        let anchor = try store.blockingRead { try $0.anchor(peer: name, type: type, scope: known.scope) }
        // Own samples are followed from before the horizon as well: another device of the person may add one.
        let from = plan.types[type]?.pushes ?? false ? nil : known.history.horizon
        let request = PullRequest(type: type, token: anchor?.token, from: from, limit: pageLimit(type))
        let told = try await page(request, ahead)
        ahead = nil
        try options.atStep(.pagePulled)
        let page = try await replacements.withReplacements(told, type)
        let isStill = page.isDrained && page.additions.isEmpty && page.deletions.isEmpty
        if isStill, known.phase == .drained, page.token == nil || page.token == anchor?.token {
            if let token = anchor?.token, known.unacknowledged != nil { try await acknowledge(token, type) }
            memory.looks[type] = asked
            memory.progress?(SyncProgress(type: type, imported: 0, isDrained: true))
            return (PullReport(), true)
        }
        // No other call of the peer begins before this one ends. It is cancelled if the commit fails.
        let next = PageAhead.request(behind: page, of: request, keepsRecords: peer.keepsRecords)
        let (pulled, applied) = try await together {
            await pullAhead(next)
        } and: {
            try await commit(page, of: type, behind: anchor, known, asked: asked)
        }
        ahead = pulled
        guard let report = applied else { return (PullReport(), false) }
        try options.atStep(.pageCommitted)
        // The tail of a snapshot begins where the snapshot began: until the tail is read, nothing is seen to its end.
        if let token = page.token, !page.isSnapshot { try await acknowledge(token, type) }
        memory.progress?(SyncProgress(type: type, imported: report.imported, isDrained: page.isDrained))
        return (report, page.isDrained)
    }

    /// Commits a page together with its place in the feed. Returns `nil` if the place was forgotten meanwhile: then the
    /// feed must be read from its beginning.
    private func commit(
        _ page: PullPage, of type: SampleType, behind anchor: Anchor?, _ known: TypeState, asked: Instant
    ) async throws -> PullReport? {
        let (name, now, look) = (name, now, memory.looks[type])
        let merge = try merging(type, known)
        return try await update { txn, state in
            let place = try txn.anchor(peer: name, type: type, scope: known.scope)
            guard place?.token == anchor?.token, state[type].scope == known.scope else { return nil }
            var feed = state[type]
            // Whatever the reason to begin at the beginning, the feed now passes the samples that existed when the
            // import was skipped.
            if place == nil {
                feed.history.noteBeginning()
                feed.lastLook = nil
            }
            if let last = feed.lastLook, let look { feed.lastLook = max(last, look) }
            let report = try merge(page, &feed, &txn)
            if page.isDrained { (feed.lastLook, feed.isOvertaken) = (asked, false) }
            state[type] = feed
            state.noteArrivals(report, of: type, at: now)
            // Data and anchor are in one transaction (SEMANTICS C14).
            if let token = page.token {
                try txn.setAnchor(
                    Anchor(
                        peer: name, type: type, scope: feed.scope, token: token, time: now,
                        outcome: page.isDrained ? "drained" : "more"))
            }
            return report
        }
    }

    /// Returns the way in which a page of the peer's kind is merged.
    private func merging(_ type: SampleType, _ known: TypeState) throws -> Merging {
        let (name, plan, now) = (name, plan, now)
        if peer.keepsRecords {
            return { page, known, txn in
                var merger = RecordMerger(
                    peer: name, plan: plan, now: now, known: try txn.peer(name)?.furthest)
                try merger.apply(page, in: &txn)
                known.imported += merger.report.imported
                known.noteArrival(isEnd: page.isDrained, at: now)
                return merger.report
            }
        }
        let applier = try applier(type, known)
        return { page, known, txn in
            var applier = applier
            applier.state = known
            try applier.apply(page, in: &txn)
            known = applier.state
            return applier.report
        }
    }

    /// Merges a page, in a transaction, into the store and into what is known of its feed.
    private typealias Merging =
        @Sendable (PullPage, inout TypeState, inout WriteTransaction) throws -> PullReport

    /// Tells the peer how far its feed is stored. If that fails, the pull continues: the stored samples stay stored,
    /// and the peer is told later.
    private func acknowledge(_ token: [UInt8], _ type: SampleType) async throws {
        // After a failure, do not tell the peer again with each page.
        guard !memory.notTold.contains(type) else { return }
        do throws(PeerError) {
            try await peer.acknowledge(token, of: type)
        } catch {
            try Task.checkCancellation()
            if peer.isInterrupted { throw error }
            memory.notTold.insert(type)
            let (now, options, issue, asked) = (now, options, SyncIssue(error, plan: plan), error.retryAfter)
            try await update { _, state in
                var failure = state[type].unacknowledged ?? PullFailure(issue: issue)
                (failure.issue, failure.count) = (issue, failure.count + 1)
                failure.nextTry = now + options.delay(afterFailures: failure.count, asked: asked)
                state[type].unacknowledged = failure
            }
            return
        }
        guard try state()[type].unacknowledged != nil else { return }
        try await update { _, state in state[type].unacknowledged = nil }
    }

    /// Returns the page size of a feed. Foreign samples are imported in bulk. Records of a store, and own samples of a
    /// type that is only sent, are merged one by one, and the app waits for the commit of a page.
    private func pageLimit(_ type: SampleType) -> Int {
        let isBulk = !peer.keepsRecords && plan.types[type]?.pulls != false
        return isBulk ? options.pageSize : options.shortPage
    }

    private func pullAhead(_ request: PullRequest?) async -> PageAhead? {
        guard let request else { return nil }
        do throws(PeerError) {
            return PageAhead(request: request, answer: .success(try await peer.pull(request)))
        } catch {
            return PageAhead(request: request, answer: .failure(error))
        }
    }

    private func page(_ request: PullRequest, _ ahead: PageAhead?) async throws -> PullPage {
        do {
            if let ahead, ahead.request == request { return try ahead.answer.get() }
            return try await peer.pull(request)
        } catch  where error.code == .readerWentBackwards {
            throw ReaderWentBackwards(token: request.token)
        }
    }

    /// Begins a rescan after the first foreign sample, or after the first one in a long time: either may mean that more
    /// became readable.
    private func beginRescanIfNeeded(_ type: SampleType) async throws -> Bool {
        guard try state()[type].needsRescan else { return false }
        let (name, now) = (name, now)
        let isDue = peer.hidesUnreadable && plan.types[type]?.retention == .mirror
        try await update { txn, state in
            state[type].needsRescan = false
            guard isDue else { return }
            // The comparison that belongs to the monthly rescan comes when it is due, however often access is asked
            // for.
            let last = state[type].lastRescan
            try state.forgetPlace(of: type, at: name, in: &txn)
            state[type].lastRescan = last ?? now
        }
        return isDue
    }

    /// Begins a rescan if one is due. Read access may have grown without any signal, so the feed is read from its
    /// beginning at regular intervals (SEMANTICS C23).
    private func beginRescanIfDue(_ type: SampleType) async throws {
        // Do not fetch samples again that a cache has dropped.
        guard peer.hidesUnreadable, let item = plan.types[type], item.pulls, item.retention == .mirror else {
            return
        }
        let (name, now, days) = (name, now, options.rescanDays)
        let known = try state()[type]
        guard let last = known.lastRescan else {
            return try await update { _, state in state[type].lastRescan = now }
        }
        guard last.hasPassed(.days(days), at: now) else { return }
        try await update { txn, state in
            try state.readAgainBehindTail(type, at: name, in: &txn)
            state[type].lastRescan = now
            // The feed reports no deletion that was purged meanwhile.
            state[type].checkDue = now
            // Samples of a rescan do not suggest that more became readable.
            if state[type].lastForeign != nil { state[type].lastForeign = now }
        }
    }

    /// How far back each window reaches, in days.
    static let windows = [7, 30, 90, 365]

    func pullNewestWindows(
        _ type: SampleType, _ windows: ArraySlice<Int> = Self.windows[...]
    ) async throws -> PullReport {
        var total = PullReport()
        guard !peer.keepsRecords, plan.types[type]?.pulls ?? false, try !state()[type].phase.isAdopted else {
            return total
        }
        // Samples that are to be left out need not be read first.
        guard try state()[type].history.skipped == nil else { return total }
        let now = now
        for days in windows {
            let known = try state()[type]
            let earliest = max(known.history.horizon ?? .distantPast, now - .days(days))
            let end = known.history.windowsDone ?? .distantFuture
            if earliest >= end { continue }
            total += try await pullWindow(type, TimeRange(from: earliest, to: end)) { state in
                state.history.windowsDone = earliest
            }
        }
        return total
    }

    /// Enumerates a window, the latest samples first.
    private func pullWindow(
        _ type: SampleType, _ window: TimeRange, whenDone: @escaping @Sendable (inout TypeState) -> Void
    ) async throws -> PullReport {
        var total = PullReport()
        var cursor: [UInt8]?
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, window: window, cursor: cursor, limit: options.shortPage))
            try options.atStep(.pagePulled)
            let (applier, name, now) = (try applier(type, state()[type]), name, now)
            let isLast = page.cursor == nil
            let report = try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                try txn.receiving(from: name) { try applier.applySamples(page.samples, in: &$0) }
                state[type] = applier.state
                state.noteArrivals(applier.report, of: type, at: now)
                state[type].imported += applier.report.imported
                state[type].phase.handle(.arrived(now))
                if isLast { whenDone(&state[type]) }
                return applier.report
            }
            total += report
            if report.imported > 0 {
                memory.progress?(SyncProgress(type: type, imported: report.imported, isDrained: false))
            }
            cursor = page.cursor
        } while cursor != nil
        return total
    }

    /// Applies the deletions that waited for the end of a long feed, each block in a commit of its own. A sum that
    /// meanwhile counts a condensed sample twice decreases step by step, and never below its true value.
    func applyDeferred(_ type: SampleType) async throws -> PullReport {
        var total = PullReport()
        while try state()[type].waiting.blocks != nil {
            try Task.checkCancellation()
            try await holdLease()
            let applier = try applier(type, state()[type])
            total += try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                try applier.applyBlock(in: &txn)
                state[type] = applier.state
                return applier.report
            }
            try options.atStep(.pageCommitted)
        }
        return total
    }
}

extension SessionJob {
    var puller: FeedPuller { FeedPuller(core: core) }
}

extension SessionJob {
    func applier(_ type: SampleType, _ known: TypeState) throws -> PageApplier {
        PageApplier(
            peer: name, feed: type, plan: plan, now: now, state: known,
            ownSource: store.ownSource.identity, zone: options.zone, blockSize: options.deferredBlock,
            stored: { [peer] in peer.database?.stored($0) ?? $0 })
    }
}

extension PeerError {
    /// Whether the user has not allowed reading.
    var isRefusal: Bool { code == .notDetermined || code == .unauthorized }
}

/// The peer has a record that its feed was read beyond a place.
private struct ReaderWentBackwards: Error {
    let token: [UInt8]?
}
