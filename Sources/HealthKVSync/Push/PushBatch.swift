import HealthKV

/// Operations of a queue that are sent to the peer together.
struct PushBatch: Sendable {
    /// The operations as queued, each with the operation to send.
    var items: [(queued: PendingOperation, sent: PushOperation)] = []
    /// Operations without a sample, or of a type that the plan no longer sends.
    var idle: [PendingOperation] = []
    /// Operations that turn out to wait for access, with the type that lacks it.
    var blocked: [PendingOperation] = []
    /// Samples that the peer holds and that must be sent again under a greater number, because a member of their group
    /// arrives late.
    var completed: [SampleID] = []
    /// Types whose feeds must be read before samples that the peer may know are sent.
    var unread: Set<SampleType> = []
    /// The last place in the queue that was examined.
    var last: UInt64
    /// Whether the end of the queue was reached.
    var isAtEnd = false
    private var taken: Set<UInt64> = []
    private var groups: [GroupName: WaitingGroup] = [:]

    init(after sequence: UInt64) { last = sequence }

    var isEmpty: Bool { items.isEmpty && idle.isEmpty && blocked.isEmpty }
    /// The maximum number of operations that are parked in one commit.
    private static let blockedAtOnce = 50_000

    /// The conditions that decide which operations may be sent.
    struct Conditions: Sendable {
        var now: Instant
        var isUrgent: Bool
        var plan: SyncPlan
        /// Whether to send only types that are sent as soon as they change.
        var isOfCommit: Bool
        /// Types of which nothing may be sent yet.
        var held: Set<SampleType>
        /// Types for which the user is known not to allow writing.
        var ungranted: Set<SampleType>
        /// The feeds that were read from the peer.
        var seen: FeedsSeen
        /// Types whose feed cannot be read, and not only for a moment.
        var unreadable: Set<SampleType> = []
        /// Whether the peer takes samples unchanged, with their own versions.
        var keepsRecords: Bool
        var limit: Int
        /// The longest valid delay: a wrong clock caused a longer one.
        var longestDelay: Duration
        /// The number of the store as a writer of changes.
        var writer: UInt32
        /// The last commit when this process opened the store.
        var opened: UInt64
    }

    private struct GroupName: Hashable {
        let source: SourceIdentity
        let group: String
    }

    /// What the members of a group have in common; read once for all of them, because a group may have any number.
    private struct WaitingGroup {
        var members: [Sample] = []
        /// The types whose feeds must be read before a member is sent; `nil` until that was looked up.
        var unread: Set<SampleType>?
        /// The same for members that complete the group.
        var unreadToComplete: Set<SampleType>?
        /// Whether the waiting members are in the batch.
        var isTaken = false
        /// Whether the members that the peer holds are in ``completed``.
        var isCompleted = false
    }

