import HealthKV

// A peer that keeps records follows the store's feed of changes: a token stands for all that it has seen, and only what it refuses
// waits in its queue.
extension PeerSession {
    func pushFeed() async throws -> PushReport {
        var report = PushReport()
        let name = name
        if try store.read({ try $0.peer(name)?.acknowledged }) == nil, try await skipEqual() { return report }
        while true {
            try Task.checkCancellation()
            guard let page = try await nextChanges(), !page.changes.isEmpty else { return report }
            let step = try await send(page, try heldTypes())
            report += step.report
            if !step.isWhole { return report }
        }
    }

    /// Sends all deletions that the store remembers, but for those of types that are held back. Answers whether all arrived.
    func pushDeletions(_ held: Set<SampleType>) async throws -> Bool {
        let limit = options.pushSize
        var isWhole = true
        var place: ChangeToken?
        while true {
            try Task.checkCancellation()
            try await holdLease()
            let start = place
            let page = try store.read { try $0.changes(since: start, limit: limit) }
            var operations: [PushOperation] = []
            for change in page.changes {
                if case .saved = change.kind { continue }
                for kind in try kinds(of: change) {
                    if held.holds(kind.type) {
                        isWhole = false
                    } else {
                        operations.append(PushOperation(sequence: UInt64(operations.count), kind: kind))
                    }
                }
            }
            let outcomes = operations.isEmpty ? [] : await peer.push(operations)
            if let reason = outcomes.lazy.compactMap(\.reasonToTryAgain).first { throw PeerError(.transient, reason) }
            if !page.hasMore { return isWhole }
            place = page.next
        }
    }

    /// The next changes that the peer has not seen. When the store no longer knows all of them, both sides are compared instead.
    private func nextChanges() async throws -> ChangePage? {
        let (name, limit) = (name, options.pushSize)
        do {
            return try store.read { txn in
                try txn.changes(since: try txn.peer(name)?.acknowledged, limit: limit)
            }
        } catch let error as StoreError where error.code == .tokenExpired {
            let (token, held) = (try store.read { $0.currentToken }, try heldTypes())
            let isWhole = try await reconcileRecords(held)
            // What is compared is what lives. An older version of what was deleted may still come to the peer from elsewhere.
            let isTold = try await pushDeletions(held)
            // What is held back goes with a later sync, which compares again.
            guard isWhole, isTold else { return nil }
            try await update { txn, _ in
                guard var known = try txn.peer(name) else { return }
                known.acknowledged = token
                try txn.setPeer(known)
            }
            return nil
        }
    }

    /// Sends a page, up to the first change of a type that is held back.
    private func send(
        _ page: ChangePage, _ held: Set<SampleType>
    ) async throws -> (report: PushReport, isWhole: Bool) {
        try await holdLease()
        var operations: [PushOperation] = []
        var places: [ChangeToken] = []
        // Up to where changes are sent; `nil` for all of the page.
        var end: Int?
        for (index, change) in page.changes.enumerated() {
            let kinds = try kinds(of: change)
            if kinds.contains(where: { held.holds($0.type) }) {
                end = index
                break
            }
            for kind in kinds {
                operations.append(PushOperation(sequence: UInt64(operations.count), kind: kind))
                places.append(change.token)
            }
        }
        let outcomes = operations.isEmpty ? [] : await peer.push(operations)
        try options.atStep(.pushSent)
        var report = PushReport()
        var refused: [(PushOperation, String)] = []
        var settled: [SampleID] = []
        // The feed is acknowledged up to the first change that is to be tried again.
        var stop: Int?
        for (index, outcome) in outcomes.enumerated() {
            switch outcome {
            case .done, .superseded:
                report.done += 1
                settled.append(operations[index].sample)
            case .refused(let reason):
                report.quarantined += 1
                refused.append((operations[index], reason))
            case .parked: (report.parked, stop) = (report.parked + 1, stop ?? index)
            case .failed, .unknown: (report.failed, stop) = (report.failed + 1, stop ?? index)
            }
        }
        // A change that gives several operations is seen once all of them are done.
        let whole: ChangeToken? = if let end { end > 0 ? page.changes[end - 1].token : nil } else { page.next }
        let seen = stop.map { stop in places[..<stop].last { $0 < places[stop] } } ?? whole
        try await settle(refused, settled, seen)
        try options.atStep(.outcomesCommitted)
        if let stop, let reason = outcomes[stop].reasonToTryAgain { throw issue(.delayed, reason) }
        return (report, stop == nil && end == nil)
    }

    /// Keeps what the peer refused, where it can be seen and tried again, and how far the peer has seen the feed.
    func settle(
        _ refused: [(PushOperation, String)], _ settled: [SampleID] = [], _ seen: ChangeToken? = nil
    ) async throws {
        let (name, now) = (name, now)
        guard !refused.isEmpty || !settled.isEmpty || seen != nil else { return }
        try await update { txn, state in
            for (operation, reason) in refused {
                let kind: PendingOperation.Kind = if case .save = operation.kind { .save } else { .delete }
                try txn.enqueue(
                    PendingOperation(
                        peer: name, kind: kind, sample: operation.sample, version: operation.version,
                        state: .quarantined, reason: reason))
                state.note(.quarantined, reason, at: now)
            }
            // A later change that the peer took stands for one that it refused.
            if try !txn.pending(for: name, after: 0, limit: 1).isEmpty {
                for id in settled {
                    if let waiting = try txn.pending(peer: name, sample: id) { try txn.removePending(waiting) }
                }
            }
            if let seen { try txn.acknowledge(peer: name, seen) }
        }
    }

    /// What a change asks of the peer.
    private func kinds(of change: Change) throws -> [PushOperation.Kind] {
        func isPushed(_ type: SampleType) -> Bool { plan.plan(of: type)?.pushes ?? false }
        switch change.kind {
        case .saved(let sample): return isPushed(sample.type) ? [.save(sample)] : []
        case .deleted(let deleted):
            // Without a version the sample only left this store.
            return deleted.version > 0 && isPushed(deleted.type) ? [.delete(deleted)] : []
        case .removedRange:
            // Its tombstones are all there once its steps are done.
            while try store.maintain(budget: .seconds(5)) {}
            return try store.read { try $0.deletions(at: change.token) }.filter { isPushed($0.type) }.map {
                .delete($0)
            }
        case .interrupted: return []
        }
    }
}

extension Set<SampleType> {
    /// Whether a type is among those of which nothing may be sent yet, by itself or with all.
    func holds(_ type: SampleType) -> Bool { contains(type) || contains(.every) }
}
