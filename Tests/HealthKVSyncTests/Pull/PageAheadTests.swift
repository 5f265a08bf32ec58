import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

/// An import waits for the peer and for the disk at once.
@Suite("Pages pulled ahead")
struct PageAheadTests {
    private let health = MemoryHealth()
    private let clock = ManualClock()

    private func makeBench(
        _ peer: WatchedPeer<MemoryHealthPeer>? = nil,
        atStep: @escaping @Sendable (SyncStep, SampleStore) throws -> Void = { _, _ in }
    ) throws -> (store: SampleStore, engine: SyncEngine, peer: WatchedPeer<MemoryHealthPeer>) {
        let store = try Bench.makeStore(clock)
        let peer = peer ?? WatchedPeer(MemoryHealthPeer(health))
        let engine = Bench.makeEngine(store, [SyncPeer(peer, plan: .weightTracker)], clock) { options in
            options.pageSize = 4
            options.atStep = { try atStep($0, store) }
        }
        return (store, engine, peer)
    }

    private func weigh(_ count: Int) {
        for index in 0..<count {
            let time = Instant(nanoseconds: 700_000_000_000_000_000 + Int64(index) * 1_000_000_000)
            health.save(
                Sample(
                    .bodyMass, 60 + Double(index), .kilogram, at: time, source: Source(bundle: "scale", name: "Scale")))
        }
    }

    private func weights(_ store: SampleStore) throws -> [Double] {
        try store.read { try $0.samples(of: .bodyMass) }.map(\.quantity.value)
    }

    private func finish(_ store: SampleStore) throws {
        let report = try store.check()
        #expect(report.findings.isEmpty, "\(report.findings)")
        try store.close()
    }

    @Test("The next page is there when a page is committed, and no page is pulled twice") func isThere() async throws {
        let seen = Mutex<[Int]>([])
        let health = health
        let (store, engine, peer) = try makeBench { step, _ in
            if step == .pageCommitted { seen.withLock { $0.append(health.pulls) } }
        }
        weigh(14)
        try await engine.enable("health")
        try await engine.sync()
        // Four pages, of which the last is known to be the last.
        #expect(seen.withLock { $0 } == [2, 3, 4, 4])
        #expect(peer.tokens == [nil, "1:4", "1:8", "1:12"])
        #expect(try weights(store) == (0..<14).map { 60 + Double($0) })
        try finish(store)
    }

    @Test("One call at a time: nothing is acknowledged while a page is pulled ahead") func oneCall() async throws {
        let peer = WatchedPeer(MemoryHealthPeer(health), delay: .milliseconds(20))
        let (store, engine, _) = try makeBench(peer)
        weigh(14)
        try await engine.enable("health")
        try await engine.sync()
        #expect(peer.mostCalls == 1)
        #expect(peer.acknowledged == ["1:4", "1:8", "1:12", "1:14"])
        try finish(store)
    }

    @Test("C14: a page pulled ahead is dropped when the page before it was not committed") func dropped() async throws {
        let health = health
        let (store, engine, peer) = try makeBench { step, store in
            guard step == .pagePulled, health.pulls == 1 else { return }
            // Another process goes on from elsewhere.
            try store.write { txn in
                try txn.setAnchor(
                    Anchor(peer: "health", type: .bodyMass, token: Array("1:2".utf8), time: Instant(nanoseconds: 0)))
            }
        }
        weigh(10)
        try await engine.enable("health")
        try await engine.sync()
        #expect(peer.tokens == [nil, "1:4", "1:2", "1:6"])
        // What stands before the other's place is the other's to have brought.
        #expect(try weights(store) == (2..<10).map { 60 + Double($0) })
        try finish(store)
    }

    @Test("What fails ahead fails behind what was committed, and is tried again from there") func failure() async throws
    {
        let pulls = Mutex(0)
        let (store, engine, peer) = try makeBench()
        weigh(14)
        health.set { _ in
            pulls.withLock { $0 += 1 }
            return pulls.withLock { $0 } == 3 ? PeerError(.transient, "no answer") : nil
        }
        try await engine.enable("health")
        try await engine.sync()
        #expect(try weights(store).count == 8)
        #expect(try store.blockingRead { try $0.state(of: "health")[.bodyMass].pulls.failure?.issue.code } != nil)
        let anchor = try store.blockingRead { try $0.anchor(peer: "health", type: .bodyMass) }
        #expect(anchor.map { String(decoding: $0.token, as: UTF8.self) } == "1:8")
        clock.advance(seconds: 3_600)
        try await engine.sync()
        #expect(peer.tokens == [nil, "1:4", "1:8", "1:8", "1:12"])
        #expect(try weights(store).count == 14)
        try finish(store)
    }

