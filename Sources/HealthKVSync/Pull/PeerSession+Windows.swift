import HealthKV

// A first import brings the newest samples first, so that the screen fills immediately. The feed, in the order in which
// samples were written, completes the import.
extension PeerSession {
    /// How far back each window reaches, in days.
    private static let windows = [7, 30, 90, 365]

    func pullNewestWindows(_ type: SampleType) async throws -> PullReport {
        var total = PullReport()
        guard !peer.keepsRecords, plan.types[type]?.pulls ?? false, try !state()[type].phase.isAdopted else {
            return total
        }
        // Samples that are to be left out need not be read first.
        guard try state()[type].history.skipped == nil else { return total }
        let now = now
        for days in PeerSession.windows {
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

    /// Adopts own samples from before the horizon, where the feed begins. This happens before anything is sent
    /// (SEMANTICS C21).
    func adoptEarlier(_ type: SampleType) async throws -> PullReport {
        let known = try state()[type]
        guard !peer.keepsRecords, plan.types[type]?.pushes ?? false, let horizon = known.history.horizon,
            known.phase.needsEarlier, horizon > .distantPast
        else { return PullReport() }
        let window = TimeRange(from: .distantPast, to: horizon)
        return try await pullWindow(type, window, { $0.isOwn }) { $0.phase.handle(.earlierAdopted) }
    }

    /// Enumerates a window, the latest samples first.
    private func pullWindow(
        _ type: SampleType, _ window: TimeRange, _ isWanted: @escaping @Sendable (PulledSample) -> Bool = { _ in true },
        whenDone: @escaping @Sendable (inout TypeState) -> Void
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
            let samples = page.samples.filter(isWanted)
            let report = try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                try txn.receiving(from: name) { try applier.applySamples(samples, in: &$0) }
                state[type] = applier.state
                applier.note(in: &state)
                state[type].imported += applier.report.imported
                state[type].phase.handle(.arrived(now))
                if isLast { whenDone(&state[type]) }
                return applier.report
            }
            total += report
            if report.imported > 0 {
                progress?(SyncProgress(type: type, imported: report.imported, isDrained: false))
            }
            cursor = page.cursor
        } while cursor != nil
        return total
    }
}
