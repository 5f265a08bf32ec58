import ColumnFormat
import HealthModel
import LMDB

extension StoreCore {
    /// Does one step of unfinished work; answers true when more remains. Runs on the writing thread.
    func maintainStep() throws -> Bool {
        guard case .more = try maintainStep(waits: false) else { return false }
        return true
    }

    /// Does one step of unfinished work, and answers whether more remains.
    ///
    /// - Parameter waits: leaves for later what is better done when nothing is written.
    func maintainStep(waits: Bool) throws -> WriterThread.IdleWork {
        guard !isPoisoned.load(ordering: .acquiring) else { return .none }
        let header = try read { $0.context.header }
        if header.intents > 0 {
            // What a mass operation takes away has its links written out: they are not to grow to as many as there
            // were.
            do { _ = try packingStep() } catch  where StoreError.isFull(error) {}
            try advanceIntent()
            return .more
        }
        if try pruneStep(header) { return .more }
        if try condenseStep() { return .more }
        do {
            return try addingStep(header, waits: waits)
        } catch let error as StoreError where error.code == .full {
            // What is left of the room is for deletions.
            return .none
        }
    }

    /// Carries the oldest mass operation on: in smaller steps where what is left of the room is too little for a whole one.
    private func advanceIntent() throws {
        var chunks = options.limits.chunksPerStep
        while true {
            do {
                try transact { [chunks] in try $0.advanceFirstIntent(chunks: chunks) }
                return
            } catch  where chunks > 1 && StoreError.isFull(error) {
                chunks /= 2
            }
        }
    }

    /// A step of work that may make the file larger.
    private func addingStep(_ header: StoreHeader, waits: Bool) throws -> WriterThread.IdleWork {
        if header.recentEntries > options.limits.recentEntries {
            try transact { transaction in
                try transaction.checkRoom()
                try transaction.foldRecentEntries()
            }
            return .more
        }
        if try packingStep() { return .more }
        if try mergeStep(waits: waits) { return .more }
        return try summaryStep(waits: waits)
    }

    /// Packs links of a peer; returns `false` where none are to be packed. Links that are damaged stay as they are,
    /// and keep no other work from being done.
    private func packingStep() throws -> Bool {
        guard !hasDamagedLinks.load(ordering: .relaxed) else { return false }
        do {
            guard let peer = try read({ [limits = options.limits] in try $0.snapshot.peerToPack(limits) }) else {
                return false
            }
            try transact { transaction in
                try transaction.checkRoom()
                try transaction.packLinks(of: peer)
            }
            return true
        } catch  where StoreError.isDamage(error) {
            hasDamagedLinks.store(true, ordering: .relaxed)
            return false
        }
    }

    /// Merges the runs of a partition of the identity index, or of some where nobody waits; answers false when there is nothing
    /// to merge.
    private func mergeStep(waits: Bool) throws -> Bool {
        guard mayHaveRuns.load(ordering: .relaxed) else { return false }
        guard try read({ try $0.snapshot.allPartitions().contains { $0.firstRunToMerge != nil } }) else {
            mayHaveRuns.store(false, ordering: .relaxed)
            return false
        }
        try transact { [limits = options.limits] transaction in
            try transaction.checkRoom()
            var left = waits ? 1 : limits.mergedEntriesAtOnce
            for partition in try transaction.snapshot.allPartitions() where partition.firstRunToMerge != nil {
                try transaction.mergeRuns(at: partition.lower)
                if partition.entries >= left { return }
                left -= partition.entries
            }
        }
        return true
    }

    /// A clock that is farther ahead of the newest change is not believed when it says that tombstones are old: what is forgotten
    /// too early comes back from peers, and what is forgotten too late costs some bytes. The next change is stamped by the same
    /// clock, so a store that was only left alone goes on with it.
    private static let believedDays: Int64 = 90

    /// Forgets tombstones that are old enough and that every peer has seen, and conflicts that were resolved long ago: once a
    /// day.
    private func pruneStep(_ header: StoreHeader) throws -> Bool {
        let now = options.clock().nanoseconds
        let day = DurationClass.day.longest
        let position = pruning.withLock { $0 }
        // A time of pruning that lies ahead was written by a clock that was wrong.
        guard position != nil || now < header.prunedAt || now &- header.prunedAt > day else { return false }
        let newest = try read { try $0.snapshot.newestChangeTime() }
        if let newest, now > newest, UInt64(bitPattern: now &- newest) > UInt64(StoreCore.believedDays * day) {
            return false
        }
        let (kept, overflow) = Int64(max(0, options.tombstoneDays)).multipliedReportingOverflow(by: day)
        let horizon = (Instant(nanoseconds: now) - (overflow ? .max : kept)).nanoseconds
        var next: [UInt8]?
        try transact { transaction in
            next = try transaction.prune(
                before: horizon, from: position ?? [], count: options.limits.tombstonesPerStep, now: now)
        }
        pruning.withLock { $0 = next }
        return next != nil
    }
}

