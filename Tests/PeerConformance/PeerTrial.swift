import HealthKVSync

/// A peer on trial, with somebody else who writes to the same other side.
package struct PeerTrial: Sendable {
    package var peer: any Peer
    /// Another app or device writes a sample there.
    package var write: @Sendable (Sample) async throws -> Void
    /// Another app or device deletes a sample that it wrote, by its time.
    package var delete: @Sendable (Sample) async throws -> Void
    /// This app itself, as it was before it knew sync identifiers, writes a sample; `nil` where there is no such thing.
    package var writeOwn: (@Sendable (Sample) async throws -> Void)?

    package init(
        _ peer: any Peer, write: @escaping @Sendable (Sample) async throws -> Void,
        writeOwn: (@Sendable (Sample) async throws -> Void)? = nil,
        delete: @escaping @Sendable (Sample) async throws -> Void
    ) {
        self.peer = peer
        self.write = write
        self.writeOwn = writeOwn
        self.delete = delete
    }
}

/// What a peer did otherwise than it should.
package struct Violation: Error, CustomStringConvertible {
    package let description: String
    init(_ what: String) { description = what }
}

func demand(_ isSo: Bool, _ what: String) throws { if !isSo { throw Violation(what) } }

extension PeerTrial {
    static let source = Source(bundle: "com.example.app", name: "app")

    static func weight(_ value: Double, hour: Int, version: Int64 = 1, id: SampleID = SampleID()) -> Sample {
        let time = Instant(nanoseconds: 790_000_000_000_000_000 + Int64(hour) * 3_600 * Instant.nanosecondsPerSecond)
        var sample = Sample(
            .bodyMass, value, .kilogram, from: time, to: time, source: source, id: id, syncIdentifier: id.description,
            version: version)
        sample.modified = ChangeClock(time: time + version, replica: 1)
        return sample
    }

    /// A sample that somebody else writes.
    static func foreign(_ value: Double, hour: Int) -> Sample {
        var sample = weight(value, hour: hour)
        sample.source = Source(bundle: "com.example.scale", name: "Scale")
        sample.syncIdentifier = nil
        sample.origin = .imported
        return sample
    }

    var feed: SampleType { peer.traits.hasOneFeed ? .every : .bodyMass }

    /// Everything behind a token.
    func pullAll(
        since token: [UInt8]? = nil, limit: Int = 1_000
    ) async throws -> (additions: [PulledSample], deletions: [PulledDeletion], token: [UInt8]?) {
        var all: (additions: [PulledSample], deletions: [PulledDeletion], token: [UInt8]?) = ([], [], token)
        for _ in 0..<10_000 {
            let page = try await peer.pull(PullRequest(type: feed, token: all.token, limit: limit))
            all.additions += page.additions
            all.deletions += page.deletions
            all.token = page.token ?? all.token
            if page.isDrained { return all }
        }
        throw Violation("a feed without an end")
    }

    /// All live samples of a window, page by page.
    func enumerateAll(_ window: TimeRange = .all, limit: Int = 1_000) async throws -> [PulledSample] {
        var all: [PulledSample] = []
        var cursor: [UInt8]?
        for _ in 0..<10_000 {
            let page = try await peer.enumerate(
                EnumerationRequest(type: .bodyMass, window: window, cursor: cursor, limit: limit))
            all += page.samples
            cursor = page.cursor
            if cursor == nil { return all }
        }
        throw Violation("an enumeration without an end")
    }

    func push(_ kinds: PushOperation.Kind...) async throws {
        let operations = kinds.enumerated().map { PushOperation(sequence: UInt64($0), kind: $1) }
        let outcomes = await peer.push(operations)
        try demand(outcomes.count == kinds.count, "an outcome for each operation")
        for outcome in outcomes {
            switch outcome {
            case .done, .superseded: break
            default: throw Violation("an operation that is in order ended as \(outcome)")
            }
        }
    }

    static func deletion(of sample: Sample) -> PushOperation.Kind {
        let clock = sample.modified.map { ChangeClock(time: $0.time + 1, replica: $0.replica) }
        return .delete(
            DeletedSample(
                id: sample.id, type: sample.type, source: sample.source.identity,
                syncIdentifier: sample.syncIdentifier, version: sample.version, modified: clock!))
    }
}
