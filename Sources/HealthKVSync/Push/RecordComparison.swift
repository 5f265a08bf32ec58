import HealthKV

/// Compares two stores by digests, window by window, and exchanges only the windows that differ.
struct RecordComparison: SessionJob {
    let core: SessionCore

    /// Windows with at most this many samples are exchanged as a whole.
    private static let window = 512

    /// Returns the types that either side has samples of.
    private func comparedTypes(_ records: CheckedRecords) async throws -> [SampleType] {
        let ours = try store.blockingRead { try $0.typesWithSamples() }
        let theirs = try await records.types()
        return ours.union(theirs).filter { plan.plan(of: $0) != nil }.sorted()
    }

    /// Runs before a peer follows the feed for the first time: if both sides hold the same samples, only deletions must
    /// be sent. Returns `true` if they do.
    func skipEqual(_ records: CheckedRecords) async throws -> Bool {
        let token = try store.blockingRead { $0.currentToken }
        for type in try await comparedTypes(records) where plan.plan(of: type)?.pushes ?? false {
            guard let theirs = try await records.digest(of: type, in: .all) else { return false }
            if try store.blockingRead({ try $0.syncDigest(of: type) }) != theirs { return false }
        }
        // Digests cover live samples only. An older version of a deleted sample may still reach the peer from
        // elsewhere.
        guard try await feedSender.pushDeletions(heldTypes()) else { return false }
        let name = name
        try await update { txn, _ in try txn.markSent(to: name, upTo: token) }
        return true
    }

    /// Brings both sides in line without a feed. Held types are not sent (SEMANTICS C22). Returns `true` if nothing was
    /// left out for that reason.
    @discardableResult
    func reconcileRecords(_ records: CheckedRecords, _ held: Set<SampleType>) async throws -> Bool {
        var isWhole = true
        for type in try await comparedTypes(records) {
            let isSent = plan.plan(of: type)?.pushes ?? false
            if isSent, held.holds(type) { isWhole = false }
            try await reconcile(type, with: records, in: .all, sends: isSent && !held.holds(type))
        }
        return isWhole
    }

    /// The times at which one pass reads what overtook samples.
    private static let timesRead = 64

    /// Reads the greater versions that the peer was found to hold and that its feed, read to the end since, has not
    /// shown: it may have told of them before the samples came back here. A failure is no reason to end a pass: the
    /// next one tries again.
    func readOvertaken() async throws {
        let name = name
        let (links, samples) = try store.blockingRead { txn -> ([PeerLink], [Sample]) in
            guard try txn.hasLinks(of: name) else { return ([], []) }
            let links = try txn.links(of: name).filter { $0.version == PeerLink.overtaken }
            return (links, try links.compactMap { try txn.sample(id: $0.sample) })
        }
        if links.isEmpty { return }
        struct Time: Hashable {
            let type: SampleType
            let start: Instant
        }
        let times = Dictionary(grouping: samples) { Time(type: $0.type, start: $0.start) }
            .sorted { ($0.key.type, $0.key.start) < ($1.key.type, $1.key.start) }
        var read = Set(links.map(\.sample)).subtracting(samples.map(\.id))
        for (time, samples) in times.prefix(Self.timesRead) {
            let wanted = Set(samples.map(\.id))
            do {
                let found = try await shown(time.type, at: time.start).filter { wanted.contains($0.sample.id) }
                _ = try await merge(EnumerationPage(samples: found, cursor: nil))
            } catch is PeerError {
                break
            }
            read.formUnion(wanted)
        }
        let done = links.filter { read.contains($0.sample) }
        if done.isEmpty { return }
        try await update { txn, _ in
            for link in done where try txn.link(peer: name, sample: link.sample) == link { try txn.removeLink(link) }
        }
    }