    @Test(
        "A crash behind any step leaves no gap, and nothing that was pulled ahead",
        arguments: [
            SyncStep.pagePulled, .pageCommitted,
        ]) func crash(step: SyncStep) async throws
    {
        for number in 1...4 {
            let health = MemoryHealth()
            let left = Mutex(number)
            let store = try Bench.makeStore(clock)
            let peer = WatchedPeer(MemoryHealthPeer(health))
            let engine = Bench.makeEngine(store, [SyncPeer(peer, plan: .weightTracker)], clock) { options in
                options.pageSize = 4
                options.atStep = { reached in
                    // Windows of the newest samples come before the feed.
                    guard reached == step, health.pulls > 0 else { return }
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { throw CancellationError() }
                }
            }
            for index in 0..<14 {
                let time = Instant(nanoseconds: 700_000_000_000_000_000 + Int64(index) * 1_000_000_000)
                health.save(
                    Sample(
                        .bodyMass, Double(index), .kilogram, at: time, source: Source(bundle: "scale", name: "Scale")))
            }
            try await engine.enable("health")
            await #expect(throws: CancellationError.self) { try await engine.sync() }
            let held = try weights(store).count
            #expect(held == min(14, 4 * (step == .pagePulled ? number - 1 : number)))
            let token = try store.blockingRead { try $0.anchor(peer: "health", type: .bodyMass) }?.token
            #expect(token.map { String(decoding: $0, as: UTF8.self) } == (held == 0 ? nil : "1:\(held)"))
            try await engine.sync()
            #expect(try weights(store) == (0..<14).map { Double($0) })
            try finish(store)
        }
    }

    @Test("A peer that keeps records is asked for nothing ahead: it may take a request for what is held") func records()
        async throws
    {
        let other = try Bench.makeStore(clock, app: "other")
        try await other.write { txn in
            for index in 0..<14 {
                try txn.save(Sample(.bodyMass, 60, .kilogram, at: Instant(nanoseconds: Int64(index) * 1_000_000_000)))
            }
        }
        let store = try Bench.makeStore(clock)
        let peer = WatchedPeer(StorePeer(other, id: "other"))
        let seen = Mutex<[Int]>([])
        let engine = Bench.makeEngine(store, [SyncPeer(peer, plan: .everything)], clock) { options in
            options.pageSize = 4
            options.atStep = { step in
                if step == .pageCommitted { seen.withLock { $0.append(peer.tokens.count) } }
            }
        }
        try await engine.enable("other")
        try await engine.sync()
        let counts = seen.withLock { $0 }
        #expect(counts.count >= 4 && counts == Array(1...counts.count))
        try finish(store)
        try other.close()
    }
}

/// A peer whose calls are noted.
private final class WatchedPeer<Inner: Peer>: Peer {
    private struct Calls {
        var underWay = 0
        var most = 0
        var tokens: [String?] = []
        var acknowledged: [String] = []
    }

    fileprivate let inner: Inner
    private let delay: Duration
    private let calls = Mutex(Calls())

    init(_ inner: Inner, delay: Duration = .zero) { (self.inner, self.delay) = (inner, delay) }

    /// The most calls that were under way at once.
    var mostCalls: Int { calls.withLock { $0.most } }
    /// The tokens that pages were asked for behind.
    var tokens: [String?] { calls.withLock { $0.tokens } }
    var acknowledged: [String] { calls.withLock { $0.acknowledged } }

    private func noted<Answer>(_ call: () async throws(PeerError) -> Answer) async throws(PeerError) -> Answer {
        calls.withLock { calls in
            calls.underWay += 1
            calls.most = max(calls.most, calls.underWay)
        }
        defer { calls.withLock { $0.underWay -= 1 } }
        if delay > .zero { try? await Task.sleep(for: delay) }
        return try await call()
    }

    var id: PeerID { inner.id }
    func availability() async -> PeerAvailability { await inner.availability() }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        calls.withLock { $0.tokens.append(request.token.map { String(decoding: $0, as: UTF8.self) }) }
        let inner = inner
        return try await noted { () throws(PeerError) in try await inner.pull(request) }
    }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        let inner = inner
        return try await noted { () throws(PeerError) in try await inner.enumerate(request) }
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] { await inner.push(operations) }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        calls.withLock { $0.acknowledged.append(String(decoding: token, as: UTF8.self)) }
        let inner = inner
        try await noted { () throws(PeerError) in try await inner.acknowledge(token, of: type) }
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
}

extension WatchedPeer: DatabasePeer where Inner: DatabasePeer {
    var traits: DatabaseTraits { inner.traits }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        try await inner.requestAuthorization(request)
    }
    func authorization(of type: SampleType) async -> TypeAuthorization { await inner.authorization(of: type) }
}

extension WatchedPeer: RecordPeer where Inner: RecordPeer {
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { try await inner.greet(greeting) }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { try await inner.meet(told: told) }
}
