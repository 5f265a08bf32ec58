import HealthKV

/// Sends the operations that wait in a peer's queue.
struct QueueSender: SessionJob {
    let core: SessionCore

    /// Sends the operations that wait for the peer. A sample that the peer may know is sent only if its feed was read,
    /// so the feeds of such operations are read first.
    func push(_ request: PassRequest, _ seen: FeedsSeen) async throws -> (pushed: PushReport, pulled: PullReport) {
        var (report, unread) = try await pushQueue(request, seen)
        guard !unread.isEmpty, !seen.isBlind else { return (report, PullReport()) }
        let feeds = try dueFeeds(unread)
        guard !feeds.isEmpty else { return (report, PullReport()) }
        let pulls = try await puller.pullAll(feeds)
        if pulls.isLocked { try await access.noteAvailability(.locked) }
        let now = FeedsSeen(isBlind: pulls.isLocked, read: seen.read.union(pulls.read))
        report += try await pushQueue(request, now).report
        return (report, pulls.report)
    }

    /// Returns the feeds of some types, without those whose last pull failed and is not due for a retry: otherwise each
    /// commit would try them.
    private func dueFeeds(_ types: Set<SampleType>) throws -> [SampleType] {
        let (known, now, longest) = (try state(), now, options.longestDelay)
        return feeds.filter { type in
            guard type == .every || types.contains(type) else { return false }
            return known[type].pulls.failure?.nextTry.map { $0.isDue(at: now, longest: longest) } ?? true
        }.sorted()
    }

    private func pushQueue(
        _ request: PassRequest, _ seen: FeedsSeen
    ) async throws -> (report: PushReport, unread: Set<SampleType>) {
        var (report, unread) = (PushReport(), Set<SampleType>())
        if let records = peer.records { report += try await feedSender.pushFeed(to: records) }
        try await exportEarlier()
        var place: UInt64 = 0
        while true {
            try Task.checkCancellation()
            let batch = try await nextBatch(after: place, request, seen)
            unread.formUnion(batch.unread)
            if !batch.isEmpty { report += try await send(batch) }
            if batch.isAtEnd { break }
            place = batch.last
        }
        try await settleNextTries()
        try await acknowledgeQueue()
        return (report, unread)
    }

    /// Corrects the times of long queues: operations that were due and are done leave times that are too early, and
    /// each commit would scan the queues again.
    private func settleNextTries() async throws {
        let (name, now, longest) = (name, now, options.longestDelay)
        let mayBeDue = try store.blockingRead { txn in
            try txn.pendingGroups(for: name).contains { $0.isDue(at: now, longest: longest) }
        }
        guard mayBeDue else { return }
        try await update { txn, _ in try txn.settleNextTries(of: name, at: now) }
    }

    private func nextBatch(
        after place: UInt64, _ request: PassRequest, _ seen: FeedsSeen
    ) async throws -> PushBatch {
        let (name, plan) = (name, plan)
        var conditions = PushBatch.Conditions(
            now: now, isUrgent: request.isUrgent, plan: plan, isOfCommit: request.isOfCommit, held: try heldTypes(),
            ungranted: try access.ungrantedTypes(), seen: seen, keepsRecords: peer.keepsRecords,
            limit: peer.pushSize(options.pushSize), longestDelay: options.longestDelay,
            writer: try store.blockingRead { $0.replica }, opened: store.commitAtOpening)
        let known = try state()
        conditions.unreadable = Set(plan.types.keys.filter { known[$0].pulls.isBlocked })
        var batch = PushBatch(after: place)
        try store.blockingRead { [conditions] txn in try batch.collect(name, conditions, in: txn) }
        if !batch.completed.isEmpty {
            let completed = batch.completed
            try await holdLease()
            try await update { txn, _ in
                for id in completed where try txn.pending(peer: name, sample: id) == nil {
                    guard let mate = try txn.sample(id: id) else { continue }
                    try txn.enqueue(.save, of: id, version: mate.version, mate.clock, for: name)
                }
            }
            batch = PushBatch(after: place)
            try store.blockingRead { txn in try batch.collect(name, conditions, in: txn) }
        }
        guard batch.idle.contains(where: { $0.kind == .delete }) else { return batch }
        // A mass deletion writes its tombstones step by step. Until all exist, an operation without a sample may be
        // about one of them.
        _ = try await massDeletions.finishRemovals()
        batch = PushBatch(after: place)
        try store.blockingRead { txn in
            try batch.collect(name, conditions, in: txn)
            if txn.hasUnfinishedRemovals { batch.idle.removeAll { $0.kind == .delete } }
        }
        return batch
    }

