import HealthKV

// Peers that are silent for too long no longer keep tombstones alive; one that comes back is brought in line (SEMANTICS C27).
extension PeerSession {
    /// Retires peers that are silent, notes that this one is not, and brings it in line if it was retired. That waits for a pass in
    /// which all that the peer wrote meanwhile was pulled. Answers what was pulled besides.
    func settleRetirement(after pulls: PullOutcome) async throws -> PullReport {
        var report = PullReport()
        let (name, now) = (name, now)
        let peers = try await retireSilent()
        guard let own = peers.first(where: { $0.name == name }) else { return report }
        if own.isRetired {
            guard pulls.isWhole || plan.pulled.isEmpty && plan.others?.pulls != true else { return report }
            // Who reads the feed from its beginning is told of all that the peer holds, and no longer of what was deleted.
            if pulls.isContinuous, !agreesWithPeer, peer.traits.keepsRecords {
                // What is unknown here may be what was lost here: it is taken in.
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

    /// What the peer wrote meanwhile was pulled. Of what it holds beyond that, the store has forgotten that it was deleted: it goes. What
    /// left the store without being deleted stays there. Answers whether the peer is in line now.
    private func welcomeBack(_ report: inout PullReport) async throws -> Bool {
        guard peer.traits.keepsRecords else { return true }
        let feeds: [SampleType]? = peer.traits.hasOneFeed ? [.every] : nil
        for type in try await peer.types().sorted() where isExchanged(type) {
            var cursor: [UInt8]?
            repeat {
                try Task.checkCancellation()
                try await holdLease()
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, cursor: cursor, limit: options.shortPage))
                cursor = page.cursor
                var stale = try forgotten(among: page.samples.map(\.sample), of: type)
                if stale.isEmpty { continue }
                // What was written there since the pull is unknown here too, and is no more once it was pulled again.
                let again = try await pullAll(feeds ?? [type])
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

    /// Those of the peer's samples that were deleted here and forgotten. What was never taken in is not among them.
    private func forgotten(among samples: [Sample], of type: SampleType) throws -> [Sample] {
        let name = name
        return try store.read { txn in
            let horizon = try txn.state(of: name)[type].horizon ?? .distantPast
            let taken = samples.filter { $0.start >= horizon && (try? $0.validate()) != nil }
            return try txn.forgotten(among: taken)
        }
    }

    private func isExchanged(_ type: SampleType) -> Bool {
        plan.plan(of: type).map { $0.pushes && $0.pulls } ?? false
    }

    /// The peer has forgotten deletions behind our place in its feed. What it had of the samples that were written here and has no
    /// more was deleted there: it goes here too, and stays in the audit. Answers how many went; `nil` where the peer cannot
    /// tell, and all begins anew.
    func dropForgotten(_ feed: SampleType) async throws -> Int? {
        let (name, scope) = (name, try state()[feed].scope)
        let (place, seen) = try store.read { txn in
            (try txn.anchor(peer: name, type: feed, scope: scope)?.token, try txn.acknowledged(by: name))
        }
        guard peer.traits.keepsRecords, agreesWithPeer, let place, let seen,
            try await peer.forgotten(among: [], since: place) != nil
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
                guard let gone = try await peer.forgotten(among: given.samples, since: place) else { return nil }
                dropped += try await drop(given.samples.filter { gone.contains($0.id) })
            }
        }
        return dropped
    }

    /// Deletes samples as the peer has deleted them; an edit made meanwhile has a greater version, and stays.
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

    /// Samples of a cache go once every other store that takes them has them (SEMANTICS C10).
    func dropAcknowledged() async throws {
        let types = plan.types.filter { $0.value.retention == .cache && $0.value.pulls }.keys.sorted()
        guard !types.isEmpty else { return }
        let (name, state) = (name, try state())
        for type in types where !state[type].isMidway {
            guard let seen = try seenByAll(type) else { continue }
            while true {
                try Task.checkCancellation()
                let ids = try store.read { txn in
                    let peers = try txn.peers().map(\.name)
                    var ids: [SampleID] = []
                    for source in state[type].sources.sorted() {
                        try txn.forEachSample(of: type, source: source, includeShadowed: true) { sample in
                            let isSeen = try sample.origin == .imported && !txn.isChanged(id: sample.id, since: seen)
                            // What is received from another peer is not this one's, and what waits for one is not there yet.
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

    /// Up to where all stores that take a type have seen our changes; `nil` when none takes it, or one has seen nothing.
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
    /// Retires the peer if it is silent for too long. The clock that says so may be wrong by years for a while, so two passes a day apart have to.
    fileprivate mutating func judgeSilence(_ state: inout PeerState, days limit: Int, at now: Instant) {
        if isRetired { return }
        // Seen by a clock that was wrong: it counts from now on.
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
    /// Those of some samples of another store that were deleted here and forgotten: nothing is known of them, and none of their type and
    /// source ever left without being deleted, as those of a cache do.
    func forgotten(among samples: [Sample]) throws -> [Sample] {
        try samples.filter { try isUnknown($0) && !hasPurged($0.type, of: $0.source.identity) }
    }

    /// Up to where a peer has seen our feed; `nil` where it has not, or where that says nothing any more.
    fileprivate func acknowledged(by peer: String) throws -> ChangeToken? {
        guard let seen = try self.peer(peer)?.acknowledged else { return nil }
        return seen.store == storeID && seen.epoch == epoch ? seen : nil
    }

    /// Samples of a type that a peer was given and that did not change since, but for what it refused, and what the app then gave up, and
    /// the start at which to go on.
    fileprivate func given(
        to peer: String, _ seen: ChangeToken, _ type: SampleType, from: Instant, limit: Int
    ) throws -> (samples: [Sample], next: Instant?) {
        var samples: [Sample] = []
        var next: Instant?
        try forEachSample(of: type, from: from, rule: .strictStart, includeShadowed: true) { sample in
            // Samples that start at once belong to one page.
            if samples.count >= limit, sample.start != samples.last?.start {
                next = sample.start
                return false
            }
            // What was imported may have left the peer without being deleted, as samples of a cache do.
            guard sample.origin == .authored, try !isChanged(id: sample.id, since: seen),
                try pending(peer: peer, sample: sample.id) == nil,
                try link(peer: peer, sample: sample.id)?.version != PeerLink.refused
            else { return true }
            samples.append(sample)
            return true
        }
        return (samples, next)
    }

    /// Whether nothing is known of a sample: neither that it is here nor that it was deleted.
    fileprivate func isUnknown(_ other: Sample) throws -> Bool {
        if try sample(id: other.id) != nil || deletedSample(id: other.id) != nil { return false }
        guard let text = other.syncIdentifier else { return true }
        let source = other.source.identity
        return try sample(syncIdentifier: text, type: other.type, source: source) == nil
            && deletedSample(syncIdentifier: text, type: other.type, source: source) == nil
    }
}

extension DeletedSample {
    /// The deletion of a sample as it stands: it wins over that and over nothing newer.
    fileprivate init(of sample: Sample) {
        self.init(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: max(1, sample.version),
            modified: sample.modified ?? .unknown, group: sample.group)
    }
}
