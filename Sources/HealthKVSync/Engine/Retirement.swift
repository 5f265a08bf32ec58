import HealthKV

/// Tombstones are no longer kept for a peer that is silent for too long. When it comes back, it is brought in line
/// (SEMANTICS C27).
struct Retirement: SessionJob {
    let core: SessionCore

    /// Returns `true` if the peer must be brought in line.
    func isDue() throws -> Bool {
        let name = name
        return try store.blockingRead { txn in try txn.peer(name).map { try isDue($0, in: txn) } ?? false }
    }

    /// A peer that is retired, or one that lacks deletions which this store has forgotten, though it is not silent: it
    /// reads by itself, and what is sent to it has stood still.
    private func isDue(_ known: RegisteredPeer, in txn: borrowing ReadTransaction) throws -> Bool {
        if known.isRetired { return true }
        guard peer.keepsRecords, let place = known.sent?.place, try txn.fit(of: place) == .fits else { return false }
        do { _ = try txn.changes(since: place, limit: 1) } catch let error as StoreError {
            if error.code == .tokenExpired { return true }
            throw error
        }
        return false
    }

    /// Retires silent peers, notes that this one is not silent, and brings it in line if it was retired. That waits for
    /// a pass that pulls everything the peer wrote meanwhile. Returns the report of additional pulls, and whether the
    /// peer may be sent anything: not before it is in line, because the comparison with it would bring back what was
    /// deleted here and forgotten.
    func settleRetirement(after pulls: PullOutcome) async throws -> (report: PullReport, mayPush: Bool) {
        var report = PullReport()
        let (name, now) = (name, now)
        let peers = try await retireSilent(besides: name)
        guard let own = peers.first(where: { $0.id == name }) else { return (report, true) }
        if try isDue() {
            guard pulls.isWhole || plan.pulled.isEmpty && plan.others?.pulls != true else {
                return (report, !peer.keepsRecords)
            }
            // A feed that is read from its beginning contains everything that the peer holds, but no longer all
            // deletions.
            if pulls.isContinuous, !memory.agreesWithPeer, peer.keepsRecords {
                // A sample that is unknown here may have been lost here: read everything again to import it.
                try await update { txn, state in try state.readAllAgain(at: name, in: &txn) }
                return (report, true)
            }
            if pulls.isContinuous, try await !welcomeBack(&report) { return (report, false) }
        }
        guard own.isRetired || own.lastSeen.hasPassed(.days(1), at: now) else { return (report, true) }
        try await update { txn, state in
            state.silentSince = nil
            guard var known = try txn.peer(name) else { return }
            known.lastSeen = now
            known.isRetired = false
            try txn.setPeer(known)
        }
        return (report, true)
    }

    /// Retires all peers that are silent, after a pass that did not reach this one.
    func settleUnreached() async throws { _ = try await retireSilent(besides: nil) }

    /// Retires the peers that are silent, besides the one that answered. Returns all peers as they were before.
    private func retireSilent(besides heard: PeerID?) async throws -> [RegisteredPeer] {
        let (now, limit) = (now, options.retirementDays)
        let (peers, isNews) = try store.blockingRead { txn in
            let peers = try txn.peers()
            let isNews = try peers.contains { other in
                var (judged, state) = (other, try txn.state(of: other.id))
                let before = state
                judged.judgeSilence(&state, days: limit, at: now)
                return other.id != heard && (judged != other || state != before)
            }
            return (peers, isNews)
        }
        guard isNews else { return peers }
        try await store.write { txn in
            for var other in try txn.peers() where other.id != heard {
                var state = try txn.state(of: other.id)
                other.judgeSilence(&state, days: limit, at: now)
                try txn.setPeer(other)
                try txn.setState(state, of: other.id)
            }
        }
        return peers
    }

    /// Brings a returned peer in line, after everything that it wrote meanwhile was pulled. If it holds further
    /// samples, they were deleted here and the store has forgotten the deletions: deletes them at the peer. Samples
    /// that left the store without being deleted stay there. Returns `true` if the peer is now in line.
    private func welcomeBack(_ report: inout PullReport) async throws -> Bool {
        guard let records = peer.records else { return true }
        for type in try await exchangedTypes(records).sorted() {
            var cursor: [UInt8]?
            repeat {
                try Task.checkCancellation()
                try await holdLease()
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, cursor: cursor, limit: options.shortPage))
                cursor = page.cursor
                var stale = try forgotten(among: page.samples.map(\.sample), of: type)
                if stale.isEmpty { continue }
                // A sample that was written there after the pull is also unknown here, until it is pulled.
                let again = try await puller.pullAll([.every])
                report += again.report
                guard again.isWhole, again.isContinuous else { return false }
                stale = try forgotten(among: stale, of: type)
                var operations = stale.enumerated().map { index, sample in
                    PushOperation(sequence: UInt64(index), kind: .delete(DeletedSample(of: sample)))
                }[...]
                while !operations.isEmpty {
                    try await holdLease()
                    let some = operations.prefix(peer.pushSize(options.pushSize))
                    let answer = try await feedSender.pushRecords(Array(some))
                    if let error = answer.errorToTryAgain, answer.rest == nil { throw error }
                    operations = operations.dropFirst(answer.rest ?? some.count)
                }
            } while cursor != nil
        }
        return true
    }

    /// Returns the types that are exchanged and that the peer may hold samples of. A peer that cannot tell is asked for
    /// those of the plan and those that are here.
    private func exchangedTypes(_ records: CheckedRecords) async throws -> Set<SampleType> {
        var types = try await records.types()
        if types.isEmpty { types = try store.blockingRead { try $0.typesWithSamples() }.union(plan.types.keys) }
        return types.filter { isExchanged($0) }
    }

    /// Returns those of the peer's samples that were deleted here and forgotten. Samples that were never imported are
    /// not among them.
    private func forgotten(among samples: [Sample], of type: SampleType) throws -> [Sample] {
        let name = name
        return try store.read { txn in
            let horizon = try txn.state(of: name)[type].history.horizon ?? .distantPast
            let taken = samples.filter { $0.start >= horizon && (try? $0.validate()) != nil }
            return try txn.forgotten(among: taken)
        }
    }
}

extension RegisteredPeer {
    /// Retires the peer if it is silent for too long. The clock may be wrong by years for some time, so two passes a
    /// day apart must agree.
    fileprivate mutating func judgeSilence(_ state: inout PeerState, days limit: Int, at now: Instant) {
        if isRetired { return }
        // A wrong clock wrote the time: count from now on.
        if lastSeen.isAhead(of: now) { lastSeen = now }
        guard now > lastSeen + .days(limit) else {
            state.silentSince = nil
            return
        }
        guard let since = state.silentSince, !since.isAhead(of: now) else {
            state.silentSince = now
            return
        }
        guard since.hasPassed(.days(1), at: now) else { return }
        isRetired = true
        state.silentSince = nil
        state.note(.retired, "silent for more than \(limit) days", at: now)
    }
}
