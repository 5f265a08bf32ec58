import HealthKV

/// Registers a peer, keeps its plan, and forgets it.
struct Enrollment: SessionJob {
    let core: SessionCore

    /// Registers the peer, so that changes are queued for it, and sets how far back it is imported.
    func enable(_ horizon: TypePlan.Horizon?) async throws {
        let (name, now, plan, peer) = (name, now, plan, peer)
        guard horizon?.isValid ?? true else {
            throw issue(.invalid, "the horizon is a number of days that is not below zero")
        }
        try refusePartialHistory(horizon)
        let epoch = try store.blockingRead { $0.epoch }
        try await holdLease()
        try settleShadowing()
        try await update { txn, state in
            var known = try txn.peer(name) ?? RegisteredPeer(id: name, registered: now, lastSeen: now)
            known.lastSeen = now
            if known != (try txn.peer(name)) { try txn.setPeer(known) }
            state.isEnabled = true
            // Retry whatever kept the sync from continuing.
            (state.failures, state.nextTry) = (0, nil)
            if state.epoch == 0 { state.epoch = epoch }
            if state.epoch == PeerState.damagedEpoch, horizon == nil { plan.waitForHistory(peer, at: now, &state) }
            try plan.settle(peer, horizon, at: now, &state, &txn)
        }
    }

    /// Stores the plan if the app has changed it.
    func followPlan() async throws {
        let (name, now, plan, peer) = (name, now, plan, peer)
        try settleShadowing()
        let isFollowed = try store.blockingRead { txn in
            try plan.isSettled(try txn.state(of: name), try txn.peer(name)?.queue, peer, at: now)
        }
        try refusePartialHistory(nil)
        guard !isFollowed else { return }
        try await update { txn, state in try plan.settle(peer, nil, at: now, &state, &txn) }
    }

    /// Refuses a plan that imports only a part of a peer's records, or that purges them. Records that are shared whole
    /// have no part that only this peer brought, and no part may be left out: a comparison would take the missing
    /// samples for deleted, or import them.
    ///
    /// A database has a feed for each type that the plan names, so nothing of others is imported, and a horizon of
    /// theirs is a mistake.
    private func refusePartialHistory(_ horizon: TypePlan.Horizon?) throws {
        guard peer.keepsRecords else {
            guard plan.others?.pulls ?? false, plan.others?.horizon != .all else { return }
            throw issue(.invalid, "\(name) has no feed of types that the plan does not name")
        }
        let pulling = (plan.types.values + [plan.others].compactMap(\.self)).filter(\.pulls)
        guard horizon ?? .all == .all, pulling.allSatisfy({ $0.horizon == .all }) else {
            throw issue(.invalid, "\(name) keeps records, which are imported whole")
        }
        guard pulling.allSatisfy({ $0.departure == .keep }) else {
            throw issue(.invalid, "\(name) keeps records, which are not purged when it is disconnected")
        }
    }

    private func settleShadowing() throws {
        let known = try store.read { try $0.shadowing() }
        for (type, item) in plan.types where item.duplicates != .usual {
            let isShadowed = item.duplicates == .shadow
            if known[type] != isShadowed { try store.setShadowing(of: type, isShadowed) }
        }
    }

    /// Switches the sync off, whichever engine works on it: that engine loses its lease, and its pass ends.
    func disable() async throws {
        let name = name
        try await store.write { txn in
            var state = try txn.state(of: name)
            state.isEnabled = false
            try txn.setState(state, of: name)
            var lease = try txn.lease(of: name)
            lease.revoke()
            try txn.setLease(lease, of: name)
        }
        try await releaseLease()
    }

