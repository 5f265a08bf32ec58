import HealthKV

/// Sends the store's feed of changes to a record peer. A token represents everything that the peer has seen, and only
/// operations that it refuses wait in its queue. There may be any number of deletions, so they are sent page by page.
struct FeedSender: SessionJob {
    let core: SessionCore

    func pushFeed(to records: CheckedRecords) async throws -> PushReport {
        var report = PushReport()
        let name = name
        if try store.blockingRead({ try $0.peer(name)?.sent }) == nil {
            // A peer that begins at the beginning has seen no part of any mass deletion.
            if try state().removal != nil { try await update { _, state in state.removal = nil } }
            if try await recordComparison.skipEqual(records) { return report }
        }
        while true {
            try Task.checkCancellation()
            guard let page = try await nextChanges(for: records), let first = page.changes.first else { return report }
            // A mass operation may have deleted more than a push holds, so its deletions are sent separately.
            let isRemoval = first.isRemoval
            let count = isRemoval ? 1 : page.changes.firstIndex(where: \.isRemoval) ?? page.changes.count
            let changes = Array(page.changes[..<count])
            let end = count == page.changes.count ? page.next : page.changes[count - 1].token
            let held = try heldTypes()
            let step =
                isRemoval ? try await sendRemoval(first.token, end, held) : try await send(changes, end, held)
            report += step.report
            if !step.isWhole { return report }
        }
    }

    /// Returns the next changes that the peer has not seen. If the store no longer knows all of them, compares both
    /// sides instead.
    private func nextChanges(for records: CheckedRecords) async throws -> ChangePage? {
        let (name, limit) = (name, peer.pushSize(options.pushSize))
        do {
            return try store.blockingRead { txn in
                try txn.changes(since: try txn.peer(name)?.sent?.place, limit: limit)
            }
        } catch let error as StoreError where error.code == .tokenExpired {
            let (token, held) = (try store.blockingRead { $0.currentToken }, try heldTypes())
            let isWhole = try await recordComparison.reconcileRecords(records, held)
            // The comparison covers live samples only. An older version of a deleted sample may still reach the peer
            // from elsewhere.
            let isTold = try await pushDeletions(held)
            // A later sync sends the held types, and compares again.
            guard isWhole, isTold else { return nil }
            let (told, now) = (memory.told, now)
            try await update { txn, state in
                if let told { state.told = told.greatest(with: state.told) }
                guard var known = try txn.peer(name) else { return }
                known.move(\.sent, to: token, at: now)
                try txn.setPeer(known)
            }
            return nil
        }
    }

    /// Sends changes that end at a place in the feed, up to the first change of a held type.
    private func send(
        _ changes: [Change], _ last: ChangeToken, _ held: Set<SampleType>
    ) async throws -> (report: PushReport, isWhole: Bool) {
        try await holdLease()
        var operations: [PushOperation] = []
        var places: [ChangeToken] = []
        // The index of the first change that is not sent; `nil` if all are.
        var end: Int?
        for (index, change) in changes.enumerated() {
            guard let kind = kind(of: change) else { continue }
            if held.holds(kind.type) {
                end = index
                break
            }
            operations.append(PushOperation(sequence: UInt64(operations.count), kind: kind, place: change.token))
            places.append(change.token)
        }
        let delivery = try await deliver(operations)
        // Acknowledge the feed up to the first change that must be retried.
        let whole: ChangeToken? = if let end { end > 0 ? changes[end - 1].token : nil } else { last }
        let seen = delivery.stop.map { $0 > 0 ? places[$0 - 1] : nil } ?? whole
        try await settle(delivery.refused, delivery.settled, overtaken: delivery.overtaken, seen)
        try options.atStep(.outcomesCommitted)
        if delivery.goesOn { return (delivery.report, true) }
        if let error = delivery.error { throw error }
        return (delivery.report, end == nil)
    }

    /// The result of sent operations.
    struct Delivery: Sendable {
        var report = PushReport()
        var refused: [(PushOperation, String)] = []
        var settled: [SampleID] = []
        /// Those of the settled samples of which the peer holds a greater version.
        var overtaken: [SampleID] = []
        /// The first operation that must be retried, and the reason.
        var stop: Int?
        var error: PeerError?
        /// Whether the next call goes on there, because the peer has left the rest of this one.
        var goesOn = false
    }

    func deliver(_ operations: [PushOperation]) async throws -> Delivery {
        let answer = try await pushRecords(operations)
        try options.atStep(.pushSent)
        var delivery = Delivery(goesOn: answer.rest != nil)
        for (index, outcome) in answer.outcomes.enumerated() {
            switch outcome {
            case .done, .superseded:
                delivery.report.done += 1
                delivery.settled.append(operations[index].sample)
                if case .superseded = outcome, case .save(let sample) = operations[index].kind,
                    plan.plan(of: sample.type)?.pulls ?? false
                {
                    delivery.overtaken.append(sample.id)
                }
            case .refused(let reason):
                delivery.report.quarantined += 1
                delivery.refused.append((operations[index], reason))
            case .parked, .busy: delivery.report.parked += 1
            case .failed, .unknown: delivery.report.failed += 1
            }
            guard delivery.stop == nil, let error = outcome.errorToTryAgain else { continue }
            (delivery.stop, delivery.error) = (index, answer.problem ?? error)
        }
        return delivery
    }

    /// Sends records to the peer, and notes the place in our feed that the peer has taken with them.
    func pushRecords(_ operations: [PushOperation]) async throws -> CheckedPeer.Answer {
        // A peer that does not say what it remembers is not asked to compare it.
        let told = try memory.told ?? (memory.agreesWithPeer ? state().told : nil)
        let operations = operations.map { operation in
            var operation = operation
            operation.told = told
            return operation
        }
        let answer = await peer.push(operations)
        for (operation, outcome) in zip(operations, answer.outcomes) {
            guard outcome.isTaken, let place = operation.place else { continue }
            memory.told = place.greatest(with: memory.told)
        }
        return answer
    }

