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
                if let place = operations.compactMap(\.place).max() { try txn.remember(place, of: ourName) }
                return try txn.receiving(from: ourName) { txn in
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
        // Taken before anybody reads: what is committed meanwhile is told.
        let mark = try? other.commitMark()
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watch = Task {
                if let mark { await other.followCommits(after: mark) { continuation.yield(WakeUp([.every])) } }
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }

    /// The other store's digest.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try StorePeer.wrapped { try other.read { try $0.syncDigest(of: type == .every ? nil : type, in: window) } }
    }

    static func wrapped<Result>(_ body: () throws -> Result) throws(PeerError) -> Result {
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
