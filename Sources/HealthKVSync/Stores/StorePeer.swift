import HealthKV

/// Another HealthKV store as a peer: a backup, a second device, another app of a group.
///
/// ```swift
/// let backup = try SampleStore.open(at: folder)
/// let sync = SyncEngine(store: store, peers: [SyncPeer(StorePeer(backup, name: "backup", as: "phone"), plan: .everything)])
/// ```
public struct StorePeer: Peer {
    /// The name that our store knows it by.
    public let name: String
    /// Under this name the other store knows ours.
    let ourName: String
    let other: SampleStore

    /// It keeps records, and takes imports too.
    public var traits: PeerTraits { .store }

    /// A store under the name that ours knows it by; `ourName` is the name under which it knows ours.
    public init(_ other: SampleStore, name: String, as ourName: String) {
        self.other = other
        self.name = name
        self.ourName = ourName
    }

    /// Whether the store can be read.
    public func availability() async -> PeerAvailability {
        (try? other.read { _ in true }) == nil ? .unavailable : .available
    }

    /// Nothing has to be asked for.
    public func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}

    /// Everything is allowed.
    public func authorization(of type: SampleType) async -> TypeAuthorization { .open }

    /// The types that the store has samples of.
    public func types() async throws(PeerError) -> Set<SampleType> {
        try StorePeer.wrapped { try other.read { try $0.typesWithSamples() } }
    }

    /// A page of the other store's feed of changes.
    public func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        if request.token == nil { await beginAnew() }
        let page = try StorePeer.wrapped { try changes(since: request.token, limit: request.limit) }
        var additions: [PulledSample] = []
        var deletions: [PulledDeletion] = []
        for change in page.changes {
            switch change.kind {
            case .saved(let sample): additions.append(PulledSample(sample))
            // Without a version the sample only left that store.
            case .deleted(let deleted): if deleted.version > 0 { deletions.append(PulledDeletion(deleted)) }
            case .removedRange:
                let records = try StorePeer.wrapped {
                    // Its tombstones are all there once its steps are done.
                    while try other.maintain(budget: .seconds(5)) {}
                    return try other.read { try $0.deletions(at: change.token) }
                }
                deletions += records.map { PulledDeletion($0) }
            case .interrupted: break
            }
        }
        return PullPage(
            additions: additions, deletions: deletions, token: Array(page.next.description.utf8),
            isDrained: !page.hasMore)
    }

    /// Whoever begins anew was installed anew or restored: what it has seen once counts no more.
    private func beginAnew() async {
        let ourName = ourName
        guard let known = try? other.read({ try $0.peer(ourName) }), known.acknowledged != nil else { return }
        _ = try? await other.write { txn in
            guard var known = try txn.peer(ourName) else { return }
            known.acknowledged = nil
            try txn.setPeer(known)
        }
    }

    private func changes(
        since bytes: [UInt8]?, limit: Int
    ) throws -> (changes: [Change], next: ChangeToken, hasMore: Bool) {
        guard let bytes else {
            let page = try other.read { try $0.changes(since: nil, limit: limit) }
            return (page.changes, page.next, page.hasMore)
        }
        guard let token = ChangeToken(String(decoding: bytes, as: UTF8.self)) else {
            throw PeerError(.tokenExpired, "the token is not one of a store")
        }
        return try other.read { txn in
            let here = txn.currentToken
            if token.store == here.store, token.epoch == here.epoch, token.commit > here.commit {
                throw PeerError(.wentBackwards, "the store is older than what was read from it")
            }
            guard token.store == here.store, token.epoch == here.epoch else {
                throw PeerError(.tokenExpired, "the store was restored")
            }
            // What we pushed there ourselves counts as seen: reading it back would bring in again what was deleted here since.
            let seen = try txn.peer(ourName)?.acknowledged ?? token
            let isOfHere = seen.store == token.store && seen.epoch == token.epoch
            let page = try txn.changes(since: isOfHere ? max(seen, token) : token, limit: limit)
            // A commit without changes is no news, and no place to keep.
            let isNews = !page.changes.isEmpty || page.hasMore
            return (page.changes, isNews ? page.next : token, page.hasMore)
        }
    }

    /// A page of the other store's samples of a type, the latest first.
    public func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try StorePeer.wrapped {
            let end = request.cursor.flatMap { Instant(cursor: $0) } ?? request.window.to
            let samples = try other.read { txn in
                var samples: [Sample] = []
                try txn.forEachSample(
                    of: request.type, from: request.window.from, to: end, rule: .strictStart, order: .descending,
                    includeShadowed: true
                ) { sample in
                    // Samples that start at once belong to one page.
                    if samples.count >= request.limit, sample.start != samples.last?.start { return false }
                    samples.append(sample)
                    return true
                }
                return samples
            }
            let isLast = samples.count < request.limit
            return EnumerationPage(
                samples: samples.map { PulledSample($0) }, cursor: isLast ? nil : samples.last?.start.cursor)
        }
    }

    /// Merges records into the other store, all in one commit.
    public func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let ourName = ourName
        do {
            return try await other.write { txn in
                try txn.receiving(from: ourName) { txn in
                    try operations.map { operation in
                        switch operation.kind {
                        case .save(let sample):
                            let outcome = try txn.merge(sample)
                            return outcome == .older || outcome == .vetoed ? .superseded : .done()
                        case .delete(let deleted):
                            let isDeleted = try txn.merge(deleted) || txn.sample(id: deleted.id) == nil
                            return isDeleted ? .done() : .superseded
                        }
                    }
                }
            }
        } catch let error as StoreError where error.code == .invalidSample {
            return await pushSingly(operations, "\(error.code.rawValue)")
        } catch let error as StoreError where error.code == .outcomeUnknown {
            return operations.map { _ in .unknown(reason: error.code.rawValue) }
        } catch {
            let reason = (error as? StoreError)?.code.rawValue ?? "the other store failed"
            return operations.map { _ in .failed(reason: reason) }
        }
    }

    /// One sample that the other store refuses does not keep the rest from it.
    private func pushSingly(_ operations: [PushOperation], _ reason: String) async -> [PushOutcome] {
        guard operations.count > 1 else { return [.refused(reason: reason)] }
        var outcomes: [PushOutcome] = []
        for operation in operations { outcomes += await push([operation]) }
        return outcomes
    }

    /// A call for each commit of the other store, by whatever process.
    public func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> {
        let other = other
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watch = Task {
                while let mark = try? other.commitMark(), await other.waitForCommit(after: mark) {
                    continuation.yield(WakeUp([.every]))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }

    /// The other store's digest.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try StorePeer.wrapped { try other.read { try $0.syncDigest(of: type == .every ? nil : type, in: window) } }
    }

    /// The other store keeps tombstones until we have seen them.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async {
        let ourName = ourName
        guard let token = ChangeToken(String(decoding: token, as: UTF8.self)) else { return }
        let known = (try? other.read { try $0.peer(ourName)?.acknowledged }) ?? nil
        if let known, known >= token, known.store == token.store, known.epoch == token.epoch { return }
        // Where it is not kept, the next one is.
        _ = try? await other.write { try $0.acknowledge(peer: ourName, token) }
    }

    private static func wrapped<Result>(_ body: () throws -> Result) throws(PeerError) -> Result {
        do {
            return try body()
        } catch let error as PeerError {
            throw error
        } catch let error as StoreError {
            switch error.code {
            case .tokenExpired: throw PeerError(.tokenExpired, error.detail)
            case .closed, .noStore, .replaced: throw PeerError(.unavailable, error.detail)
            default: throw PeerError(.transient, error.code.rawValue)
            }
        } catch {
            throw PeerError(.transient, "the other store failed")
        }
    }
}

extension Instant {
    /// The form in which an enumeration's place is kept.
    package var cursor: [UInt8] { Array(String(nanoseconds).utf8) }

    package init?(cursor: [UInt8]) {
        guard let number = Int64(String(decoding: cursor, as: UTF8.self)) else { return nil }
        self.init(nanoseconds: number)
    }
}
