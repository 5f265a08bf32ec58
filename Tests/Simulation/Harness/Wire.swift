import HealthKVSync
import Synchronization

/// A fault of a call between an engine and its peer.
enum WireFault: String, CaseIterable, Sendable {
    /// The call does not arrive.
    case lost
    /// The call is performed, and its result does not come back.
    case answerLost
    /// The call is performed twice.
    case doubled
    /// The process ends before the call is sent.
    case crashBefore
    /// The process ends after the call is performed, and before its result arrives.
    case crashAfter
    /// The device is locked right after its availability was queried.
    case lockedBetween

    /// An operation is performed, and its outcome is missing.
    case outcomeMissing
    /// The peer returns more outcomes than operations.
    case outcomesTooMany
    /// A page is empty, does not advance the token, and claims that more is left.
    case standsStill
    /// A page has samples of another type, or deletions of unknown samples.
    case wrongPage
    /// The call is performed and never returns.
    case neverReturns
    /// The answer is one that no peer may give.
    case badAnswer

    /// The faults of a wire.
    static let ofWires: [WireFault] = [.lost, .answerLost, .doubled, .crashBefore, .crashAfter, .lockedBetween]
    /// The faults of a peer that violates its protocol.
    static let ofPeers: [WireFault] = [.outcomeMissing, .outcomesTooMany, .standsStill, .wrongPage, .neverReturns]
    /// The faults of a named call.
    static let ofCalls: [WireFault] = [.lost, .answerLost, .neverReturns]
    /// The faults of a named call of seeds of the tenth set.
    static let ofTenth: [WireFault] = ofCalls + [.badAnswer, .badAnswer]
}

/// The calls besides pull and push, whose faults are planned by name: if they met a fault that is planned without a
/// name, old seeds would take another course.
enum WireCall: String, CaseIterable, Sendable { case enumerate, acknowledge, greet, meet, digest, types, forgotten }

/// Mistakes of an engine, simulated at the wire. The simulation must find each of them.
enum Plant: String, CaseIterable, Sendable {
    /// The anchor of a feed is stored before the page that precedes it.
    case anchorBeforeData = "anchor-before-data"
    /// An operation leaves its queue before it is sent.
    case acknowledgementBeforePush = "acknowledgement-before-push"
    /// A deletion removes the version that replaced the deleted one.
    case deletionOfReplacement = "deletion-of-replacement"
    /// What a person deletes in Health is not heard.
    case deletionIgnored = "deletion-ignored"
    /// An echo from a health database is treated as an edit of its user.
    case echoTakenForEdit = "echo-taken-for-edit"
    /// A workout takes the duration that a health database derives from its span.
    case durationOfSpan = "duration-of-span"
    /// An overlay is removed when the peer reports the import again.
    case overlayLost = "overlay-lost"
}

/// The planned faults of one store's calls, and whether its process has ended.
final class Wire: Sendable {
    private struct State {
        var fault: (kind: WireFault, left: Int)?
        var callFault: (call: WireCall, kind: WireFault)?
        var crash: (step: SyncStep, left: Int)?
        var hasCrashed = false
        var met: [String: Int] = [:]
        var hung: [CheckedContinuation<Void, Never>] = []
        var isOverdue = false
        /// The number of hanging HealthKit calls that were overdue.
        var overdueInHealth = 0
    }

    private let state = Mutex(State())

    /// Plans a fault of a later call.
    func plan(_ fault: WireFault, after calls: Int) { state.withLock { $0.fault = (fault, calls) } }
    /// Plans a fault of the next call of a name.
    func plan(_ fault: WireFault, of call: WireCall) { state.withLock { $0.callFault = (call, fault) } }
    /// Plans the step at which the process ends.
    func plan(crashAt step: SyncStep, after times: Int) { state.withLock { $0.crash = (step, times) } }

    var hasCrashed: Bool { state.withLock { $0.hasCrashed } }
    /// The number of times that each fault occurred, by name.
    var met: [String: Int] { state.withLock { $0.met } }

