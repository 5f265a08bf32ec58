import HealthKV

/// Deletes what a record peer has deleted and forgotten while this store did not listen.
struct ForgottenDeletions: SessionJob {
    let core: SessionCore

    /// Deletes samples whose deletion the peer has forgotten, after our place in its feed. If a sample that was written
    /// here and given to the peer is no longer there, it was deleted there: it is deleted here too, and kept in the
    /// audit record. Returns how many were deleted, or `nil` if the peer cannot tell: then all feeds start at their
    /// beginning.
    func dropForgotten(_ feed: SampleType) async throws -> Int? {
        let (name, scope) = (name, try state()[feed].scope)
        let (place, seen) = try store.blockingRead { txn in
            (try txn.anchor(peer: name, type: feed, scope: scope)?.token, try txn.placeSent(to: name))
        }
        guard let records = peer.records, memory.agreesWithPeer, let place, let seen,
            try await records.forgotten(among: [], since: place) != nil
        else { return nil }
        var dropped = 0
        let held = try store.blockingRead { try $0.typesWithSamples() }
        for type in held.sorted() where isExchanged(type) && (feed == .every || feed == type) {
            var start: Instant? = .distantPast
            while let from = start {
                try Task.checkCancellation()
                try await holdLease()
                let limit = peer.pageSize(options.shortPage)
                let given = try store.blockingRead { try $0.given(to: name, seen, type, from: from, limit: limit) }
                start = given.next
                guard !given.samples.isEmpty else { continue }
                guard let gone = try await records.forgotten(among: given.samples, since: place) else { return nil }
                dropped += try await drop(given.samples.filter { gone.contains($0.id) })
            }
        }
        return dropped
    }

    /// Deletes samples as the peer has deleted them. An edit that was made meanwhile has a greater version, and stays.
    private func drop(_ samples: [Sample]) async throws -> Int {
        let name = name
        guard !samples.isEmpty else { return 0 }
        return try await update { txn, _ in
            try txn.receiving(from: name) { txn in
                var dropped = 0
                for sample in samples where try txn.merge(DeletedSample(of: sample)) {
                    dropped += 1
                    try txn.appendAudit(.presumedGone, sample)
                }
                return dropped
            }
        }
    }
}

extension SessionJob {
    var forgottenDeletions: ForgottenDeletions { ForgottenDeletions(core: core) }
}

extension SessionJob {
    func isExchanged(_ type: SampleType) -> Bool {
        plan.plan(of: type).map { $0.pushes && $0.pulls } ?? false
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the place up to which our feed was sent to a peer, or `nil` if nothing was sent or the place is no
    /// longer valid.
    fileprivate func placeSent(to peer: PeerID) throws -> ChangeToken? {
        guard let seen = try self.peer(peer)?.sent?.place else { return nil }
        return seen.store == storeID && seen.epoch == epoch ? seen : nil
    }

    /// Returns samples of a type that a peer was given and that have not changed since, and the start at which to
    /// continue. Samples that the peer refused and the app then gave up are not among them.
    fileprivate func given(
        to peer: PeerID, _ seen: ChangeToken, _ type: SampleType, from: Instant, limit: Int
    ) throws -> (samples: [Sample], next: Instant?) {
        var samples: [Sample] = []
        var next: Instant?
        try forEachSample(SampleQuery(type, from: from, rule: .strictStart, includeShadowed: true)) { sample in
            // Samples with the same start belong to one page.
            if samples.count >= limit, sample.start != samples.last?.start {
                next = sample.start
                return false
            }
            // An import may have left the peer without being deleted, as cached samples do.
            guard sample.origin == .authored, try !isChanged(id: sample.id, since: seen),
                try pending(peer: peer, sample: sample.id) == nil,
                try link(peer: peer, sample: sample.id)?.version != PeerLink.refused
            else { return true }
            samples.append(sample)
            return true
        }
        return (samples, next)
    }
}

extension DeletedSample {
    /// Creates the deletion of a sample in its current version: it wins over that version and over nothing newer.
    init(of sample: Sample) {
        self.init(
            id: sample.id, type: sample.type, source: sample.source.identity, syncIdentifier: sample.syncIdentifier,
            version: max(1, sample.version),
            modified: sample.modified ?? .unknown, group: sample.group, start: sample.start, end: sample.end)
    }
}
