import HealthKV

/// What one sync did.
public struct SyncReport: Sendable, Hashable {
    /// What was pulled.
    public var pulled = PullReport()
    /// What was pushed.
    public var pushed = PushReport()
    /// What kept the sync from being whole.
    public var issue: SyncIssue?

    /// A report of nothing.
    public init() {}
}

/// What to sync.
struct PassRequest: Sendable {
    var types: Set<SampleType>?
    var pulls = true
    var pushes = true
    /// Tries what waits for its next time at once.
    var isUrgent = false
}

extension PeerSession {
    /// One sync: pulls, then pushes. An issue ends it and is kept in the status; it is not thrown.
    func pass(_ request: PassRequest) async throws -> SyncReport {
        var report = SyncReport()
        guard try state().isEnabled else { return report }
        do {
            try await holdLease()
            try await checkEpoch()
            var availability = try await checkAvailability()
            if request.pulls, availability == .available {
                do {
                    try await refreshAuthorization()
                    report.pulled += try await pullAll(request.types, &report)
                } catch let error as PeerError where error.code == .locked {
                    // It was locked meanwhile: reading waits, saving goes on (SEMANTICS C19).
                    availability = .locked
                    try await noteAvailability(.locked)
                }
            }
            try await settleRetirement()
            if request.pushes { report.pushed += try await push(isUrgent: request.isUrgent) }
            try await dropAcknowledged()
            report.issue = try report.issue ?? standingIssue(availability)
            try await succeed(report)
        } catch let issue as SyncIssue {
            report.issue = issue
            if issue.code != .busyElsewhere { try await fail(issue) }
        } catch let error as PeerError {
            let issue = SyncIssue(error, plan: plan)
            report.issue = issue
            try await fail(issue)
        }
        return report
    }

    /// What keeps a sync from being whole though nothing failed, so that the app can tell the user.
    private func standingIssue(_ availability: PeerAvailability) throws -> SyncIssue? {
        if availability == .locked { return issue(.locked, "nothing can be read while the device is locked") }
        let notices = try state().notices.map(\.code)
        if notices.contains(.readingRevoked) { return issue(.accessRevoked, "what was readable vanished twice") }
        return notices.contains(.nothingGranted) ? issue(.accessDenied, "nothing that may be shared is granted") : nil
    }

    private func succeed(_ report: SyncReport) async throws {
        let (now, request) = (now, report)
        let isNews = report.pulled != PullReport() || report.pushed != PushReport()
        let known = try state()
        // A sync that found nothing is worth a commit only now and then.
        if !isNews, known.issue == report.issue, known.failures == 0, let last = known.lastSync,
            now < last + .seconds(60), now >= last
        {
            return
        }
        try await update { _, state in
            state.lastSync = now
            state.issue = request.issue
            state.failures = 0
            state.nextTry = nil
            guard let skew = request.pulled.skewSeconds else { return }
            state.skewSeconds = max(state.skewSeconds ?? 0, skew)
            state.note(.clockSkew, "a clock of the peer is more than a day ahead", at: now)
        }
    }

    private func fail(_ issue: SyncIssue) async throws {
        let (now, options) = (now, options)
        try await update { _, state in
            state.issue = issue
            state.failures += 1
            let delay = options.delay(afterFailures: state.failures)
            state.nextTry = issue.recovery == .wait ? now + delay : nil
        }
    }

    /// Asks whether the peer is there, and keeps the answer. A peer that is not there ends the sync; to a locked one may be saved.
    private func checkAvailability() async throws -> PeerAvailability {
        let availability = await peer.availability()
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
        let since = isLocked ? known.lockedSince ?? now : nil
        let isLong = since.map { now >= $0 + .days(1) } ?? false
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

    /// A store that is a copy or was restored adopts what its peers hold before it sends anything (SEMANTICS C28).
    private func checkEpoch() async throws {
        let epoch = try store.read { $0.epoch }
        guard try state().epoch != epoch else { return }
        let (name, now) = (name, now)
        try await update { txn, state in
            if state.epoch != 0 {
                state.note(.restored, "the store is a copy or was restored", at: now)
            }
            state.epoch = epoch
            for key in state.types.keys {
                state.types[key]!.isAdopted = false
                state.types[key]!.isDrained = false
                state.types[key]!.isExported = false
            }
            for anchor in try txn.anchors(of: name) {
                try txn.removeAnchor(peer: name, type: anchor.type, scope: anchor.scope)
            }
        }
    }
}

extension SyncOptions {
    /// How long to wait after some failures in a row: twice as long each time, with jitter, then slowly (SEMANTICS C13).
    func delay(afterFailures failures: Int) -> Duration {
        let jitter = 0.5 + random()
        guard failures <= quickAttempts else { return slowDelay * jitter }
        return firstDelay * Double(1 << max(0, min(20, failures - 1))) * jitter
    }
}
