import HealthKV

/// Records of another store are stored unchanged, and the greater version wins (SEMANTICS C1).
extension PageApplier {
    mutating func applyRecords(_ page: PullPage, in txn: inout WriteTransaction) throws {
        var unknown = SampleBatch()
        let databases = try txn.databases()
        for addition in page.additions {
            guard plan.plan(of: addition.sample.type)?.pulls ?? false, isStorable(addition) else { continue }
            noteSkew(addition.sample.modified)
            if let held = try record(of: addition.sample, in: &txn) {
                try merge(addition.sample, held, in: &txn)
            } else if try txn.isDeletedUnseen(addition.sample, by: databases) {
                deletedUnseen.append(addition.sample)
            } else {
                unknown.append(addition.sample)
            }
        }
        if !unknown.isEmpty {
            let imported = try txn.importBatch(unknown)
            report.count(imported)
            if imported.vetoed > 0 { try notePutBack(page.additions.map(\.sample), in: &txn) }
            try txn.markReceived(page.additions.map(\.sample), from: peer)
        }
        var deletions = DeletionsOfDifferentSamples()
        for deletion in page.deletions {
            // A deletion whose version no sample here can have is invalid.
            guard let record = deletion.record, plan.plan(of: record.type)?.pulls ?? false else { continue }
            guard (0...Sample.versionLimit).contains(record.version) else {
                report.invalid += 1
                continue
            }
            noteSkew(record.modified)
            // A second deletion of the same sample must find it gone.
            if deletions.mayMean(sampleOf: record) { try merge(deletions.take(), in: &txn) }
            deletions.append(record)
        }
        try merge(deletions.take(), in: &txn)
    }

    /// Deletes samples that another peer had deleted before this one brought them. Runs after the received changes, so
    /// that this peer is told of the deletions.
    mutating func buryUnseen(in txn: inout WriteTransaction) throws {
        for sample in deletedUnseen { try txn.buryUnseen(sample) }
        report.deleted += deletedUnseen.count
        deletedUnseen = []
    }

    /// Notes samples that the peer shows although it was told of their deletion: the peer was put back to an earlier
    /// state.
    private mutating func notePutBack(_ samples: [Sample], in txn: inout WriteTransaction) throws {
        guard acknowledged != nil else { return }
        putBack += try samples.filter { sample in
            guard plan.plan(of: sample.type)?.pushes ?? false else { return false }
            return try txn.sample(id: sample.id) == nil
        }
    }

    /// Sends deletions again that the peer has forgotten. Runs after the received changes, so that this peer is told of
    /// them.
    mutating func tellDeletionsAgain(in txn: inout WriteTransaction) throws {
        guard !putBack.isEmpty, let acknowledged else { return }
        try txn.tellDeletionsAgain(of: putBack, before: acknowledged)
        putBack = []
    }

    private func record(of sample: Sample, in txn: inout WriteTransaction) throws -> Sample? {
        if let held = try txn.sample(id: sample.id) { return held }
        guard let text = sample.syncIdentifier else { return nil }
        return try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity)
    }

    private mutating func merge(_ sample: Sample, _ held: Sample, in txn: inout WriteTransaction) throws {
        let isConflict = try isUnknownToPeer(held.id, in: &txn) && sample.contentBytes != held.contentBytes
        switch try txn.merge(sample) {
        case .replaced, .inserted:
            report.imported += 1
            if isConflict { try note(.editReplaced, held, in: &txn) }
        case .older:
            report.unchanged += 1
            if isConflict { try note(.editKept, sample, in: &txn) }
        case .unchanged, .vetoed: report.unchanged += 1
        }
    }

    /// Merges deletions of different samples in one step.
    private mutating func merge(_ deletions: [DeletedSample], in txn: inout WriteTransaction) throws {
        let displaced = try deletions.map { deletion in
            try isUnknownToPeer(deletion.id, in: &txn) ? txn.sample(id: deletion.id) : nil
        }
        for (displaced, isDeleted) in zip(displaced, try txn.merge(deletions)) where isDeleted {
            report.deleted += 1
            if let displaced { try note(.editDeleted, displaced, in: &txn) }
        }
    }

    private mutating func note(
        _ event: SyncConflict.Event, _ displaced: Sample, in txn: inout WriteTransaction
    ) throws {
        try audit(event, displaced, in: &txn)
        report.conflicts += 1
    }

    /// Returns `true` if a sample was changed here after the place up to which the peer has seen our changes.
    private func isUnknownToPeer(_ id: SampleID, in txn: inout WriteTransaction) throws -> Bool {
        guard let acknowledged else { return true }
        return try txn.isChanged(id: id, since: acknowledged)
    }

    private mutating func noteSkew(_ clock: ChangeClock?) {
        guard let clock else { return }
        let ahead = Double(clock.time.nanoseconds.subtractingReportingOverflow(now.nanoseconds).partialValue) / 1e9
        if ahead > 86_400, clock.time > now { report.skewSeconds = max(report.skewSeconds ?? 0, ahead) }
    }
}

