import HealthKV

/// Own samples that a peer without records gives back: as the echo of a push, as an edit that the same app made on
/// another device, or as the remainder of an earlier installation (SEMANTICS C21, C25).
extension PageApplier {
    mutating func applyOwn(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        noteDays([addition.sample])
        let record = OwnRecord(addition, now: now)
        if let held = try held(record, in: &txn) {
            try meet(record, held, in: &txn)
        } else if let deleted = try buried(record, in: &txn) {
            try meet(record, deleted, in: &txn)
        } else {
            try adopt(record, in: &txn)
        }
    }

    /// Returns the live sample that the peer's sample is a version of. Finds it by its last known UUID, by its sync
    /// identifier, or by the metadata key of samples from before there were sync identifiers.
    private func held(_ record: OwnRecord, in txn: inout WriteTransaction) throws -> Sample? {
        if let link = try txn.link(peer: peer, idAtPeer: record.idAtPeer), let sample = try txn.sample(id: link.sample)
        {
            return sample
        }
        let pulled = record.sample
        if let text = pulled.syncIdentifier {
            return try txn.authored(text, pulled.type, by: ownSource)
        }
        if let sample = try txn.sample(id: record.idAtPeer), sample.origin == .authored { return sample }
        guard let key = plan.adoptionKey, let value = pulled.metadata[key] else { return nil }
        return try txn.samples(metadataKey: key, values: [value], types: [pulled.type]).first {
            $0.origin == .authored && pulled.isSameMeasurement(as: $0)
        }
    }

    private func buried(_ record: OwnRecord, in txn: inout WriteTransaction) throws -> DeletedSample? {
        if let text = record.sample.syncIdentifier {
            if let id = SampleID(text), let deleted = try txn.deletedSample(id: id) { return deleted }
            if let deleted = try txn.deletedSample(syncIdentifier: text, type: record.sample.type, source: ownSource) {
                return deleted
            }
            if let deleted = try buriedUnseen(record, text, in: &txn) { return deleted }
        }
        // Another store may have deleted the sample under its own id for it.
        if let link = try txn.link(peer: peer, idAtPeer: record.idAtPeer),
            let deleted = try txn.deletedSample(id: link.sample)
        {
            return deleted
        }
        return try txn.deletedSample(id: record.idAtPeer)
    }

    /// Returns the tombstone of a deletion that the peer reported before it showed a version that the deletion covers:
    /// the deletion was this app's.
    private func buriedUnseen(
        _ record: OwnRecord, _ text: String, in txn: inout WriteTransaction
    ) throws -> DeletedSample? {
        guard let id = SampleID(text), let number = try txn.link(peer: peer, sample: id)?.deletedNumber,
            PeerNumber.covers(number, record.number)
        else { return nil }
        let unseen = DeletedSample(
            id: id, type: record.sample.type, source: ownSource, syncIdentifier: text, version: 0,
            modified: record.sample.clock, start: record.sample.start, end: record.sample.end)
        try txn.raise(unseen, to: PeerNumber.slot(of: number))
        return try txn.deletedSample(id: id)
    }

