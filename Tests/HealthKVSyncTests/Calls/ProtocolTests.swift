import Foundation
import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("What goes between the engine and a peer")
struct ProtocolTests {
    // MARK: Messages

    private func expectRoundTrip<Message: Codable & Equatable>(
        _ messages: Message..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for message in messages {
            let bytes = try JSONEncoder().encode(message)
            #expect(try JSONDecoder().decode(Message.self, from: bytes) == message, sourceLocation: sourceLocation)
        }
    }

    private var sample: Sample {
        var sample = Sample(
            .dietaryProtein, 12.5, .gram, from: Instant(nanoseconds: 800_000_000_123_456_789),
            to: Instant(nanoseconds: 800_000_000_923_456_789), source: Source(bundle: "app", name: "App"),
            syncIdentifier: "app.log.7.protein", version: 3)
        sample.group = "breakfast"
        sample.modified = ChangeClock(time: Instant(nanoseconds: 800_000_001_000_000_001), replica: 7)
        sample.metadata = ["note": .string("with milk")]
        return sample
    }

    private var deleted: DeletedSample {
        DeletedSample(
            id: sample.id, type: .dietaryProtein, source: sample.source.identity, syncIdentifier: "app.log.7.protein",
            version: 4, modified: ChangeClock(time: Instant(nanoseconds: 5), replica: 2), group: "breakfast")
    }

    @Test("All messages can be coded, and come back as they went") func messages() throws {
        let sample = sample
        let place = try #require(ChangeToken("kv1:\(SampleID()):3:9:0:5"))
        try expectRoundTrip(
            PullRequest(type: .every), PullRequest(type: .bodyMass, token: [1, 255], from: sample.start, limit: 3))
        let own = PulledSample(sample, idAtPeer: SampleID(), isOwn: true)
        try expectRoundTrip(
            PullPage(additions: [], token: nil, isDrained: true),
            PullPage(
                additions: [own, PulledSample(sample)],
                deletions: [
                    PulledDeletion(deleted),
                    PulledDeletion(idAtPeer: SampleID(), syncIdentifier: "a", version: 2, group: "b"),
                ], token: [0], isDrained: false),
            PullPage(additions: [own], token: [9], isDrained: false, isSnapshot: true))
        try expectRoundTrip(
            PushOperation(
                sequence: .max, kind: .save(sample), idAtPeer: SampleID(), replacesUnnamed: true, group: [sample]),
            PushOperation(sequence: 1, kind: .delete(deleted), place: place))
        try expectRoundTrip(
            PushOutcome.done(), .done(idAtPeer: SampleID()), .superseded, .refused(reason: "r"), .parked(.locked),
            .failed(reason: "f"), .unknown(reason: "u"), .busy(retryAfter: .milliseconds(1_500)))
        try expectRoundTrip(
            EnumerationRequest(type: .bodyMass, window: TimeRange(from: sample.start), cursor: [7], limit: 9))
        try expectRoundTrip(
            EnumerationPage(samples: [own], cursor: [1]), EnumerationPage(samples: [], cursor: nil))
        try expectRoundTrip(DailyTotalRequest(type: .stepCount, days: ["2026-01-13"], zone: "Asia/Kathmandu"))
        try expectRoundTrip(
            DayReading(day: "2026-01-13", quantity: Quantity(3, .count)), DayReading(day: "2026-01-14", quantity: nil))
        try expectRoundTrip(SyncDigest(count: 3, sum: .max))
        try expectRoundTrip(AuthorizationRequest(read: [.bodyMass], write: [.stepCount]))
        try expectRoundTrip(TypeAuthorization.open)
        try expectRoundTrip(DatabaseTraits(), .healthKit)
        try expectRoundTrip(PeerLimits(), PeerLimits(operations: 1_000, page: 5, deadline: .seconds(5)))
        try expectRoundTrip(PeerMemory(), PeerMemory(place: place, read: place))
        try expectRoundTrip(PeerGreeting(store: SampleID(), replica: 7, epoch: 2))
        try expectRoundTrip(
            PeerError(.transient, "busy", retryAfter: .seconds(30)), PeerError(.nameTaken, "two phones"))
    }

    // MARK: Limits

