import HealthKV
import Synchronization

/// A peer as the engine uses it: all calls go through this class. Each call has a deadline, and each answer is checked
/// against the protocol before the engine uses it.
final class CheckedPeer: Sendable {
    let name: String
    let traits: PeerTraits
    private let limits: PeerLimits
    private let inner: any Peer
    private let deadline: CallDeadline
    private let limit: Duration
    private let authorizationLimit: Duration
    private let progress = Mutex(FeedProgress())

    init(_ peer: any Peer, _ options: SyncOptions) {
        inner = peer
        (name, traits, limits) = (peer.name, peer.traits, peer.limits)
        deadline = CallDeadline(options)
        limit = max(.seconds(1), limits.deadline ?? options.callDeadline)
        authorizationLimit = options.authorizationDeadline
    }

    /// The result of a push.
    struct Answer: Sendable {
        /// One outcome for each operation, in their order.
        var outcomes: [PushOutcome]
        /// Why some outcomes do not come from the peer; `nil` if all do.
        var problem: PeerError?

        /// Why an operation may be incomplete; `nil` if all are complete.
        var errorToTryAgain: PeerError? { problem ?? outcomes.lazy.compactMap(\.errorToTryAgain).first }
    }

    /// Returns the form in which the peer gives a sample back. This is not a call with a deadline.
    func stored(_ sample: Sample) -> Sample { inner.stored(sample) }

    /// Ends the calls in progress and lets none begin until the interruption ends.
    func interrupt() -> Interruption { deadline.interrupt() }

    /// Whether no call may begin because the sync is ending.
    var isInterrupted: Bool { deadline.isInterrupted }
    // MARK: Access

    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        let inner = inner
        let answer = try await deadline.run("greet", within: limit) { () throws(PeerError) in
            try await inner.greet(greeting)
        }
        try answer?.check()
        return answer
    }

    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        let inner = inner
        return try await deadline.run("meet", within: limit) { () throws(PeerError) in try await inner.meet(told: told)
        }
    }

    func availability() async throws(PeerError) -> PeerAvailability {
        let inner = inner
        return try await deadline.run("availability", within: limit) { await inner.availability() }
    }

    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        let inner = inner
        try await deadline.run("requestAuthorization", within: authorizationLimit) { () throws(PeerError) in
            try await inner.requestAuthorization(request)
        }
    }

    func authorization(of type: SampleType) async throws(PeerError) -> TypeAuthorization {
        let inner = inner
        return try await deadline.run("authorization", within: limit) { await inner.authorization(of: type) }
    }

    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }

    func disconnected(from types: Set<SampleType>) async throws(PeerError) {
        let inner = inner
        try await deadline.run("disconnected", within: limit) { await inner.disconnected(from: types) }
    }

    // MARK: Reading

    func pull(_ asked: PullRequest) async throws(PeerError) -> PullPage {
        var request = asked
        request.limit = limits.page(request.limit)
        let (inner, sent) = (inner, request)
        let page = try await deadline.run("pull", within: limit) { () throws(PeerError) in
            try await inner.pull(sent)
        }
        try page.check(request, traits)
        try noteProgress(
            "\(request.type) \(request.from?.nanoseconds ?? .min)", from: request.token,
            to: page.isDrained ? nil : page.token,
            isEmpty: page.additions.isEmpty && page.deletions.isEmpty)
        return page
    }

    func enumerate(_ asked: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        var request = asked
        request.limit = limits.page(request.limit)
        let (inner, sent) = (inner, request)
        let page = try await deadline.run("enumerate", within: limit) { () throws(PeerError) in
            try await inner.enumerate(sent)
        }
        try page.check(request, traits)
        let window = "\(request.window.from.nanoseconds) \(request.window.to.nanoseconds)"
        try noteProgress(
            "window \(request.type) \(window)", from: request.cursor, to: page.cursor, isEmpty: page.samples.isEmpty)
        return page
    }

    private func noteProgress(
        _ feed: String, from place: [UInt8]?, to next: [UInt8]?, isEmpty: Bool
    ) throws(PeerError) {
        let problem: PeerError? = progress.withLock { progress in
            do throws(PeerError) { try progress.note(feed, from: place, to: next, isEmpty: isEmpty) } catch {
                return error
            }
            return nil
        }
        if let problem { throw problem }
    }

    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        let inner = inner
        let readings = try await deadline.run("dailyTotals", within: limit) { () throws(PeerError) in
            try await inner.dailyTotals(request)
        }
        try request.check(readings)
        return readings
    }

    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        let inner = inner
        let digest = try await deadline.run("digest", within: limit) { () throws(PeerError) in
            try await inner.digest(of: type, in: window)
        }
        try digest?.check()
        return digest
    }

    func types() async throws(PeerError) -> Set<SampleType> {
        let inner = inner
        let types = try await deadline.run("types", within: limit) { () throws(PeerError) in try await inner.types() }
        try types.checkTypes()
        return types
    }

    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        let inner = inner
        let forgotten = try await deadline.run("forgotten", within: limit) { () throws(PeerError) in
            try await inner.forgotten(among: samples, since: token)
        }
        if let forgotten, !forgotten.isSubset(of: samples.map(\.id)) {
            throw PeerError(.badAnswer, "a forgotten sample was not asked about")
        }
        return forgotten
    }

    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        let inner = inner
        try await deadline.run("acknowledge", within: limit) { () throws(PeerError) in
            try await inner.acknowledge(token, of: type)
        }
    }

    // MARK: Writing

    /// Sends operations, as many in one call as the peer takes.
    func push(_ operations: [PushOperation]) async -> Answer {
        var answer = Answer(outcomes: [])
        for part in limits.parts(of: operations) {
            guard answer.problem == nil else {
                answer.outcomes += part.map { _ in .failed(reason: "what was sent before it was not answered") }
                continue
            }
            let next = await pushAtOnce(Array(part))
            answer.outcomes += next.outcomes
            answer.problem = next.problem
        }
        return answer
    }

    /// If the peer gives no answer, or one that does not fit the operations, the outcome of each operation is unknown.
    private func pushAtOnce(_ operations: [PushOperation]) async -> Answer {
        let inner = inner
        do throws(PeerError) {
            let outcomes = try await deadline.run("push", within: limit) { await inner.push(operations) }
            guard outcomes.count == operations.count else {
                throw PeerError(
                    .badAnswer, "\(operations.count) operations have \(outcomes.count) outcomes")
            }
            return Answer(outcomes: outcomes)
        } catch {
            return Answer(outcomes: operations.map { _ in .unknown(reason: error.detail) }, problem: error)
        }
    }
}
