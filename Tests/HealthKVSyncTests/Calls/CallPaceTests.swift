import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

/// Another store whose calls take time: two seconds for each operation, and a tenth of one for each sample of a page.
private final class SlowRecords: RecordPeer {
    private let inner: StorePeer
    private let clock: ManualClock
    private let limit: Duration = .seconds(60)
    private let lateCalls = Mutex(0)
    private let returned = Mutex(0)

    init(_ inner: StorePeer, _ clock: ManualClock) { (self.inner, self.clock) = (inner, clock) }

    var late: Int { lateCalls.withLock { $0 } }

    /// Waits for the calls that nobody waits for any more: while too many of them have not returned, none begins.
    func settle() async throws {
        while returned.withLock({ $0 }) < late { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Lets time pass. Returns `false` after the deadline, when nobody waits for the answer any more.
    private func work(seconds: Int) async -> Bool {
        clock.advance(seconds: seconds)
        guard .seconds(seconds) >= limit else { return true }
        lateCalls.withLock { $0 += 1 }
        // A call that ends with its cancellation would still be heard.
        await Task { try? await Task.sleep(for: .milliseconds(300)) }.value
        returned.withLock { $0 += 1 }
        return false
    }

    var id: PeerID { inner.id }
    func availability() async -> PeerAvailability { await inner.availability() }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        await work(seconds: operations.count * 2) ? await inner.push(operations) : []
    }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        let page = try await inner.pull(request)
        guard await work(seconds: page.additions.count / 10) else { throw PeerError(.transient, "too late") }
        return page
    }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await inner.enumerate(request)
    }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        try await inner.acknowledge(token, of: type)
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { try await inner.greet(greeting) }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { try await inner.meet(told: told) }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? { nil }
    func types() async throws(PeerError) -> Set<SampleType> { try await inner.types() }
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        try await inner.forgotten(among: samples, since: token)
    }
}

@Suite("Calls carry what fits into their time")
struct CallPaceTests {
    @Test("What takes longer than a call may is sent and read in smaller parts, and arrives") func slowPeer()
        async throws
    {
        let (clock, calls) = (ManualClock(), ManualClock())
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let peer = SlowRecords(StorePeer(there, id: "there", as: "here"), calls)
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) {
            $0.callClock = calls.sync
        }
        try await engine.enable("there")
        func samples(_ first: Int, _ count: Int) -> [Sample] {
            (first..<first + count).map { Sample(.bodyMass, 70, .kilogram, at: clock.now - .seconds($0)) }
        }
        let (ours, theirs) = (samples(0, 300), samples(1_000, 1_500))
        _ = try await here.write { try $0.save(ours) }
        _ = try await there.write { try $0.save(theirs) }
        var passes = 0
        for _ in 0..<20 {
            passes += 1
            if try await engine.sync()["there"]?.issue == nil { break }
            try await peer.settle()
            clock.advance(seconds: 3_600)
        }
        #expect(try here.blockingRead { try $0.count() } == 1_800)
        #expect(try there.blockingRead { try $0.count() } == 1_800)
        // 1,500 samples of a page are 150 s: three halvings of 2,000 suffice. 200 operations are 400 s: three of them.
        // A pass more for each call that had returned but was not yet counted as such.
        #expect(passes <= 10 + peer.late && peer.late < 9, "\(passes) passes, \(peer.late) late calls")
        // What fits is known now.
        let before = peer.late
        let more = samples(5_000, 100)
        _ = try await here.write { try $0.save(more) }
        _ = try await engine.sync()
        #expect(try there.blockingRead { try $0.count() } == 1_900)
        #expect(peer.late == before)
        for store in [here, there] { try store.close() }
    }

    @Test("A call carries half after one that took too long, and more only after some in time")
    func pace() {
        var pace = CallPace()
        pace.note(inTime: 200)
        #expect(pace.amount(of: 200) == 200)
        pace.note(late: 200)
        #expect(pace.amount(of: 200) == 100)
        // A call that carried far less says nothing.
        for _ in 0..<100 { pace.note(inTime: 50) }
        #expect(pace.amount(of: 200) == 100)
        // Parts end at groups, so they may carry a little less.
        for _ in 0..<7 { pace.note(inTime: 98) }
        #expect(pace.amount(of: 200) == 100)
        pace.note(inTime: 98)
        #expect(pace.amount(of: 500) == 200)
        for amount in [200, 100, 50, 25, 12, 6, 3] { pace.note(late: amount) }
        #expect(pace.amount(of: 500) == 1)
        // One thing alone is not too much: the peer was away.
        for _ in 0..<100 { pace.note(late: 1) }
        var calls = 0
        while pace.amount(of: 4_000) < 4_000 {
            pace.note(inTime: pace.amount(of: 4_000))
            calls += 1
        }
        #expect(calls < 200, "\(calls) calls until all fits again")
    }

    @Test("Only a call that used up its time carries less the next time", arguments: [1, 40])
    func lateness(seconds: Int) async throws {
        let (clock, calls) = (ManualClock(), ManualClock())
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let service = PeerService(StorePeer(there, id: "there", as: "here"))
        let peer = RemotePeer(id: "there") { call, body in
            guard call == .push else { return await service.answer(call, body) }
            calls.advance(seconds: seconds)
            throw PeerError(.transient, "the transport's own deadline")
        }
        var options = SyncOptions()
        options.callClock = calls.sync
        let checked = CheckedPeer(.records(peer), options)
        let operations = (0..<8).map { number in
            PushOperation(
                sequence: UInt64(number),
                kind: .save(Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0), id: SampleID())))
        }
        _ = await checked.push(operations)
        #expect(checked.pushSize(200) == (seconds < 30 ? 200 : 4))
        let cancelled = Task { await checked.push(operations) }
        cancelled.cancel()
        _ = await cancelled.value
        #expect(checked.pushSize(200) == (seconds < 30 ? 200 : 4))
        for store in [here, there] { try store.close() }
    }

    @Test("A meal stays in one call, however little fits, unless the peer itself takes less", arguments: [nil, 3])
    func parts(most: Int?) {
        func operation(_ number: Int, _ group: String?) -> PushOperation {
            PushOperation(
                sequence: UInt64(number),
                kind: .save(
                    Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0), id: SampleID(), group: group)))
        }
        let groups: [String?] = ["a", "a", nil, nil, "b", "b", "b", "b", "c"]
        let operations = groups.enumerated().map { operation($0, $1) }
        let sizes = PeerLimits(operations: most).parts(of: operations, wanted: 1).map(\.count)
        #expect(sizes == (most == nil ? [2, 1, 1, 4, 1] : [2, 1, 1, 3, 1, 1]))
        #expect(PeerLimits(operations: most).parts(of: operations).map(\.count) == (most == nil ? [9] : [3, 1, 3, 2]))
    }
}
