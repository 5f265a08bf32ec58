import HealthKV

/// What this app wrote comes back from a peer that keeps no records: as the echo of a push, as an edit made by the same app on
/// another device, or as what an earlier installation left (SEMANTICS C21, C25).
extension PageApplier {
    mutating func applyOwn(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
        noteDays([addition.sample])
        if let held = try held(addition, in: &txn) {
            try meet(addition, held, in: &txn)
        } else if let deleted = try buried(addition, in: &txn) {
            try meet(addition, deleted, in: &txn)
        } else {
            try adopt(addition, in: &txn)
        }
    }

    /// The live sample that the peer's is a version of: by the UUID that it was last known by, by its sync identifier, or by the
    /// metadata key of samples from before there were sync identifiers.
    private func held(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> Sample? {
        if let link = try txn.link(peer: peer, peerID: addition.peerID),
            let sample = try txn.sample(id: link.sample)
        {
            return sample
        }
        let pulled = addition.sample
        if let text = pulled.syncIdentifier {
            return try txn.samples(syncIdentifier: text).first {
                $0.type == pulled.type && $0.origin == .authored && $0.source.identity.isSameApp(as: ownSource)
            }
        }
        if let sample = try txn.sample(id: addition.peerID), sample.origin == .authored { return sample }
        guard let key = plan.adoptionKey, let value = pulled.metadata[key] else { return nil }
        return try txn.samples(metadataKey: key, values: [value], types: [pulled.type]).first {
            $0.origin == .authored && pulled.isSameMeasurement(as: $0)
        }
    }

    private func buried(_ addition: PulledSample, in txn: inout WriteTransaction) throws -> DeletedSample? {
        if let text = addition.sample.syncIdentifier {
            if let id = SampleID(text), let deleted = try txn.deletedSample(id: id) { return deleted }
            if let deleted = try txn.deletedSample(syncIdentifier: text, type: addition.sample.type, source: ownSource)
            {
                return deleted
            }
        }
        return try txn.deletedSample(id: addition.peerID)
    }

    /// The app's version of a sample and the peer's.
    private mutating func meet(_ addition: PulledSample, _ held: Sample, in txn: inout WriteTransaction) throws {
        let pulled = addition.sample
        let version = max(1, pulled.version)
        let link = try txn.link(peer: peer, sample: held.id)
        let waiting = try txn.pending(peer: peer, sample: held.id)
        // What was sent may have a greater version than what is held.
        let ours = max(held.version, link?.version ?? 0, waiting?.version ?? 0)
        report.unchanged += 1
        if version > ours, !pulled.isSameContent(as: held) { return try takeOver(addition, held, waiting, in: &txn) }
        if version == ours, !pulled.isSameMeasurement(as: held) {
            return try decide(addition, held, waiting, in: &txn)
        }
        guard version >= link?.version ?? 0 else { return }
        try setLink(held.id, addition, in: &txn)
        if link == nil { report.adopted += 1 }
        guard let waiting else {
            guard version < ours, !pulled.isSameContent(as: held), plan.plan(of: held.type)?.pushes ?? false else {
                return
            }
            return try send(held, as: ours, in: &txn)
        }
        // What an earlier installation sent, or a copy of this store, need not be sent again.
        let isKnown = link != nil && !pulled.isSameContent(as: held)
        if waiting.kind == .save, !waiting.isSent, version >= ours, !isKnown { try txn.removePending(waiting) }
    }

    /// Two devices made the same version of a sample. All decide alike, by what was measured (SEMANTICS C1), and the loser is kept.
    private mutating func decide(
        _ addition: PulledSample, _ held: Sample, _ waiting: PendingOperation?, in txn: inout WriteTransaction
    ) throws {
        if held.isLess(than: addition.sample) {
            return try takeOver(addition, held, waiting, isTie: true, in: &txn)
        }
        try audit(.editKept, addition.sample, in: &txn)
        report.conflicts += 1
        try setLink(held.id, addition, in: &txn)
        guard plan.plan(of: held.type)?.pushes ?? false else { return }
        try send(held, as: Sample.version(after: max(1, addition.sample.version)), in: &txn)
    }

    /// The same app edited the sample elsewhere.
    private mutating func takeOver(
        _ addition: PulledSample, _ held: Sample, _ waiting: PendingOperation?, isTie: Bool = false,
        in txn: inout WriteTransaction
    ) throws {
        if waiting != nil || isTie {
            try audit(.editReplaced, held, in: &txn)
            report.conflicts += 1
        }
        if let waiting { try txn.removePending(waiting) }
        noteDays([held])
        var sample = held
        (sample.start, sample.end) = (addition.sample.start, addition.sample.end)
        let unit = held.quantity.unit
        let value = try? addition.sample.quantity.value(in: unit)
        sample.quantity = value.map { Quantity($0, unit) } ?? addition.sample.quantity
        sample.metadata = addition.sample.metadata
        sample.isUserEntered = addition.sample.isUserEntered
        sample.workout = addition.sample.workout ?? held.workout
        sample.version = max(1, addition.sample.version)
        if sample.version > held.version {
            // Whoever does know when this version was made is to win.
            sample.modified = ChangeClock(time: min(sample.start, now), replica: 0)
            try txn.merge(sample)
        } else {
            sample.modified = nil
            try txn.save(sample)
        }
        try setLink(held.id, addition, in: &txn)
        report.unchanged -= 1
        report.imported += 1
    }

    /// What was deleted here is still there: either it is to go there too, or it was saved again with a greater version.
    private mutating func meet(
        _ addition: PulledSample, _ deleted: DeletedSample, in txn: inout WriteTransaction
    ) throws {
        let version = max(1, addition.sample.version)
        let (link, waiting) = (
            try txn.link(peer: peer, sample: deleted.id), try txn.pending(peer: peer, sample: deleted.id)
        )
        // What was sent may have had a greater version than what was deleted.
        let ours = max(deleted.version, link?.version ?? 0, waiting?.version ?? 0)
        if version > ours { return try adopt(addition, id: deleted.id, in: &txn) }
        report.unchanged += 1
        try setLink(deleted.id, addition, in: &txn)
        guard waiting?.kind != .delete, plan.plan(of: deleted.type)?.pushes ?? false else { return }
        try txn.enqueue(PendingOperation(peer: peer, kind: .delete, sample: deleted.id, version: ours))
    }

    /// Nothing is known of it: an earlier installation wrote it, or another device.
    private mutating func adopt(
        _ addition: PulledSample, id: SampleID? = nil, in txn: inout WriteTransaction
    ) throws {
        var sample = addition.sample
        // The default sync identifier is the text of the id.
        let own = sample.syncIdentifier.flatMap { SampleID($0) }.flatMap {
            $0.description == sample.syncIdentifier ? $0 : nil
        }
        sample.id = own ?? id ?? addition.peerID
        sample.origin = .authored
        sample.source = .thisApp
        sample.version = max(1, sample.version)
        // Nobody knows when it was written. Whoever does know something of this version is to win, and two devices that adopt it
        // are to hold the same.
        sample.modified = ChangeClock(time: min(sample.start, now), replica: 0)
        guard try txn.merge(sample) != .vetoed else { return }
        try setLink(sample.id, addition, in: &txn)
        report.adopted += 1
    }

    private func setLink(_ sample: SampleID, _ addition: PulledSample, in txn: inout WriteTransaction) throws {
        let isNamed = addition.sample.syncIdentifier != nil
        let link = PeerLink(
            peer: peer, sample: sample, peerID: addition.peerID,
            version: isNamed ? max(1, addition.sample.version) : PeerLink.unnamed)
        if try txn.link(peer: peer, sample: sample) != link { try txn.setLink(link) }
    }
}

extension Sample {
    /// Whether two are the same measurement as far as a peer can tell that keeps times in seconds and values in other units.
    func isSameMeasurement(as other: Sample) -> Bool {
        guard type == other.type, start.isNear(other.start), end.isNear(other.end),
            let value = try? quantity.value(in: other.quantity.unit)
        else { return false }
        return abs(value - other.quantity.value) <= 1e-9 * max(abs(value), abs(other.quantity.value))
    }

    /// Whether there is nothing of another to take over.
    func isSameContent(as other: Sample) -> Bool {
        isSameMeasurement(as: other) && metadata == other.metadata && isUserEntered == other.isUserEntered
            && (workout == nil || workout == other.workout)
    }

    /// The order of two measurements that a peer cannot put in order: the same on every device, whichever of them it holds itself.
    func isLess(than other: Sample) -> Bool {
        func value(_ sample: Sample) -> Double {
            type.canonicalUnit.flatMap { try? sample.quantity.value(in: $0) } ?? sample.quantity.value
        }
        if !start.isNear(other.start) { return start < other.start }
        if !end.isNear(other.end) { return end < other.end }
        return value(self) < value(other)
    }
}

extension Instant {
    /// Whether two instants are one as far as a peer can tell that keeps dates as seconds.
    fileprivate func isNear(_ other: Instant) -> Bool {
        let (difference, overflows) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return !overflows && abs(difference) < 1_000_000
    }
}
