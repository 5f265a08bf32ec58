import HealthKV

/// Tells when there is work to do.
struct Schedule: SessionJob {
    let core: SessionCore

    /// How many operations of a queue are examined to find the next due time. If there are more, the slow retry
    /// follows.
    static let lookedAt = 1_024

    /// Returns `true` if a commit brought anything for this peer.
    func isPushDue() throws -> Bool {
        let (name, now, followsFeed) = (name, now, peer.keepsRecords)
        let longest = options.longestDelay
        guard plan.pushesOnChange, try core.lease.foreignEnd() == nil else { return false }
        // Where a type is held, a place that is lost stays lost until it is not: each pass would end in a commit that
        // begins the next one.
        let isAnyHeld = try followsFeed && !heldTypes().isEmpty
        return try store.read { txn in
            let state = try txn.state(of: name)
            guard state.isEnabled, state.nextTry.map({ $0.isDue(at: now, longest: longest) }) ?? true
            else { return false }
            if followsFeed, try txn.hasUnseenChanges(of: name, ifLost: !isAnyHeld) { return true }
            return try txn.pendingGroups(for: name).contains { $0.isDue(at: now, longest: longest) }
        }
    }

    func isHourDue() throws -> Bool {
        guard let last = try state().lastHourly else { return true }
        return last.hasPassed(.seconds(3_600), at: now)
    }

    /// Returns when work is next retried by itself; `nil` for never.
    func nextDue() throws -> Instant? {
        let (name, now, followsFeed) = (name, now, peer.keepsRecords)
        let (plan, slow, feeds) = (plan, options.slowDelay, feeds)
        let (longest, compared) = (options.longestDelay, peer.hidesUnreadable ? try enumeratedTypes() : [])
        let foreign = try core.lease.foreignEnd()
        let postponed = core.postponed.withLock { $0 }
        let due: Instant? = try store.read { txn in
            let state = try txn.state(of: name)
            guard state.isEnabled else { return nil }
            // A pass that failed as a whole is retried as a whole.
            if let next = state.nextTry { return next.due(at: now, longest: longest) }
            var times = plan.types.keys.compactMap { state[$0].pulls.failure?.nextTry }
            times += feeds.compactMap { state[$0].unacknowledged?.nextTry }
            times += compared.compactMap { state[$0].checkDue }
            times = times.map { $0.due(at: now, longest: longest) }
            if postponed != nil { times.append(now) }
            if !plan.types(with: .hourly).isEmpty {
                let last = state.lastHourly ?? now
                times.append(last.hasPassed(.seconds(3_600), at: now) ? now : last + .seconds(3_600))
            }
            let groups = try txn.pendingGroups(for: name).filter { $0.state != .quarantined }
            // Operations that wait for access have no due time.
            let earliest = groups.map(\.earliest).filter { $0 < .distantFuture }
            times += earliest.map { $0.due(at: now, longest: longest) }.filter { $0 > now }
            // A due operation that was not sent is held back and has no due time; others in its group may have one.
            let held = groups.filter { $0.isDue(at: now, longest: longest) }
            let queued = try txn.pending(for: name, in: held, limit: Schedule.lookedAt)
            let waiting = queued.map(\.nextTry).filter { $0 < .distantFuture }.map { $0.due(at: now, longest: longest) }
            times += waiting.filter { $0 > now }
            if queued.count == Schedule.lookedAt { times.append(now + slow) }
            // No signal tells when the device is unlocked, and what may have arrived is not sent before.
            if !held.isEmpty, state.availability == .locked { times.append(now + slow) }
            // The holder of the lease does the work. If it ends without releasing the lease, this engine continues.
            if let foreign {
                let isWaiting = !held.isEmpty
                if try isWaiting || followsFeed && txn.hasUnseenChanges(of: name) { times.append(foreign) }
            }
            return times.min()
        }
        return due.map { max($0, foreign ?? $0, postponed?.until.due(at: now, longest: longest) ?? $0) }
    }
}

extension SessionJob {
    var schedule: Schedule { Schedule(core: core) }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if a peer that follows the feed has not seen all of it; `ifLost` where its place is not known.
    fileprivate func hasUnseenChanges(of peer: PeerID, ifLost: Bool = true) throws -> Bool {
        guard let seen = try self.peer(peer)?.sent?.place else { return ifLost }
        guard let page = try? changes(since: seen, limit: 1) else { return ifLost }
        return !page.changes.isEmpty
    }
}
