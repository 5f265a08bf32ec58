import Foundation
import HealthKVSync
import Synchronization

/// A database like HealthKit's in a file, so that saved samples survive the process that saved them. Each change
/// replaces the whole file.
final class FileHealth: Sendable {
    struct Event: Codable, Sendable {
        var id: SampleID
        /// `nil` for a deletion.
        var sample: Sample?
        var app: String
        var syncIdentifier: String?
        var version: Int64
    }

    private struct State: Codable {
        var events: [Event] = []
        var made: UInt64 = 0
    }

    private let path: String
    private let state: Mutex<State>
    /// Called before and after each replacement of the file; a process may end there.
    private let point: @Sendable () -> Void

    init(path: String, point: @escaping @Sendable () -> Void = {}) throws {
        (self.path, self.point) = (path, point)
        let bytes = try? Data(contentsOf: URL(fileURLWithPath: path))
        let known = try bytes.map { try JSONDecoder().decode(State.self, from: $0) }
        state = Mutex(known ?? State())
    }

    var events: [Event] { state.withLock { $0.events } }

    var live: [Event] { FileHealth.live(events) }

    private static func live(_ events: [Event]) -> [Event] {
        let gone = Set(events.filter { $0.sample == nil }.map(\.id))
        return events.filter { $0.sample != nil && !gone.contains($0.id) }
    }

    /// Changes the state and replaces the file.
    private func change<Answer: Sendable>(_ body: @Sendable (inout State) -> Answer) -> Answer {
        point()
        let answer = state.withLock { state in
            let answer = body(&state)
            // End the process if the file cannot be written, because the state must not differ from the file.
            let bytes = try! JSONEncoder().encode(state)
            try! bytes.write(to: URL(fileURLWithPath: path), options: .atomic)
            return answer
        }
        point()
        return answer
    }

    /// Saves by the rules of sync versions. Returns the id of the sample in this database.
    @discardableResult
    func save(_ sample: Sample, app: String) -> SampleID {
        change { state in
            let live = FileHealth.live(state.events)
            let known = sample.syncIdentifier.flatMap { text in
                live.first { $0.app == app && $0.syncIdentifier == text && $0.sample?.type == sample.type }
            }
            if let known, known.version >= sample.version { return known.id }
            state.made += 1
            let id = SampleID(high: 0x4845_414C_5448_4B56, low: 0x8000_0000_0000_0000 | state.made)
            var stored = sample
            (stored.id, stored.modified) = (id, nil)
            state.events.append(
                Event(
                    id: id, sample: stored, app: app, syncIdentifier: sample.syncIdentifier, version: sample.version))
            if let known { state.events.append(known.deletion) }
            return id
        }
    }

    func delete(where isMeant: @Sendable (Event) -> Bool) {
        let meant = live.filter(isMeant)
        guard !meant.isEmpty else { return }
        change { state in state.events += meant.map(\.deletion) }
    }
}

extension FileHealth.Event {
    fileprivate var deletion: FileHealth.Event {
        FileHealth.Event(id: id, sample: nil, app: app, syncIdentifier: syncIdentifier, version: version)
    }
}

/// A database that shows one app's view of a ``FileHealth``.
struct FileHealthPeer: DatabasePeer {
    static let app = "app"
    let id: PeerID = "health"
    let traits = DatabaseTraits.healthKit
    let health: FileHealth

    func availability() async -> PeerAvailability { .available }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
    func authorization(of type: SampleType) async -> TypeAuthorization {
        TypeAuthorization(writing: .granted, reading: .unknown, advice: .unnecessary)
    }

    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        let events = health.events
        let from = request.token.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        let to = min(events.count, from + request.limit)
        let live = Set(health.live.map(\.id))
        var page = PullPage(additions: [], token: Array("\(to)".utf8), isDrained: to == events.count)
        for event in events[min(from, to)..<to] {
            if event.sample == nil {
                page.deletions.append(
                    PulledDeletion(
                        idAtPeer: event.id, syncIdentifier: event.syncIdentifier,
                        version: event.syncIdentifier == nil ? nil : event.version))
            } else if live.contains(event.id) {
                page.additions += pulled(event)
            }
        }
        return page
    }

    private func pulled(_ event: FileHealth.Event) -> [PulledSample] {
        guard var sample = event.sample else { return [] }
        sample.origin = .imported
        return [PulledSample(sample, isOwn: event.app == FileHealthPeer.app)]
    }

    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        let samples = health.live.flatMap { pulled($0) }.filter { item in
            item.sample.type == request.type && item.sample.start >= request.window.from
                && item.sample.start < request.window.to
        }
        return EnumerationPage(samples: samples.sorted { $0.sample.start > $1.sample.start }, cursor: nil)
    }

    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        operations.map { operation in
            switch operation.kind {
            case .save(let sample): return .done(idAtPeer: health.save(sample, app: FileHealthPeer.app))
            case .delete(let deleted):
                let text = deleted.syncIdentifier ?? deleted.id.description
                health.delete { $0.app == FileHealthPeer.app && $0.syncIdentifier == text }
                return .done()
            }
        }
    }

    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { AsyncStream { $0.finish() } }
}