    /// Stores the refused operations, so that they can be shown and retried, the samples of which the peer holds a
    /// greater version, and how far the peer has seen the feed or the deletions of a mass operation.
    func settle(
        _ refused: [(PushOperation, String)], _ settled: [SampleID] = [], overtaken: [SampleID] = [],
        _ seen: ChangeToken? = nil, removal: PeerPlace? = nil
    ) async throws {
        let (name, now, told) = (name, now, memory.told)
        let known = try state().told
        let isToldMore = told.map { $0.greatest(with: known) != known } ?? false
        guard isToldMore || !refused.isEmpty || !settled.isEmpty || seen != nil || removal != nil else { return }
        try await update { txn, state in
            if let told { state.told = told.greatest(with: state.told) }
            for (operation, reason) in refused {
                let kind: PendingOperation.Kind = if case .save = operation.kind { .save } else { .delete }
                try txn.enqueue(
                    PendingOperation(
                        peer: name, kind: kind, sample: operation.sample, version: operation.version,
                        state: .quarantined, reason: reason))
                state.note(.quarantined, reason, at: now)
            }
            // A later change that the peer took replaces an earlier one that it refused.
            if try !txn.pending(for: name, after: 0, limit: 1).isEmpty {
                for id in settled {
                    if let waiting = try txn.pending(peer: name, sample: id) { try txn.removePending(waiting) }
                }
            }
            if try txn.hasLinks(of: name) {
                for id in settled {
                    let link = try txn.link(peer: name, sample: id)
                    if let link, link.version == PeerLink.refused || link.version == PeerLink.overtaken {
                        try txn.removeLink(link)
                    }
                }
            }
            for id in overtaken where try txn.sample(id: id) != nil { try txn.setLink(.overtaken(id, by: name)) }
            if let seen { try txn.markSent(to: name, upTo: seen) }
            if seen != nil || removal != nil { state.removal = removal }
        }
    }

    /// Returns the operation that a change of one sample requires at the peer.
    private func kind(of change: Change) -> PushOperation.Kind? {
        switch change.kind {
        case .saved(let sample): isPushed(sample.type) ? .save(sample) : nil
        // Without a version the sample only left this store.
        case .deleted(let deleted): deleted.version > 0 && isPushed(deleted.type) ? .delete(deleted) : nil
        case .removedRange, .interrupted: nil
        }
    }

    /// Sends all deletions that the store remembers, except those of held types. Returns `true` if all arrived.
    func pushDeletions(_ held: Set<SampleType>) async throws -> Bool {
        guard try await massDeletions.finishRemovals() else { return false }
        var isWhole = true
        var place: SampleID?
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let (start, limit) = (place, peer.pushSize(options.pushSize))
            let (page, here) = try store.blockingRead {
                (try $0.deletions(after: start, limit: limit), $0.currentToken)
            }
            let wanted = page.deletions.filter { isPushed($0.type) }
            let free = wanted.filter { !held.holds($0.type) }
            if free.count < wanted.count { isWhole = false }
            let answer = try await pushRecords(operations(free, here))
            try await settle([])
            if let rest = answer.rest {
                place = free[rest - 1].id
                continue
            }
            if let error = answer.errorToTryAgain { throw error }
            place = page.next
        } while place != nil
        return isWhole
    }

    /// Sends the deletions of a mass operation. The progress is stored, so that an interruption costs at most a page.
    /// `isWhole` is `false` if the rest waits for a later pass, because not everything is deleted yet or a type is
    /// held.
    func sendRemoval(
        _ token: ChangeToken, _ end: ChangeToken, _ held: Set<SampleType>
    ) async throws -> (report: PushReport, isWhole: Bool) {
        var report = PushReport()
        guard try await massDeletions.finishRemovals(at: token) else { return (report, false) }
        var place = try state().removal.flatMap { $0.token == token ? $0.deleted : nil }
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let (start, limit) = (place, peer.pushSize(options.pushSize))
            let page = try store.blockingRead { try $0.deletions(at: token, after: start, limit: limit) }
            let deletions = page.deletions.filter { isPushed($0.type) }
            if deletions.contains(where: { held.holds($0.type) }) { return (report, false) }
            let delivery = try await deliver(operations(deletions, token))
            // What was not left is done or refused.
            place = if delivery.goesOn, let stop = delivery.stop { deletions[stop - 1].id } else { page.next }
            let hasArrived = delivery.error == nil || delivery.goesOn
            try await settle(
                delivery.refused, delivery.settled, hasArrived && place == nil ? end : nil,
                removal: hasArrived ? place.map { PeerPlace(token: token, deleted: $0) } : nil)
            try options.atStep(.outcomesCommitted)
            report += delivery.report
            if let error = delivery.error, !delivery.goesOn { throw error }
        } while place != nil
        return (report, true)
    }

    private func operations(_ deletions: [DeletedSample], _ place: ChangeToken) -> [PushOperation] {
        deletions.enumerated().map { PushOperation(sequence: UInt64($0), kind: .delete($1), place: place) }
    }
}

extension SessionJob {
    var feedSender: FeedSender { FeedSender(core: core) }
}

extension Change {
    fileprivate var isRemoval: Bool { if case .removedRange = kind { true } else { false } }
}

extension Set<SampleType> {
    /// Returns `true` if a type is held, on its own or together with all types: nothing of it may be sent yet.
    func holds(_ type: SampleType) -> Bool { contains(type) || contains(.every) }
}