    /// Restarts the process; with `whole`, also cancels the planned faults.
    func restart(whole: Bool = false) {
        let hung = state.withLock { state in
            state.hasCrashed = false
            if whole { (state.fault, state.callFault, state.crash) = (nil, nil, nil) }
            defer { (state.hung, state.isOverdue, state.overdueInHealth) = ([], false, 0) }
            return state.hung
        }
        for call in hung { call.resume() }
    }

    /// The number of calls that have not returned.
    var hungCalls: Int { state.withLock { $0.hung.count } }

    /// Suspends the call until its process has ended, and makes its deadline due.
    func hang() async {
        await withCheckedContinuation { call in
            state.withLock { state in
                state.hung.append(call)
                state.isOverdue = true
            }
        }
    }

    /// Waits until a call is overdue; the deadlines of other calls never expire, except in a process that gets so
    /// little time that another call took the deadline of the one that hangs: then that one must end, too.
    /// - Parameter hungInHealth: the number of HealthKit calls that have not returned.
    func waitForDeadline(_ hungInHealth: () -> Int) async throws {
        var looks = 0
        while true {
            // The timer of a finished call must not consume the deadline of the next one.
            try Task.checkCancellation()
            if takeOverdue(hungInHealth()) { return }
            looks += 1
            if looks > Wire.mostLooks, hungCalls + hungInHealth() > 0 { return }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// More than any call needs that returns.
    private static let mostLooks = 5_000

    private func takeOverdue(_ hungInHealth: Int) -> Bool {
        state.withLock { state in
            let isOverdue = state.isOverdue || hungInHealth > state.overdueInHealth
            (state.isOverdue, state.overdueInHealth) = (false, hungInHealth)
            return isOverdue
        }
    }

    /// Counts a call, and returns its fault, if any.
    func next(_ possible: Set<WireFault>) -> WireFault? {
        state.withLock { state in
            guard let planned = state.fault, possible.contains(planned.kind) else { return nil }
            guard planned.left == 0 else {
                state.fault = (planned.kind, planned.left - 1)
                return nil
            }
            state.fault = nil
            state.met[planned.kind.rawValue, default: 0] += 1
            return planned.kind
        }
    }

    /// Returns the planned fault of a call, if any.
    func next(_ call: WireCall) -> WireFault? {
        state.withLock { state in
            guard let planned = state.callFault, planned.call == call else { return nil }
            state.callFault = nil
            state.met["\(call.rawValue) \(planned.kind.rawValue)", default: 0] += 1
            return planned.kind
        }
    }

    func crash() { state.withLock { $0.hasCrashed = true } }

    /// Returns `true` if the process ends at this step, or has ended before.
    func ends(at step: SyncStep) -> Bool {
        state.withLock { state in
            if state.hasCrashed { return true }
            guard let planned = state.crash, planned.step == step else { return false }
            state.crash = planned.left > 0 ? (step, planned.left - 1) : nil
            guard planned.left == 0 else { return false }
            state.hasCrashed = true
            state.met["crash at \(step.rawValue)", default: 0] += 1
            return true
        }
    }
}

/// A peer behind a wire that loses, doubles and interrupts calls.
struct WirePeer<Inner: Peer>: Peer {
    let inner: Inner
    let wire: Wire
    /// Locks the device behind the peer, if there is one.
    let lock: @Sendable () -> Void
    var plant: PlantedMistake?
    /// Notes what a running engine saves; `nil` if nothing happens while it does.
    var crossed: CrossedSaves?

    var id: PeerID { inner.id }

    func availability() async -> PeerAvailability {
        let answer = await inner.availability()
        if answer == .available, wire.next([.lockedBetween]) != nil { lock() }
        return answer
    }

    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        guard let crossed else { return try await pullOverWire(request) }
        return try await crossed.asking(request.type) { () throws(PeerError) in try await pullOverWire(request) }
    }

    private func pullOverWire(_ request: PullRequest) async throws(PeerError) -> PullPage {
        switch wire.next([.lost, .answerLost, .doubled, .standsStill, .wrongPage, .neverReturns]) {
        case .lost: throw PeerError(.transient, "the wire lost the call")
        case .standsStill: return PullPage(additions: [], token: request.token, isDrained: false)
        case .wrongPage:
            var page = try await inner.pull(request)
            page.deletions.append(PulledDeletion(idAtPeer: SampleID()))
            for index in page.additions.indices { page.additions[index].sample.type = .heartRate }
            // An empty page would be a different fault.
            if page.additions.isEmpty, inner is any DatabasePeer { page.token = Array(repeating: 0, count: 1 << 20) }
            return page
        case .neverReturns:
            await wire.hang()
            throw PeerError(.transient, "the wire gave up")
        case .answerLost:
            _ = try await inner.pull(request)
            throw PeerError(.transient, "the wire lost the answer")
        case .doubled: _ = try await inner.pull(request)
        default: break
        }
        let page = try await inner.pull(request)
        return await plant?.alter(page, request, id) ?? page
    }

    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        switch wire.next([.lost, .standsStill]) {
        case .lost: throw PeerError(.transient, "the wire lost the call")
        case .standsStill: return EnumerationPage(samples: [], cursor: request.cursor ?? Array("0".utf8))
        default: return try await pass(.enumerate) { () throws(PeerError) in try await inner.enumerate(request) }
        }
    }

