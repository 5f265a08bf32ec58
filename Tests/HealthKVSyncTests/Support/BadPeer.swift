import HealthKVSync
import Synchronization

/// What becomes of answers; nothing unless it is given.
struct AnswerScript: Sendable {
    var operations: (@Sendable ([PushOperation]) -> Void)?
    var outcomes: (@Sendable ([PushOutcome]) -> [PushOutcome])?
    var page: (@Sendable (PullPage, PullRequest) -> PullPage)?
    /// What a pull ends with.
    var pullFailure: PeerError?
    var enumeration: (@Sendable (EnumerationPage, EnumerationRequest) -> EnumerationPage)?
    var outline: (@Sendable (OutlinePage, EnumerationRequest) -> OutlinePage)?
    var totals: (@Sendable ([DayReading]) -> [DayReading])?
    var digest: (@Sendable (SyncDigest?) -> SyncDigest?)?
    var types: (@Sendable (Set<SampleType>) -> Set<SampleType>)?
    var forgotten: (@Sendable (Set<SampleID>?) -> Set<SampleID>?)?
    var acknowledgement: PeerError?
    var greeting: (@Sendable (PeerGreeting?) -> PeerGreeting?)?
    /// What the peer remembers of the store; unless it is given, the peer remembers nothing.
    var memory: (@Sendable (PeerMemory?) -> PeerMemory?)?
    /// Names of calls that do not return, whatever is done to end them.
    var hanging: Set<String> = []
}

/// A peer of the kind of another one, whose answers are altered on their way, or do not come.
final class BadPeer<Inner: Peer>: Peer {
    private struct State {
        var script = AnswerScript()
        var calls: [String: Int] = [:]
        var hung: [CheckedContinuation<Void, Never>] = []
    }

    private let inner: Inner
    private let limited: PeerLimits
    private let state = Mutex(State())

    init(_ inner: Inner, limits: PeerLimits = PeerLimits()) { (self.inner, limited) = (inner, limits) }

    var id: PeerID { inner.id }

    func set(_ change: (inout AnswerScript) -> Void) { state.withLock { change(&$0.script) } }
    func count(_ call: String) -> Int { state.withLock { $0.calls[call] ?? 0 } }
    /// How many calls hang.
    var hung: Int { state.withLock { $0.hung.count } }

    /// Lets calls that hang go on: their answers come late.
    func release() {
        let hung = state.withLock { state in
            defer { state.hung = [] }
            return state.hung
        }
        for call in hung { call.resume() }
    }

    private func begin(_ call: String) async -> AnswerScript {
        let script = state.withLock { state in
            state.calls[call, default: 0] += 1
            return state.script
        }
        if script.hanging.contains(call) {
            await withCheckedContinuation { hung in state.withLock { $0.hung.append(hung) } }
        }
        return script
    }

    var limits: PeerLimits { limited }

    func availability() async -> PeerAvailability {
        _ = await begin("availability")
        return await inner.availability()
    }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        let script = await begin("pull")
        if let error = script.pullFailure { throw error }
        let page = try await inner.pull(request)
        return script.page?(page, request) ?? page
    }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        let script = await begin("enumerate")
        let page = try await inner.enumerate(request)
        return script.enumeration?(page, request) ?? page
    }
    func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        let script = await begin("outline")
        let page = try await inner.outline(request)
        return script.outline?(page, request) ?? page
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let script = await begin("push")
        script.operations?(operations)
        let outcomes = await inner.push(operations)
        return script.outcomes?(outcomes) ?? outcomes
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        let script = await begin("acknowledge")
        if let error = script.acknowledgement { throw error }
        try await inner.acknowledge(token, of: type)
    }
    func disconnected(from types: Set<SampleType>) async {
        _ = await begin("disconnected")
        await inner.disconnected(from: types)
    }
}

extension BadPeer: DatabasePeer where Inner: DatabasePeer {
    var traits: DatabaseTraits { inner.traits }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        _ = await begin("requestAuthorization")
        try await inner.requestAuthorization(request)
    }
    func authorization(of type: SampleType) async -> TypeAuthorization {
        _ = await begin("authorization")
        return await inner.authorization(of: type)
    }
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        let script = await begin("dailyTotals")
        let readings = try await inner.dailyTotals(request)
        return script.totals?(readings) ?? readings
    }
}

extension BadPeer: RecordPeer where Inner: RecordPeer {
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        let script = await begin("greet")
        let answer = try await inner.greet(greeting)
        return script.greeting.map { $0(answer) } ?? answer
    }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        let script = await begin("digest")
        let digest = try await inner.digest(of: type, in: window)
        return script.digest.map { $0(digest) } ?? digest
    }
    func types() async throws(PeerError) -> Set<SampleType> {
        let script = await begin("types")
        let types = try await inner.types()
        return script.types?(types) ?? types
    }
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        let script = await begin("forgotten")
        let forgotten = try await inner.forgotten(among: samples, since: token)
        return script.forgotten.map { $0(forgotten) } ?? forgotten
    }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        let script = await begin("meet")
        guard let memory = script.memory else { return nil }
        return memory(try await inner.meet(told: told))
    }
}
