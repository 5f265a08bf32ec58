import HealthKV

/// What comparing a store with a peer found.
public struct ReconcileReport: Sendable, Hashable {
    /// Samples that were missing here and came.
    public var imported = 0
    /// Samples that the peer does not show, for the first time.
    public var missing = 0
    /// Samples that were taken for deleted, since two passes agree.
    public var deleted = 0
    /// Samples that are missing and kept, since nothing shows that they could have been seen.
    public var unverified = 0

    /// A report of nothing.
    public init() {}
}

extension SyncEngine {
    /// Compares the store with a peer and mends what differs: with another store by digests, elsewhere by enumeration. What a peer does not
    /// show is taken for deleted only when two passes agree that it could have been seen (SEMANTICS C26).
    @discardableResult
    public func reconcile(_ name: String) async throws -> ReconcileReport {
        try await session(name).inTurn { session in
            do {
                try await session.holdLease()
                if session.peer.traits.keepsRecords {
                    try await session.reconcileRecords(session.heldTypes())
                    return ReconcileReport()
                }
                return try await session.reconcileForeign()
            } catch let error as PeerError {
                throw SyncIssue(error, plan: session.plan)
            }
        }
    }
}

extension PeerSession {
    func reconcileForeign() async throws -> ReconcileReport {
        var report = ReconcileReport()
        var sawAny = false
        var heldAny = false
        for (type, item) in plan.types.sorted(by: { $0.key < $1.key }) where item.pulls {
            let pass = try await enumerateAll(type)
            report.imported += pass.imported
            sawAny = sawAny || pass.earliest != nil
            heldAny = heldAny || pass.held > 0
            try await judge(type, pass, &report)
        }
        try await noteRevocation(isSuspected: heldAny && !sawAny)
        return report
    }

    /// What one enumeration of a type showed.
    struct EnumerationPass: Sendable {
        var missing: [SampleID] = []
        /// Starts of the missing samples, beside them.
        var starts: [Instant] = []
        /// The earliest foreign sample that the peer showed.
        var earliest: Instant?
        /// What the last page showed: a sample at its end may belong to the next window too.
        var shown: Set<SampleID> = []
        var held = 0
        var imported = 0
    }

    /// Enumerates a type window by window, the latest first, so that memory stays flat.
    private func enumerateAll(_ type: SampleType) async throws -> EnumerationPass {
        var pass = EnumerationPass()
        let known = try state()[type]
        let bound = max(known.horizon ?? .distantPast, known.authorization?.earliest ?? .distantPast)
        var cursor: [UInt8]?
        var end = Instant.distantFuture
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await peer.enumerate(
                EnumerationRequest(
                    type: type, window: TimeRange(from: bound, to: .distantFuture), cursor: cursor,
                    limit: options.pageSize))
            cursor = page.cursor
            let starts = page.samples.map(\.sample.start)
            // Samples that start with the last of the page may go on with the next.
            let from = cursor == nil ? bound : starts.min() ?? end
            try await compare(type, page, TimeRange(from: from, to: end), isLast: cursor == nil, &pass)
            end = from
        } while cursor != nil
        return pass
    }

    private func compare(
        _ type: SampleType, _ page: EnumerationPage, _ window: TimeRange, isLast: Bool, _ pass: inout EnumerationPass
    ) async throws {
        let name = name
        let foreign = page.samples.filter { !$0.isOwn }
        if let earliest = foreign.map(\.sample.start).min() { pass.earliest = min(pass.earliest ?? earliest, earliest) }
        let applier = try applier(type, state()[type])
        pass.imported += try await update { txn, state in
            var applier = applier
            applier.state = state[type]
            try txn.receiving(from: name) { try applier.applySamples(page.samples, in: &$0) }
            state[type] = applier.state
            return applier.report.imported
        }
        let onPage = Set(foreign.map(\.peerID))
        let shown = onPage.union(pass.shown)
        pass.shown = onPage
        let sources = try state()[type].sources
        // The page's earliest start belongs to the next window as well.
        let from = isLast ? window.from : window.from + 1
        try store.read { txn in
            try txn.forEachSample(
                of: type, from: from, to: window.to == .distantFuture ? window.to : window.to + 1, rule: .strictStart,
                includeShadowed: true
            ) { sample in
                guard sample.origin == .imported, sources.contains(sample.source.identity) else { return true }
                let link = try txn.link(peer: name, sample: sample.id)
                // What another peer brought need not be at this one.
                guard link?.isFromElsewhere != true else { return true }
                pass.held += 1
                let peerID = link?.peerID ?? sample.id
                if !shown.contains(peerID) {
                    pass.missing.append(sample.id)
                    pass.starts.append(sample.start)
                }
                return true
            }
        }
    }

    /// Samples are gone when two passes missed them and each showed another foreign sample no later than theirs.
    private func judge(_ type: SampleType, _ pass: EnumerationPass, _ report: inout ReconcileReport) async throws {
        let (name, now, applier) = (name, now, try applier(type, state()[type]))
        let earliest = pass.earliest
        let covered = zip(pass.missing, pass.starts).filter { item in earliest.map { $0 <= item.1 } ?? false }.map(\.0)
        let unverified = pass.missing.count - covered.count
        let result = try await update { txn, state in
            let before = Set(state[type].missing)
            var gone = 0
            try txn.receiving(from: name) { txn in
                for id in covered where before.contains(id) {
                    guard let sample = try txn.sample(id: id) else { continue }
                    try applier.audit(.presumedGone, sample, in: &txn)
                    try txn.delete(id: id, version: 0)
                    // Should it show itself again, it was never gone.
                    try txn.setLink(PeerLink(peer: name, sample: id, peerID: id, version: PeerLink.presumedGone))
                    gone += 1
                }
            }
            state[type].missing = covered.filter { !before.contains($0) }
            if unverified > 0 {
                state.note(.unverified, "samples are missing at the peer and kept", at: now)
            }
            return (gone, state[type].missing.count)
        }
        report.deleted += result.0
        report.missing += result.1
        report.unverified += unverified
    }

    /// A revoked access to read cannot be seen, only suspected: all that was seen before vanished, twice (SEMANTICS C11).
    private func noteRevocation(isSuspected: Bool) async throws {
        guard peer.traits.hidesUnreadable else { return }
        let (now, issue) = (now, issue(.accessRevoked, "what was readable vanished twice"))
        try await update { _, state in
            state.vanished = isSuspected ? state.vanished + 1 : 0
            if !isSuspected { state.notices.removeAll { $0.code == .readingRevoked } }
            guard state.vanished >= 2 else { return }
            state.note(.readingRevoked, "reading was probably revoked", at: now)
            state.issue = issue
        }
    }
}
