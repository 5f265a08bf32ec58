import HealthKV

// What the engine forgets of a peer, in the transaction that changes the peer's state. The next pass reads or sends
// again what was forgotten.
extension PeerState {
    /// Makes the next pull start at the beginning of the feed. Samples that are already stored match, and cause no
    /// change.
    mutating func forgetPlace(
        of type: SampleType, at name: PeerID, in txn: inout WriteTransaction
    ) throws {
        try txn.removeAnchor(peer: name, type: type, scope: self[type].scope)
        self[type].phase.handle(.placeForgotten)
        self[type].lastLook = nil
        self[type].lastRescan = nil
    }

    /// Makes a feed start at its beginning: immediately, or after the new samples are read if only the place in the
    /// feed separates them from skipped ones.
    mutating func readAgain(
        _ type: SampleType, at name: PeerID, in txn: inout WriteTransaction
    ) throws {
        guard self[type].history.isPastBaseline else {
            return try forgetPlace(of: type, at: name, in: &txn)
        }
        self[type].needsRescan = true
    }

    /// Makes a feed start at its beginning once it was read to its end, if it was before: what arrived behind our place
    /// was written after the last look, and in a feed that begins again nothing tells so (SEMANTICS C2).
    mutating func readAgainBehindTail(
        _ type: SampleType, at name: PeerID, in txn: inout WriteTransaction
    ) throws {
        guard self[type].phase == .drained else { return try readAgain(type, at: name, in: &txn) }
        self[type].needsRescan = true
    }

    /// Makes all feeds of the peer start at their beginning.
    mutating func readAllAgain(at name: PeerID, in txn: inout WriteTransaction) throws {
        for anchor in try txn.anchors(of: name) {
            try txn.removeAnchor(peer: name, type: anchor.type, scope: anchor.scope)
        }
        for type in types.keys { types[type]!.phase.handle(.placeForgotten) }
    }
}

// A copied or restored store has links to a database that it may no longer sync with: a new phone may have another
// Apple Health, the same one through iCloud, or one that iCloud is still filling.
extension PeerState {
    /// Makes all links provisional. A link is confirmed when the peer shows its sample again.
    mutating func doubtLinks(
        to name: PeerID, at now: Instant, in txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        let links = try txn.links(of: name)
        for var link in links where !link.isProvisional && link.version >= 0 {
            link.isProvisional = true
            try txn.setLink(link)
        }
        doubt = links.isEmpty ? nil : .exchange
        let commit = txn.currentToken.commit
        for key in types.keys {
            types[key]!.doubt.begin(at: commit)
            // A comparison looks for the doubted samples. What an earlier one saw was perhaps of another database, and
            // so were the deletions that wait for the end of a feed.
            types[key]!.checkDue = now
            try txn.setCheckNote(CheckNote(), name, SampleType(key))
            try txn.removeDeferred(types[key]!.waiting.blocks, name, SampleType(key))
            types[key]!.waiting = WaitingDeletions()
        }
    }

    /// Doubts the links of an unchanged store because the peer has changed. All feeds are read from their beginning
    /// before the session decides what the links are worth.
    mutating func beginDoubt(
        of name: PeerID, at now: Instant, in txn: inout WriteTransaction
    ) throws {
        guard try txn.peer(name)?.queue != nil else { return }
        try doubtLinks(to: name, at: now, in: &txn)
        for key in types.keys {
            let type = SampleType(key)
            try readAgain(type, at: name, in: &txn)
            if !self[type].needsRescan { self[type].phase.handle(.adoptionForgotten) }
        }
    }
}

extension WriteTransaction {
    /// Lets parked operations be tried again immediately, except those of types that still lack access.
    mutating func unpark(
        _ reasons: Set<ParkReason>, of name: PeerID, except ungranted: Set<SampleType> = []
    ) throws {
        let names = Set(reasons.map(\.rawValue))
        let groups = try pendingGroups(for: name).filter { group in
            guard group.state == .parked, group.reason.map(names.contains) ?? true else { return false }
            return group.type.map { !ungranted.contains($0) } ?? true
        }
        for var operation in try pending(for: name, in: groups) where names.contains(operation.reason) {
            operation.wake()
            try updatePending(operation)
        }
    }

    /// Forgets how far our changes were sent to the peer.
    mutating func forgetSent(to name: PeerID) throws {
        guard var known = try peer(name), known.sent != nil else { return }
        known.sent = nil
        try setPeer(known)
    }
}