    /// Merges the app's version of a sample with the peer's. The greater version in the order of stores wins (SEMANTICS
    /// C1), whatever their numbers at the peer. If ours wins, it is sent again under a number above the peer's.
    private mutating func meet(_ shown: OwnRecord, _ held: Sample, in txn: inout WriteTransaction) throws {
        let record = shown.keepingUnknownParts(of: held)
        let link = try txn.link(peer: peer, sample: held.id)
        let waiting = try txn.pending(peer: peer, sample: held.id)
        report.unchanged += 1
        // What is sent in place of a sample without a sync identifier has arrived, and that sample is still to be
        // deleted: the operation that does so finds it by the link.
        let isReplacing = link?.version == PeerLink.unnamed && link?.idAtPeer != record.idAtPeer
        if !(isReplacing && waiting?.isSent == true && record.isSame(as: held)) {
            try setLink(held.id, record, in: &txn)
        }
        if link == nil { report.adopted += 1 }
        if record.isSame(as: held) {
            if let waiting, isMadeTwice(record, held, waiting) {
                return try raise(held, above: record, in: &txn)
            }
            // The peer already holds this version: do not send it again.
            return try dropUnsent(waiting, in: &txn)
        }
        if record.isStamped {
            if record.isNewer(than: held) { return try takeOver(record, held, waiting, in: &txn) }
        } else if let known = [link?.version, waiting?.version].compactMap(\.self).max() {
            if record.number > known { return try takeOver(record.following(held), held, waiting, in: &txn) }
            // Without a stamp, an unchanged number means that nothing is new.
            if record.number == link?.version { return }
        } else if record.isNewer(than: held) {
            return try takeOver(record, held, waiting, in: &txn)
        }
        let isSameContent = stored(record.sample).isSameContent(as: stored(held))
        if isSameContent, record.sample.version == held.version { return try dropUnsent(waiting, in: &txn) }
        // Two devices made the same version; keep the one that loses.
        if !isSameContent, record.sample.version == held.version {
            try txn.appendAudit(.editKept, record.sample)
            report.conflicts += 1
        }
        guard plan.plan(of: held.type)?.pushes ?? false else { return }
        if let waiting, waiting.version > record.number { return }
        try txn.enqueue(.save, of: held.id, version: held.version, held.clock, for: peer, above: record.number)
    }

    /// Returns `true` if this store made the waiting version twice. Its file was rolled back by a copy that nobody
    /// noticed, and its clock was ahead, so it gave both nearly the same time. The peer shows the first, and the user
    /// saw the second last. A version that another store brought was not made here.
    private func isMadeTwice(_ record: OwnRecord, _ held: Sample, _ waiting: PendingOperation) -> Bool {
        waiting.kind == .save && !waiting.isReceived && !stored(record.sample).isSameContent(as: stored(held))
    }

    /// Makes the store's content the next version, and sends it.
    private mutating func raise(_ held: Sample, above record: OwnRecord, in txn: inout WriteTransaction) throws {
        try txn.appendAudit(.editReplaced, record.sample)
        var raised = held
        (raised.version, raised.modified) = (Sample.version(after: held.version), nil)
        try txn.merge(raised)
        let clock = try txn.sample(id: held.id)?.clock ?? held.clock
        try txn.enqueue(.save, of: held.id, version: raised.version, clock, for: peer, above: record.number)
        report.conflicts += 1
    }

    private func dropUnsent(_ waiting: PendingOperation?, in txn: inout WriteTransaction) throws {
        if let waiting, waiting.kind == .save, !waiting.isSent { try txn.removePending(waiting) }
    }

    /// Takes over a greater version that the same app made elsewhere.
    private mutating func takeOver(
        _ record: OwnRecord, _ held: Sample, _ waiting: PendingOperation?, in txn: inout WriteTransaction
    ) throws {
        let brought = record.merging(over: held.modified)
        let (shown, known) = (stored(brought), stored(held))
        let isNews = !shown.isSameContent(as: known)
        if isNews, waiting != nil || brought.version == held.version {
            try txn.appendAudit(.editReplaced, held)
            report.conflicts += 1
        }
        if let waiting { try txn.removePending(waiting) }
        noteDays([held])
        var sample = held
        (sample.version, sample.modified) = (brought.version, brought.modified)
        if isNews {
            (sample.start, sample.end) = (brought.start, brought.end)
            let unit = held.quantity.unit
            let value = try? brought.quantity.value(in: unit)
            sample.quantity = value.map { Quantity($0, unit) } ?? brought.quantity
            // A field that the peer does not keep is equal in both and stays unchanged.
            func take<Part: Equatable>(_ part: WritableKeyPath<Sample, Part>) {
                if shown[keyPath: part] != known[keyPath: part] { sample[keyPath: part] = brought[keyPath: part] }
            }
            take(\.metadata)
            take(\.isUserEntered)
            take(\.timeZone)
            take(\.group)
            take(\.device)
            take(\.count)
            sample.workout = brought.workout?.withTotals(of: held.workout) ?? held.workout
            sample.route = brought.route ?? held.route
        }
        try txn.merge(sample)
        report.unchanged -= 1
        report.imported += 1
    }

