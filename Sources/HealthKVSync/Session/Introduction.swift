import HealthKV

/// Before any exchange, both sides compare what they remember of each other (docs/decisions/0027). A side that is an
/// older state of itself continues as another replica, and nothing of what it lost counts.
struct Introduction: SessionJob {
    let core: SessionCore

    /// Checks whether the store is a copy or was restored. Such a store adopts what its peers hold before it sends
    /// anything (SEMANTICS C28).
    func checkEpoch() async throws {
        let epoch = try store.blockingRead { $0.epoch }
        guard try state().epoch != epoch else { return }
        let (name, now, plan, peer, types) = (name, now, plan, peer, plan.types.keys)
        try await update { txn, state in
            let isDamaged = state.epoch == PeerState.damagedEpoch
            if isDamaged {
                // Each type is doubted, also those of which nothing is remembered.
                for type in types { state[type] = state[type] }
                plan.waitForHistory(peer, at: now, &state)
                // Each feed may have been midway: what came from it is held back until it is read to its end.
                for anchor in try txn.anchors(of: name) { state[anchor.type].phase.handle(.arrived(anchor.time)) }
            }
            if state.epoch != 0 {
                let cause =
                    isDamaged ? "the saved state of the peer is damaged" : "the store is a copy or was restored"
                state.note(.restored, cause, at: now)
                try state.doubtLinks(to: name, at: now, in: &txn)
            }
            (state.epoch, state.told, state.removal) = (epoch, nil, nil)
            for key in state.types.keys {
                state.types[key]!.phase.handle(.placeForgotten)
                state.types[key]!.phase.handle(.adoptionForgotten)
                state.types[key]!.isExported = false
            }
            for anchor in try txn.anchors(of: name) {
                try txn.removeAnchor(peer: name, type: anchor.type, scope: anchor.scope)
            }
        }
    }

    /// Tells a peer that keeps records who syncs with it, and notes who the peer is. Returns `true` if our store has
    /// begun a new epoch for it.
    @discardableResult
    private func greet() async throws -> Bool {
        guard let records = peer.records else { return false }
        let epoch = try state().epoch
        guard let theirs = try await introduce(to: records) else { return false }
        let isAnother = try state().epoch != epoch
        var known = theirs
        known.isNameTakenOver = false
        try await takeNameFromReader(for: theirs)
        let (now, answer, before) = (now, known, try state().greeting)
        guard before != answer || theirs.isNameTakenOver else { return isAnother }
        try await update { _, state in
            state.greeting = answer
            if let before, !before.isSameStore(as: answer) {
                state.note(.peerReplaced, "the peer has another store than before, or a restored one", at: now)
            }
            guard theirs.isNameTakenOver else { return }
            state.note(.nameTakenOver, "at the peer this name was another store's until now", at: now)
        }
        return isAnother
    }

    /// A store that reads ours under the name of this peer, and is another one, loses the name and is told so when it
    /// greets again. What it brought counted as known to the peer, so the peer is given everything that it lacks.
    private func takeNameFromReader(for peer: PeerGreeting) async throws {
        let name = name
        guard try store.blockingRead({ try $0.reader(name).belonging(to: peer) }) != nil else { return }
        try await update { txn, state in
            guard let next = try txn.reader(name).belonging(to: peer) else { return }
            try txn.setReader(next, name)
            try txn.forgetMemory(of: name)
            if var known = try txn.peer(name) {
                known.read = nil
                try txn.setPeer(known)
            }
            try state.readAllAgain(at: name, in: &txn)
            try txn.forgetSent(to: name)
        }
    }

