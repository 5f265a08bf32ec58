import HealthKVSync

/// Another store as a peer that does one thing wrong.
struct FaultyRecords: RecordPeer {
    let inner: StorePeer
    let fault: PeerFault

    var name: String { inner.name }
    func availability() async -> PeerAvailability { await inner.availability() }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await inner.enumerate(request)
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] { await inner.push(operations) }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        try await inner.acknowledge(token, of: type)
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        switch fault {
        case .isSomebodyElseEachTime: PeerGreeting(store: SampleID(), replica: 1, epoch: 1)
        case .welcomesAll: PeerGreeting(store: SampleID(high: 7, low: 7), replica: 1, epoch: 1)
        default: try await inner.greet(greeting)
        }
    }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { try await inner.meet(told: told) }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        fault == .digestsNothing ? SyncDigest() : try await inner.digest(of: type, in: window)
    }
    func types() async throws(PeerError) -> Set<SampleType> {
        fault == .deniesTypes ? [.stepCount] : try await inner.types()
    }
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        fault == .callsAllForgotten ? Set(samples.map(\.id)) : try await inner.forgotten(among: samples, since: token)
    }
}
