import HealthKV

extension SyncEngine {
    /// How many samples of others the peer has at least, by type: for the question whether to import them. One page is looked at.
    public func importPreview(_ name: String) async throws -> [SampleType: Int] {
        try await session(name).inTurn { session in
            var counts: [SampleType: Int] = [:]
            for (type, plan) in session.plan.types where plan.pulls {
                do {
                    let page = try await session.peer.enumerate(
                        EnumerationRequest(type: type, limit: session.options.pageSize))
                    counts[type] = page.samples.count { !$0.isOwn }
                } catch let error as PeerError {
                    throw SyncIssue(error, plan: session.plan)
                }
            }
            return counts
        }
    }

    /// Enables a peer and imports its history: all of it, of some days, or nothing of what there is (SEMANTICS C9). The newest samples come
    /// first. Cancelling the task stops it between two pages, and a later call goes on there.
    ///
    /// ```swift
    /// for try await progress in sync.importHistory("health", .all) { show(progress) }
    /// ```
    public func importHistory(
        _ name: String, _ horizon: TypePlan.Horizon
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        AsyncThrowingStream { continuation in
            let work = Task { [self] in
                do {
                    let report = try await session(name).inTurn { session in
                        try await session.enable(horizon)
                        session.progress = { continuation.yield($0) }
                        defer { session.progress = nil }
                        return try await session.pass(PassRequest(isUrgent: true))
                    }
                    continuation.finish(throwing: report.issue)
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in work.cancel() }
        }
    }

    /// Forgets a peer: its queue, links, anchors and totals. With `purge` also the samples that it brought; without, the plan of each
    /// type decides. Nothing is deleted at the peer. Answers how many samples were removed; calling it again removes nothing more,
    /// unless the last call did not come to its end.
    @discardableResult
    public func disconnect(_ name: String, purge: Bool? = nil) async throws -> Int {
        try await session(name).inTurn { try await $0.disconnect(purge: purge) }
    }

    /// Lets an operation that was parked or refused be tried again. Answers false when it is no longer there.
    @discardableResult
    public func retry(_ operationID: String) async throws -> Bool {
        try await store.write { txn in
            guard var operation = try txn.pending().first(where: { $0.id == operationID }) else { return false }
            (operation.state, operation.attempts, operation.nextTry) = (.waiting, 0, .distantPast)
            try txn.updatePending(operation)
            return true
        }
    }

    /// Gives an operation up. Answers false when it is no longer there.
    @discardableResult
    public func discard(_ operationID: String) async throws -> Bool {
        try await store.write { txn in
            guard let operation = try txn.pending().first(where: { $0.id == operationID }) else { return false }
            try txn.removePending(operation)
            return true
        }
    }
}

extension PeerSession {
    /// Registers the peer, so that changes are queued for it, and sets how far back it is imported.
    func enable(_ horizon: TypePlan.Horizon?) async throws {
        let (name, now, plan, traits) = (name, now, plan, peer.traits)
        let epoch = try store.read { $0.epoch }
        for (type, item) in plan.types where item.duplicates != .usual {
            try store.setShadowing(of: type, item.duplicates == .shadow)
        }
        let rule = traits.keepsRecords ? nil : QueueRule(types: plan.pushed, takesImports: traits.takesImports)
        try await update { txn, state in
            var known = try txn.peer(name) ?? RegisteredPeer(name: name, registered: now, lastSeen: now)
            known.queue = rule
            known.lastSeen = now
            if known != (try txn.peer(name)) { try txn.setPeer(known) }
            state.isEnabled = true
            if state.epoch == 0 { state.epoch = epoch }
            for (type, item) in plan.types where item.pulls {
                guard horizon != nil || state.types[type.identifier] == nil else { continue }
                let wanted = (horizon ?? item.horizon).start(now)
                if state.types[type.identifier] != nil, state[type].horizon == wanted { continue }
                try PeerSession.forgetPlace(name, type, &state, &txn)
                state[type].horizon = wanted
                state[type].windowsDone = nil
                state[type].isAdopted = false
            }
        }
    }

    func disconnect(purge: Bool?) async throws -> Int {
        let (name, plan) = (name, plan)
        try await holdLease()
        try await update { txn, state in
            try txn.removePeer(name)
            state.isEnabled = false
            state.isPurging = true
        }
        for (identifier, known) in try state().types {
            let type = SampleType(identifier)
            guard purge ?? (plan.plan(of: type)?.departure == .purge) else { continue }
            for source in known.sources.sorted() { try await self.purge(type, source) }
        }
        let purged = try await update { txn, state in
            let purged = state.purged
            let notices = state.notices
            state = PeerState()
            state.notices = notices.filter { $0.code != .readingRevoked }
            return purged
        }
        try await releaseLease()
        return purged
    }

    /// Removes what a source brought, in steps that each stand in a commit of their own.
    private func purge(_ type: SampleType, _ source: SourceIdentity) async throws {
        while true {
            try Task.checkCancellation()
            var ids: [SampleID] = []
            try store.read { txn in
                try txn.forEachSample(of: type, source: source, includeShadowed: true) { sample in
                    if sample.origin == .imported { ids.append(sample.id) }
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

extension TypePlan.Horizon {
    /// Samples that start before this are not imported; `nil` for no bound.
    func start(_ now: Instant) -> Instant? {
        switch self {
        case .all: nil
        case .days(let count): now - .days(count)
        case .fromNowOn: now
        }
    }
}