    func disconnect(purge: Bool?) async throws -> Int {
        let (name, plan) = (name, plan)
        if purge == true, peer.keepsRecords {
            throw issue(.invalid, "\(name) keeps records, of which none is only what it brought")
        }
        let purges = purge ?? plan.types.values.contains { $0.departure == .purge }
        if purges, try state().epoch == PeerState.damagedEpoch {
            throw issue(
                .invalid, "the saved state of \(name) was damaged: sync once, so that its samples are known again")
        }
        try await holdLease()
        try await update { _, state in state.isEnabled = false }
        for (identifier, known) in try state().types {
            let type = SampleType(identifier)
            guard purge ?? (plan.plan(of: type)?.departure == .purge) else { continue }
            for source in known.sources.sorted() { try await self.purge(type, source) }
        }
        // Links tell which samples belong to another peer, so remove them last.
        let purged = try await update { txn, state in
            // That a sample was only presumed gone is known by its link alone. If the peer comes back and shows it, the
            // sample returns.
            let presumed = try txn.links(of: name).filter { $0.version == PeerLink.presumedGone }
            try txn.removePeer(name)
            for link in presumed { try txn.setLink(link) }
            for (type, known) in state.types {
                try txn.setCheckNote(CheckNote(), name, SampleType(type))
                try txn.removeDeferred(known.waiting.blocks, name, SampleType(type))
            }
            let (purged, notices) = (state.purged, state.notices)
            state = PeerState()
            state.notices = notices.filter { $0.code != .readingRevoked }
            return purged
        }
        // The peer is forgotten in any case: a peer that is gone need not be told.
        try? await peer.disconnected(from: Set(plan.types.keys))
        try await releaseLease()
        return purged
    }

    /// Removes the samples that a source brought through this peer, in steps that each have a commit of their own.
    private func purge(_ type: SampleType, _ source: SourceIdentity) async throws {
        let name = name
        while true {
            try Task.checkCancellation()
            try await holdLease()
            var ids: [SampleID] = []
            try store.blockingRead { txn in
                try txn.forEachSample(SampleQuery(type, source: source, includeShadowed: true)) { sample in
                    guard sample.origin == .imported,
                        try txn.link(peer: name, sample: sample.id)?.isFromElsewhere != true
                    else { return true }
                    ids.append(sample.id)
                    return ids.count < 2_000
                }
            }
            if ids.isEmpty { return }
            let removed = ids
            try await update { txn, state in
                for id in removed { if try txn.purge(id: id) { state.purged += 1 } }
            }
        }
    }
}

extension SessionJob {
    var enrollment: Enrollment { Enrollment(core: core) }
}

extension SyncPlan {
    /// Lets the import of types of which nothing is remembered wait until the app asks for it, whatever the horizon of
    /// the plan: the user may have skipped it (SEMANTICS C9). What the store holds stays.
    func waitForHistory(_ peer: CheckedPeer, at now: Instant, _ state: inout PeerState) {
        guard !peer.keepsRecords else { return }
        for (type, item) in types where item.pulls && state[type].history.choice == nil {
            state[type].history.choice = FeedHistory.Choice(
                planned: item.horizon, requested: item.horizon == .ask ? nil : .ask, time: now)
            state[type].history.replaceBound(TypePlan.Horizon.ask.bound(now))
        }
    }

    private func rule(_ peer: CheckedPeer) -> QueueRule? {
        peer.database.map { QueueRule(types: pushed, takesImports: $0.traits.takesImports) }
    }

    /// Returns the types that have a stored state and that the plan no longer names.
    private func forgotten(_ state: PeerState, _ peer: CheckedPeer) -> [String] {
        state.types.filter { item in
            guard !(peer.keepsRecords && item.key == SampleType.every.identifier) else { return false }
            return plan(of: SampleType(item.key)) == nil
                && (item.value.phase.arrivingSince != nil || item.value.pulls.failure != nil
                    || item.value.visibility != .shown)
        }.map(\.key)
    }

    /// Returns `true` if the stored state matches the plan.
    fileprivate func isSettled(
        _ state: PeerState, _ queue: QueueRule?, _ peer: CheckedPeer, at now: Instant
    ) throws -> Bool {
        queue == rule(peer) && state.sentTypes == sent && state.takenTypes == taken
            && forgotten(state, peer).isEmpty
            && types.allSatisfy { type, item in
                let history = state[type].history
                return !item.pulls || history.choice?.planned == item.horizon && !history.isDoubtful(at: now)
            }
    }