    /// Returns the peer's answer to our greeting. A store that was rolled back to a state from before it became another
    /// replica becomes another replica again. A second device with a copy of the store under the same name looks
    /// the same, so the number of such changes is limited.
    private func introduce(to records: CheckedRecords) async throws -> PeerGreeting? {
        let answer = try await exchangeGreetings(with: records)
        guard let answer, answer.isSuperseded else { return answer }
        if try await becomeAnotherReplica(), let again = try await exchangeGreetings(with: records),
            !again.isSuperseded
        {
            return again
        }
        throw PeerError(.nameTaken, "another device reads under this name: give each device a name of its own, or none")
    }

    private func exchangeGreetings(with records: CheckedRecords) async throws -> PeerGreeting? {
        let ours = try PeerGreeting(store)
        guard let theirs = try await records.greet(ours) else { return nil }
        guard ours.speaks(with: theirs) else {
            throw PeerError(
                .invalid, "the peer speaks version \(theirs.version) of the protocol, and none that is known")
        }
        guard !theirs.isSameStore(as: ours) else { throw PeerError(.invalid, "the peer is the store itself") }
        return theirs
    }

    /// Greets a record peer, and compares what both sides remember. Returns `true` if our store has begun a new epoch.
    @discardableResult
    func meet() async throws -> Bool {
        let isAnother = try await greet()
        guard try await meetPeer() else { return isAnother }
        try await checkEpoch()
        try await greet()
        return true
    }

    /// Finds out whether our store, or the peer, is an older state of itself. Returns `true` if ours is: then it has
    /// begun a new epoch.
    private func meetPeer() async throws -> Bool {
        memory.agreesWithPeer = false
        memory.told = nil
        guard let records = peer.records else { return false }
        let told = try state().told
        guard let theirs = try await records.meet(told: told) else { return false }
        for place in [theirs.place, theirs.read].compactMap(\.self)
        where try store.blockingRead({ try $0.fit(of: place).isRolledBack }) {
            try await beginEpoch { txn, _ in try txn.fit(of: place).isRolledBack }
            return true
        }
        if let told, told.isBeyond(theirs.place) {
            try await beginAgain()
        } else {
            memory.agreesWithPeer = true
            try await learnTold(theirs.place)
        }
        return false
    }

    /// Notes that the peer was told more than is remembered here: a pass ended after the peer had answered. Otherwise
    /// nobody would notice that the peer loses this.
    private func learnTold(_ place: ChangeToken?) async throws {
        guard let place, try store.blockingRead({ try $0.fit(of: place) }) == .fits,
            try place.isBeyond(state().told)
        else { return }
        try await update { _, state in state.told = place.greatest(with: state.told) }
    }

    /// Begins a new epoch because the peer knows that its feed was read beyond a place: our store was restored. If the
    /// place has moved since it was read, the store was not restored.
    func becomeRestored(_ type: SampleType, readFrom token: [UInt8]?) async throws {
        let (name, scope) = (name, try state()[type].scope)
        try await beginEpoch { txn, _ in try txn.anchor(peer: name, type: type, scope: scope)?.token == token }
        try await checkEpoch()
        memory.agreesWithPeer = false
    }

    /// Begins a new epoch because the peer knows a later copy of this store. Returns `false` if that happened often in
    /// recent days: then this store is not an older state, but another device with the same name.
    private func becomeAnotherReplica() async throws -> Bool {
        let (now, replica) = (now, try store.blockingRead { $0.replica })
        let recent = try state().superseded.filter { !$0.hasPassed(.days(7), at: now) }
        guard recent.count < 3 else { return false }
        try await update { txn, state in
            guard txn.replica == replica else { return }
            state.superseded = recent + [now]
            try txn.beginEpoch()
        }
        try await checkEpoch()
        memory.agreesWithPeer = false
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
        memory.agreesWithPeer = false
        try await update { txn, state in
            state.told = nil
            state.note(.peerRestored, "the peer has lost what it was given", at: now)
            try state.readAllAgain(at: name, in: &txn)
            try txn.forgetSent(to: name)
        }
    }
}

extension SessionJob {
    var introduction: Introduction { Introduction(core: core) }
}
