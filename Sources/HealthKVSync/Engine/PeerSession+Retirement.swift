import HealthKV

// Tombstones are no longer kept for a peer that is silent for too long. When it comes back, it is brought in line
// (SEMANTICS C27).
extension PeerSession {
    /// Retires silent peers, notes that this one is not silent, and brings it in line if it was retired. That waits for
    /// a pass that pulls everything the peer wrote meanwhile. Returns the report of additional pulls.
    func settleRetirement(after pulls: PullOutcome) async throws -> PullReport {
        var report = PullReport()
        let (name, now) = (name, now)
        let peers = try await retireSilent()
        guard let own = peers.first(where: { $0.name == name }) else { return report }
        if own.isRetired {
            guard pulls.isWhole || plan.pulled.isEmpty && plan.others?.pulls != true else { return report }
            // A feed that is read from its beginning contains everything that the peer holds, but no longer all
            // deletions.
            if pulls.isContinuous, !agreesWithPeer, peer.keepsRecords {
                // A sample that is unknown here may have been lost here: read everything again to import it.
                try await update { txn, state in try PeerSession.readAllAnew(name, &state, &txn) }
                return report
            }
            if pulls.isContinuous, try await !welcomeBack(&report) { return report }
        }
        guard own.isRetired || own.lastSeen.hasPassed(.days(1), at: now) else { return report }
        try await update { txn, state in
            state.silentSince = nil
            guard var known = try txn.peer(name) else { return }
            known.lastSeen = now
            known.isRetired = false
            try txn.setPeer(known)
        }
        return report
    }

    /// Retires the other peers that are silent. Returns all peers as they were before.
    private func retireSilent() async throws -> [RegisteredPeer] {
        let (name, now, limit) = (name, now, options.retirementDays)
        let (peers, isNews) = try store.read { txn in
            let peers = try txn.peers()
            let isNews = try peers.contains { other in
                var (judged, state) = (other, try txn.state(of: other.name))
                let before = state
                judged.judgeSilence(&state, days: limit, at: now)
                return other.name != name && (judged != other || state != before)
            }
            return (peers, isNews)
        }
        guard isNews else { return peers }
        try await store.write { txn in
            for var other in try txn.peers() where other.name != name {
                var state = try txn.state(of: other.name)
                other.judgeSilence(&state, days: limit, at: now)
                try txn.setPeer(other)
                try txn.setState(state, of: other.name)
            }
        }
        return peers
    }

    /// Brings a returned peer in line, after everything that it wrote meanwhile was pulled. If it holds further
    /// samples, they were deleted here and the store has forgotten the deletions: deletes them at the peer. Samples
    /// that left the store without being deleted stay there. Returns `true` if the peer is now in line.
    private func welcomeBack(_ report: inout PullReport) async throws -> Bool {
        guard let records = peer.records else { return true }
        for type in try await records.types().sorted() where isExchanged(type) {
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
                let again = try await pullAll([.every])
                report += again.report
                guard again.isWhole, again.isContinuous else { return false }
                stale = try forgotten(among: stale, of: type)
                let operations = stale.enumerated().map { index, sample in
                    PushOperation(sequence: UInt64(index), kind: .delete(DeletedSample(of: sample)))
                }
                if let error = await peer.push(operations).errorToTryAgain { throw error }
            } while cursor != nil
        }
        return true
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

    private func isExchanged(_ type: SampleType) -> Bool {
        plan.plan(of: type).map { $0.pushes && $0.pulls } ?? false
    }

    /// Deletes samples whose deletion the peer has forgotten, after our place in its feed. If a sample that was written
    /// here and given to the peer is no longer there, it was deleted there: it is deleted here too, and kept in the
    /// audit record. Returns how many were deleted, or `nil` if the peer cannot tell: then all feeds start at their
    /// beginning.
    func dropForgotten(_ feed: SampleType) async throws -> Int? {
        let (name, scope) = (name, try state()[feed].scope)
        let (place, seen) = try store.read { txn in
            (try txn.anchor(peer: name, type: feed, scope: scope)?.token, try txn.acknowledged(by: name))
        }
        guard let records = peer.records, agreesWithPeer, let place, let seen,
            try await records.forgotten(among: [], since: place) != nil
        else { return nil }
        var dropped = 0
        let held = try store.read { try $0.typesWithSamples() }
        for type in held.sorted() where isExchanged(type) && (feed == .every || feed == type) {
            var start: Instant? = .distantPast
            while let from = start {
                try Task.checkCancellation()
                try await holdLease()
                let limit = options.shortPage
                let given = try store.read { try $0.given(to: name, seen, type, from: from, limit: limit) }
                start = given.next
                guard !given.samples.isEmpty else { continue }
                guard let gone = try await records.forgotten(among: given.samples, since: place) else { return nil }
                dropped += try await drop(given.samples.filter { gone.contains($0.id) })
            }
        }
        return dropped
    }