extension WriteTransaction {
    /// Carries the oldest mass operation on.
    mutating func advanceFirstIntent(chunks: Int) throws {
        guard var intent = context.intents.first else {
            state.header.intents = 0
            state.isChanged = true
            return
        }
        if try advance(&intent, chunks: chunks) {
            try remove(.upkeep, intent.key)
            context.intents.removeFirst()
            state.header.intents -= min(1, state.header.intents)
        } else {
            try put(.upkeep, intent.key, intent.value(commit: commit))
            context.intents[0] = intent
        }
        syncHeader()
    }

    /// Forgets tombstones from before `horizon` that every registered peer has seen and no deletion in a queue needs, then resolved conflicts. Looks at `count` of
    /// them, and answers where to go on; `nil` at the end.
    mutating func prune(before horizon: Int64, from position: [UInt8], count: Int, now: Int64) throws -> [UInt8]? {
        // A peer that has acknowledged nothing holds everything back.
        // A token inside a commit has not seen all of it.
        let readers = try peers().filter { !$0.isRetired }
        let seen =
            readers.map { peer in
                guard let token = peer.acknowledged, token.epoch == state.header.epoch else { return 0 as UInt64 }
                // One with a queue needs no tombstones but those of the deletions that wait for it.
                if peer.queue != nil { return .max }
                return token.ordinal == .max ? token.commit : token.commit &- min(1, token.commit)
            }.min() ?? .max
        let queues = readers.filter { $0.queue != nil }.map(\.name)
        let (old, next) = try snapshot.tombstones(from: position, count: count) {
            // A hidden sample stays hidden for good.
            $0.time < horizon && $0.commit <= seen && $0.version != Sample.versionLimit
        }
        for (key, tombstone) in old {
            if try isAwaited(tombstone.id, by: queues) { continue }
            try remove(tombstone, key)
            try forgetContent(of: tombstone.id)
            // Tokens from before a forgotten deletion can no longer be continued.
            state.header.prunedCommit = max(state.header.prunedCommit, tombstone.commit)
        }
        if next == nil, try pruneAudit(before: horizon, keeping: environment.limits.auditEntries, count: count) {
            syncHeader()
            return WriteTransaction.behindTombstones
        }
        if next == nil {
            let from = position.starts(with: WriteTransaction.behindConflicts) ? Array(position.dropFirst(2)) : nil
            let past = now &- DeletedContent.keptDays * DurationClass.day.longest
            if let place = try forgetContents(behind: from, before: past, count: count) {
                syncHeader()
                return WriteTransaction.behindConflicts + place
            }
        }
        if next == nil {
            state.header.prunedAt = now
            state.isChanged = true
        }
        syncHeader()
        return next
    }

    /// Whether an operation of a sample waits for any of some peers.
    private func isAwaited(_ sample: SampleID, by peers: [String]) throws -> Bool {
        for peer in peers where try snapshot.place(of: sample, in: peer) != nil { return true }
        return false
    }

    /// No tombstone has a key from here on.
    private static let behindTombstones: [UInt8] = [.max]
    /// Before the place among the contents of deleted samples.
    private static let behindConflicts: [UInt8] = [.max, .max]

    /// Forgets resolved conflicts from before `horizon`, and the oldest of more than `limit`: at most `count`. Answers whether
    /// more are to go.
    private mutating func pruneAudit(before horizon: Int64, keeping limit: Int, count: Int) throws -> Bool {
        let surplus = try snapshot.view.statistics(context.tables[.audit]).entries - limit
        // They stand in the order in which they were resolved. One that is damaged stays, and keeps no other work from being done.
        var oldest: [AuditEntry] = []
        do {
            oldest = try snapshot.records(limit: max(1, count), as: AuditEntry.self)
        } catch  where StoreError.isDamage(error) {}
        var removed = 0
        for entry in oldest where removed < surplus || entry.time.nanoseconds < horizon {
            try removeAudit(entry)
            removed += 1
        }
        return removed == max(1, count)
    }
}

extension Snapshot {
    /// When the newest change was committed, by the clock of that time; `nil` when there was none.
    fileprivate func newestChangeTime() throws -> Int64? {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.last() else { return nil }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).time
    }

    /// Rows of tombstones that fulfil a condition, among `count` from a key on, and the key behind them.
    fileprivate func tombstones(
        from position: [UInt8], count: Int, _ matches: (Tombstone) -> Bool
    ) throws -> ([([UInt8], Tombstone)], [UInt8]?) {
        var tombstones: [([UInt8], Tombstone)] = []
        var left = count
        var cursor = try view.cursor(tables[.tombstones])
        var found = try cursor.seek(position)
        while found {
            let key = cursor.key.copied()
            if left == 0 { return (tombstones, key) }
            left -= 1
            let tombstone = try Tombstone(cursor.value, key: key)
            if matches(tombstone) { tombstones.append((key, tombstone)) }
            found = try cursor.next()
        }
        return (tombstones, nil)
    }
}

extension SampleStore {
    /// Does unfinished work (mass operations, the identity index, summaries, old tombstones) for about `budget`, in small commits.
    /// Answers whether any remains.
    @discardableResult
    public func maintain(budget: Duration = .seconds(1)) throws -> Bool {
        try checkWritable()
        let deadline = ContinuousClock.now + budget
        while ContinuousClock.now < deadline {
            if try !core.onWriter({ [core] in try core.maintainStep() }) { return false }
        }
        return true
    }
}
