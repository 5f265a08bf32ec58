import ColumnFormat
import HealthModel
import LMDB

/// Removes old tombstones, conflicts and contents of deleted samples: a step of upkeep.
enum Pruning {
    /// The time of a pruning: what the clock says, and what is believed of it.
    ///
    /// A tombstone that is removed too early lets its sample come back from a peer that was put back to an older state,
    /// and one that is removed too late costs a few bytes. So a clock that is wrong by years must stay wrong through
    /// many daily prunings before it counts.
    struct Time {
        let clock: Int64
        let believed: Int64

        /// The longest time that is believed to pass between two prunings.
        private static let longest = 30 * DurationClass.day.longest

        init(_ clock: Int64, after header: StoreHeader) {
            let (latest, overflow) = header.believedTime.addingReportingOverflow(Time.longest)
            self.clock = clock
            believed = overflow ? clock : min(clock, latest)
        }
    }

    /// Removes tombstones from before `horizon` that every registered peer has seen and that no queued deletion needs,
    /// then resolved conflicts, then old contents of deleted samples. Examines `count` of them. Returns the position to
    /// continue from; `nil` at the end.
    static func prune(
        before horizon: Int64, from position: [UInt8], count: Int, at time: Time, in txn: inout WriteTransaction
    ) throws -> [UInt8]? {
        // A peer that has acknowledged nothing holds everything back. A token inside a commit has not seen all of it.
        let peers = try txn.peers()
        let readers = peers.filter { !$0.isRetired }
        let seen =
            readers.map { peer in
                guard let token = peer.acknowledged, token.epoch == txn.state.header.epoch else { return 0 as UInt64 }
                // A peer with a queue needs only the tombstones of the deletions that wait for it.
                if peer.queue != nil { return .max }
                return token.ordinal == .max ? token.commit : token.commit &- min(1, token.commit)
            }.min() ?? .max
        // A deletion waits as long as it takes, also for a database that was not asked for half a year.
        let queues = peers.filter { $0.queue != nil }.map(\.id)
        let (old, next) = try TombstoneTable.tombstones(from: position, count: count, in: txn.snapshot) {
            // A hidden sample stays hidden for good.
            $0.time < horizon && $0.commit <= seen && $0.version != Sample.versionLimit
        }
        for (key, tombstone) in old {
            if try isNeeded(tombstone.id, by: queues, in: txn) { continue }
            try TombstoneTable.remove(tombstone, key, in: &txn)
            try ContentTable.forgetContent(of: tombstone.id, in: &txn)
            // The feed can no longer be continued from tokens before a removed deletion.
            txn.state.header.prunedCommit = max(txn.state.header.prunedCommit, tombstone.commit)
        }
        if next == nil,
            try pruneAudit(before: horizon, keeping: txn.environment.limits.auditEntries, count: count, in: &txn)
        {
            return Pruning.behindTombstones
        }
        if next == nil {
            let from = position.starts(with: Pruning.behindConflicts) ? Array(position.dropFirst(2)) : nil
            let past = time.believed &- DeletedContent.keptDays * DurationClass.day.longest
            if let place = try ContentTable.forgetContents(behind: from, before: past, count: count, in: &txn) {
                return Pruning.behindConflicts + place
            }
        }
        if next == nil {
            (txn.state.header.prunedAt, txn.state.header.believedTime) = (time.clock, time.believed)
            txn.state.isChanged = true
        }
        return next
    }

    /// Returns `true` if an operation of the sample waits for any of the peers, or if one of them holds the sample and
    /// is not to delete it: it may show the sample again at any time.
    private static func isNeeded(_ sample: SampleID, by peers: [PeerID], in txn: borrowing WriteTransaction) throws
        -> Bool
    {
        for peer in peers {
            if try QueueTable.place(of: sample, in: peer, in: txn.snapshot) != nil { return true }
            if try txn.link(peer: peer, sample: sample)?.isHeldThere == true { return true }
        }
        return false
    }

    /// The position after all tombstones: none has a key from here on.
    private static let behindTombstones: [UInt8] = [.max]

    /// The prefix of positions among the contents of deleted samples.
    private static let behindConflicts: [UInt8] = [.max, .max]

    /// Removes resolved conflicts from before `horizon`, and the oldest ones beyond `limit`: at most `count`. Returns
    /// `true` if more remain to be removed.
    private static func pruneAudit(
        before horizon: Int64, keeping limit: Int, count: Int, in txn: inout WriteTransaction
    ) throws -> Bool {
        let surplus = try txn.snapshot.view.count(txn.context.tables[.audit]) - limit
        // Conflicts are stored in the order in which they were resolved. A damaged one stays, and does not block other
        // work.
        var oldest: [AuditEntry] = []
        do {
            oldest = try PeerTables.records(limit: max(1, count), as: AuditEntry.self, in: txn.snapshot)
        } catch  where StoreError.isDamage(error) {}
        var removed = 0
        for entry in oldest where removed < surplus || entry.time.nanoseconds < horizon {
            try txn.removeAudit(entry)
            removed += 1
        }
        return removed == max(1, count)
    }
}