    /// Notes that the peer has seen everything before the first operation that waits for it, whether or not anything
    /// had to be sent. Otherwise tombstones would be kept for it forever. Once a day is enough.
    ///
    /// A database with a feed that must be adopted has seen nothing: it may show samples that were deleted here before
    /// they had a link to it, and only their tombstones refuse them then.
    private func acknowledgeQueue() async throws {
        let (name, now, plan) = (name, now, plan)
        let (isAdopted, isDue) = try store.blockingRead { txn in
            let state = try txn.state(of: name)
            let isAdopted = state.hasAdopted(plan)
            guard let known = try txn.peer(name), known.queue != nil else { return (isAdopted, false) }
            if !isAdopted { return (isAdopted, known.sent != nil) }
            let isOld = state.lastAcknowledged.map { $0.hasPassed(.days(1), at: now) } ?? true
            return (isAdopted, known.sent == nil || isOld)
        }
        guard isDue else { return }
        try await update { txn, state in
            guard isAdopted else { return try txn.forgetSent(to: name) }
            guard let seen = try txn.seenThroughQueue(of: name) else { return }
            state.lastAcknowledged = now
            try txn.markSent(to: name, upTo: seen)
        }
    }

    /// Sends a batch. Operations that may reach the peer are marked before they are sent, so that after a crash the
    /// queue shows whose outcome is unknown.
    private func send(_ batch: PushBatch) async throws -> PushReport {
        let name = name
        try options.atStep(.pushCollected)
        try await holdLease()
        // An operation whose sample was deleted, edited or given up after the batch was read is no longer in the queue,
        // and is not sent.
        let items = try await update { txn, _ in
            for operation in batch.idle { try txn.removePending(operation) }
            for operation in batch.blocked {
                guard try txn.pending(peer: name, sample: operation.sample)?.sequence == operation.sequence else {
                    continue
                }
                try txn.updatePending(operation)
            }
            return try batch.items.filter { item in
                guard var operation = try txn.pending(peer: name, sample: item.queued.sample),
                    operation.sequence == item.queued.sequence
                else { return false }
                guard !operation.isSent else { return true }
                operation.send(as: item.sent.version)
                try txn.updatePending(operation)
                return true
            }
        }
        var report = PushReport()
        report.parked = batch.blocked.count
        guard !items.isEmpty else { return report }
        try options.atStep(.pushMarked)
        let answer = await peer.push(items.map(\.sent))
        try options.atStep(.pushSent)
        let isCancelled = Task.isCancelled || peer.isInterrupted
        let recorder = OutcomeRecorder(
            peer: name, now: now, options: options, isCancelled: isCancelled,
            isLeftBehind: answer.problem?.code == .transient)
        let (plan, keepsRecords) = (plan, peer.keepsRecords)
        report += try await update { txn, state in
            var recorder = recorder
            for (item, outcome) in zip(items, answer.outcomes) {
                try recorder.record(outcome, of: item.queued, item.sent, in: &txn, &state)
            }
            // What a peer that follows the feed has seen, only the feed tells: a change may have been saved meanwhile.
            if !keepsRecords, state.hasAdopted(plan), try txn.pending(for: name, after: 0, limit: 1).isEmpty {
                try txn.markSent(to: name, upTo: txn.currentToken)
            }
            return recorder.report
        }
        try options.atStep(.outcomesCommitted)
        // Report unanswered operations, and send nothing more to a peer that does not answer.
        if let problem = answer.problem { throw problem }
        // Access was withdrawn since it was last checked: do not try the following operations in vain.
        if answer.outcomes.contains(.parked(.unauthorized)) { try await access.refreshAuthorization() }
        return report
    }

    /// How many earlier samples are queued in one commit.
    private static let exportedAtOnce = 1_000

    /// Queues the samples that were written here before the peer was enabled, some at a time.
    private func exportEarlier() async throws {
        guard let database = peer.database else { return }
        let (name, own, takesAll) = (name, store.ownSource.identity, database.traits.takesImports)
        for (type, plan) in plan.types where plan.pushes {
            let known = try state()[type]
            guard known.phase.isAdopted || known.pulls.isRefused, !known.isExported else { continue }
            var (from, limit) = (Instant.distantPast, Self.exportedAtOnce)
            while true {
                try Task.checkCancellation()
                let (start, size) = (from, limit)
                let samples = try store.blockingRead { txn in
                    try txn.samples(
                        SampleQuery(type, from: start, rule: .strictStart, limit: size, includeShadowed: true))
                }
                try await update { txn, state in
                    for sample in samples where sample.origin == .authored {
                        guard takesAll || sample.source.identity.isSameApp(as: own) else { continue }
                        let link = try txn.link(peer: name, sample: sample.id)
                        // What was presumed gone lives again because the user restored it.
                        guard link == nil || link?.version == PeerLink.presumedGone,
                            try txn.pending(peer: name, sample: sample.id) == nil
                        else { continue }
                        try txn.enqueue(.save, of: sample.id, version: sample.version, sample.clock, for: name)
                    }
                    if samples.count < size { state[type].isExported = true }
                }
                guard samples.count == size, let last = samples.last else { break }
                // Take samples with the same start together, however many there are.
                (from, limit) = last.start > from ? (last.start, Self.exportedAtOnce) : (from, limit * 2)
            }
        }
    }
}

extension SessionJob {
    var queueSender: QueueSender { QueueSender(core: core) }
}
