import HealthKV

/// A deletion that may turn out to be half of a replacement.
struct DeferredDeletion: Codable, Sendable, Equatable {
    var peerID: SampleID
    var syncIdentifier: String?
    var version: Int64?

    init(_ deletion: PulledDeletion) {
        (peerID, syncIdentifier, version) = (deletion.peerID, deletion.syncIdentifier, deletion.version)
    }

    var deletion: PulledDeletion { PulledDeletion(peerID: peerID, syncIdentifier: syncIdentifier, version: version) }
}

/// Blocks of deletions that wait for the end of a feed, in notes of their own: as many as the feed has, and one in memory at a time.
struct DeferredBlocks: Codable, Sendable, Equatable {
    /// The number of the first block that is left.
    var first = 0
    /// The number behind that of the last one.
    var next = 0
}

extension EngineNotes {
    static func deferred(_ peer: String, _ type: SampleType, _ block: Int) -> String {
        "deferred:\(peer):\(type.identifier):\(block)"
    }
}

extension PageApplier {
    /// Moves what waits into a block.
    mutating func putAside(in txn: inout WriteTransaction) throws {
        guard !state.deferred.isEmpty else { return }
        var blocks = state.blocks ?? DeferredBlocks()
        try txn.setSyncNote(EngineNotes.deferred(peer, feed, blocks.next), try EngineNotes.encode(state.deferred))
        blocks.next += 1
        (state.blocks, state.deferred) = (blocks, [])
    }

    /// Drops the deletions that wait of what the peer shows now: a cloud may bring back what another version took the place of, under the
    /// name that it had. The end of the feed would take it for deleted by its user.
    mutating func withdraw(_ additions: [PulledSample], in txn: inout WriteTransaction) throws {
        guard !state.deferred.isEmpty || state.blocks != nil else { return }
        let shown = Set(additions.map(\.peerID))
        state.deferred.removeAll { shown.contains($0.peerID) }
        guard let blocks = state.blocks else { return }
        // Only what may have been replaced, or is held, has a deletion that waits.
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

    /// Applies the first block. The feed is read to its end once none is left.
    mutating func applyBlock(in txn: inout WriteTransaction) throws {
        guard var blocks = state.blocks else { return }
        let name = EngineNotes.deferred(peer, feed, blocks.first)
        let waiting = try EngineNotes.decode(txn.syncNote(name), as: [DeferredDeletion].self) ?? []
        try txn.receiving(from: peer) { txn in
            try apply(waiting, in: &txn)
        }
        try txn.setSyncNote(name, nil)
        blocks.first += 1
        state.blocks = blocks.first < blocks.next ? blocks : nil
        note(isDrained: state.blocks == nil)
    }
}

extension WriteTransaction {
    /// Forgets the blocks of a feed that is followed no more.
    mutating func removeDeferred(_ blocks: DeferredBlocks?, _ peer: String, _ type: SampleType) throws {
        guard let blocks else { return }
        for block in blocks.first..<blocks.next { try setSyncNote(EngineNotes.deferred(peer, type, block), nil) }
    }
}

extension PeerSession {
    /// Applies what waited for the end of a long feed, each block in a commit of its own: a sum that counts a condensed sample twice meanwhile
    /// comes down step by step, and never below what it is.
    func applyDeferred(_ type: SampleType) async throws -> PullReport {
        var total = PullReport()
        while try state()[type].blocks != nil {
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
