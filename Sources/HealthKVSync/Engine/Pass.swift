import HealthKV

/// One sync with one peer, from top to bottom.
struct Pass: SessionJob {
    let core: SessionCore

    /// Runs one sync: pulls, then pushes. An error that ends it is stored in the status as an issue and not thrown,
    /// unless the sync was cancelled or the store cannot write.
    func run(_ request: PassRequest) async throws -> SyncReport {
        let report = try await unloggedRun(request)
        core.log(report)
        return report
    }

    private func unloggedRun(_ asked: PassRequest) async throws -> SyncReport {
        var (report, request) = (SyncReport(), asked)
        let known = try state()
        guard known.isEnabled else {
            try await Retirement(core: core).settleUnreached()
            return report
        }
        // A pass that failed as a whole is retried as a whole.
        if known.nextTry != nil { request = PassRequest(isUrgent: request.isUrgent) }
        do {
            // Acquire: nobody else syncs with the peer, and both sides are what they were.
            try await holdLease()
            try await introduction.checkEpoch()
            try await enrollment.followPlan()
            try await correctArrivals()
            let isLocked = try await access.checkAvailability() == .locked
            if try await introduction.meet() {
                // Our store was restored. Adopt everything that the peer holds before anything is sent.
                request = PassRequest(isUrgent: request.isUrgent)
            }
            let retirement = Retirement(core: core)
            // A peer that was silent for too long is brought in line before anything is sent, and read before that.
            if try retirement.isDue() { request = PassRequest(isUrgent: request.isUrgent) }

            // Pull and apply, page by page.
            let feeds = try puller.feedsToPull(request)
            var pulls = PullOutcome(isLocked: isLocked)
            if !isLocked, !feeds.isEmpty || request.pushes && request.isUrgent {
                try await access.refreshAuthorization()
            }
            if !feeds.isEmpty, !isLocked {
                pulls = try await puller.pullAll(feeds)
                report.pulled += pulls.report
                try await DoubtSettler(core: core).settleDoubt()
                // The device was locked meanwhile: reading waits, saving continues (SEMANTICS C19).
                if pulls.isLocked { try await access.noteAvailability(.locked) }
                // A feed that failed proves nothing, and hides nothing of the others.
                if request.isUrgent, !pulls.isLocked, !pulls.drained.isEmpty {
                    try await RevocationLook(core: core).lookForRevocation(pulls.drained)
                    report.pulled += try await Probe(core: core).probe(pulls.drained)
                }
            }
            let settled = try await retirement.settleRetirement(after: pulls)
            report.pulled += settled.report
            if peer.keepsRecords, pulls.isWhole, settled.mayPush { try await recordComparison.readOvertaken() }

            // Push, from the queue or from the feed.
            if request.pushes, settled.mayPush {
                let seen = FeedsSeen(isBlind: isLocked || pulls.isLocked, read: pulls.read)
                let done = try await queueSender.push(request, seen)
                report.pushed += done.pushed
                report.pulled += done.pulled
            }
            try await CacheKeeper(core: core).dropAcknowledged()
            if request.pulls, request.pushes {
                report.pulled += try await comparison.checkSome(isLocked || pulls.isLocked)
            }

            // Record. The session releases the lease after its last piece of work.
            report.issue = try standingIssue(pulls.isLocked)
            try await succeed(report, request, pulls)
            if pulls.isLocked, request.pulls, request.types?.isEmpty != true {
                // No signal tells when the device is unlocked, and the wake-up does not come again.
                postpone(request, until: now + options.slowDelay)
            } else {
                forgetPostponed(request)
            }
        } catch {
            // A cancelled caller has seen no failure, whatever the peer made of the cancellation.
            try Task.checkCancellation()
            if error is CancellationError { throw error }
            let issue = SyncIssue(of: error, plan: plan)
            report.issue = issue
            // A sync that is ended for good stores no failure.
            if peer.isInterrupted { return report }
            try await end(request, with: issue, retryAfter: (error as? PeerError)?.retryAfter)
        }
        return report
    }

    /// Stores the issue that ended a pass, or keeps the pass's request if only this engine knows that it was not done.
    private func end(_ request: PassRequest, with issue: SyncIssue, retryAfter: Duration?) async throws {
        if issue.code == .busyElsewhere { return postpone(request) }
        do { try await fail(issue, retryAfter) } catch {
            // Another engine took over meanwhile, or the store cannot write: then the status does not show the issue
            // either.
            let isBusy = (error as? SyncIssue)?.code == .busyElsewhere
            postpone(request, until: isBusy ? .distantPast : now + options.slowDelay)
            if !isBusy { throw error }
        }
        // Tombstones are not kept for good for a peer that never answers.
        try await Retirement(core: core).settleUnreached()
    }

