import HealthKV

extension PeerSession {
    /// Tells a peer that keeps records who syncs with it, and notes who the peer is. Returns `true` if our store has
    /// begun a new epoch for it.
    @discardableResult
    func greet() async throws -> Bool {
        guard let records = peer.records else { return false }
        let epoch = try state().epoch
        guard let theirs = try await introduce(to: records) else { return false }
        let isAnother = try state().epoch != epoch
        var known = theirs
        known.isNameTakenOver = false
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

    /// Returns the peer's answer to our greeting. A store that was rolled back to a state from before it became another
    /// replica becomes another replica again. A second device with a copy of the store under the same name looks the
    /// same, so the number of such changes is limited.
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
}
