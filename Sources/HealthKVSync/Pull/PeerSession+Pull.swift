import HealthKV

extension PeerSession {
    /// The feeds to pull: one for each type, or one for all.
    func feeds(_ wanted: Set<SampleType>? = nil) -> [SampleType] {
        if peer.traits.hasOneFeed { return plan.pulled.isEmpty && plan.others == nil ? [] : [.every] }
        var types = Set(plan.types.keys)
        if let wanted, !wanted.contains(.every) { types.formIntersection(wanted) }
        return types.sorted()
    }

    /// Pulls each feed to its end. One that cannot be read does not keep the others from being.
    func pullAll(_ wanted: Set<SampleType>?, _ report: inout SyncReport) async throws -> PullReport {
        var total = PullReport()
        for type in feeds(wanted) {
            // What is only sent is read once, to adopt what an earlier installation left.
            let isSentOnly = !peer.traits.hasOneFeed && plan.types[type]?.pulls == false
            if isSentOnly, try state()[type].isAdopted { continue }
            switch try await pull(type) {
            case .pulled(let pulled): total += pulled
            case .refused(let error):
                if isSentOnly {
                    try await update { _, state in state[type].isAdopted = true }
                } else {
                    report.issue = SyncIssue(error, plan: plan)
                }
            }
        }
        return total
    }

    private enum PullResult {
        case pulled(PullReport)
        /// The type may not be read; the others may.
        case refused(PeerError)
    }

    /// Pulls one feed to its end, page by page; from its beginning when the peer no longer knows our place in it.
    private func pull(_ type: SampleType) async throws -> PullResult {
        do {
            return .pulled(try await pullPages(type))
        } catch let error as PeerError {
            switch error.code {
            case .notDetermined, .unauthorized: return .refused(error)
            case .tokenExpired: break
            default: throw error
            }
        }
        let name = name
        try await update { txn, state in
            try PeerSession.forgetPlace(name, type, &state, &txn)
            // Another store in its place, or an older state of it: what it had seen of ours counts no more.
            guard var known = try txn.peer(name), known.queue == nil, known.acknowledged != nil else { return }
            known.acknowledged = nil
            try txn.setPeer(known)
        }
        return .pulled(try await pullPages(type))
    }

    private func pullPages(_ type: SampleType) async throws -> PullReport {
        try await beginRescanIfDue(type)
        var total = try await pullNewestWindows(type)
        while true {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await pullPage(type)
            total += page.report
            if page.isDrained, try await !beginRescanIfNeeded(type) { break }
        }
        try await pullTotals(type)
        return total
    }

    private func pullPage(_ type: SampleType) async throws -> (report: PullReport, isDrained: Bool) {
        let (name, known) = (name, try state()[type])
        let anchor = try store.read { try $0.anchor(peer: name, type: type, scope: known.scope) }
        let page = try await peer.pull(
            PullRequest(type: type, token: anchor?.token, from: known.horizon, limit: options.pageSize))
        try options.atStep(.pagePulled)
        let isStill = page.isDrained && page.additions.isEmpty && page.deletions.isEmpty
        if isStill, known.isDrained, known.isAdopted, page.token == nil || page.token == anchor?.token {
            return (PullReport(), true)
        }
        let applier = try applier(known)
        let now = now
        let report = try await update { txn, state in
            var applier = applier
            applier.state = state[type]
            applier.acknowledged = try txn.peer(name)?.acknowledged
            try applier.apply(page, in: &txn)
            state[type] = applier.state
            // Data and anchor in one transaction (SEMANTICS C14).
            if let token = page.token {
                try txn.setAnchor(
                    Anchor(
                        peer: name, type: type, scope: applier.state.scope, token: token, time: now,
                        outcome: page.isDrained ? "drained" : "more"))
            }
            return applier.report
        }
        try options.atStep(.pageCommitted)
        if let token = page.token { await peer.acknowledge(token, of: type) }
        progress?(SyncProgress(type: type, imported: report.imported, isDrained: page.isDrained))
        return (report, page.isDrained)
    }

    func applier(_ known: TypeState) throws -> PageApplier {
        PageApplier(
            peer: name, traits: peer.traits, plan: plan, now: now, state: known, ownSource: store.ownSource.identity,
            zone: options.zone)
    }

    /// The first sample of others, or the first after a long silence, may mean that more can be read than before.
    private func beginRescanIfNeeded(_ type: SampleType) async throws -> Bool {
        guard try state()[type].needsRescan else { return false }
        let (name, now) = (name, now)
        let isDue = peer.traits.hidesUnreadable && plan.types[type]?.retention == .mirror
        try await update { txn, state in
            state[type].needsRescan = false
            guard isDue else { return }
            try PeerSession.forgetPlace(name, type, &state, &txn)
            state[type].lastRescan = now
        }
        return isDue
    }

    /// Read access may have grown without anybody being told, so the feed is read from its beginning now and then (SEMANTICS C23).
    private func beginRescanIfDue(_ type: SampleType) async throws {
        // What a cache has given away is not fetched again.
        guard peer.traits.hidesUnreadable, let item = plan.types[type], item.pulls, item.retention == .mirror else {
            return
        }
        let (name, now, days) = (name, now, options.rescanDays)
        let known = try state()[type]
        guard let last = known.lastRescan else {
            return try await update { _, state in state[type].lastRescan = now }
        }
        guard now >= last + .days(days) else { return }
        try await update { txn, state in
            try PeerSession.forgetPlace(name, type, &state, &txn)
            state[type].lastRescan = now
            // What it brings is no sign of anything.
            if state[type].lastForeign != nil { state[type].lastForeign = now }
        }
    }
}

/// How far an import has come.
public struct SyncProgress: Sendable, Hashable {
    /// The type whose samples came.
    public var type: SampleType
    /// How many samples came with this step.
    public var imported: Int
    /// Whether the feed of the type was read to its end.
    public var isDrained: Bool
}
