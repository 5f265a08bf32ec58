import HealthKV

/// Another HealthKV store as a peer: a backup, a second device, another app of a group.
///
/// ```swift
/// let backup = try SampleStore.open(at: folder)
/// let sync = SyncEngine(store: store, peers: [SyncPeer(StorePeer(backup, id: "backup"), plan: .everything)])
/// ```
///
/// The other store knows each of its readers by a name, and stores under that name how far the reader has read. It
/// refuses a reader whose name another reader has taken (`docs/decisions/0021-a-name-belongs-to-the-last-replica.md`).
public struct StorePeer: RecordPeer {
    /// The name under which our store knows the other one.
    public let id: PeerID
    private let givenName: PeerID?
    let reader = StoreReader()
    let other: SampleStore

    /// Creates a peer for a store under the name by which our store knows it. `ourName` is the name by which the other
    /// store knows ours; by default it is a name that no other copy of a store has. Give a name only if the other store
    /// also syncs with ours under that name, and only to one device.
    public init(_ other: SampleStore, id: PeerID, as ourName: PeerID? = nil) {
        self.other = other
        self.id = id
        givenName = ourName
    }

    /// Returns the name by which the other store knows ours.
    func ourName() throws(PeerError) -> PeerID {
        if let name = givenName ?? reader.greeting?.defaultName { return name }
        // As after a restart of the process that serves the other store.
        throw PeerError(.transient, "a reader without a name must greet first")
    }

    /// Notes which store reads under the name, and refuses a store that has lost the name to another.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        reader.greeting = greeting
        let name = try ourName()
        let (known, owner) = try StorePeer.wrapped { try other.read { (try $0.reader(name), try $0.peer(name)) } }
        // What a reader brings under the name of a health database would never be sent there.
        guard owner?.queue == nil else {
            throw PeerError(.nameTaken, "the other store itself syncs with a peer of the name \(name): choose another")
        }
        var answer = try StorePeer.wrapped { try PeerGreeting(other) }
        answer.isSuperseded = known.isSuperseding(greeting)
        if answer.isSuperseded { return answer }
        guard try known.welcoming(greeting, as: name) != known else { return answer }
        answer.isNameTakenOver = try await StorePeer.wrapped {
            try await other.write { txn in
                let known = try txn.reader(name)
                try txn.setReader(known.welcoming(greeting, as: name), name)
                guard known.isTakenOver(by: greeting) else { return false }
                // The places of the former reader do not apply to the new one.
                try txn.forgetMemory(of: name)
                if var peer = try txn.peer(name) {
                    peer.read = nil
                    try txn.setPeer(peer)
                }
                return true
            }
        }
        return answer
    }

    /// Returns whether the store can be read.
    public func availability() async -> PeerAvailability {
        (try? other.blockingRead { _ in true }) == nil ? .unavailable : .available
    }

    /// Returns the types that the store has samples of.
    public func types() async throws(PeerError) -> Set<SampleType> {
        try StorePeer.wrapped { try other.read { try $0.typesWithSamples() } }
    }

    /// Returns a page of the other store's samples of a type, the latest first.
    public func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try StorePeer.wrapped {
            let end = request.cursor.flatMap { Instant(cursor: $0) } ?? request.window.to
            let samples = try other.read { txn in
                var samples: [Sample] = []
                try txn.forEachSample(
                    SampleQuery(
                        request.type, from: request.window.from, to: end, rule: .strictStart, order: .descending,
                        includeShadowed: true)
                ) { sample in
                    // Samples with the same start belong to one page.
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
                if let refusal = try lostMemory(of: ourName, operations, in: &txn) {
                    return operations.map { _ in .failed(reason: refusal) }
                }
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
                            let isUnknown = try txn.held(as: sample) == nil
                            if isUnknown, try txn.isDeletedUnseen(sample, by: databases) {
                                deletedUnseen.append(sample)
                                outcomes.append(.superseded)
                                continue
                            }
                            let outcome = try txn.merge(sample)
                            if isUnknown { unknown.append(sample) }
                            // What is hidden here may have been undeleted there, and is not deleted there again.
                            if outcome == .vetoed, try txn.deletedSample(id: sample.id)?.isHidden != true {
                                deleted.append(sample)
                            }
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
                // Runs after the received changes, so that the feed reports these deletions to us.
                for sample in deletedUnseen { try txn.buryUnseen(sample) }
                // Who has acknowledged nothing is told of all deletions anyway.
                if !deleted.isEmpty, let seen = try txn.peer(ourName)?.furthest {
                    try txn.tellDeletionsAgain(of: deleted, before: seen)
                }
                let lost = try txn.joinExports(among: unknown)
                for edit in lost.replaced { try txn.appendAudit(.editReplaced, edit) }
                for edit in lost.deleted { try txn.appendAudit(.editDeleted, edit) }
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

    /// Returns why operations are not taken: the name is another reader's since both greeted, or this store was put
    /// back to an older state since they met. Then it becomes another replica.
    private func lostMemory(
        of ourName: PeerID, _ operations: [PushOperation], in txn: inout WriteTransaction
    ) throws -> String? {
        if let greeting = reader.greeting, try txn.reader(ourName).isTakenOver(by: greeting) {
            return "another device has taken the name \(ourName)"
        }
        let place = try txn.memory(of: ourName).place
        guard let told = operations.compactMap(\.told).max(), told.isBeyond(place) else { return nil }
        if let place, place.isComparable(to: told) { try txn.beginEpoch() }
        return "the store is older than what was given to it"
    }

    /// Merges deletions of different samples in one step.
    private static func merge(
        _ deletions: [DeletedSample], in txn: inout WriteTransaction
    ) throws -> [PushOutcome] {
        try zip(deletions, txn.merge(deletions)).map { deletion, isDeleted in
            try isDeleted || txn.sample(id: deletion.id) == nil ? .done() : .superseded
        }
    }

    /// Pushes operations one by one, so that a sample that the other store refuses does not stop the rest.
    private func pushSingly(_ operations: [PushOperation], _ reason: String) async -> [PushOutcome] {
        guard operations.count > 1 else { return [.refused(reason: reason)] }
        var outcomes: [PushOutcome] = []
        for operation in operations { outcomes += await push([operation]) }
        return outcomes
    }

    /// Signals each commit of the other store, by any process.
    public func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> {
        let other = other
        // Take the mark before anything is read, so that commits made meanwhile are signalled.
        let mark = other.followedMark()
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watch = Task {
                if let mark { await other.followCommits(after: mark) { _ in continuation.yield(WakeUp([.every])) } }
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }

    /// Returns the other store's digest.
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
    /// The form in which the place of an enumeration is stored.
    package var cursor: [UInt8] { Array(String(nanoseconds).utf8) }

    package init?(cursor: [UInt8]) {
        guard let number = Int64(String(decoding: cursor, as: UTF8.self)) else { return nil }
        self.init(nanoseconds: number)
    }
}