    /// Returns the peer's samples of a type that start at a time.
    private func shown(_ type: SampleType, at start: Instant) async throws -> [PulledSample] {
        var samples: [PulledSample] = []
        var cursor: [UInt8]?
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let window = TimeRange(from: start, to: Instant(nanoseconds: start.nanoseconds + 1))
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, window: window, cursor: cursor, limit: options.shortPage))
            samples += page.samples
            cursor = page.cursor
        } while cursor != nil
        return samples
    }

    private func reconcile(
        _ type: SampleType, with records: CheckedRecords, in window: TimeRange, sends: Bool
    ) async throws {
        try Task.checkCancellation()
        let ours = try store.blockingRead { try $0.syncDigest(of: type, in: window) }
        guard let theirs = try await records.digest(of: type, in: window) else {
            return try await exchange(type, in: window, sends: sends)
        }
        if ours == theirs { return }
        guard ours.count > Self.window, theirs.count > 0, let middle = try middle(type, window, ours.count)
        else {
            return try await exchange(type, in: window, sends: sends)
        }
        try await reconcile(type, with: records, in: TimeRange(from: window.from, to: middle), sends: sends)
        try await reconcile(type, with: records, in: TimeRange(from: middle, to: window.to), sends: sends)
    }

    /// Returns the start that divides our samples of a window into halves, or `nil` if they all have the same start.
    private func middle(_ type: SampleType, _ window: TimeRange, _ count: Int) throws -> Instant? {
        var left = count / 2
        var first: Instant?
        var middle: Instant?
        try store.read { txn in
            try txn.forEachSample(
                SampleQuery(type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true)
            ) { sample in
                first = first ?? sample.start
                left -= 1
                if left <= 0, sample.start != first { middle = sample.start }
                return middle == nil
            }
        }
        return middle
    }

    /// Merges the peer's samples of a window, and sends those that it lacks or has in an older version. Works page by
    /// page, so that memory use stays flat.
    private func exchange(_ type: SampleType, in window: TimeRange, sends: Bool) async throws {
        var cursor: [UInt8]?
        var end = window.to
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, window: window, cursor: cursor, limit: options.shortPage))
            cursor = page.cursor
            let theirs = try await merge(page)
            let from = cursor == nil ? window.from : page.samples.map(\.sample.start).min() ?? end
            if from < end, sends {
                try await sendMissing(type, TimeRange(from: from, to: end), theirs)
            }
            end = min(end, from)
        } while cursor != nil
    }

    /// Merges the peer's samples of a page. Returns the digest of each.
    private func merge(_ page: EnumerationPage) async throws -> [SampleID: UInt64] {
        var sums: [SampleID: UInt64] = [:]
        for addition in page.samples {
            var digest = SyncDigest()
            digest.add(addition.sample)
            sums[addition.sample.id] = digest.sum
        }
        let (name, plan, now) = (name, plan, now)
        try await update { txn, state in
            var merger = RecordMerger(
                peer: name, plan: plan, now: now, known: try txn.peer(name)?.furthest)
            try merger.apply(PullPage(additions: page.samples, token: nil, isDrained: true), in: &txn)
            state.noteArrivals(merger.report, of: .every, at: now)
        }
        return sums
    }

    /// Sends the samples that start in a window and that the peer lacks or has in another version. Only their ids are
    /// all in memory at once.
    private func sendMissing(
        _ type: SampleType, _ window: TimeRange, _ theirs: [SampleID: UInt64]
    ) async throws {
        var ids: [SampleID] = []
        try store.blockingRead { txn in
            try txn.forEachSample(
                SampleQuery(type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true)
            ) { sample in
                var digest = SyncDigest()
                digest.add(sample)
                if theirs[sample.id] != digest.sum { ids.append(sample.id) }
                return true
            }
            for id in theirs.keys where try txn.deletedSample(id: id) != nil { ids.append(id) }
        }
        var rest = ids[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            try await holdLease()
            let some = rest.prefix(peer.pushSize(options.pushSize))
            let (kinds, here) = try store.blockingRead { txn in
                let kinds: [PushOperation.Kind] = try some.compactMap { id in
                    if let sample = try txn.sample(id: id) { return .save(sample) }
                    return try txn.deletedSample(id: id).map { .delete($0) }
                }
                return (kinds, txn.currentToken)
            }
            let operations = kinds.enumerated().map { PushOperation(sequence: UInt64($0), kind: $1, place: here) }
            let answer = try await feedSender.pushRecords(operations)
            var refused: [(PushOperation, String)] = []
            for (operation, outcome) in zip(operations, answer.outcomes) {
                if case .refused(let reason) = outcome { refused.append((operation, reason)) }
            }
            try await feedSender.settle(refused)
            if let left = answer.rest, let place = rest.firstIndex(of: operations[left].sample) {
                rest = rest[place...]
                continue
            }
            // Do not acknowledge operations that may be incomplete.
            if let error = answer.errorToTryAgain { throw error }
            rest = rest.dropFirst(some.count)
        }
    }
}

extension SessionJob {
    var recordComparison: RecordComparison { RecordComparison(core: core) }
}
