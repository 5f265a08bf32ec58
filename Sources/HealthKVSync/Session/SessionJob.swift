import HealthKV

/// A part of the sync with one peer, with one job. Each works with the session's core and keeps nothing of its own.
protocol SessionJob: Sendable {
    var core: SessionCore { get }
}

extension SessionJob {
    var store: SampleStore { core.store }
    var peer: CheckedPeer { core.peer }
    var plan: SyncPlan { core.plan }
    var options: SyncOptions { core.options }
    var name: PeerID { core.name }
    var now: Instant { core.now }
    var memory: SessionMemory {
        get { core.memory }
        nonmutating set { core.memory = newValue }
    }

    /// Reads the stored state of the peer.
    func state() throws -> PeerState { try core.state() }

    /// Changes the stored state, in a transaction that only the holder of the lease can commit.
    @discardableResult
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout WriteTransaction, inout PeerState) throws -> Result
    ) async throws -> Result {
        try await core.update(change)
    }

    /// Takes the lease, or renews it after half of its time. Throws if another engine holds it.
    func holdLease() async throws { try await core.lease.hold() }

    /// Releases the lease, so that another engine need not wait until it expires.
    func releaseLease() async throws { try await core.lease.release() }

    func issue(_ code: SyncIssue.Code, _ detail: String) -> SyncIssue { core.issue(code, detail) }
}

// What several jobs must know of the plan and of the stored states.
extension SessionJob {
    /// The feeds of the plan, one for each type or one for all.
    var feeds: [SampleType] {
        guard peer.keepsRecords else { return Array(plan.types.keys) }
        return plan.pulled.isEmpty && plan.others == nil ? [] : [.every]
    }

    func isPushed(_ type: SampleType) -> Bool { plan.plan(of: type)?.pushes ?? false }

    /// The types that are pulled, and those that are only sent: own samples can always be read, unless reading was
    /// refused as a whole.
    func enumeratedTypes() throws -> [SampleType] {
        let known = try state()
        let sent = plan.types.filter { $0.value.pushes && !known[$0.key].pulls.isRefused }.keys
        return plan.pulled.union(sent).sorted()
    }

    /// Returns the types of which nothing may be sent yet: the peer's samples of them are not adopted, or a pull from
    /// another peer is midway in its feed (SEMANTICS C21, C22).
    func heldTypes() throws -> Set<SampleType> {
        let name = name
        let (needsAdoption, now) = (!peer.keepsRecords, now)
        let types = plan.types
        return try store.read { txn in
            var held: Set<SampleType> = []
            if needsAdoption {
                let state = try txn.state(of: name)
                held = Set(types.keys.filter { !state[$0].phase.isAdopted && !state[$0].pulls.isRefused })
            }
            for other in try txn.peers() where other.id != name {
                let state = try txn.state(of: other.id)
                if state.epoch == PeerState.damagedEpoch {
                    // Any feed of the peer may be midway. The places in them tell how long ago that can have been.
                    let recent = try txn.anchors(of: other.id).filter { !$0.time.hasPassed(longestHold, at: now) }
                    held.formUnion(recent.map(\.type))
                    continue
                }
                // A feed that was midway before the store was copied or restored is read from its beginning.
                guard state.epoch == txn.epoch else { continue }
                for (type, known) in state.types where state.isEnabled {
                    // A feed that cannot be read on, or that is no longer read, does not hold the others forever.
                    guard let since = known.phase.arrivingSince, !since.hasPassed(longestHold, at: now)
                    else { continue }
                    held.insert(SampleType(type))
                }
            }
            return held
        }
    }
}

extension SessionJob {
    /// Counts the hold of feeds from now on if their last page came while the clock was not set yet. Otherwise the hold
    /// would end as soon as the clock is set.
    func correctArrivals() async throws {
        let (name, now) = (name, now)
        guard now >= .earliestBelievable else { return }
        @Sendable func corrected(_ state: PeerState) -> PeerState {
            var state = state
            for (type, known) in state.types {
                guard let since = known.phase.arrivingSince, since < .earliestBelievable else { continue }
                state.types[type]!.phase.handle(.arrived(now))
            }
            return state
        }
        let isNews = try store.blockingRead { txn in
            try txn.peers().contains { other in
                let state = try txn.state(of: other.id)
                return other.id != name && corrected(state) != state
            }
        }
        guard isNews else { return }
        try await store.write { txn in
            for other in try txn.peers() where other.id != name {
                try txn.setState(corrected(try txn.state(of: other.id)), of: other.id)
            }
        }
    }
}

/// After this long without a page, a feed that was not read to its end no longer holds anything back
/// (docs/decisions/0016).
private let longestHold = Duration.days(1)
