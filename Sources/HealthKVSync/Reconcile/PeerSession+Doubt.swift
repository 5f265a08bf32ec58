import HealthKV

// A copy of a store, or one that was restored, has links of a database that it may no longer stand beside: a new phone may have another
// Apple Health, the same one by iCloud, or one that iCloud is still filling.
extension PeerSession {
    /// Takes back what links vouch for. What the peer shows again confirms them one by one.
    static func doubtLinks(
        _ name: String, _ state: inout PeerState, at now: Instant, _ txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        let links = try txn.links(of: name)
        for var link in links where !link.isProvisional && link.version >= 0 {
            link.isProvisional = true
            try txn.setLink(link)
        }
        state.isDoubted = links.isEmpty ? nil : true
        let commit = txn.currentToken.commit
        for key in state.types.keys {
            state.types[key]!.isSeenAgain = nil
            state.types[key]!.isDoubted = true
            state.types[key]!.doubtedAt = commit
            // Samples that are doubted are looked for.
            state.types[key]!.checkDue = now
        }
    }

    /// Doubts links while the store stays what it is, because the peer does not: all feeds are read from their beginning before it is decided
    /// what the links are worth.
    static func beginDoubt(
        _ name: String, _ state: inout PeerState, at now: Instant, _ txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        try doubtLinks(name, &state, at: now, &txn)
        for key in state.types.keys {
            let type = SampleType(key)
            try readAnew(name, type, &state, &txn)
            if !state[type].needsRescan { (state[type].isAdopted, state[type].isEarlierAdopted) = (false, nil) }
        }
    }

    /// Once all is adopted: a peer that showed nothing by a name that was known is another database. Links that it did not confirm say
    /// nothing, and what was written here is sent to it. Of the same database, what it does not show is left to comparisons.
    func settleDoubt() async throws {
        let (name, known, plan) = (name, try state(), plan)
        guard known.isDoubted == true else { return }
        let isSame = known.types.values.contains { $0.isSeenAgain == true }
        let isAdopted = plan.types.keys.allSatisfy { known[$0].isAdopted || known[$0].isRefused == true }
        guard isSame || isAdopted else { return }
        try await update { txn, state in
            state.isDoubted = nil
            if isSame { return }
            for link in try txn.links(of: name) where link.isProvisional && link.isHeldThere {
                try txn.removeLink(link)
            }
            for key in state.types.keys { state.types[key]!.isExported = false }
        }
    }
}