    /// Deletes samples as the peer has deleted them. An edit that was made meanwhile has a greater version, and stays.
    private func drop(_ samples: [Sample]) async throws -> Int {
        let name = name
        guard !samples.isEmpty else { return 0 }
        let applier = try applier(.every, state()[.every])
        return try await update { txn, _ in
            try txn.receiving(from: name) { txn in
                var dropped = 0
                for sample in samples where try txn.merge(DeletedSample(of: sample)) {
                    dropped += 1
                    try applier.audit(.presumedGone, sample, in: &txn)
                }
                return dropped
            }
        }
    }

    /// Removes samples of a cache once every other store that takes them has them (SEMANTICS C10).
    func dropAcknowledged() async throws {
        let types = plan.types.filter { $0.value.retention == .cache && $0.value.pulls }.keys.sorted()
        guard !types.isEmpty else { return }
        let (name, state) = (name, try state())
        for type in types where state[type].phase.arrivingSince == nil {
            guard let seen = try seenByAll(type) else { continue }
            while true {
                try Task.checkCancellation()
                let ids = try store.read { txn in
                    let peers = try txn.peers().map(\.name)
                    var ids: [SampleID] = []
                    for source in state[type].sources.sorted() {
                        try txn.forEachSample(of: type, source: source, includeShadowed: true) { sample in
                            let isSeen = try sample.origin == .imported && !txn.isChanged(id: sample.id, since: seen)
                            // A sample from another peer is not this one's to remove, and one that waits for a peer has
                            // not arrived there yet.
                            guard isSeen,
                                try txn.link(peer: name, sample: sample.id)?.isFromElsewhere != true,
                                try !peers.contains(where: { try txn.pending(peer: $0, sample: sample.id) != nil })
                            else { return true }
                            ids.append(sample.id)
                            return ids.count < 1_000
                        }
                    }
                    return ids
                }
                if ids.isEmpty { break }
                try await holdLease()
                try await update { txn, _ in for id in ids { try txn.purge(id: id) } }
            }
        }
    }

    /// Returns the place up to which all stores that take a type have seen our changes, or `nil` if no store takes it
    /// or one has seen nothing.
    private func seenByAll(_ type: SampleType) throws -> ChangeToken? {
        let name = name
        return try store.read { txn in
            let takers = try txn.peers().filter { other in
                try other.name != name && other.queue == nil && !other.isRetired
                    && txn.state(of: other.name).sends(type)
            }
            let seen = takers.compactMap(\.acknowledged)
            return seen.count == takers.count ? seen.min() : nil
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

extension SampleReading where Self: ~Copyable {
    /// Returns those samples of another store that were deleted here and forgotten: nothing is known of them, and no
    /// sample of their type and source ever left this store without being deleted, as cached samples do.
    func forgotten(among samples: [Sample]) throws -> [Sample] {
        try samples.filter { try isUnknown($0) && !hasPurged($0.type, of: $0.source.identity) }
    }

    /// Returns the place up to which a peer has seen our feed, or `nil` if it has seen nothing or its place is no
    /// longer valid.
    fileprivate func acknowledged(by peer: String) throws -> ChangeToken? {
        guard let seen = try self.peer(peer)?.acknowledged else { return nil }
        return seen.store == storeID && seen.epoch == epoch ? seen : nil
    }

    /// Returns samples of a type that a peer was given and that have not changed since, and the start at which to
    /// continue. Samples that the peer refused and the app then gave up are not among them.
    fileprivate func given(
        to peer: String, _ seen: ChangeToken, _ type: SampleType, from: Instant, limit: Int
    ) throws -> (samples: [Sample], next: Instant?) {
        var samples: [Sample] = []
        var next: Instant?
        try forEachSample(of: type, from: from, rule: .strictStart, includeShadowed: true) { sample in
            // Samples with the same start belong to one page.
            if samples.count >= limit, sample.start != samples.last?.start {
                next = sample.start
                return false
            }
            // An import may have left the peer without being deleted, as cached samples do.
            guard sample.origin == .authored, try !isChanged(id: sample.id, since: seen),
                try pending(peer: peer, sample: sample.id) == nil,
                try link(peer: peer, sample: sample.id)?.version != PeerLink.refused
            else { return true }
            samples.append(sample)
            return true
        }
        return (samples, next)
    }

    /// Returns `true` if nothing is known of a sample: it is neither stored here nor known as deleted.
    fileprivate func isUnknown(_ other: Sample) throws -> Bool {
        if try sample(id: other.id) != nil || deletedSample(id: other.id) != nil { return false }
        guard let text = other.syncIdentifier else { return true }
        let source = other.source.identity
        return try sample(syncIdentifier: text, type: other.type, source: source) == nil
            && deletedSample(syncIdentifier: text, type: other.type, source: source) == nil
    }
}

extension DeletedSample {
    /// Creates the deletion of a sample in its current version: it wins over that version and over nothing newer.
    fileprivate init(of sample: Sample) {
        self.init(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: max(1, sample.version),
            modified: sample.modified ?? .unknown, group: sample.group)
    }
}
