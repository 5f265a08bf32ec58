import HealthKV

// Peers that are silent for too long no longer keep tombstones alive; one that comes back is brought in line (SEMANTICS C27).
extension PeerSession {
    /// Retires peers that are silent, notes that this one is not, and brings it in line if it was retired. That waits for a pass in
    /// which all that the peer wrote meanwhile was pulled.
    func settleRetirement(after pulls: PullOutcome) async throws {
        let (name, now, limit) = (name, now, options.retirementDays)
        let peers = try store.read { try $0.peers() }
        let silent = peers.filter { $0.name != name && !$0.isRetired && now > $0.lastSeen + .days(limit) }
        if !silent.isEmpty {
            try await store.write { txn in
                for var other in silent {
                    other.isRetired = true
                    try txn.setPeer(other)
                    var state = try txn.state(of: other.name)
                    state.note(.retired, "silent for more than \(limit) days", at: now)
                    try txn.setState(state, of: other.name)
                }
            }
        }
        guard let own = peers.first(where: { $0.name == name }) else { return }
        if own.isRetired {
            guard pulls.isWhole || plan.pulled.isEmpty && plan.others?.pulls != true else { return }
            // Who reads the feed from its beginning is told of all that the peer holds, and no longer of what was deleted.
            if pulls.isContinuous { try await welcomeBack() }
        }
        guard own.isRetired || now > own.lastSeen + .days(1) else { return }
        try await update { txn, _ in
            guard var known = try txn.peer(name) else { return }
            known.lastSeen = now
            known.isRetired = false
            try txn.setPeer(known)
        }
    }

    /// What the peer wrote meanwhile was pulled. Of what it holds beyond that, the store has forgotten that it was deleted: it goes. What
    /// left the store without being deleted stays there.
    private func welcomeBack() async throws {
        guard peer.traits.keepsRecords else { return }
        for type in try await peer.types().sorted() where plan.plan(of: type).map({ $0.pushes && $0.pulls }) ?? false {
            guard try !isGivenAway(type) else { continue }
            var cursor: [UInt8]?
            repeat {
                try await holdLease()
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, cursor: cursor, limit: options.pageSize))
                let samples = page.samples.map(\.sample)
                let stale = try store.read { txn in
                    let purged = try txn.purgedSources()
                    return try samples.filter { try !purged.holds($0) && txn.isUnknown($0) }
                }
                let operations = stale.enumerated().map { index, sample in
                    PushOperation(sequence: UInt64(index), kind: .delete(DeletedSample(of: sample)))
                }
                for outcome in operations.isEmpty ? [] : await peer.push(operations) {
                    if let reason = outcome.reasonToTryAgain { throw PeerError(.transient, reason) }
                }
                cursor = page.cursor
            } while cursor != nil
        }
    }

    /// Whether samples of a type leave this store once others have them.
    private func isGivenAway(_ type: SampleType) throws -> Bool {
        try store.read { txn in try txn.peers().contains { try txn.state(of: $0.name)[type].isCache ?? false } }
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

extension SampleReading where Self: ~Copyable {
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
            modified: sample.modified ?? ChangeClock(time: .distantPast, replica: 0))
    }
}
