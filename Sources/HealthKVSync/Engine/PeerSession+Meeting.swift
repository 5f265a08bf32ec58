import HealthKV

// Before any exchange, both sides compare what they remember of each other (docs/decisions/0027).
extension PeerSession {
    /// Finds out whether our store, or the peer, is an older state of itself. Returns `true` if ours is: then it has
    /// begun a new epoch.
    func meetPeer() async throws -> Bool {
        (agreesWithPeer, self.told) = (false, nil)
        guard let records = peer.records else { return false }
        let told = try state().told
        guard let memory = try await records.meet(told: told) else { return false }
        for place in [memory.place, memory.read].compactMap(\.self)
        where try store.read({ try $0.fit(of: place).isRolledBack }) {
            try await beginEpoch { txn, _ in try txn.fit(of: place).isRolledBack }
            return true
        }
        if let told, told.isBeyond(memory.place) {
            try await beginAgain()
        } else {
            agreesWithPeer = true
        }
        return false
    }

    /// Begins a new epoch because the peer knows that its feed was read beyond a place: our store was restored. If the
    /// place has moved since it was read, the store was not restored.
    func becomeRestored(_ type: SampleType, readFrom token: [UInt8]?) async throws {
        let (name, scope) = (name, try state()[type].scope)
        try await beginEpoch { txn, _ in try txn.anchor(peer: name, type: type, scope: scope)?.token == token }
        try await checkEpoch()
        agreesWithPeer = false
    }

    /// Begins a new epoch because the peer knows a later copy of this store. Returns `false` if that happened often in
    /// recent days: then this store is not an older state, but another device with the same name.
    func becomeAnotherReplica() async throws -> Bool {
        let (now, replica) = (now, try store.read { $0.replica })
        let recent = try state().superseded.filter { !$0.hasPassed(.days(7), at: now) }
        guard recent.count < 3 else { return false }
        try await update { txn, state in
            guard txn.replica == replica else { return }
            state.superseded = recent + [now]
            try txn.beginEpoch()
        }
        try await checkEpoch()
        agreesWithPeer = false
        return true
    }

    private func beginEpoch(
        _ isRestored: @escaping @Sendable (borrowing WriteTransaction, PeerState) throws -> Bool
    ) async throws {
        try await update { txn, state in if try isRestored(txn, state) { try txn.beginEpoch() } }
    }

    /// Handles a peer that has lost changes that it was given: reads its feed from the beginning, and gives it
    /// everything that it lacks.
    func beginAgain() async throws {
        let (name, now) = (name, now)
        agreesWithPeer = false
        try await update { txn, state in
            state.told = nil
            state.note(.peerRestored, "the peer has lost what it was given", at: now)
            try PeerSession.readAllAnew(name, &state, &txn)
            try PeerSession.forgetAcknowledged(name, &txn)
        }
    }

    /// Makes all feeds of the peer start at their beginning.
    static func readAllAnew(_ name: String, _ state: inout PeerState, _ txn: inout WriteTransaction) throws {
        for anchor in try txn.anchors(of: name) {
            try txn.removeAnchor(peer: name, type: anchor.type, scope: anchor.scope)
        }
        for type in state.types.keys { state.types[type]!.phase.handle(.placeForgotten) }
    }

    /// Forgets how far the peer had seen our feed.
    static func forgetAcknowledged(_ name: String, _ txn: inout WriteTransaction) throws {
        guard var known = try txn.peer(name), known.queue == nil, known.acknowledged != nil else { return }
        known.acknowledged = nil
        try txn.setPeer(known)
    }
}
