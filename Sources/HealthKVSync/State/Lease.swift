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

    /// The leases that were read or written last, of all stores and peers.
    static let recent = NoteCache<Lease>()

    /// Begins as a lease that nobody has taken.
    init() {}

    /// Begins in place of a lease whose note is damaged, with a token above any that may be in use, so that its holder
    /// is refused. Each new token is a commit, so that no lease can have as many tokens as lie between those of two
    /// commits.
    init(damagedAt commit: UInt64) { token = (min(commit, 1 << 40) + 1) << 20 }

    /// Gives the lease to an engine until a time. An engine that still has the token renews the lease; for another one
    /// the token rises, which locks out unfinished work of the last holder.
    mutating func take(by owner: Owner, with token: UInt64?, until end: Instant) {
        if token != self.token { self.token += 1 }
        state = .held(by: owner, until: end)
    }

    /// Takes the lease away from its holder.
    mutating func revoke() {
        token += 1
        state = .free
    }

    /// Frees the lease. The token stays, so that the next holder's is greater.
    mutating func release() { state = .free }

    /// Returns `true` if the holder of a token need not renew the lease before a time.
    func isHeld(with token: UInt64?, beyond time: Instant) -> Bool {
        guard case .held(_, let end) = state else { return false }
        return self.token == token && end > time
    }
}
