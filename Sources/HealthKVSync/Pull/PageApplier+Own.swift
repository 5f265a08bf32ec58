import HealthKV

/// What this app wrote comes back from a peer that keeps no records: as the echo of a push, as an edit made by the same app on
/// another device, or as what an earlier installation left (SEMANTICS C21, C25).
extension PageApplier {
    mutating func applyOwn(_ addition: PulledSample, in txn: inout WriteTransaction) throws {
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
                $0.type == pulled.type && $0.origin == .authored && $0.source.identity == ownSource
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
        let sent = max(link?.version ?? 0, waiting.map { $0.isSent ? $0.version : 0 } ?? 0)
        report.unchanged += 1
        if version > held.version, version > sent {
            return try takeOver(addition, held, waiting, in: &txn)
        }
        if link == nil, version == held.version, !pulled.isSameMeasurement(as: held), waiting?.isSent != true {
            // Two devices made the same version of it. Both decide alike: by the bytes.
            if held.measurementBytes.lexicographicallyPrecedes(pulled.measurementBytes) {
                return try takeOver(addition, held, waiting, in: &txn)
            }
            try setLink(held.id, addition, in: &txn)
            try txn.enqueue(
                PendingOperation(peer: peer, kind: .save, sample: held.id, version: version + 1))
            return
        }
        guard version >= link?.version ?? 0 else { return }
        try setLink(held.id, addition, in: &txn)
        if link == nil { report.adopted += 1 }
        if version < held.version, waiting == nil, plan.plan(of: held.type)?.pushes ?? false {
            try txn.enqueue(PendingOperation(peer: peer, kind: .save, sample: held.id, version: held.version))
        } else if let waiting, waiting.kind == .save, !waiting.isSent, version == held.version, link == nil {
            // What an earlier installation sent, or a copy of this store, need not be sent again.
            try txn.removePending(waiting)
        }
    }

    /// The same app edited the sample elsewhere.
    private mutating func takeOver(
        _ addition: PulledSample, _ held: Sample, _ waiting: PendingOperation?, in txn: inout WriteTransaction
    ) throws {
        if let waiting {
            try audit(.editReplaced, held, in: &txn)
            try txn.removePending(waiting)
            report.conflicts += 1
        }
        var sample = held
        (sample.start, sample.end) = (addition.sample.start, addition.sample.end)
        let unit = held.quantity.unit
        let value = try? addition.sample.quantity.value(in: unit)
        sample.quantity = value.map { Quantity($0, unit) } ?? addition.sample.quantity
        sample.metadata = addition.sample.metadata
        sample.isUserEntered = addition.sample.isUserEntered
        sample.workout = addition.sample.workout ?? held.workout
        sample.modified = nil
        sample.version = max(1, addition.sample.version)
        try txn.save(sample)
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
        guard waiting?.kind != .delete else { return }
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
        func isNear(_ left: Instant, _ right: Instant) -> Bool {
            left == right
                || abs(left.nanoseconds.subtractingReportingOverflow(right.nanoseconds).partialValue) < 1_000_000
        }
        guard type == other.type, isNear(start, other.start), isNear(end, other.end),
            let value = try? quantity.value(in: other.quantity.unit)
        else { return false }
        return abs(value - other.quantity.value) <= 1e-9 * max(abs(value), abs(other.quantity.value))
    }

    /// What decides between two versions that a peer cannot put in order: the same on every device.
    var measurementBytes: [UInt8] {
        var encoder = CanonicalEncoder()
        let value = type.canonicalUnit.flatMap { try? quantity.value(in: $0) } ?? quantity.value
        encoder.append(UInt64(bitPattern: start.nanoseconds / 1_000_000))
        encoder.append(UInt64(bitPattern: end.nanoseconds / 1_000_000))
        encoder.append(UInt64(Float(value).bitPattern))
        return encoder.bytes
    }
}