    /// Collects the operations that are due after ``last``.
    mutating func collect(
        _ peer: PeerID, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws {
        let groups = try txn.pendingGroups(for: peer).filter { conditions.mayTake($0) }
        let early = try groups.filter { group in
            guard conditions.waitsWhereEarly(group) else { return true }
            let first = try txn.pending(for: peer, in: [group], limit: 1).first
            if let first, let type = group.type, first.sequence <= conditions.lastEarly, conditions.isDue(first) {
                unread.insert(type)
            }
            return false
        }
        let lastEarly = early.count == groups.count ? 0 : conditions.lastEarly
        while items.count + idle.count < conditions.limit, blocked.count < PushBatch.blockedAtOnce {
            let isEarly = last < lastEarly
            let page = try txn.pending(for: peer, in: isEarly ? early : groups, after: last, limit: 256)
            for operation in page {
                if isEarly, operation.sequence > lastEarly { break }
                last = operation.sequence
                guard conditions.isDue(operation), !taken.contains(operation.sequence) else { continue }
                try add(operation, peer, conditions, in: txn)
                if items.count + idle.count >= conditions.limit || blocked.count >= PushBatch.blockedAtOnce { return }
            }
            if isEarly, page.count < 256 || page[255].sequence > lastEarly {
                last = lastEarly
            } else if page.count < 256 {
                isAtEnd = true
                return
            }
        }
    }

    /// Adds an operation, and those of the members of its group, which are sent together.
    private mutating func add(
        _ operation: PendingOperation, _ peer: PeerID, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws {
        var (waiting, next) = ([operation], 0)
        while next < waiting.count {
            let mates = try addAlone(waiting[next], peer, conditions, in: txn)
            waiting += mates
            next += 1
        }
    }

    /// Adds an operation. Returns those of its group that are due and not in the batch yet.
    private mutating func addAlone(
        _ operation: PendingOperation, _ peer: PeerID, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws -> [PendingOperation] {
        taken.insert(operation.sequence)
        let link = try txn.link(peer: peer, sample: operation.sample)
        guard var sample = try txn.sample(id: operation.sample) else {
            guard let deleted = try txn.deletedSample(id: operation.sample), !deleted.isHidden,
                conditions.pushes(deleted.type)
            else {
                idle.append(operation)
                return []
            }
            guard !block(operation, deleted.type, conditions), conditions.allows(deleted.type) else { return [] }
            // The sent version may have had a greater number than the deleted version.
            let version =
                conditions.keepsRecords ? deleted.version : max(operation.version, link?.version ?? 0)
            let sent = PushOperation(
                sequence: operation.sequence, kind: .delete(deleted.raised(to: version)), idAtPeer: link?.idAtPeer)
            items.append((operation, sent))
            return []
        }
        guard conditions.pushes(sample.type) else {
            idle.append(operation)
            return []
        }
        guard !block(operation, sample.type, conditions), conditions.allows(sample.type) else { return [] }
        let name = sample.group.map { GroupName(source: sample.source.identity, group: $0) }
        if let name, groups[name] == nil {
            groups[name] = WaitingGroup(members: try txn.samples(group: name.group, source: name.source))
        }
        // A sample that could not be sent with its group, and may be sent now, completes the group.
        let completesGroup =
            operation.accessType != nil && operation.attempts == 0 && link == nil && !conditions.seen.isBlind
        guard try mayGo(operation, sample, name, peer, conditions, completesGroup, in: txn) else { return [] }
        if !conditions.keepsRecords { sample = sample.numbered(operation.version) }
        if sample.syncIdentifier == nil { sample.syncIdentifier = sample.id.description }
        let sent = PushOperation(
            sequence: operation.sequence, kind: .save(sample), idAtPeer: link?.idAtPeer,
            replacesUnnamed: link?.version == PeerLink.unnamed, group: name.flatMap { groups[$0]?.members } ?? [])
        items.append((operation, sent))
        guard let name else { return [] }
        if completesGroup { try complete(name, peer, conditions, in: txn) }
        return try takeMates(of: name, peer, conditions, in: txn)
    }

    /// Returns the operations of a group that are due and not in the batch yet. A second call for a group returns none.
    private mutating func takeMates(
        of name: GroupName, _ peer: PeerID, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws -> [PendingOperation] {
        guard let group = groups[name], !group.isTaken else { return [] }
        groups[name]?.isTaken = true
        var mates: [PendingOperation] = []
        for member in group.members {
            guard let waiting = try txn.pending(peer: peer, sample: member.id), conditions.isDue(waiting),
                taken.insert(waiting.sequence).inserted
            else { continue }
            mates.append(waiting)
        }
        return mates
    }

    /// Notes the members of a group that the peer holds, because one that it lacks arrives late.
    private mutating func complete(
        _ name: GroupName, _ peer: PeerID, _ conditions: Conditions, in txn: borrowing ReadTransaction
    ) throws {
        guard let group = groups[name], !group.isCompleted else { return }
        groups[name]?.isCompleted = true
        for member in group.members where conditions.allows(member.type) {
            guard !conditions.ungranted.contains(member.type), try txn.pending(peer: peer, sample: member.id) == nil,
                try txn.link(peer: peer, sample: member.id) != nil
            else { continue }
            completed.append(member.id)
        }
    }

    /// Returns `true` if a sample may be sent although the peer may know it, or another member of its group. The user
    /// may have deleted it at the peer since; only a feed that was read to its end shows that.
    ///
    /// - Parameter completesGroup: Whether the members that the peer holds are sent again with this one.
    private mutating func mayGo(
        _ operation: PendingOperation, _ sample: Sample, _ name: GroupName?, _ peer: PeerID, _ conditions: Conditions,
        _ completesGroup: Bool, in txn: borrowing ReadTransaction
    ) throws -> Bool {
        var unread: Set<SampleType> = []
        if !conditions.hasRead(sample.type), try conditions.mayBeKnown(operation, sample, peer, in: txn) {
            unread.insert(sample.type)
        }
        if let name, var group = groups[name] {
            let part = completesGroup ? \WaitingGroup.unreadToComplete : \.unread
            if group[keyPath: part] == nil {
                group[keyPath: part] = try PushBatch.unread(
                    of: group.members, peer, conditions, completesGroup, in: txn)
                groups[name] = group
            }
            unread.formUnion(group[keyPath: part] ?? [])
        }
        self.unread.formUnion(unread)
        return unread.isEmpty
    }

    /// Returns the types whose feeds must be read before a member of a group is sent.
    private static func unread(
        of members: [Sample], _ peer: PeerID, _ conditions: Conditions, _ completesGroup: Bool,
        in txn: borrowing ReadTransaction
    ) throws -> Set<SampleType> {
        var unread: Set<SampleType> = []
        for mate in members
        where conditions.pushes(mate.type) && !conditions.hasRead(mate.type) && !unread.contains(mate.type) {
            if let waiting = try txn.pending(peer: peer, sample: mate.id) {
                let isWaiting = waiting.state != .quarantined
                if try isWaiting && conditions.mayBeKnown(waiting, mate, peer, in: txn) { unread.insert(mate.type) }
            } else if completesGroup, try txn.link(peer: peer, sample: mate.id) != nil {
                // It would be sent again with the group.
                unread.insert(mate.type)
            }
        }
        return unread
    }

    /// Sets aside an operation that lacks access. Returns `true` if it lacks it.
    private mutating func block(_ operation: PendingOperation, _ type: SampleType, _ conditions: Conditions) -> Bool {
        guard conditions.ungranted.contains(type) else { return false }
        var operation = operation
        operation.waitForAccess(to: type)
        blocked.append(operation)
        return true
    }
}

extension PendingGroup {
    /// Returns `true` if any operation of the group may be due. One that was refused permanently never is, and one that
    /// waits for access has no due time.
    func isDue(at now: Instant, longest: Duration) -> Bool {
        state != .quarantined && earliest < .distantFuture && earliest.isDue(at: now, longest: longest)
    }
}

extension PushBatch.Conditions {
    /// Returns `true` if any operation of a group may be sent, or need not be kept. All other groups are skipped
    /// without being read.
    fileprivate func mayTake(_ group: PendingGroup) -> Bool {
        let mayBeUrgent = isUrgent && group.state != .quarantined && group.earliest < .distantFuture
        guard mayBeUrgent || group.isDue(at: now, longest: longestDelay) else { return false }
        guard let type = group.type else { return true }
        return !pushes(type) || allows(type)
    }

    /// Whether saves of a group that were queued before the store was opened cannot be sent after a commit: the feed of
    /// their type was not read in this pass, and they may be known. Without this, each commit would read all of them.
    /// Other passes look at each, and send deletions.
    fileprivate func waitsWhereEarly(_ group: PendingGroup) -> Bool {
        guard isOfCommit, !isUrgent, let type = group.type else { return false }
        return !hasRead(type)
    }

    /// The last place that an operation from before the opening can have in the queue.
    fileprivate var lastEarly: UInt64 { opened << 32 | UInt64(UInt32.max) }

    fileprivate func isDue(_ operation: PendingOperation) -> Bool {
        guard operation.state != .quarantined, operation.nextTry < .distantFuture else { return false }
        return isUrgent || operation.nextTry.isDue(at: now, longest: longestDelay)
    }

    /// Returns `true` if everything that the peer reports of a type is known. For a type that is only sent, its feed
    /// reports the samples that this app wrote. Records need no such check: they contain their own order.
    fileprivate func hasRead(_ type: SampleType) -> Bool { keepsRecords || !seen.isBlind && seen.read.holds(type) }

    /// Returns `true` if the peer may have had the sample: an earlier version or the operation may have been sent,
    /// another store wrote or brought the sample, or the operation was queued before the store was opened. In the last
    /// case, the file may be an older state that was put back without being noticed, and a later state may have sent
    /// the sample. Such a state may even have made the same version, if clocks do not follow the time because one was
    /// ahead.
    fileprivate func mayBeKnown(
        _ operation: PendingOperation, _ sample: Sample, _ peer: PeerID, in txn: borrowing ReadTransaction
    ) throws -> Bool {
        if operation.isSent || operation.isReceived || sample.clock.replica != writer { return true }
        if operation.sequence >> 32 <= opened || sample.clock.time > now + Instant.nanosecondsPerSecond { return true }
        // An edit of what the peer holds does not wait where nothing can be read.
        if seen.isBlind || unreadable.contains(sample.type) { return false }
        return try txn.link(peer: peer, sample: sample.id)?.isHeldThere ?? false
    }

    fileprivate func pushes(_ type: SampleType) -> Bool { plan.plan(of: type)?.pushes ?? false }

    fileprivate func allows(_ type: SampleType) -> Bool {
        guard !held.holds(type), let item = plan.plan(of: type) else { return false }
        return !isOfCommit || item.triggers.contains(.onChange)
    }
}
