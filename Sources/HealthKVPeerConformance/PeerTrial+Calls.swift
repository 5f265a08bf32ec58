import HealthKVSync

// Calls a peer in the same way as the engine: page by page, until nothing is left.
extension PeerTrial {
    /// The content of a feed.
    struct Pulled {
        var additions: [PulledSample] = []
        var deletions: [PulledDeletion] = []
        var token: [UInt8]?
    }

    /// The peer as a database; `nil` if it keeps records.
    var database: (any DatabasePeer)? { peer as? any DatabasePeer }

    /// The peer as one that keeps records; `nil` if it is a database.
    var records: (any RecordPeer)? { peer as? any RecordPeer }

    func feed(of type: SampleType = .bodyMass) -> SampleType { records == nil ? type : .every }

    /// Returns everything after a token.
    func pullAll(
        _ type: SampleType = .bodyMass, since token: [UInt8]? = nil, from: Instant? = nil, limit: Int = 1_000
    ) async throws -> Pulled {
        var all = Pulled(token: token)
        for _ in 0..<10_000 {
            let page = try await peer.pull(
                PullRequest(type: feed(of: type), token: all.token, from: from, limit: limit))
            all.additions += page.additions
            all.deletions += page.deletions
            all.token = page.token ?? all.token
            if page.isDrained { return all }
        }
        throw Violation("its feed has no end")
    }

    /// Returns all live samples of a window, page by page.
    func enumerateAll(
        _ type: SampleType = .bodyMass, _ window: TimeRange = .all, limit: Int = 1_000
    ) async throws -> [PulledSample] {
        var all: [PulledSample] = []
        var cursor: [UInt8]?
        for _ in 0..<10_000 {
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, window: window, cursor: cursor, limit: limit))
            all += page.samples
            cursor = page.cursor
            if cursor == nil { return all }
        }
        throw Violation("its enumeration has no end")
    }

    /// Returns the outlines of all live samples of a window, page by page, each once.
    func outlineAll(
        _ type: SampleType, _ window: TimeRange, limit: Int
    ) async throws -> [SampleOutline] {
        var all: [SampleOutline] = []
        var cursor: [UInt8]?
        for _ in 0..<10_000 {
            let page = try await peer.outline(
                EnumerationRequest(type: type, window: window, cursor: cursor, limit: limit))
            // A sample may appear again on the next page.
            all += page.samples.filter { new in !all.contains { $0.idAtPeer == new.idAtPeer } }
            cursor = page.cursor
            if cursor == nil { return all }
        }
        throw Violation("its outline has no end")
    }

    /// Pushes valid operations in one call and in order, and demands that each is completed.
    @discardableResult
    func push(_ kinds: PushOperation.Kind...) async throws -> [PushOutcome] { try await push(kinds) }

    /// Pushes operations in one call.
    @discardableResult
    func push(_ kinds: [PushOperation.Kind]) async throws -> [PushOutcome] {
        try await push(kinds.enumerated().map { PushOperation(sequence: UInt64($0), kind: $1) })
    }

    @discardableResult
    func push(_ operations: [PushOperation]) async throws -> [PushOutcome] {
        let outcomes = await peer.push(operations)
        try demand(
            outcomes.count == operations.count, "\(operations.count) operations have \(outcomes.count) outcomes")
        for outcome in outcomes {
            switch outcome {
            case .done, .superseded: break
            default: throw Violation("an operation that is in order ended as \(outcome)")
            }
        }
        return outcomes
    }
}
