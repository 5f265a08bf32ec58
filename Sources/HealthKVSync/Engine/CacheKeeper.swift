import HealthKV

/// Removes the samples of caches that all stores have.
struct CacheKeeper: SessionJob {
    let core: SessionCore

    /// Removes samples of a cache once every other store that takes them has them (SEMANTICS C10).
    func dropAcknowledged() async throws {
        let types = plan.types.filter { $0.value.retention == .cache && $0.value.pulls }.keys.sorted()
        guard !types.isEmpty else { return }
        let (name, state) = (name, try state())
        for type in types where state[type].phase.arrivingSince == nil {
            guard let seen = try seenByAll(type) else { continue }
            while true {
                try Task.checkCancellation()
                let ids = try store.blockingRead { txn in
                    let peers = try txn.peers().map(\.id)
                    var ids: [SampleID] = []
                    for source in state[type].sources.sorted() {
                        try txn.forEachSample(SampleQuery(type, source: source, includeShadowed: true)) { sample in
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
    /// or one has seen nothing, or if it is not known what one takes.
    private func seenByAll(_ type: SampleType) throws -> ChangeToken? {
        let name = name
        return try store.read { txn in
            let others = try txn.peers().filter { $0.id != name && $0.queue == nil && !$0.isRetired }
            let states = try others.map { try txn.state(of: $0.id) }
            if states.contains(where: { $0.epoch == PeerState.damagedEpoch }) { return nil }
            let takers = zip(others, states).filter { $1.sends(type) }.map(\.0)
            let sent = takers.compactMap(\.sent?.place)
            // A store may also read by itself, whatever is sent to it.
            let read = others.compactMap(\.readInUse)
            return sent.count == takers.count ? (sent + read).min() : nil
        }
    }
}
