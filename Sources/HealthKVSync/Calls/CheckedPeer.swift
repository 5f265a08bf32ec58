import HealthKV
import Synchronization

/// A peer as the engine uses it: all calls go through this class. Each call has a deadline, and each answer is checked
/// against the protocol before the engine uses it.
///
/// What only one kind of peer has is in ``database`` or ``records``.
final class CheckedPeer: Sendable {
    let id: PeerID
    /// The calls of a database; `nil` for a record peer.
    let database: CheckedDatabase?
    /// The calls of a record peer; `nil` for a database.
    let records: CheckedRecords?
    private let inner: any Peer
    private let deadline: CallDeadline
    private let usualLimit: Duration
    /// What the peer takes now: a server may tell it.
    private var limits: PeerLimits { inner.limits }
    private var limit: Duration { limits.deadline(usual: usualLimit) }
    /// The deadline that the peer itself has named; `nil` if it has named none.
    var ownDeadline: Duration? { limits.deadline }
    private let progress = Mutex(FeedProgress())
    /// The clock of calls, if it is not that of the system.
    private let clock: SyncClock?
    private let pushPace = SharedPace()
    private let pagePace = SharedPace()

    init(_ kind: PeerKind, _ options: SyncOptions) {
        inner = kind.peer
        id = inner.id
        deadline = CallDeadline(options)
        clock = options.callClock
        usualLimit = options.callDeadline
        switch kind {
        case .database(let peer):
            database = CheckedDatabase(
                peer, deadline, limit: inner.limits.deadline(usual: usualLimit),
                askingLimit: options.authorizationDeadline)
            records = nil
        case .records(let peer):
            database = nil
            records = CheckedRecords(inner: peer, deadline: deadline, usualLimit: usualLimit)
        }
    }

    /// Returns how many samples a message may carry, of as many as are wanted.
    func pageSize(_ wanted: Int) -> Int { limits.page(wanted) }

    /// Whether the peer keeps records, and has one feed of all types.
    var keepsRecords: Bool { records != nil }
    /// Whether an empty answer of the peer never means deleted.
    var hidesUnreadable: Bool { database?.traits.hidesUnreadable ?? false }
    /// Whether the user has to grant access.
    var needsAuthorization: Bool { database?.traits.needsAuthorization ?? false }

    /// The result of a push.
    struct Answer: Sendable {
        /// One outcome for each operation, in their order.
        var outcomes: [PushOutcome]
        /// Why some outcomes do not come from the peer; `nil` if all do.
        var problem: PeerError?

        /// Why an operation may be incomplete; `nil` if all are complete.
        var errorToTryAgain: PeerError? { problem ?? outcomes.lazy.compactMap(\.errorToTryAgain).first }

        /// The first operation that the peer has left for the next call, after it refused one before it; `nil` if there
        /// is none. The same push again would end at the same place.
        var rest: Int? {
            guard problem == nil, let left = outcomes.firstIndex(where: { $0.errorToTryAgain != nil }),
                case .failed = outcomes[left], outcomes[..<left].contains(where: \.isRefused)
            else { return nil }
            return left
        }
    }

    /// Ends the calls in progress and lets none begin until the interruption ends.
    func interrupt() -> Interruption { deadline.interrupt() }

    /// Whether no call may begin because the sync is ending.
    var isInterrupted: Bool { deadline.isInterrupted }

    // MARK: Access