    /// Handles a sample that the peer shows although it is deleted here: either the peer must delete it too, or it was
    /// saved again with a greater version.
    private mutating func meet(
        _ record: OwnRecord, _ deleted: DeletedSample, in txn: inout WriteTransaction
    ) throws {
        let link = try txn.link(peer: peer, sample: deleted.id)
        let waiting = try txn.pending(peer: peer, sample: deleted.id)
        if link?.version == PeerLink.presumedGone {
            // The sample was out of sight, but never deleted.
            var record = record
            if var kept = try presumedGone(deleted.id, in: &txn), !record.isNewer(than: kept) {
                // Merge the kept sample, because the peer gives back less of it.
                kept.modified = nil
                kept.version = Sample.version(after: deleted.version)
                guard try txn.merge(kept) != .vetoed else { return }
                report.adopted += 1
                return try setLink(kept.id, record, in: &txn)
            }
            (record.sample.version, record.sample.modified) = (Sample.version(after: deleted.version), nil)
            return try adopt(record, id: deleted.id, in: &txn)
        }
        if record.isNewer(than: deleted) {
            var record = record
            record.sample = record.merging(over: deleted.modified)
            return try adopt(record, id: deleted.id, in: &txn)
        }
        report.unchanged += 1
        try setLink(deleted.id, record, in: &txn)
        guard waiting?.kind != .delete, plan.plan(of: deleted.type)?.pushes ?? false else { return }
        try txn.enqueue(
            .delete, of: deleted.id, version: deleted.version, deleted.modified, for: peer, above: record.number)
    }

    /// Adopts a sample that is unknown here: an earlier installation or another device wrote it.
    private mutating func adopt(
        _ record: OwnRecord, id: SampleID? = nil, in txn: inout WriteTransaction
    ) throws {
        var sample = record.sample
        // The default sync identifier is the id as text.
        let own = sample.syncIdentifier.flatMap { SampleID($0) }.flatMap {
            $0.description == sample.syncIdentifier ? $0 : nil
        }
        sample.id = own ?? id ?? record.idAtPeer
        sample.origin = .authored
        sample.source = .thisApp
        guard try txn.merge(sample) != .vetoed else { return }
        try setLink(sample.id, record, in: &txn)
        report.adopted += 1
    }

    private mutating func setLink(
        _ sample: SampleID, _ record: OwnRecord, in txn: inout WriteTransaction
    ) throws {
        let link = PeerLink(peer: peer, sample: sample, idAtPeer: record.idAtPeer, version: record.number)
        let known = try txn.link(peer: peer, sample: sample)
        if known?.idAtPeer == record.idAtPeer, known?.isProvisional == true { state.doubt.see() }
        if known != link { try txn.setLink(link) }
    }
}

extension Sample {
    /// Returns `true` if both are the same measurement, as far as a peer can tell that keeps times in seconds and
    /// values in other units.
    func isSameMeasurement(as other: Sample) -> Bool {
        guard type == other.type, start.isNear(other.start), end.isNear(other.end),
            let value = try? quantity.value(in: other.quantity.unit)
        else { return false }
        return abs(value - other.quantity.value) <= 1e-9 * max(abs(value), abs(other.quantity.value))
    }

    /// Returns `true` if the other sample has no content to take over.
    func isSameContent(as other: Sample) -> Bool {
        isSameMeasurement(as: other) && metadata == other.metadata && isUserEntered == other.isUserEntered
            && timeZone == other.timeZone && group == other.group && device == other.device && count == other.count
            && (workout == nil || workout?.withTotals(of: other.workout) == other.workout)
            && (route == nil || route == other.route)
    }
}

extension Workout {
    /// Returns the workout with missing totals filled in from another: a peer that does not allow writing them gives
    /// none back.
    fileprivate func withTotals(of other: Workout?) -> Workout {
        guard let other else { return self }
        var workout = self
        (workout.energy, workout.distance) = (energy ?? other.energy, distance ?? other.distance)
        (workout.strokes, workout.flights) = (strokes ?? other.strokes, flights ?? other.flights)
        return workout
    }
}

extension Instant {
    /// Returns `true` if two instants are equal, as far as a peer can tell that keeps dates as seconds.
    fileprivate func isNear(_ other: Instant) -> Bool {
        let (difference, overflows) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return !overflows && abs(difference) < 1_000_000
    }
}
