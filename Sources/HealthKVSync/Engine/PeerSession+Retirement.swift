import HealthKV

// Peers that are silent for too long no longer keep tombstones alive; one that comes back is brought in line (SEMANTICS C27).
extension PeerSession {
    /// Retires peers that are silent, notes that this one is not, and brings it in line if it was retired.
    func settleRetirement() async throws {
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
        // Found here first: nobody else may have been there to notice the silence.
        if own.isRetired || now > own.lastSeen + .days(limit) { try await welcomeBack() }
        guard own.isRetired || now > own.lastSeen + .days(1) else { return }
        try await update { txn, _ in
            guard var known = try txn.peer(name) else { return }
            known.lastSeen = now
            known.isRetired = false
            try txn.setPeer(known)
        }
    }

    /// What the peer wrote meanwhile was pulled. Of what it holds beyond that, the store has forgotten whether it was deleted: it goes.
    private func welcomeBack() async throws {
        guard peer.traits.keepsRecords else { return }
        for type in try await peer.types().sorted() where plan.plan(of: type)?.pushes ?? false {
            var cursor: [UInt8]?
            repeat {
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, cursor: cursor, limit: options.pageSize))
                let samples = page.samples.map(\.sample)
                let stale = try store.read { txn in
                    try samples.filter { sample in
                        if try txn.sample(id: sample.id) != nil { return false }
                        guard let text = sample.syncIdentifier else { return true }
                        return try txn.sample(
                            syncIdentifier: text, type: sample.type, source: sample.source.identity) == nil
                    }
                }
                let operations = stale.enumerated().map { index, sample in
                    PushOperation(sequence: UInt64(index), kind: .delete(DeletedSample(of: sample)))
                }
                for outcome in operations.isEmpty ? [] : await peer.push(operations) {
                    if case .failed(let reason) = outcome { throw PeerError(.transient, reason) }
                }
                cursor = page.cursor
            } while cursor != nil
        }
    }

    /// Samples of a cache go once every other store has them (SEMANTICS C10).
    func dropAcknowledged() async throws {
        let types = plan.types.filter { $0.value.retention == .cache && $0.value.pulls }.keys.sorted()
        guard !types.isEmpty else { return }
        let (name, state) = (name, try state())
        let followers = try store.read { try $0.peers() }.filter { $0.name != name && $0.queue == nil && !$0.isRetired }
        let seen = followers.compactMap(\.acknowledged)
        guard let all = seen.min(), seen.count == followers.count else { return }
        for type in types where !state[type].isMidway {
            while true {
                try Task.checkCancellation()
                let ids = try store.read { txn in
                    var ids: [SampleID] = []
                    for source in state[type].sources.sorted() {
                        try txn.forEachSample(of: type, source: source, includeShadowed: true) { sample in
                            if sample.origin == .imported, try !txn.isChanged(id: sample.id, since: all) {
                                ids.append(sample.id)
                            }
                            return ids.count < 1_000
                        }
                    }
                    return ids
                }
                if ids.isEmpty { break }
                try await update { txn, _ in for id in ids { try txn.purge(id: id) } }
            }
        }
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
