import HealthKV

// A copied or restored store has links to a database that it may no longer sync with: a new phone may have another
// Apple Health, the same one through iCloud, or one that iCloud is still filling.
extension PeerSession {
    /// Makes all links provisional. A link is confirmed when the peer shows its sample again.
    static func doubtLinks(
        _ name: String, _ state: inout PeerState, at now: Instant, _ txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        let links = try txn.links(of: name)
        for var link in links where !link.isProvisional && link.version >= 0 {
            link.isProvisional = true
            try txn.setLink(link)
        }
        state.isDoubted = !links.isEmpty
        let commit = txn.currentToken.commit
        for key in state.types.keys {
            state.types[key]!.doubt.begin(at: commit)
            // A comparison looks for the doubted samples.
            state.types[key]!.checkDue = now
        }
    }

    /// Doubts the links of an unchanged store because the peer has changed. All feeds are read from their beginning
    /// before the session decides what the links are worth.
    static func beginDoubt(
        _ name: String, _ state: inout PeerState, at now: Instant, _ txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        try doubtLinks(name, &state, at: now, &txn)
        for key in state.types.keys {
            let type = SampleType(key)
            try readAnew(name, type, &state, &txn)
            if !state[type].needsRescan { state[type].phase.handle(.adoptionForgotten) }
        }
    }

    /// Settles the doubt once all types are adopted, or earlier if the peer shows a sample under an id that the store
    /// knew. A peer that showed none is another database: its unconfirmed links prove nothing and are removed, and
    /// everything that was written here is sent to it. If it is the same database, comparisons handle the samples that
    /// it does not show.
    func settleDoubt() async throws {
        let (name, known, plan) = (name, try state(), plan)
        guard known.isDoubted else { return }
        let isSame = known.types.values.contains { $0.doubt.isSeenAgain }
        let isAdopted = plan.types.keys.allSatisfy { known[$0].phase.isAdopted || known[$0].pulls.isRefused }
        guard isSame || isAdopted else { return }
        try await update { txn, state in
            state.isDoubted = false
            if isSame { return }
            for link in try txn.links(of: name) where link.isProvisional && link.isHeldThere {
                try txn.removeLink(link)
            }
            for key in state.types.keys { state.types[key]!.isExported = false }
        }
    }
}