    /// Stores the plan, and a horizon that was requested instead of the plan's.
    fileprivate func settle(
        _ peer: CheckedPeer, _ horizon: TypePlan.Horizon?, at now: Instant, _ state: inout PeerState,
        _ txn: inout WriteTransaction
    ) throws {
        let name = peer.id
        if var known = try txn.peer(name), known.queue != rule(peer) {
            // Samples that were not queued so far are found when the type is sent.
            for (type, item) in types where known.queue.map({ !($0.types?.contains(type) ?? true) }) ?? true {
                if state[type].isExported { state[type].isExported = false }
                // Samples that were edited or deleted since they were last sent are found where the peer's feed
                // differs, also in the part of it that was read before.
                guard item.pushes, known.queue != nil else { continue }
                try state.readAgain(type, at: name, in: &txn)
                state[type].phase.handle(.adoptionForgotten)
            }
            known.queue = rule(peer)
            try txn.setPeer(known)
            // Types that the plan no longer sends wait for no access.
            try txn.unpark([.unauthorized], of: name)
        }
        // A peer that follows the feed has not seen the types that are sent to it only from now on.
        if let before = state.sentTypes, !before.covers(sent), var known = try txn.peer(name), peer.keepsRecords {
            known.sent = nil
            try txn.setPeer(known)
        }
        state.sentTypes = sent
        // The feed of a type that was only sent was read past the samples of others.
        if !peer.keepsRecords, let before = state.takenTypes {
            for (type, item) in types where item.pulls && !before.contains(type) && state[type].history.choice != nil {
                try state.readAgain(type, at: name, in: &txn)
            }
        }
        try readMoreOfOneFeed(peer, &state, &txn)
        for identifier in forgotten(state, peer) {
            let type = SampleType(identifier)
            state[type].phase.handle(.leftPlan)
            state[type].pulls.forgetFailure()
            state[type].visibility = .shown
            state.endRevocationNotice()
        }
        for (type, item) in types {
            let known = state[type].history
            let (isDoubtful, isPlanned) = (known.isDoubtful(at: now), known.choice?.planned == item.horizon)
            guard item.pulls, horizon != nil || isDoubtful || !isPlanned else { continue }
            let wanted = horizon ?? (isDoubtful && isPlanned ? known.choice?.requested : nil) ?? item.horizon
            state[type].history.choice = FeedHistory.Choice(
                planned: item.horizon, requested: wanted == item.horizon ? nil : wanted,
                time: wanted == .all ? nil : now)
            // A clock that is wrong for a while does not narrow what was chosen by the right time.
            let isAgain = horizon == nil && isPlanned
            let bound = isAgain ? wanted.bound(now).widened(to: known.bound) : wanted.bound(now)
            if known.choice != nil, known.horizon == bound.horizon, known.skipped == bound.skipped { continue }
            if horizon == nil, isPlanned, case .skipped(let time, _) = bound, known.isPastBaseline {
                // The clock was wrong, but the place in the feed needs no clock.
                state[type].history.bound = .skipped(at: time, baseline: .passed)
                continue
            }
            try state.forgetPlace(of: type, at: name, in: &txn)
            state[type].history.replaceBound(bound)
            state[type].phase.handle(.adoptionForgotten)
        }
    }
}

extension SyncPlan {
    /// Makes the single feed of all types start at its beginning if the plan has more types than before: it was already
    /// read past the samples of those types.
    private func readMoreOfOneFeed(
        _ peer: CheckedPeer, _ state: inout PeerState, _ txn: inout WriteTransaction
    ) throws {
        let isRead = try txn.anchor(peer: peer.id, type: .every, scope: state[.every].scope) != nil
        if peer.keepsRecords, isRead, state.takenTypes?.covers(taken) != true {
            try state.forgetPlace(of: .every, at: peer.id, in: &txn)
        }
        state.takenTypes = taken
    }
}