    /// Returns the issue of a pass that ended normally but is incomplete, so that the app can tell the user.
    private func standingIssue(_ isLocked: Bool) throws -> SyncIssue? {
        if isLocked { return issue(.locked, "nothing can be read while the device is locked") }
        let known = try state()
        if let untold = feeds.sorted().compactMap({ known[$0].unacknowledged?.issue }).first { return untold }
        let failures = plan.types.keys.sorted().compactMap { known[$0].pulls.failure?.issue }
        if let failed = failures.first(where: { $0.code != .accessNotDetermined }) { return failed }
        // Types that the user is asked for at a later stage are no issue, as long as some type was asked for.
        let isAsked = plan.pulled.contains { known[$0].pulls.failure == nil }
        if let unasked = failures.first, !isAsked { return unasked }
        let notices = known.notices.map(\.code)
        if notices.contains(.readingRevoked) { return issue(.accessRevoked, "what was readable vanished twice") }
        if notices.contains(.nothingGranted) {
            return issue(.accessDenied, "nothing that may be shared is granted")
        }
        if notices.contains(.nothingReadable) {
            return issue(.accessDenied, "nothing could be read for a day since the user was asked")
        }
        return try access.accessIssue() ?? savingIssue()
    }

    /// Returns the issue of samples that could not be saved and are retried, if the plan has a message for it.
    private func savingIssue() throws -> SyncIssue? {
        guard plan.failureMessages[.write] != nil else { return nil }
        let (name, plan) = (name, plan)
        return try store.read { txn in
            let groups = try txn.pendingGroups(for: name).filter { group in
                group.state != .quarantined && group.reason.flatMap { ParkReason(rawValue: $0) } == nil
            }
            if groups.isEmpty { return nil }
            let waiting = try txn.pending(for: name, in: groups, limit: Schedule.lookedAt)
            return waiting.first { $0.attempts > 0 }.map { SyncIssue(.delayed, $0.reason, plan: plan, in: .write) }
        }
    }

    /// Notes a pass that ended normally. A pass that pulled nothing proves nothing about pulls.
    private func succeed(_ report: SyncReport, _ request: PassRequest, _ pulls: PullOutcome) async throws {
        let (now, slow, longest, known) = (now, options.slowDelay, options.longestDelay, try state())
        let hourly = plan.types(with: .hourly)
        let asksHourly = request.pulls && (request.types.map { $0.isSuperset(of: hourly) } ?? true)
        let note: @Sendable (inout PeerState) -> Void = { state in
            (state.issue, state.failures, state.nextTry) = (report.issue, 0, nil)
            if let skew = report.pulled.skewSeconds {
                state.skewSeconds = max(state.skewSeconds ?? 0, skew)
                state.note(.clockSkew, "a clock of the peer is more than a day ahead", at: now)
            }
            guard pulls.isLocked else { return }
            // No signal tells when the device is unlocked. A sync in the foreground retries immediately.
            for (type, item) in state.types {
                guard item.pulls.failure?.nextTry?.isDue(at: now, longest: longest) ?? false else { continue }
                state.types[type]?.pulls.retry(at: now + slow)
            }
            for (type, item) in state.types {
                guard item.unacknowledged?.nextTry?.isDue(at: now, longest: longest) ?? false else { continue }
                state.types[type]?.unacknowledged?.nextTry = now + slow
            }
        }
        var noted = known
        note(&noted)
        let isNews = report.pulled != PullReport() || report.pushed != PushReport() || noted != known
        // A sync that found nothing is worth a commit only occasionally.
        func isDue(_ last: Instant?) -> Bool { last.map { isNews || $0.hasPassed(.seconds(60), at: now) } ?? true }
        let isHour = asksHourly && isDue(known.lastHourly)
        // A plan that only sends need not be readable.
        let isSent =
            plan.pulled.isEmpty && plan.others?.pulls != true && request.isWhole && !pulls.isLocked && !pulls.hasFailed
        let isSync = (pulls.isWhole || isSent) && isDue(known.lastSync)
        guard isNews || isHour || isSync else { return }
        try await update { _, state in
            note(&state)
            if isHour { state.lastHourly = now }
            if isSync { state.lastSync = now }
        }
    }

    /// Notes a pass that failed as a whole. Every failure has a time at which it is retried. A failure that is already
    /// noted and not due yet is not worth a commit.
    private func fail(_ issue: SyncIssue, _ retryAfter: Duration?) async throws {
        let (now, options, known) = (now, options, try state())
        if known.issue == issue, let next = known.nextTry, !next.isDue(at: now, longest: options.longestDelay) {
            return
        }
        try await update { _, state in
            state.issue = issue
            state.failures += 1
            let delay =
                issue.recovery == .wait
                ? options.delay(afterFailures: state.failures, asked: retryAfter) : options.slowDelay
            state.nextTry = now + delay
        }
    }

    /// Remembers the request of a pass that could not be done, so that it is done later.
    func postpone(_ request: PassRequest, until time: Instant = .distantPast) {
        guard request.pulls || time > .distantPast else { return }
        core.postponed.withLock { postponed in
            var known = postponed ?? PostponedPass()
            if request.pulls { known.types.formUnion(request.types ?? [.every]) }
            known.until = time
            postponed = known
        }
    }

    /// Drops the part of the postponed request that a pass has completed.
    func forgetPostponed(_ request: PassRequest) {
        core.postponed.withLock { postponed in
            guard var known = postponed else { return }
            known.until = .distantPast
            if request.pulls { known.types = request.types.map { known.types.subtracting($0) } ?? [] }
            postponed = known.types.isEmpty ? nil : known
        }
    }
}