    func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        switch wire.next([.lost, .standsStill]) {
        case .lost: throw PeerError(.transient, "the wire lost the call")
        case .standsStill: return OutlinePage(samples: [], cursor: request.cursor ?? Array("0".utf8))
        default: return try await pass(.enumerate) { () throws(PeerError) in try await inner.outline(request) }
        }
    }

    /// Performs a call, unless its planned fault prevents that.
    ///
    /// - Parameter spoil: makes of an answer one that no peer may give.
    private func pass<Answer: Sendable>(
        _ call: WireCall, _ spoil: (inout Answer) -> Void = { _ in }, _ body: () async throws(PeerError) -> Answer
    ) async throws(PeerError) -> Answer {
        switch wire.next(call) {
        case .lost: throw PeerError(.transient, "the wire lost the call")
        case .answerLost:
            _ = try await body()
            throw PeerError(.transient, "the wire lost the answer")
        case .neverReturns:
            await wire.hang()
            throw PeerError(.transient, "the wire gave up")
        case .badAnswer:
            var answer = try await body()
            spoil(&answer)
            return answer
        default: return try await body()
        }
    }

    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        await plant?.beforePush(operations, id)
        let possible: Set<WireFault> = [
            .lost, .answerLost, .doubled, .crashBefore, .crashAfter, .outcomeMissing, .outcomesTooMany, .neverReturns,
        ]
        switch wire.next(possible) {
        case .lost: return operations.map { _ in .failed(reason: "the wire lost the call") }
        case .answerLost:
            _ = await arrive(operations)
            return operations.map { _ in .unknown(reason: "the wire lost the answer") }
        case .doubled: _ = await arrive(operations)
        case .outcomeMissing: return await arrive(operations).dropLast()
        case .outcomesTooMany: return await arrive(operations) + [.done()]
        case .neverReturns:
            let outcomes = await arrive(operations)
            await wire.hang()
            return outcomes
        case .crashBefore:
            wire.crash()
            return operations.map { _ in .failed(reason: "the process has ended") }
        case .crashAfter:
            let outcomes = await arrive(operations)
            wire.crash()
            return outcomes
        default: break
        }
        return await arrive(operations)
    }

    /// Operations arrive at the peer.
    private func arrive(_ operations: [PushOperation]) async -> [PushOutcome] {
        guard let crossed else { return await inner.push(operations) }
        return await crossed.sending(operations) { await inner.push(operations) }
    }

    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {
        if wire.next([.lost]) != nil { throw PeerError(.transient, "the wire lost the call") }
        try await pass(.acknowledge) { () throws(PeerError) in try await inner.acknowledge(token, of: type) }
    }
    var limits: PeerLimits { inner.limits }
}

extension WirePeer: DatabasePeer where Inner: DatabasePeer {
    var traits: DatabaseTraits { inner.traits }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        try await inner.requestAuthorization(request)
    }
    func authorization(of type: SampleType) async -> TypeAuthorization { await inner.authorization(of: type) }
    func stored(_ sample: Sample) -> Sample { inner.stored(sample) }
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        try await inner.dailyTotals(request)
    }
}

