import HealthKV

extension PeerSession {
    /// Sends what waits for the peer, which shows nothing while its device is locked.
    func push(_ request: PassRequest, isBlind: Bool) async throws -> PushReport {
        var report = PushReport()
        if peer.traits.keepsRecords { report += try await pushFeed() }
        try await exportEarlier()
        var place: UInt64 = 0
        while true {
            try Task.checkCancellation()
            let batch = try await nextBatch(after: place, request, isBlind: isBlind)
            if !batch.items.isEmpty || !batch.idle.isEmpty { report += try await send(batch) }
            if batch.isAtEnd { break }
            place = batch.last
        }
        try await acknowledgeEmptyQueue()
        return report
    }

    private func nextBatch(
        after place: UInt64, _ request: PassRequest, isBlind: Bool
    ) async throws -> PushBatch {
        let (name, plan) = (name, plan)
        let conditions = PushBatch.Conditions(
            now: now, isUrgent: request.isUrgent, plan: plan, isOfCommit: request.isOfCommit, held: try heldTypes(),
            isBlind: isBlind, limit: options.pushSize)
        var batch = PushBatch(after: place)
        try store.read { txn in try batch.collect(name, conditions, in: txn) }
        guard batch.idle.contains(where: { $0.kind == .delete }) else { return batch }
        // A mass deletion leaves its tombstones step by step: until all are there, what seems to be about nothing may be about one of them.
        if try store.read({ $0.hasUnfinishedRemovals }) { _ = try store.maintain(budget: options.upkeepBudget) }
        batch = PushBatch(after: place)
        try store.read { txn in
            try batch.collect(name, conditions, in: txn)
            if txn.hasUnfinishedRemovals { batch.idle.removeAll { $0.kind == .delete } }
        }
        return batch
    }

    /// A peer for which nothing waits has seen all that was to be seen: else tombstones would be kept for it for ever.
    private func acknowledgeEmptyQueue() async throws {
        let (name, now) = (name, now)
        let isDue = try store.read { txn in
            guard let known = try txn.peer(name), known.queue != nil else { return false }
            let isOld = known.acknowledged == nil || now > known.lastSeen + .days(1)
            return try isOld && txn.pending(for: name, after: 0, limit: 1).isEmpty
        }
        guard isDue else { return }
        try await update { txn, _ in
            guard try txn.pending(for: name, after: 0, limit: 1).isEmpty else { return }
            try txn.acknowledge(peer: name, txn.currentToken)
        }
    }

    /// After this long without a page, a feed that was not read to its end holds nothing back any more (docs/decisions/0016).
    private static let holdDays = 1

    /// Types of which nothing may be sent yet: what the peer holds of them is not adopted, or a pull from another peer stands midway in
    /// its feed (SEMANTICS C21, C22).
    func heldTypes() throws -> Set<SampleType> {
        let name = name
        let (needsAdoption, now) = (!peer.traits.keepsRecords, now)
        let types = plan.types
        return try store.read { txn in
            var held: Set<SampleType> = []
            if needsAdoption {
                let state = try txn.state(of: name)
                held = Set(types.keys.filter { !state[$0].isAdopted && state[$0].isRefused != true })
            }
            for other in try txn.peers() where other.name != name {
                let state = try txn.state(of: other.name)
                for (type, known) in state.types where known.isMidway && state.isEnabled {
                    // One that cannot be read on, or that nobody reads any more, does not hold the others for good.
                    guard let since = known.midwaySince, now <= since + .days(PeerSession.holdDays) else { continue }
                    held.insert(SampleType(type))
                }
            }
            return held
        }
    }

    /// Sends a batch. What may reach the peer is marked before it is sent, so that a crash leaves no doubt about what is in doubt.
    private func send(_ batch: PushBatch) async throws -> PushReport {
        let name = name
        try await holdLease()
        try await update { txn, _ in
            for operation in batch.idle { try txn.removePending(operation) }
            for item in batch.items where !item.queued.isSent {
                guard var operation = try txn.pending(peer: name, sample: item.queued.sample),
                    operation.sequence == item.queued.sequence
                else { continue }
                operation.isSent = true
                operation.version = item.sent.version
                try txn.updatePending(operation)
            }
        }
        guard !batch.items.isEmpty else { return PushReport() }
        try options.atStep(.pushMarked)
        let outcomes = await peer.push(batch.items.map(\.sent))
        try options.atStep(.pushSent)
        let recorder = OutcomeRecorder(peer: name, now: now, options: options)
        let report = try await update { txn, state in
            var recorder = recorder
            for (item, outcome) in zip(batch.items, outcomes) {
                try recorder.record(outcome, of: item.queued, item.sent, in: &txn, &state)
            }
            if try txn.pending(for: name, after: 0, limit: 1).isEmpty {
                try txn.acknowledge(peer: name, txn.currentToken)
            }
            return recorder.report
        }
        try options.atStep(.outcomesCommitted)
        return report
    }

    /// What was written here before the peer was enabled goes into its queue, some at a time.
    private func exportEarlier() async throws {
        guard !peer.traits.keepsRecords else { return }
        let (name, own, takesAll) = (name, store.ownSource.identity, peer.traits.takesImports)
        for (type, plan) in plan.types where plan.pushes {
            let known = try state()[type]
            guard known.isAdopted || known.isRefused == true, !known.isExported else { continue }
            var from = Instant.distantPast
            while true {
                try Task.checkCancellation()
                let start = from
                let samples = try store.read { txn in
                    try txn.samples(
                        of: type, from: start, rule: .strictStart, limit: 1_000, includeShadowed: true)
                }
                try await update { txn, state in
                    for sample in samples where sample.origin == .authored {
                        guard takesAll || sample.source.identity == own else { continue }
                        guard try txn.link(peer: name, sample: sample.id) == nil,
                            try txn.pending(peer: name, sample: sample.id) == nil
                        else { continue }
                        try txn.enqueue(
                            PendingOperation(peer: name, kind: .save, sample: sample.id, version: sample.version))
                    }
                    if samples.count < 1_000 { state[type].isExported = true }
                }
                guard samples.count == 1_000, let last = samples.last else { break }
                from = last.start > from ? last.start : last.start + 1
            }
        }
    }
}
