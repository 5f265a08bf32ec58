import HealthKV

/// Finds a health database that was rebuilt, for example after a repair or on a restored device. It counts its changes
/// from the beginning, so an anchor of the old database is ahead of that count, and its feed returns nothing until the
/// new database has counted as far.
struct Probe: SessionJob {
    let core: SessionCore

    /// How many of the latest samples of a type a probe looks at.
    private static let probed = 8

    /// Compares the latest samples of fully read feeds with the store, at most once an hour for each feed. A sample
    /// that the feed has never told of shows that our place in the feed belongs to another database. Then the feed is
    /// read from its beginning, and adopted before anything is sent (SEMANTICS C21).
    func probe(_ feeds: [SampleType]) async throws -> PullReport {
        var report = PullReport()
        guard peer.hidesUnreadable, options.probesLatest else { return report }
        for type in feeds where try isProbeDue(type) {
            memory.probes[type] = now
            do {
                guard try await !untold(type).isEmpty else { continue }
                // The sample may have been written after the feed was read.
                report += try await puller.pullAll([type]).report
                guard try await !untold(type).isEmpty else { continue }
                try await readRebuilt(type)
                report += try await puller.pullAll([type]).report
                // The feed still leaves these out, for whatever reason. They prove nothing the next time.
                memory.leftOut[type, default: []].formUnion(try await untold(type))
            } catch is PeerError {
                // Try again another time: a failed probe does not make the pass fail.
                try Task.checkCancellation()
            }
        }
        return report
    }

    private func isProbeDue(_ type: SampleType) throws -> Bool {
        let known = try state()[type]
        guard let item = plan.types[type], item.pulls else { return false }
        guard known.phase == .drained, known.pulls.failure == nil, !known.needsRescan else { return false }
        return memory.probes[type].map { $0.hasPassed(.seconds(3_600), at: now) } ?? true
    }

    /// Returns those of the latest samples that are unknown here although the feed should have told of them.
    private func untold(_ type: SampleType) async throws -> Set<SampleID> {
        let known = try state()[type]
        let bound = max(known.history.horizon ?? .distantPast, known.history.skipped ?? .distantPast)
        let (name, now, ignored) = (name, now, memory.leftOut[type] ?? [])
        // What lies ahead of the clock may have been purged, whatever is noted of that.
        let window = TimeRange(from: min(bound, now), to: now + 1)
        let page = try await peer.enumerate(EnumerationRequest(type: type, window: window, limit: Self.probed))
        let latest = page.samples.filter { addition in
            let sample = addition.sample
            return sample.start > bound && sample.start <= now && !ignored.contains(addition.idAtPeer)
                && (try? sample.validate()) != nil
        }
        return try store.blockingRead { txn in
            Set(try latest.filter { try !txn.knows($0, of: name) }.map(\.idAtPeer))
        }
    }

    private func readRebuilt(_ type: SampleType) async throws {
        let (name, now) = (name, now)
        try await update { txn, state in
            try state.forgetPlace(of: type, at: name, in: &txn)
            // Only a comparison finds samples that the peer no longer holds.
            try state.beginDoubt(of: name, at: now, in: &txn)
            state[type].phase.handle(.adoptionForgotten)
            state[type].lastRescan = now
            state.note(
                .peerRestored, "the peer shows samples that its feed never reported: the feed is read again", at: now)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if a sample that a peer shows was met before, live or deleted, under the peer's id or its sync
    /// identifier.
    fileprivate func knows(_ addition: PulledSample, of peer: PeerID) throws -> Bool {
        let sample = addition.sample
        if try link(peer: peer, idAtPeer: addition.idAtPeer) != nil { return true }
        if try self.sample(id: sample.id) != nil || deletedSample(id: sample.id) != nil { return true }
        // A version that another version replaced has an id of its own.
        if let text = sample.syncIdentifier,
            try samples(syncIdentifier: text).contains(where: { $0.type == sample.type })
                || deletedSample(syncIdentifier: text, type: sample.type, source: sample.source.identity) != nil
        {
            return true
        }
        return try mayHavePurged(sample.type, of: sample.source.identity, start: sample.start)
    }
}
