import HealthKV

// The other store's feed of changes.
extension StorePeer {
    /// Returns a page of the other store's feed of changes.
    public func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        guard let bytes = request.token else {
            await startOver()
            return try await page(behind: nil, limit: request.limit)
        }
        guard let place = PeerPlace(bytes) else { throw PeerError(.tokenExpired, "the token is not one of a store") }
        try await checkHistory(place.token)
        let page = try await page(behind: place, limit: request.limit)
        await noteReader()
        return page
    }

    /// Returns a page that has content, or the last page. Skips samples that only left that store, for as long as one
    /// call may take.
    private func page(behind start: PeerPlace?, limit: Int) async throws(PeerError) -> PullPage {
        let end = ContinuousClock.now + StorePeer.upkeepBudget
        var (page, last) = (try await onePage(behind: start, limit: limit), start)
        while page.additions.isEmpty, page.deletions.isEmpty, !page.isDrained, let token = page.token,
            let place = PeerPlace(token), place != last, ContinuousClock.now < end, !Task.isCancelled
        {
            last = place
            do throws(PeerError) { page = try await onePage(behind: place, limit: limit) } catch {
                // Return the current page, so that the skipped changes need not be read again.
                if error.code == .transient { return page }
                throw error
            }
        }
        return page
    }

    /// How long a call may work for the other store.
    private static let upkeepBudget: Duration = .seconds(2)

    private func onePage(behind place: PeerPlace?, limit: Int) async throws(PeerError) -> PullPage {
        if let place, let id = place.deleted {
            try StorePeer.wrapped { _ = try changes(since: place.token, limit: 1) }
            return try await deletions(at: place.token, after: id, limit: limit)
        }
        let page = try StorePeer.wrapped { () throws in try changes(since: place?.token, limit: limit) }
        var (additions, deletions): ([PulledSample], [PulledDeletion]) = ([], [])
        for (index, change) in page.changes.enumerated() {
            switch change.kind {
            case .saved(let sample): additions.append(PulledSample(sample))
            // Without a version the sample only left that store.
            case .deleted(let deleted): if deleted.version > 0 { deletions.append(PulledDeletion(deleted)) }
            case .removedRange:
                // The deletions of a mass operation have pages of their own.
                guard index > 0 else {
                    return try await self.deletions(at: change.token, after: nil, limit: limit)
                }
                let before = PeerPlace(token: page.changes[index - 1].token)
                return PullPage(additions: additions, deletions: deletions, token: before.bytes, isDrained: false)
            case .interrupted: break
            }
        }
        return PullPage(
            additions: additions, deletions: deletions, token: PeerPlace(token: page.next).bytes,
            isDrained: !page.hasMore)
    }

    /// Returns a page of the deletions of a mass operation. Until its steps are done there is nothing to return.
    private func deletions(
        at token: ChangeToken, after id: SampleID?, limit: Int
    ) async throws(PeerError) -> PullPage {
        try await carryOut(token)
        let page = try StorePeer.wrapped { try other.read { try $0.deletions(at: token, after: id, limit: limit) } }
        return PullPage(
            additions: [], deletions: page.deletions.map { PulledDeletion($0) },
            token: PeerPlace(token: token, deleted: page.next).bytes, isDrained: false)
    }

    /// Carries out a mass operation of the other store. Throws if that takes longer than a call may.
    private func carryOut(_ token: ChangeToken) async throws(PeerError) {
        let end = ContinuousClock.now + StorePeer.upkeepBudget
        var goesOn = true
        while try StorePeer.wrapped({ try other.read { $0.isUnfinished(removalAt: token) } }) {
            guard goesOn else { throw PeerError(.transient, "the other store cannot carry out a mass deletion") }
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw PeerError(.transient, "a mass deletion is being carried out", retryAfter: .seconds(1))
            }
            goesOn = try StorePeer.wrapped { try other.maintain(budget: .milliseconds(50)) }
            // Other work waits for this thread.
            await Task.yield()
        }
    }

    private func changes(
        since token: ChangeToken?, limit: Int
    ) throws -> (changes: [Change], next: ChangeToken, hasMore: Bool) {
        guard let token else {
            let page = try other.read { try $0.changes(since: nil, limit: limit) }
            return (page.changes, page.next, page.hasMore)
        }
        let ourName = try ourName()
        return try other.read { txn in
            // Changes that we pushed there ourselves count as seen: reading them back would import samples that were
            // deleted here since.
            let page = try txn.changes(since: token.greatest(with: txn.peer(ourName)?.read?.place), limit: limit)
            // A commit without changes is no news for a reader that has seen all changes before it, and no place to
            // keep.
            let isNews = !page.changes.isEmpty || page.hasMore || token.ordinal < .max
            return (page.changes, isNews ? page.next : token, page.hasMore)
        }
    }
}

// The other store keeps tombstones for us, unless we are silent for too long (SEMANTICS C27).
extension StorePeer {
    /// Tells the other store how far we have read; it keeps tombstones until then.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        // A place midway in a mass deletion acknowledges nothing.
        guard let place = PeerPlace(token), place.deleted == nil else { return }
        let (ourName, token) = (try ourName(), place.token)
        let isKnown = try? other.blockingRead { txn in
            guard let known = try txn.peer(ourName), !known.isRetired, let seen = known.read?.place else {
                return false
            }
            let read = try txn.memory(of: ourName).read
            return token.greatest(with: seen) == seen && token.greatest(with: read) == read
        }
        if isKnown == true { return }
        try await StorePeer.wrapped {
            try await other.write { txn in
                try txn.acknowledge(peer: ourName, token)
                try txn.rememberReading(upTo: token, of: ourName)
                try txn.endRetirement(of: ourName)
            }
        }
    }

    /// Notes that the reader is not silent, even if nothing is new. A reader with a place that the other store still
    /// knows lacks no deletion.
    private func noteReader() async {
        let now = other.now
        guard let ourName = try? ourName(), let known = try? other.blockingRead({ try $0.peer(ourName) }),
            known.isRetired || known.lastSeen.hasPassed(.days(1), at: now)
        else { return }
        _ = try? await other.write { try $0.endRetirement(of: ourName) }
    }

    /// Forgets how far this reader has read. A reader that begins at the beginning was reinstalled or restored: its
    /// earlier acknowledgements no longer count.
    private func startOver() async {
        guard let ourName = try? ourName() else { return }
        let isKnown = try? other.blockingRead { txn in
            try txn.peer(ourName)?.read != nil || txn.memory(of: ourName).read != nil
        }
        guard isKnown == true else { return }
        _ = try? await other.write { txn in
            try txn.rememberReading(upTo: nil, of: ourName)
            guard var known = try txn.peer(ourName) else { return }
            known.read = nil
            try txn.setPeer(known)
        }
    }

    /// Returns those of some samples that the other store has deleted and forgotten, or `nil` if that store was
    /// restored or is another one.
    public func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        guard let token = PeerPlace(token)?.token else { return nil }
        return try StorePeer.wrapped {
            try other.read { txn in
                guard try txn.fit(of: token) == .fits else { return nil }
                return Set(try txn.forgotten(among: samples).map(\.id))
            }
        }
    }
}