    @Test("Limits that let nothing pass are refused, also in what another device sent")
    func impossibleLimits() async {
        for text in [#"{"operations": 0}"#, #"{"page": -1}"#, #"{"deadline": [0, 0]}"#] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(PeerLimits.self, from: Data(text.utf8))
            }
        }
        await #expect(processExitsWith: .failure) { _ = PeerLimits(operations: 0) }
        await #expect(processExitsWith: .failure) {
            var limits = PeerLimits()
            limits.page = 0
        }
    }

    @Test(
        "A peer is sent no more than it takes at once, and no group is torn apart that fits", arguments: [1, 3, 4, 100])
    func limits(limit: Int) async throws {
        let bench = try Bench(.everythingEaten)
        let health = MemoryHealthPeer(bench.health)
        let sizes = Mutex<[[String?]]>([])
        let peer = BadPeer(health, limits: PeerLimits(operations: limit, page: 2))
        peer.set { script in
            script.operations = { operations in
                let groups = operations.map { operation -> String? in
                    if case .save(let sample) = operation.kind { sample.group } else { nil }
                }
                sizes.withLock { $0.append(groups) }
            }
        }
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: .everythingEaten)], bench.clock)
        try await engine.enable(bench.peer)
        try await engine.sync()
        for meal in 0..<3 {
            try bench.write { txn in
                for (index, type) in [SampleType.dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal].enumerated() {
                    var sample = Sample(type, Double(index + 1), .gram, at: bench.time(meal))
                    sample.group = "meal \(meal)"
                    _ = try txn.save(sample)
                }
            }
        }
        #expect(try await engine.sync()[bench.peer]?.issue == nil)
        let calls = sizes.withLock { $0 }
        #expect(bench.health.live.count == 9)
        #expect(calls.allSatisfy { $0.count <= limit })
        if limit >= 3 {
            for meal in 0..<3 { #expect(calls.count { $0.contains("meal \(meal)") } == 1) }
        }
        try bench.finish()
    }

    @Test("A peer is asked for no larger page than it gives") func pageLimit() async throws {
        let bench = try Bench()
        let peer = BadPeer(MemoryHealthPeer(bench.health), limits: PeerLimits(page: 2))
        let asked = Mutex<Set<Int>>([])
        peer.set {
            $0.page = { page, request in
                asked.withLock { _ = $0.insert(request.limit) }
                return page
            }
            $0.enumeration = { page, request in
                asked.withLock { _ = $0.insert(request.limit) }
                return page
            }
        }
        for hour in 0..<5 { bench.health.save(bench.scale(80, hour: hour)) }
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: .weightTracker)], bench.clock)
        try await engine.enable(bench.peer)
        #expect(try await engine.sync()[bench.peer]?.issue == nil)
        #expect(asked.withLock { $0 } == [2])
        #expect(try bench.weights.count == 5)
        try bench.finish()
    }

    // MARK: Acknowledging

    @Test("A peer that cannot be told how far its feed is held is told again, and meanwhile that is an issue")
    func acknowledging() async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let peer = BadPeer(StorePeer(there, id: "there", as: "here"))
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) { $0.pageSize = 1 }
        try await engine.enable("there")
        for hour in 0..<4 {
            let sample = Sample(.bodyMass, 70, .kilogram, at: clock.now - .seconds(3_600 * hour))
            try await there.write { _ = try $0.save(sample) }
        }
        peer.set { $0.acknowledgement = PeerError(.transient, "the line is cut", retryAfter: .seconds(100)) }
        let report = try await engine.sync()["there"]!
        #expect(report.issue?.detail == "the line is cut")
        // It keeps nothing from coming, and is not tried with each page.
        #expect(try here.blockingRead { try $0.count(of: .bodyMass) } == 4)
        #expect(peer.count("acknowledge") == 1)
        #expect(try there.blockingRead { try $0.peer("here") }?.acknowledged == nil)
        let next = try #require(try engine.session("there").schedule.nextDue())
        #expect(next >= clock.now + .seconds(100) && next < clock.now + .seconds(200))
        peer.set { $0.acknowledgement = nil }
        clock.advance(seconds: 200)
        engine.start()
        try await until("the acknowledgement") { try there.read { try $0.peer("here") }?.acknowledged != nil }
        try await until("the end of the issue") { try engine.status().peers["there"]?.issue == nil }
        await engine.stop()
        #expect(try here.blockingRead { try $0.state(of: "there") }[.every].unacknowledged == nil)
    }

    // MARK: Snapshots

    /// A server that gives a new reader what lives, by pages, and then the feed from where the snapshot began.
    private struct SnapshotPeer: DatabasePeer {
        let inner: MemoryHealthPeer
        let health: MemoryHealth
        let afterPage: @Sendable (Int) -> Void

        var id: PeerID { inner.id }
        var traits: DatabaseTraits {
            var traits = DatabaseTraits.healthKit
            traits.hidesUnreadable = false
            return traits
        }
        func availability() async -> PeerAvailability { .available }
        func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
        func authorization(of type: SampleType) async -> TypeAuthorization { .open }
        func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { AsyncStream { $0.finish() } }
        func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
            EnumerationPage(samples: [], cursor: nil)
        }
        func push(_ operations: [PushOperation]) async -> [PushOutcome] { await inner.push(operations) }

        func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
            let parts = String(decoding: request.token ?? [], as: UTF8.self).split(separator: "/").map(String.init)
            guard request.token == nil || parts.first == "snapshot" else { return try await inner.pull(request) }
            let tail: String
            if parts.count == 3 {
                tail = parts[2]
            } else {
                let all = try await inner.pull(PullRequest(type: request.type, limit: 1_000)).token ?? []
                tail = String(decoding: all, as: UTF8.self)
            }
            let begin = parts.count == 3 ? Instant(nanoseconds: Int64(parts[1]) ?? 0) : .distantFuture
            let page = try await inner.enumerate(
                EnumerationRequest(type: request.type, window: TimeRange(to: begin), limit: 2))
            afterPage(page.samples.count)
            let next = page.cursor.map { "snapshot/\(String(decoding: $0, as: UTF8.self))/\(tail)" } ?? tail
            return PullPage(additions: page.samples, token: Array(next.utf8), isDrained: false, isSnapshot: true)
        }

        func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
            if token.starts(with: Array("snapshot".utf8)) { throw PeerError(.invalid, "that is no place in the feed") }
        }
    }

    @Test("A new reader is given a snapshot and then the tail, with what happened meanwhile") func snapshot()
        async throws
    {
        let bench = try Bench()
        let ids = (0..<7).map { bench.health.save(bench.scale(Double(80 + $0), hour: $0)) }
        let isFirst = Mutex(true)
        let peer = SnapshotPeer(inner: MemoryHealthPeer(bench.health), health: bench.health) { _ in
            guard
                isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else { return }
            bench.health.save(bench.scale(99, hour: 50))
            // The latest was told already, the earliest was not.
            bench.health.delete(ids[6])
            bench.health.delete(ids[0])
        }
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: .weightTracker)], bench.clock)
        try await engine.enable(bench.peer)
        #expect(try await engine.sync()[bench.peer]?.issue == nil)
        #expect(try bench.weights.sorted() == [81, 82, 83, 84, 85, 99])
        try bench.finish()
    }

    @Test("A snapshot that says that nothing is left, or what was deleted, is ignored", arguments: [false, true])
    func badSnapshot(hasDeletions: Bool) async throws {
        let bench = try Bench()
        let peer = BadPeer(MemoryHealthPeer(bench.health))
        bench.health.save(bench.scale(80, hour: 1))
        peer.set {
            $0.page = { page, _ in
                var page = page
                page.isSnapshot = true
                if hasDeletions {
                    page.isDrained = false
                    page.deletions.append(PulledDeletion(idAtPeer: SampleID()))
                }
                return page
            }
        }
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: .weightTracker)], bench.clock)
        try await engine.enable(bench.peer)
        #expect(try await engine.sync()[bench.peer]?.issue?.code == .badAnswer)
        try bench.finish()
    }

    // MARK: Groups

    @Test(
        "A deletion keeps its group on its way from store to store, alone and in a mass deletion",
        arguments: [false, true])
    func groups(isMass: Bool) async throws {
        let clock = ManualClock()
        let stores = [try Bench.makeStore(clock), try Bench.makeStore(clock), try Bench.makeStore(clock)]
        let engine = Bench.makeEngine(
            stores[1],
            [
                SyncPeer(StorePeer(stores[0], id: "left"), plan: .everything),
                SyncPeer(StorePeer(stores[2], id: "right"), plan: .everything),
            ], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        var sample = Sample(.dietaryProtein, 12, .gram, at: clock.now)
        sample.group = "breakfast"
        let (saved, id) = (sample, sample.id)
        try await stores[0].write { _ = try $0.save(saved) }
        try await engine.sync()
        #expect(try stores[2].blockingRead { try $0.sample(id: id) }?.group == "breakfast")
        if isMass {
            _ = try await stores[0].write { try $0.delete(.range(of: .dietaryProtein)) }
        } else {
            _ = try await stores[0].write { try $0.delete(id: id) }
        }
        try await engine.sync()
        for store in stores {
            #expect(try store.blockingRead { try $0.deletedSample(id: id) }?.group == "breakfast")
            #expect(try store.check().findings.isEmpty)
        }
    }
}

extension SyncPlan {
    /// Three nutrients, sent.
    fileprivate static let everythingEaten = SyncPlan(types: [
        .dietaryProtein: TypePlan(.push), .dietaryCarbohydrates: TypePlan(.push), .dietaryFatTotal: TypePlan(.push),
    ])
}