// Two peers may bring samples of the same source. A peer must not take away samples that only the other one brought.
extension WriteTransaction {
    /// Marks imports from one peer as coming from elsewhere, for each other peer that brings samples of the same
    /// source.
    mutating func markReceived(_ samples: [Sample], from peer: String) throws {
        let imports = samples.filter { $0.origin == .imported }
        guard !imports.isEmpty else { return }
        for other in try peers() where other.name != peer && other.queue != nil {
            let types = try state(of: other.name).types
            for sample in imports where types[sample.type.identifier]?.sources.contains(sample.source.identity) ?? false
            {
                guard try link(peer: other.name, sample: sample.id) == nil, try self.sample(id: sample.id) != nil
                else { continue }
                try setLink(.received(sample.id, by: other.name))
            }
        }
    }
}

extension PageApplier {
    /// Marks the stored samples of a source as coming from elsewhere when this peer brings its first sample of that
    /// source: they came from another peer, if another one brings records or samples of the source.
    func markReceived(from source: SourceIdentity, in txn: inout WriteTransaction) throws {
        let feed = feed
        let isShared = try txn.peers().contains { other in
            guard other.name != peer else { return false }
            return try other.queue == nil || txn.state(of: other.name)[feed].sources.contains(source)
        }
        guard isShared else { return }
        var ids: [SampleID] = []
        try txn.forEachSample(of: feed, source: source, includeShadowed: true) { sample in
            if sample.origin == .imported { ids.append(sample.id) }
            return true
        }
        for id in ids where try txn.link(peer: peer, sample: id) == nil { try txn.setLink(.received(id, by: peer)) }
    }
}

extension PeerLink {
    static func received(_ sample: SampleID, by peer: String) -> PeerLink {
        PeerLink(peer: peer, sample: sample, peerID: sample, version: fromElsewhere)
    }
}

// A health database reports a deletion by UUID alone. If the sample is not here yet, the deletion waits for the store
// that brings it: after a reinstallation, another store may still hold the deleted sample.
extension WriteTransaction {
    /// Returns `true` if a peer has deleted a sample that is not live here: an import of which nothing else is known,
    /// or this version of an own sample.
    func isDeletedUnseen(_ sample: Sample, by databases: [String]) throws -> Bool {
        guard sample.origin == .authored else {
            return try databases.contains { try link(peer: $0, peerID: sample.id)?.version == PeerLink.deletedUnseen }
        }
        let number = PeerNumber.next(version: sample.version, sample.clock, above: 0)
        return try databases.contains {
            try link(peer: $0, sample: sample.id)?.deletedNumber.map { PeerNumber.covers($0, number) } ?? false
        }
    }

    /// Returns the names of the peers that are health databases.
    func databases() throws -> [String] { try peers().filter { $0.queue != nil }.map(\.name) }

    /// Records the deletion of a sample that was deleted before it was seen. The sample is live again if the peer shows
    /// it again.
    mutating func buryUnseen(_ sample: Sample) throws {
        for name in try databases() {
            guard let link = try link(peer: name, peerID: sample.id), link.version == PeerLink.deletedUnseen
            else { continue }
            try setLink(PeerLink(peer: name, sample: sample.id, peerID: sample.id, version: PeerLink.presumedGone))
        }
        if sample.original != nil {
            // Keep the edit that lies over the import.
            try appendAudit(
                event: SyncConflict.Event.editDeleted.rawValue, sample: sample.id,
                displaced: try EngineNotes.encode(sample))
        }
        let deleted = DeletedSample(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: 0, modified: sample.clock)
        try raise(deleted, to: max(1, sample.lastChange.version))
    }
}
