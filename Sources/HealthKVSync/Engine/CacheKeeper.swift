import HealthKV

/// Removes the samples of caches that all stores have.
struct CacheKeeper: SessionJob {
    let core: SessionCore

    /// Removes samples of a cache once every other store that takes them has them (SEMANTICS C10).
    func dropAcknowledged() async throws {
        let types = plan.types.filter { $0.value.retention == .cache && $0.value.pulls }.keys.sorted()
        guard !types.isEmpty else { return }
        let (name, now, state) = (name, now, try state())
        for type in types where state[type].phase.arrivingSince == nil {
            guard let seen = try seenByAll(type) else { continue }
            while true {
                try Task.checkCancellation()
                let ids = try store.blockingRead { txn in
                    var ids: [SampleID] = []
                    for source in state[type].sources.sorted() {
                        try txn.forEachSample(SampleQuery(type, source: source, includeShadowed: true)) { sample in
                            // One that lies ahead stays until then: what was purged is told by its start.
                            guard sample.start <= now else { return true }
                            if try txn.mayLeave(sample, cacheOf: name, since: seen) { ids.append(sample.id) }
                            return ids.count < 1_000
                        }
                    }
                    return ids
                }
                if ids.isEmpty { break }
                try await holdLease()
                try await update { txn, _ in
                    for id in ids {
                        // The app may have edited it meanwhile.
                        guard let sample = try txn.sample(id: id), try txn.mayLeave(sample, cacheOf: name, since: seen)
                        else { continue }
                        try txn.purge(id: id)
                    }
                }
            }
        }
    }

    /// Returns the place up to which all stores that take a type have seen our changes, or `nil` if no store takes it
    /// or one has seen nothing, or if it is not known what one takes.
    private func seenByAll(_ type: SampleType) throws -> ChangeToken? {
        let name = name
        return try store.read { txn in
            let others = try txn.peers().filter { $0.id != name && $0.queue == nil && !$0.isRetired }
            let states = try others.map { try txn.state(of: $0.id) }
            if states.contains(where: { $0.epoch == PeerState.damagedEpoch }) { return nil }
            let takers = zip(others, states).filter { $1.sends(type) }.map(\.0)
            let sent = takers.compactMap(\.sent?.place)
            // What reads by itself may take other types only: without a store that takes this one nothing leaves.
            if takers.isEmpty { return nil }
            let read = others.compactMap(\.readInUse)
            return sent.count == takers.count ? (sent + read).min() : nil
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if a sample of a peer's cache may be removed: all other stores have it as it was at a place.
    fileprivate func mayLeave(_ sample: Sample, cacheOf peer: PeerID, since seen: ChangeToken) throws -> Bool {
        guard sample.origin == .imported, try !isChanged(id: sample.id, since: seen) else { return false }
        // A sample from another peer is not this one's to remove, and one that waits for a peer has not arrived there.
        return try link(peer: peer, sample: sample.id)?.isFromElsewhere != true
            && !peers().contains { try pending(peer: $0.id, sample: sample.id) != nil }
    }
}