    func availability() async throws(PeerError) -> PeerAvailability {
        let inner = inner
        return try await deadline.run("availability", within: limit) { await inner.availability() }
    }

    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }

    func disconnected(from types: Set<SampleType>) async throws(PeerError) {
        let inner = inner
        try await deadline.run("disconnected", within: limit) { await inner.disconnected(from: types) }
    }

    // MARK: Reading

    func pull(_ asked: PullRequest) async throws(PeerError) -> PullPage {
        var request = asked
        request.limit = pagePace.amount(of: limits.page(asked.limit))
        let (inner, sent) = (inner, request)
        let page = try await run("pull", of: sent.limit, pagePace) { () throws(PeerError) in
            try await inner.pull(sent)
        }
        pagePace.note(inTime: page.additions.count + page.deletions.count)
        try page.check(request, isOfRecords: keepsRecords)
        try noteProgress(
            "\(request.type) \(request.from?.nanoseconds ?? .min)", from: request.token,
            to: page.isDrained ? nil : page.token,
            isEmpty: page.additions.isEmpty && page.deletions.isEmpty)
        return page
    }

    func enumerate(_ asked: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        var request = asked
        request.limit = pagePace.amount(of: limits.page(asked.limit))
        let (inner, sent) = (inner, request)
        let page = try await run("enumerate", of: sent.limit, pagePace) { () throws(PeerError) in
            try await inner.enumerate(sent)
        }
        pagePace.note(inTime: page.samples.count)
        try page.check(request, isOfRecords: keepsRecords)
        try noteWindow("window", request, to: page.cursor, isEmpty: page.samples.isEmpty)
        return page
    }

    func outline(_ asked: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        var request = asked
        request.limit = pagePace.amount(of: limits.page(asked.limit))
        let (inner, sent) = (inner, request)
        let page = try await run("outline", of: sent.limit, pagePace) { () throws(PeerError) in
            try await inner.outline(sent)
        }
        pagePace.note(inTime: page.samples.count)
        try page.check(request)
        try noteWindow("outline", request, to: page.cursor, isEmpty: page.samples.isEmpty)
        return page
    }

    private func noteWindow(
        _ call: String, _ request: EnumerationRequest, to next: [UInt8]?, isEmpty: Bool
    ) throws(PeerError) {
        let window = "\(request.window.from.nanoseconds) \(request.window.to.nanoseconds)"
        try noteProgress("\(call) \(request.type) \(window)", from: request.cursor, to: next, isEmpty: isEmpty)
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

    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        let inner = inner
        try await deadline.run("acknowledge", within: limit) { () throws(PeerError) in
            try await inner.acknowledge(token, of: type)
        }
    }

    // MARK: Writing

    /// Returns how many operations to send in one call.
    func pushSize(_ wanted: Int) -> Int { pushPace.amount(of: wanted) }

    /// Sends operations, as many in one call as the peer takes.
    func push(_ operations: [PushOperation]) async -> Answer {
        var answer = Answer(outcomes: [])
        for part in limits.parts(of: operations, wanted: pushSize(.max)) {
            guard answer.problem == nil else {
                answer.outcomes += part.map { _ in .failed(reason: "an earlier part of the push failed") }
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
            let began = time
            let outcomes = try await run("push", of: operations.count, pushPace) { await inner.push(operations) }
            // Of its transport's deadline a peer says that nothing is known, or nothing was done.
            if outcomes.allSatisfy(\.mayBeTooMuch), isLate(since: began), !Task.isCancelled, !isInterrupted {
                pushPace.note(late: operations.count)
            } else if !outcomes.contains(where: \.mayBeTooMuch) {
                pushPace.note(inTime: operations.count)
            }
            try outcomes.check(operations)
            return Answer(outcomes: outcomes)
        } catch {
            return Answer(outcomes: operations.map { _ in .unknown(reason: error.detail) }, problem: error)
        }
    }

    /// Runs a call that carries an amount, and notes whether it was too much: it reached its deadline, or failed for a
    /// moment after half of that time, as at the transport's own deadline.
    private func run<Answer: Sendable>(
        _ name: String, of amount: Int, _ pace: SharedPace,
        _ call: @escaping @Sendable () async throws(PeerError) -> Answer
    ) async throws(PeerError) -> Answer {
        let began = time
        let isNoted = Atomic(false)
        let note: @Sendable () -> Void = { [self] in
            if isLate(since: began), !isNoted.exchange(true, ordering: .relaxed) { pace.note(late: amount) }
        }
        do throws(PeerError) {
            return try await deadline.run(name, within: limit, late: note, call)
        } catch {
            if error.code == .transient, error.retryAfter == nil, !Task.isCancelled, !isInterrupted { note() }
            throw error
        }
    }

    /// A time to measure calls by, without time in which the device slept.
    private var time: Duration {
        clock.map { .nanoseconds($0.now().nanoseconds) } ?? CheckedPeer.start.duration(to: SuspendingClock.now)
    }
    private static let start = SuspendingClock.now

    /// Whether a call took half of its time or more, without time in which the device slept. Transports have deadlines
    /// of their own.
    private func isLate(since began: Duration) -> Bool { time - began >= min(limit / 2, .seconds(30)) }
}

/// A pace that calls of several tasks share.
private final class SharedPace: Sendable {
    private let pace = Mutex(CallPace())

    func amount(of wanted: Int) -> Int { pace.withLock { $0.amount(of: wanted) } }
    func note(inTime amount: Int) { pace.withLock { $0.note(inTime: amount) } }
    func note(late amount: Int) { pace.withLock { $0.note(late: amount) } }
}
