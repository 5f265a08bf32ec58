#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Registers a peer, or updates its registration. Throws for a misspelled type in its queue's rule.
    public mutating func setPeer(_ peer: RegisteredPeer) throws {
        for type in peer.queue?.types ?? [] { try type.validate() }
        state.queues = nil
        try PeerTables.put(peer, PeerKey.peer(peer.id, state.header.hashKey), in: &self)
    }

    /// Removes a peer with its anchors, links, queue and daily totals. Samples stay.
    public mutating func removePeer(_ name: PeerID) throws {
        let hashKey = state.header.hashKey
        state.queues = nil
        try PeerTables.forget(PeerKey.peer(name, hashKey), as: RegisteredPeer.self, in: &self)
        for anchor in try anchors(of: name) { try removeAnchor(peer: name, type: anchor.type, scope: anchor.scope) }
        for operation in try pending(for: name) { try removePending(operation) }
        try LinkTable.removeLinks(of: name, in: &self)
        try PeerTotalsTable.removeTotals(peer: name, in: &self)
        // Otherwise the next reader of that name would be mistaken for this one.
        try setSyncNote("reader:\(name)", nil)
    }

    /// Records that a peer has read the changes of this store up to a token. A retired peer stays retired: the store no
    /// longer has all changes that the peer missed, so the sync engine first brings it up to date and then calls
    /// `endRetirement(of:)`.
    public mutating func acknowledge(peer name: PeerID, _ token: ChangeToken) throws {
        try move(\.read, of: name, to: token)
    }

    /// Records that the engine has sent a peer the changes of this store up to a token, or their places in its queue.
    package mutating func markSent(to name: PeerID, upTo token: ChangeToken) throws {
        try move(\.sent, of: name, to: token)
    }

    private mutating func move(
        _ mark: WritableKeyPath<RegisteredPeer, FeedMark?>, of name: PeerID, to token: ChangeToken
    ) throws {
        guard try ChangeLog.fit(of: token, in: snapshot) == .fits else {
            throw StoreError(
                .tokenExpired, path: environment.path, "This store did not issue the acknowledged token")
        }
        let now = environment.now()
        var peer = try peer(name) ?? RegisteredPeer(id: name, registered: now, lastSeen: now)
        peer.lastSeen = now
        peer.move(mark, to: token.greatest(with: peer[keyPath: mark]?.place), at: now)
        try setPeer(peer)
    }

    /// Records that a peer is present, and keeps tombstones for it again if it was retired. Returns `false` if it is
    /// not registered.
    @discardableResult
    package mutating func endRetirement(of name: PeerID) throws -> Bool {
        guard var peer = try peer(name) else { return false }
        peer.lastSeen = environment.now()
        peer.isRetired = false
        try setPeer(peer)
        return true
    }

    /// Sets the anchor of a peer's feed. Call it in the transaction that stores the data up to that place.
    /// Throws for a misspelled type.
    package mutating func setAnchor(_ anchor: Anchor) throws {
        try anchor.type.validate()
        let type = try NameTable.number(of: anchor.type, in: &self)
        try PeerTables.put(anchor, PeerKey.anchor(anchor.peer, type, anchor.scope, state.header.hashKey), in: &self)
    }

    /// Removes the anchor of a feed, so that the next pull starts at the beginning.
    package mutating func removeAnchor(peer: PeerID, type: SampleType, scope: String = "") throws {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return }
        try PeerTables.forget(PeerKey.anchor(peer, number, scope, state.header.hashKey), as: Anchor.self, in: &self)
    }

    /// Adds a resolved conflict to the audit record.
    ///
    /// - Parameters:
    ///   - event: the event, as a stable name.
    ///   - sample: the id of the sample of the conflict.
    ///   - displaced: the displaced sample, in a form that the caller chooses.
    ///   - time: the time at which it was resolved; by default now.
    package mutating func appendAudit(
        event: String, sample: SampleID, displaced: [UInt8] = [], time: Instant? = nil
    ) throws {
        let entry = AuditEntry(
            commit: commit, ordinal: state.takeOrdinal(), time: time ?? environment.now(), event: event, sample: sample,
            displaced: displaced)
        try PeerTables.put(entry, PeerKey.audit(entry.commit, entry.ordinal), in: &self)
    }

    /// Removes a conflict from the audit record, after it was reviewed or restored.
    package mutating func removeAudit(_ entry: AuditEntry) throws {
        try PeerTables.forget(PeerKey.audit(entry.commit, entry.ordinal), as: AuditEntry.self, in: &self)
    }

    /// Stores a peer's total of a day. A newer reading replaces an older one, except an incomplete over a complete one,
    /// or one without a value over one with a value. Returns `true` if this total was stored. Throws for a day on which
    /// there can be no sample and for an unknown zone.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.setTotal(
    ///         DailyTotal(
    ///             peer: "health", type: .stepCount, day: "2026-03-01", zone: "Europe/Berlin",
    ///             value: 8_112, unit: .count,
    ///             isComplete: true, time: now))
    /// }
    /// ```
    @discardableResult
    public mutating func setTotal(_ total: DailyTotal) throws -> Bool {
        try total.validate()
        let day = try LocalDay.number(total.day, field: "day")
        try checkRoom()
        // What a clock that was ahead has stored gives way to what is read now.
        let now = environment.now()
        return try whole { transaction in
            let number = try NameTable.number(of: total.type, in: &transaction)
            let key = PeerTotalsTable.key(total.peer, number, day, transaction.state.header.hashKey)
            if let older = try PeerTables.record(key, as: DailyTotal.self, in: transaction.snapshot),
                !total.replaces(older), total.time > now || older.time <= now
            {
                return false
            }
            let value = StoredSync(total, key: SyncKey(key), stamp: transaction.stamp).recordBytes
            try transaction.put(.totals, key, value)
            return true
        }
    }

    /// Removes the totals of a type from a peer, as when it is disconnected.
    public mutating func removeTotals(of type: SampleType, peer: PeerID) throws {
        let kept = try totals(of: type, peer: peer)
        guard let number = try NameTable.number(of: type, in: snapshot) else { return }
        for total in kept {
            guard let day = CivilTime.day(total.day) else { continue }
            try remove(.totals, PeerTotalsTable.key(peer, number, day, state.header.hashKey))
        }
    }

    /// Notes that a peer has just been sent a sample: its totals of the sample's days were read before that.
    package mutating func doubtTotals(of sample: Sample, peer: PeerID) throws {
        guard let type = try NameTable.number(of: sample.type, in: snapshot) else { return }
        try PeerTotalsTable.doubt(
            peer, type, from: sample.start.nanoseconds, to: sample.isOpenEnded ? .max : sample.end.nanoseconds,
            in: &self)
    }

    /// Removes a peer's total of a day.
    package mutating func removeTotal(of type: SampleType, peer: PeerID, day: String) throws {
        guard try total(of: type, peer: peer, day: day) != nil, let day = CivilTime.day(day),
            let number = try NameTable.number(of: type, in: snapshot)
        else { return }
        try remove(.totals, PeerTotalsTable.key(peer, number, day, state.header.hashKey))
    }

    /// Sets the link of a sample. Replaces any earlier link of that sample or of that id of the peer.
    package mutating func setLink(_ link: PeerLink) throws {
        let bySample = try self.link(peer: link.peer, sample: link.sample)
        if bySample == link { return }
        if let older = bySample, older.idAtPeer != link.idAtPeer { try removeLink(older) }
        if let older = try self.link(peer: link.peer, idAtPeer: link.idAtPeer), older.sample != link.sample {
            try removeLink(older)
        }
        try LinkTable.putRecent(link, PeerKey.peer(link.peer, state.header.hashKey), in: &self)
    }

    /// Removes a link in both directions.
    package mutating func removeLink(_ link: PeerLink) throws {
        guard let held = try self.link(peer: link.peer, sample: link.sample) else { return }
        let peer = PeerKey.peer(link.peer, state.header.hashKey)
        try PeerTables.forget(LinkKey.recent(peer, .bySample, held.sample), as: RecentLink.self, in: &self)
        try LinkTable.forgetRecent(held, peer, in: &self)
    }

    /// Runs `body` so that its changes count as received from a peer: they are queued for all other peers, but not for
    /// that one. A peer that follows the feed counts as having seen them, unless there are earlier changes that it has
    /// not seen, or an edit that one side holds and an import that the other holds were combined.
    package mutating func receiving<Result>(
        from peer: PeerID, _ body: (inout WriteTransaction) throws -> Result
    ) throws -> Result {
        let outer = environment.sender
        environment.sender = peer
        defer { environment.sender = outer }
        let known = try self.peer(peer)
        let follower = known?.queue == nil ? known : nil
        let hasRead = try PeerQueues.hasPassedAll(follower?.read, in: self)
        let wasSent = try PeerQueues.hasPassedAll(follower?.sent, in: self)
        let before = state.ordinal
        let hadCombined = state.hasCombined
        state.hasCombined = false
        defer { if hadCombined { state.hasCombined = true } }
        let result = try body(&self)
        // Without a change there is nothing to acknowledge, and the commit may get no mark.
        if hasRead || wasSent, !state.hasCombined, state.ordinal > before, state.hasChanges {
            let here = ChangeToken(
                store: state.header.storeID, epoch: state.header.epoch, commit: commit,
                ordinal: state.ordinal - 1, mark: state.mark)
            if hasRead { try acknowledge(peer: peer, here) }
            if wasSent { try markSent(to: peer, upTo: here) }
        }
        return result
    }

    /// Appends an operation for a health database to its queue, replacing any operation of the same sample. `version`
    /// and `clock` are those of the sample or of its deletion. The number of the operation is above `floor`, above the
    /// number that the peer is known to hold, and above any number already sent.
    @discardableResult
    package mutating func enqueue(
        _ kind: PendingOperation.Kind, of sample: SampleID, version: Int64, _ clock: ChangeClock, for peer: PeerID,
        above floor: Int64 = 0
    ) throws -> PendingOperation {
        let number = try PeerQueues.nextNumber(
            kind, of: sample, version: version, clock, for: peer, above: floor, in: &self)
        return try enqueue(PendingOperation(peer: peer, kind: kind, sample: sample, version: number))
    }

    /// Appends an operation to its peer's queue, replacing any operation of the same sample, and assigns its place. A
    /// place is never assigned twice, so that information about a finished operation cannot apply to another one.
    ///
    /// - Parameters:
    ///   - operation: the operation to append; its ``PendingOperation/sequence`` is ignored.
    ///   - type: the type of the sample; if omitted, the store looks it up.
    @discardableResult
    public mutating func enqueue(_ operation: PendingOperation, of type: SampleType? = nil) throws -> PendingOperation {
        if let type {
            try type.validate()
            return try QueueTable.enqueue(operation, type: NameTable.number(of: type, in: &self), in: &self)
        }
        return try QueueTable.enqueue(
            operation, type: QueueTable.typeNumber(of: operation.sample, in: snapshot), in: &self)
    }

    /// Stores attempts, next try, state and reason of a queued operation. Does nothing if the operation is no longer
    /// queued.
    package mutating func updatePending(_ operation: PendingOperation) throws {
        guard let place = try QueueTable.place(of: operation.sample, in: operation.peer, in: snapshot),
            place.sequence == operation.sequence,
            let section = try QueueTable.directory(of: operation.peer, in: snapshot)[place.section]
        else { return }
        try QueueTable.remove(place, in: &self)
        try QueueTable.insert(operation, section.type, in: &self)
    }

    /// Removes an operation from its queue, because it is done or abandoned.
    package mutating func removePending(_ operation: PendingOperation) throws {
        guard let place = try QueueTable.place(of: operation.sample, in: operation.peer, in: snapshot),
            place.sequence == operation.sequence
        else { return }
        try QueueTable.remove(place, in: &self)
    }

    /// Makes the times exact before which no operation of a peer's queue is due. These times are never too late, but in
    /// long sections they become too early when the operations that determined them are done.
    package mutating func settleNextTries(of peer: PeerID, at now: Instant) throws {
        for section in try QueueTable.directory(of: peer, in: snapshot).sections
        where section.state != .quarantined && section.earliest <= now {
            try QueueTable.raiseEarliest(of: peer, section.number, to: now, in: &self)
        }
    }

    /// Turns the store into another replica in a new epoch, because it was found to be a copy, or an older state of a
    /// store that has continued since. Change tokens from before are refused, and peers are asked for everything again
    /// (SEMANTICS C28).
    package mutating func beginEpoch(keepingAnchors: Bool = false) throws {
        for anchor in keepingAnchors ? [] : try anchors() {
            try removeAnchor(peer: anchor.peer, type: anchor.type, scope: anchor.scope)
        }
        state.header.beginEpoch(at: environment.now(), drawing: environment.limits.draw)
        state.isChanged = true
    }

    /// Sets the note of a name; `nil` removes it.
    package mutating func setSyncNote(_ name: String, _ bytes: [UInt8]?) throws {
        let (key, former) = (SyncNote.key(name, state.header.hashKey), SyncNote.formerKey(name))
        if try lmdb.view.contains(context.tables[.meta], former) { try remove(.meta, former) }
        guard let bytes else {
            try remove(.meta, key)
            return
        }
        try put(.meta, key, SyncNote.value(name, bytes, key: key, stamp: stamp))
    }
}
