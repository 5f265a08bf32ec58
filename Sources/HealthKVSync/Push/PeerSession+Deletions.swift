import HealthKV

// There may be any number of deletions, so they are sent page by page.
extension PeerSession {
    /// Sends all deletions that the store remembers, except those of held types. Returns `true` if all arrived.
    func pushDeletions(_ held: Set<SampleType>) async throws -> Bool {
        guard try await finishRemovals() else { return false }
        var isWhole = true
        var place: SampleID?
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let (start, limit) = (place, options.pushSize)
            let (page, here) = try store.read { (try $0.deletions(after: start, limit: limit), $0.currentToken) }
            let wanted = page.deletions.filter { isPushed($0.type) }
            let free = wanted.filter { !held.holds($0.type) }
            if free.count < wanted.count { isWhole = false }
            if let error = await pushRecords(operations(free, here)).errorToTryAgain { throw error }
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
        guard try await finishRemovals(at: token) else { return (report, false) }
        var place = try state().removal.flatMap { $0.token == token ? $0.deleted : nil }
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let (start, limit) = (place, options.pushSize)
            let page = try store.read { try $0.deletions(at: token, after: start, limit: limit) }
            let deletions = page.deletions.filter { isPushed($0.type) }
            if deletions.contains(where: { held.holds($0.type) }) { return (report, false) }
            let delivery = try await deliver(operations(deletions, token))
            place = page.next
            let hasArrived = delivery.error == nil
            try await settle(
                delivery.refused, delivery.settled, hasArrived && place == nil ? end : nil,
                removal: hasArrived ? place.map { PeerPlace(token: token, deleted: $0) } : nil)
            try options.atStep(.outcomesCommitted)
            report += delivery.report
            if let error = delivery.error { throw error }
        } while place != nil
        return (report, true)
    }

    /// Continues mass deletions for a while, or one of them: all their tombstones exist once their steps are done.
    /// Returns `true` if they do.
    func finishRemovals(at token: ChangeToken? = nil) async throws -> Bool {
        let end = ContinuousClock.now + options.upkeepBudget
        while try isUnfinished(token) {
            guard ContinuousClock.now < end else { return false }
            try Task.checkCancellation()
            try await holdLease()
            // Do not wait for other upkeep, which may never end.
            guard try store.maintain(budget: .milliseconds(50)) || !isUnfinished(token) else { return false }
            // Other work waits for this thread.
            await Task.yield()
        }
        return true
    }

    private func isUnfinished(_ token: ChangeToken?) throws -> Bool {
        try store.read { txn in
            if let token { txn.isUnfinished(removalAt: token) } else { txn.hasUnfinishedRemovals }
        }
    }

    private func operations(_ deletions: [DeletedSample], _ place: ChangeToken) -> [PushOperation] {
        deletions.enumerated().map { PushOperation(sequence: UInt64($0), kind: .delete($1), place: place) }
    }
}
