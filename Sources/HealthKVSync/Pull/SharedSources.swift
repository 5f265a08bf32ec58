import HealthKV

// Two peers may bring samples of the same source. A peer must not take away samples that only the other one brought.
extension WriteTransaction {
    /// Returns `true` if nothing is known of a sample at a peer, or only that it deleted what it calls so.
    func mayComeFromElsewhere(_ sample: SampleID, at peer: PeerID) throws -> Bool {
        try link(peer: peer, sample: sample).map { $0.version == PeerLink.deletedUnseen } ?? true
    }

    /// Marks imports from one peer as coming from elsewhere, for each other peer that brings samples of the same
    /// source.
    mutating func markReceived(_ samples: [Sample], from peer: PeerID) throws {
        let imports = samples.filter { $0.origin == .imported }
        guard !imports.isEmpty else { return }
        for other in try peers() where other.id != peer && other.queue != nil {
            let types = try state(of: other.id).types
            for sample in imports where types[sample.type.identifier]?.sources.contains(sample.source.identity) ?? false
            {
                guard try mayComeFromElsewhere(sample.id, at: other.id), try self.sample(id: sample.id) != nil
                else { continue }
                try setLink(.received(sample.id, by: other.id))
            }
        }
    }
}

extension PeerLink {
    static func received(_ sample: SampleID, by peer: PeerID) -> PeerLink {
        PeerLink(peer: peer, sample: sample, idAtPeer: sample, version: fromElsewhere)
    }
}

// A health database reports a deletion by UUID alone. If the sample is not here yet, the deletion waits for the store
// that brings it: after a reinstallation, another store may still hold the deleted sample.
extension WriteTransaction {
    /// Returns `true` if a peer has deleted a sample that is not live here: an import of which nothing else is known,
    /// or this version of an own sample.
    func isDeletedUnseen(_ sample: Sample, by databases: [PeerID]) throws -> Bool {
        guard sample.origin == .authored else {
            // A replacement that starts before the horizon is not read. It may be the reason for the deletion.
            return try databases.contains { name in
                try link(peer: name, idAtPeer: sample.id)?.version == PeerLink.deletedUnseen
                    && state(of: name)[sample.type].history.takes(start: sample.original?.start ?? sample.start)
            }
        }
        let number = PeerNumber.next(version: sample.version, sample.clock, above: 0)
        return try databases.contains {
            try link(peer: $0, sample: sample.id)?.deletedNumber.map { PeerNumber.covers($0, number) } ?? false
        }
    }

    /// Returns the names of the peers that are health databases.
    func databases() throws -> [PeerID] { try peers().filter { $0.queue != nil }.map(\.id) }

    /// Records the deletion of a sample that was deleted before it was seen. The sample is live again if the peer shows
    /// it again.
    mutating func buryUnseen(_ sample: Sample) throws {
        for name in try databases() {
            guard let link = try link(peer: name, idAtPeer: sample.id), link.version == PeerLink.deletedUnseen
            else { continue }
            try setLink(PeerLink(peer: name, sample: sample.id, idAtPeer: sample.id, version: PeerLink.presumedGone))
        }
        if sample.original != nil {
            // Keep the edit that lies over the import.
            try appendAudit(.editDeleted, sample)
        }
        let deleted = DeletedSample(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: 0, modified: sample.clock, start: sample.start, end: sample.end)
        try raise(deleted, to: max(1, sample.lastChange.version, sample.versionDeletedAtSource))
    }
}
