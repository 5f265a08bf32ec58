import HealthKV

extension EngineNotes {
    static func deferred(_ peer: String, _ type: SampleType, _ block: Int) -> String {
        "deferred:\(peer):\(type.identifier):\(block)"
    }
}

extension PageApplier {
    /// Moves the waiting deletions into a block.
    mutating func putAside(in txn: inout WriteTransaction) throws {
        guard !state.waiting.latest.isEmpty else { return }
        var blocks = state.waiting.blocks ?? DeferredBlocks()
        try txn.setSyncNote(EngineNotes.deferred(peer, feed, blocks.next), try EngineNotes.encode(state.waiting.latest))
        blocks.next += 1
        state.waiting = WaitingDeletions(blocks: blocks)
    }

    /// Drops waiting deletions of samples that the peer shows now: a cloud may bring back, under its old id, a version
    /// that another version replaced. At the end of the feed it would otherwise count as deleted by the user.
    mutating func withdraw(_ additions: [PulledSample], in txn: inout WriteTransaction) throws {
        guard !state.waiting.isEmpty else { return }
        let shown = Set(additions.map(\.peerID))
        state.waiting.latest.removeAll { shown.contains($0.peerID) }
        guard let blocks = state.waiting.blocks else { return }
        // A deletion waits only for a sample that may have been replaced, or that the store holds.
        let mayWait = try additions.contains { addition in
            try addition.sample.syncIdentifier != nil || txn.link(peer: peer, peerID: addition.peerID) != nil
                || txn.sample(id: addition.peerID) != nil
        }
        guard mayWait else { return }
        for block in blocks.first..<blocks.next {
            let name = EngineNotes.deferred(peer, feed, block)
            let waiting = try EngineNotes.decode(txn.syncNote(name), as: [DeferredDeletion].self) ?? []
            let left = waiting.filter { !shown.contains($0.peerID) }
            if left.count < waiting.count { try txn.setSyncNote(name, try EngineNotes.encode(left)) }
        }
    }

    /// Applies the first block. The feed counts as read to its end once no block is left.
    mutating func applyBlock(in txn: inout WriteTransaction) throws {
        guard var blocks = state.waiting.blocks else { return }
        let name = EngineNotes.deferred(peer, feed, blocks.first)
        let waiting = try EngineNotes.decode(txn.syncNote(name), as: [DeferredDeletion].self) ?? []
        try txn.receiving(from: peer) { txn in
            try apply(waiting, in: &txn)
        }
        try txn.setSyncNote(name, nil)
        blocks.first += 1
        state.waiting.blocks = blocks.first < blocks.next ? blocks : nil
        note(isDrained: state.waiting.blocks == nil)
    }
}

extension WriteTransaction {
    /// Removes the blocks of a feed that is no longer followed.
    mutating func removeDeferred(_ blocks: DeferredBlocks?, _ peer: String, _ type: SampleType) throws {
        guard let blocks else { return }
        for block in blocks.first..<blocks.next { try setSyncNote(EngineNotes.deferred(peer, type, block), nil) }
    }
}

extension PeerSession {
    /// Applies the deletions that waited for the end of a long feed, each block in a commit of its own. A sum that
    /// meanwhile counts a condensed sample twice decreases step by step, and never below its true value.
    func applyDeferred(_ type: SampleType) async throws -> PullReport {
        var total = PullReport()
        while try state()[type].waiting.blocks != nil {
            try Task.checkCancellation()
            try await holdLease()
            let applier = try applier(type, state()[type])
            total += try await update { txn, state in
                var applier = applier
                applier.state = state[type]
                try applier.applyBlock(in: &txn)
                state[type] = applier.state
                return applier.report
            }
            try options.atStep(.pageCommitted)
        }
        return total
    }
}