extension WirePeer: RecordPeer where Inner: RecordPeer {
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? {
        try await pass(.greet, { $0?.oldest = 0 }) { () throws(PeerError) in try await inner.greet(greeting) }
    }
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        try await pass(.meet) { () throws(PeerError) in try await inner.meet(told: told) }
    }
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? {
        try await pass(.digest, { $0 = SyncDigest(count: -1, sum: 1) }) { () throws(PeerError) in
            try await inner.digest(of: type, in: window)
        }
    }
    func types() async throws(PeerError) -> Set<SampleType> {
        try await pass(.types) { () throws(PeerError) in try await inner.types() }
    }
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        try await pass(.forgotten, { $0?.insert(SampleID()) }) { () throws(PeerError) in
            try await inner.forgotten(among: samples, since: token)
        }
    }
}

/// Makes one mistake repeatedly, as a faulty engine would.
struct PlantedMistake: Sendable {
    let plant: Plant
    let store: SampleStore

    func alter(_ page: PullPage, _ request: PullRequest, _ peer: PeerID) async -> PullPage? {
        switch plant {
        case .anchorBeforeData:
            guard let token = page.token else { return nil }
            let scope = request.from.map { "from:\($0.nanoseconds)" } ?? ""
            let type = request.type
            _ = try? await store.write { txn in
                try txn.setAnchor(Anchor(peer: peer, type: type, scope: scope, token: token, time: .distantPast))
            }
            return nil
        case .acknowledgementBeforePush: return nil
        case .deletionIgnored:
            var page = page
            page.deletions = []
            return page
        case .echoTakenForEdit:
            let ids = page.additions.compactMap(\.sample.syncIdentifier).compactMap { SampleID($0) }
            guard peer == Site.healthName, !ids.isEmpty else { return nil }
            _ = try? await store.write { txn in
                for id in ids {
                    guard var sample = try txn.sample(id: id), sample.origin == .authored else { continue }
                    sample.version = 0
                    if case .number(let echoes) = sample.metadata["echoes"] {
                        sample.metadata["echoes"] = .number(echoes + 1)
                    } else {
                        sample.metadata["echoes"] = .number(1)
                    }
                    try txn.save(sample)
                }
            }
            return nil
        case .durationOfSpan:
            let ids = page.additions.filter { $0.sample.type == .workout }.compactMap(\.sample.syncIdentifier)
            _ = try? await store.write { txn in
                for id in ids.compactMap({ SampleID($0) }) {
                    guard var sample = try txn.sample(id: id), sample.origin == .authored else { continue }
                    let span = Double(sample.end.nanoseconds - sample.start.nanoseconds) / 1e9
                    guard sample.duration != span else { continue }
                    sample.quantity.value = span
                    sample.version = 0
                    try txn.save(sample)
                }
            }
            return nil
        case .overlayLost:
            let ids = page.additions.map(\.idAtPeer)
            _ = try? await store.write { txn in for id in ids { _ = try txn.removeOverlay(id: id) } }
            return nil
        case .deletionOfReplacement:
            var page = page
            for index in page.deletions.indices {
                guard let text = page.deletions[index].syncIdentifier else { continue }
                let replacement = page.additions.last { $0.sample.syncIdentifier == text }?.idAtPeer
                let known = try? store.blockingRead { txn in
                    try txn.samples(syncIdentifier: text).compactMap {
                        try txn.link(peer: peer, sample: $0.id)?.idAtPeer
                    }
                    .first
                }
                if let found = replacement ?? known.flatMap(\.self) { page.deletions[index].idAtPeer = found }
            }
            return page
        }
    }

    func beforePush(_ operations: [PushOperation], _ peer: PeerID) async {
        guard plant == .acknowledgementBeforePush else { return }
        let ids = operations.map { operation in
            switch operation.kind {
            case .save(let sample): sample.id
            case .delete(let deleted): deleted.id
            }
        }
        _ = try? await store.write { txn in
            for id in ids {
                if let waiting = try txn.pending(peer: peer, sample: id) { try txn.removePending(waiting) }
            }
            guard let known = try txn.peer(peer), known.queue == nil else { return }
            try txn.acknowledge(peer: peer, txn.currentToken)
        }
    }
}
