import HealthKV

/// The right to sync the store with a peer, which one engine holds at a time, in any process.
///
/// The token rises with each new holder, so an engine that lost the lease can no longer commit.
struct Lease: Codable, Sendable, Equatable {
    /// Who holds the lease.
    enum State: Codable, Sendable, Equatable {
        /// Nobody: its last holder released it, or there was none.
        case free
        /// An engine, until a time. After that it is free for others, and still its holder's to renew.
        case held(by: Owner, until: Instant)
    }

    /// An engine that holds a lease.
    struct Owner: Codable, Sendable, Equatable {
        var name: String
        /// Where the engine runs.
        var mark: EngineMark
    }

    private(set) var token: UInt64 = 0
    private(set) var state = State.free

    /// Gives the lease to an engine until a time. An engine that still has the token renews the lease; for another one
    /// the token rises, which locks out unfinished work of the last holder.
    mutating func take(by owner: Owner, with token: UInt64?, until end: Instant) {
        if token != self.token { self.token += 1 }
        state = .held(by: owner, until: end)
    }

    /// Frees the lease. The token stays, so that the next holder's is greater.
    mutating func release() { state = .free }

    /// Returns `true` if the holder of a token need not renew the lease before a time.
    func isHeld(with token: UInt64?, beyond time: Instant) -> Bool {
        guard case .held(_, let end) = state else { return false }
        return self.token == token && end > time
    }
}
