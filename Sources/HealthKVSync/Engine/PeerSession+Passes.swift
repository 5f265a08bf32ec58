import HealthKV

extension PeerSession {
    /// Runs one sync: pulls, then pushes. An error that ends it is stored in the status as an issue and not thrown,
    /// unless the sync was cancelled or the store cannot write.
    func pass(_ request: PassRequest) async throws -> SyncReport {
        let report = try await unloggedPass(request)
        log(report)
        return report
    }

    private func unloggedPass(_ request: PassRequest) async throws -> SyncReport {
        var (report, request) = (SyncReport(), request)
        let known = try state()
        guard known.isEnabled else { return report }
        // A pass that failed as a whole is retried as a whole.
        if known.nextTry != nil { request = PassRequest(isUrgent: request.isUrgent) }
        do {
            try await holdLease()
            try await checkEpoch()
            try await followPlan()
            let isLocked = try await checkAvailability() == .locked
            var isRestored = try await greet()
            if try await meetPeer() {
                // Our store was restored, and is another replica now.
                try await checkEpoch()
                try await greet()
                isRestored = true
            }
            if isRestored {
                // Adopt everything that the peer holds before anything is sent.
                request = PassRequest(isUrgent: request.isUrgent)
            }
            let feeds = try feedsToPull(request)
            var pulls = PullOutcome(isLocked: isLocked)
            if !isLocked, !feeds.isEmpty || request.pushes && request.isUrgent { try await refreshAuthorization() }
            if !feeds.isEmpty, !isLocked {
                pulls = try await pullAll(feeds)
                report.pulled += pulls.report
                try await settleDoubt()
                // The device was locked meanwhile: reading waits, saving continues (SEMANTICS C19).
                if pulls.isLocked { try await noteAvailability(.locked) }
                if request.isUrgent, pulls.isWhole {
                    report.pulled += try await probe(feeds)
                    try await lookForRevocation(feeds)
                }
            }
            report.pulled += try await settleRetirement(after: pulls)
            if request.pushes {
                let done = try await push(request, FeedsSeen(isBlind: isLocked || pulls.isLocked, read: pulls.read))
                report.pushed += done.pushed
                report.pulled += done.pulled
            }
            try await dropAcknowledged()
            if request.pulls, request.pushes { report.pulled += try await checkSome(isLocked || pulls.isLocked) }
            report.issue = try standingIssue(pulls.isLocked)
            try await succeed(report, request, pulls)
            forgetPostponed(request)
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
        return try accessIssue() ?? savingIssue()
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
            let waiting = try txn.pending(for: name, in: groups, limit: PeerSession.lookedAt)
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
        let isSync = pulls.isWhole && isDue(known.lastSync)
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

    /// Asks whether the peer is available, and stores the answer. An unavailable peer ends the sync; a locked one can
    /// still save.
    private func checkAvailability() async throws -> PeerAvailability {
        let availability = try await peer.availability()
        try await noteAvailability(availability)
        switch availability {
        case .available, .locked: return availability
        case .unavailable: throw issue(.unavailable, "the peer does not exist here")
        case .restricted: throw issue(.unavailable, "the peer is restricted")
        }
    }

    private func noteAvailability(_ availability: PeerAvailability) async throws {
        let (now, known) = (now, try state())
        let isLocked = availability == .locked
        let since = isLocked ? min(known.lockedSince ?? now, now) : nil
        // Noted once for each period in which the peer is locked.
        let isTold = since.map { since in
            known.notices.contains { $0.code == .lockedForLong && $0.time >= since }
        }
        let isLong = isTold == false && since.map { now >= $0 + .days(1) } ?? false
        if availability != known.availability || since != known.lockedSince || isLong {
            let name = name
            try await update { txn, state in
                if availability == .available, state.availability != .available {
                    try PeerSession.unpark(name, [.locked, .unavailable], &txn)
                }
                state.availability = availability
                state.lockedSince = since
                if isLong { state.note(.lockedForLong, "health data is locked for more than a day", at: now) }
            }
        }
    }

    /// Checks whether the store is a copy or was restored. Such a store adopts what its peers hold before it sends
    /// anything (SEMANTICS C28).
    func checkEpoch() async throws {
        let epoch = try store.read { $0.epoch }
        guard try state().epoch != epoch else { return }
        let (name, now) = (name, now)
        try await update { txn, state in
            if state.epoch != 0 {
                state.note(.restored, "the store is a copy or was restored", at: now)
                try PeerSession.doubtLinks(name, &state, at: now, &txn)
            }
            (state.epoch, state.told, state.removal) = (epoch, nil, nil)
            for key in state.types.keys {
                state.types[key]!.phase.handle(.placeForgotten)
                // Samples that the app wrote before the horizon after the copy was made are also adopted again.
                state.types[key]!.phase.handle(.adoptionForgotten)
                state.types[key]!.isExported = false
            }
            for anchor in try txn.anchors(of: name) {
                try txn.removeAnchor(peer: name, type: anchor.type, scope: anchor.scope)
            }
        }
    }
}
