import HealthKV

/// Another HealthKV store as a peer: a backup, a second device, another app of a group.
///
/// ```swift
/// let backup = try SampleStore.open(at: folder)
/// let sync = SyncEngine(store: store, peers: [SyncPeer(StorePeer(backup, name: "backup"), plan: .everything)])
/// ```
///
/// The other store knows each of its readers by a name, and keeps under it how far that one has read. It refuses a reader whose name another
/// has taken (`docs/decisions/0021-a-name-belongs-to-the-last-replica.md`).
public struct StorePeer: Peer {
    /// The name that our store knows it by.
    public let name: String
    private let givenName: String?
    let reader = StoreReader()
    let other: SampleStore

    /// It keeps records, and takes imports too.
    public var traits: PeerTraits { .store }

    /// A store under the name that ours knows it by; `ourName` is the name under which it knows ours. Without one that is a name which
    /// no other copy of a store has. Give one only where the other store syncs with ours under that name too, and to one device
    /// alone.
    public init(_ other: SampleStore, name: String, as ourName: String? = nil) {
        self.other = other
        self.name = name
        givenName = ourName
    }

    /// Under this name the other store knows ours.
    func ourName() throws(PeerError) -> String {
        if let name = givenName ?? reader.greeting?.defaultName { return name }
        throw PeerError(.invalid, "a reader without a name must greet first")
    }

    /// Keeps which store reads under the name, and refuses one that has lost it to another.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        reader.greeting = greeting
        let name = try ourName()
        let known = try StorePeer.wrapped { try other.read { try $0.reader(name) } }
        var answer = try StorePeer.wrapped { try PeerGreeting(other) }
        answer.isSuperseded = known.isSuperseding(greeting)
        if answer.isSuperseded { return answer }
        guard try known.welcoming(greeting, as: name) != known else { return answer }
        answer.isNameTakenOver = try await StorePeer.wrapped {
            try await other.write { txn in
                let known = try txn.reader(name)
                try txn.setReader(known.welcoming(greeting, as: name), name)
                guard known.isTakenOver(by: greeting) else { return false }
                // What another one has read is nothing to this one.
                try txn.rememberReading(upTo: nil, of: name)
                if var peer = try txn.peer(name) {
                    peer.acknowledged = nil
                    try txn.setPeer(peer)
                }
                return true
            }
        }
        return answer
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
        do {
            let ourName = try ourName()
            return try await other.write { txn in
                if let place = operations.compactMap(\.place).max() { try txn.remember(place, of: ourName) }
                let databases = try txn.databases()
                var (deletedUnseen, deleted, unknown): ([Sample], [Sample], [Sample]) = ([], [], [])
                let outcomes: [PushOutcome] = try txn.receiving(from: ourName) { txn in
                    var outcomes: [PushOutcome] = []
                    var deletions = DeletionsOfDifferentSamples()
                    for operation in operations {
                        switch operation.kind {
                        case .save(let sample):
                            outcomes += try StorePeer.merge(deletions.take(), in: &txn)
                            let isUnknown = try txn.sample(id: sample.id) == nil
                            if isUnknown, try txn.isDeletedUnseen(sample, by: databases) {
                                deletedUnseen.append(sample)
                                outcomes.append(.superseded)
                                continue
                            }
                            let outcome = try txn.merge(sample)
                            if isUnknown { unknown.append(sample) }
                            if outcome == .vetoed { deleted.append(sample) }
                            outcomes.append(outcome == .older || outcome == .vetoed ? .superseded : .done())
                        case .delete(let deleted):
                            if deletions.mayMean(sampleOf: deleted) {
                                outcomes += try StorePeer.merge(deletions.take(), in: &txn)
                            }
                            deletions.append(deleted)
                        }
                    }
                    return try outcomes + StorePeer.merge(deletions.take(), in: &txn)
                }
                try txn.markReceived(unknown, from: ourName)
                // Behind what was received, so that the feed tells us.
                for sample in deletedUnseen { try txn.buryUnseen(sample) }
                try txn.tellDeletionsAgain(of: deleted, before: txn.peer(ourName)?.acknowledged)
                return outcomes
            }
        } catch let error as StoreError where error.code == .invalidSample {
            return await pushSingly(operations, "\(error.code.rawValue)")
        } catch let error as StoreError where error.code == .outcomeUnknown {
            return operations.map { _ in .unknown(reason: error.code.rawValue) }
        } catch {
            let reason = (error as? StoreError)?.code.rawValue ?? (error as? PeerError)?.detail
            return operations.map { _ in .failed(reason: reason ?? "the other store failed") }
        }
    }

    /// Merges deletions of different samples together.
    private static func merge(
        _ deletions: [DeletedSample], in txn: inout WriteTransaction
    ) throws -> [PushOutcome] {
        try zip(deletions, txn.merge(deletions)).map { deletion, isDeleted in
            try isDeleted || txn.sample(id: deletion.id) == nil ? .done() : .superseded
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
        do { return try body() } catch { throw peerError(error) }
    }

    static func wrapped<Result>(_ body: () async throws -> Result) async throws(PeerError) -> Result {
        do { return try await body() } catch { throw peerError(error) }
    }

    private static func peerError(_ error: any Error) -> PeerError {
        switch error {
        case let error as PeerError: return error
        case let error as StoreError:
            switch error.code {
            case .tokenExpired: return PeerError(.tokenExpired, error.detail)
            case .closed, .noStore, .replaced: return PeerError(.unavailable, error.detail)
            default: return PeerError(.transient, error.code.rawValue)
            }
        default: return PeerError(.transient, "the other store failed")
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
