import HealthKVSync
import SyncSupport
import Synchronization

/// A database that does one thing wrong.
final class FaultyPeer: DatabasePeer {
    private struct Memory {
        var token: [UInt8]?
        var late: [PushOperation] = []
        var acknowledged = false
        var read: [UInt8]?
        var buried: Set<SampleID> = []
        var given: Set<[UInt8]> = []
    }

    let health: MemoryHealth
    let inner: MemoryHealthPeer
    let fault: PeerFault
    private let memory = Mutex(Memory())

    init(health: MemoryHealth, inner: MemoryHealthPeer, fault: PeerFault) {
        (self.health, self.inner, self.fault) = (health, inner, fault)
    }

    var id: PeerID { inner.id }
    var traits: DatabaseTraits { inner.traits }

    func availability() async -> PeerAvailability {
        fault == .saysItIsLocked ? .locked : await inner.availability()
    }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
    func authorization(of type: SampleType) async -> TypeAuthorization { .open }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> {
        fault == .staysSilent ? AsyncStream { $0.finish() } : inner.wakeUps(for: types)
    }
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        fault == .countsOtherDays
            ? [DayReading(day: "1999-12-31", quantity: nil)] : try await inner.dailyTotals(request)
    }
    func acknowledge(_ token: [UInt8], of type: SampleType) async {
        memory.withLock { memory in
            memory.acknowledged = true
            memory.read = token
        }
    }
    var limits: PeerLimits { fault == .takesLessThanItSays ? PeerLimits(operations: 300) : inner.limits }

    // MARK: Reading

    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        var asked = request
        switch fault {
        case .takesAnyToken where request.token == [1, 2, 3]: asked.token = nil
        case .keepsItsOwnPlace: asked.token = memory.withLock { $0.token } ?? request.token
        case .skipsWhatWasAcknowledged:
            // All that it has is told, up to where the reader once was.
            if request.token != nil { asked.token = memory.withLock { $0.read } ?? request.token }
        case .ignoresTheBound: asked.from = nil
        case .forgetsTokensAtTheEnd:
            if let token = request.token, !memory.withLock({ $0.given.contains(token) }) { asked.token = nil }
        default: break
        }
        var page = try await inner.pull(asked)
        memory.withLock { memory in
            memory.token = page.token
            if let token = page.token { memory.given.insert(token) }
        }
        if fault == .mixesTypes {
            page.additions += try await inner.pull(PullRequest(type: .stepCount, limit: 100)).additions
        }
        spoil(&page)
        return page
    }

    private func spoil(_ page: inout PullPage) {
        switch fault {
        case .losesSources, .confusesUnits, .takesAllForItsOwn, .losesIdentifiers:
            page.additions = page.additions.map { spoiled($0) }
        case .endsEarly: page.isDrained = true
        case .anchorSkips: if !page.isDrained { page.token = page.token.map { skipping($0) } }
        case .snapshotWithoutTail: if !page.isDrained { takeSnapshot(&page) }
        case .confusesGroups:
            for index in page.deletions.indices { page.deletions[index].group = "lunch" }
        case .doubles: page.additions += page.additions.prefix(1)
        case .reorders: page.additions.reverse()
        case .dropsDeletions: page.deletions = []
        case .forgetsAtAcknowledgement: if memory.withLock({ $0.acknowledged }) { page.deletions = [] }
        case .hidesReplacedVersions:
            let live = Set(health.live.compactMap(\.sample.syncIdentifier))
            page.deletions.removeAll { live.contains($0.syncIdentifier ?? "") }
        case .hidesOwnDeletions: page.deletions.removeAll { $0.syncIdentifier != nil }
        default: break
        }
    }

    private func spoiled(_ pulled: PulledSample) -> PulledSample {
        var pulled = pulled
        switch fault {
        case .losesSources: pulled.sample.source = Source(name: "somebody")
        case .confusesUnits: pulled.sample.quantity = Quantity(pulled.sample.quantity.value, .gram)
        case .takesAllForItsOwn: pulled.isOwn = true
        default: pulled.sample.syncIdentifier = nil
        }
        return pulled
    }

    /// All that is there on one page, and the tail is said to begin where the snapshot ends, one event too late.
    private func takeSnapshot(_ page: inout PullPage) {
        page.additions = health.live.filter { $0.sample.type == .bodyMass }.map { PulledSample($0.sample) }
        page.isSnapshot = true
        page.token = Array("1:\(page.additions.count + 1)".utf8)
    }

    /// The place one event further on.
    private func skipping(_ token: [UInt8]) -> [UInt8] {
        let parts = String(decoding: token, as: UTF8.self).split(separator: ":").compactMap { Int($0) }
        return Array("\(parts[0]):\(parts[1] + 1)".utf8)
    }

    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        var page = try await inner.enumerate(request)
        if fault == .listsEarliestFirst { page.samples.reverse() }
        // Where a page is full, what starts with its last sample is lost.
        if fault == .cutsEqualStarts { page.samples = Array(page.samples.prefix(request.limit)) }
        return page
    }

    func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        var page = try await inner.outline(request)
        if fault == .outlinesTooLittle { page.samples = page.samples.filter { !$0.isOwn } }
        return page
    }

    // MARK: Writing

    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        switch fault {
        case .inventsOutcomes where operations.isEmpty: return [.done()]
        case .takesLessThanItSays where operations.count > 250:
            return operations.map { _ in .failed(reason: "too many") }
        case .answersBeforeItPushes:
            let late = memory.withLock { memory in
                let late = memory.late
                memory.late = operations
                return late
            }
            _ = await inner.push(late)
            return operations.map { _ in .done() }
        case .forgetsOutcomes: return await inner.push(operations).dropLast(operations.count > 1 ? 1 : 0)
        case .confusesOutcomes: return await inner.push(operations).reversed()
        case .failsTogether where operations.contains(where: \.isImpossible):
            return operations.map { _ in .failed(reason: "one of them is bad") }
        case .tellsValues where operations.contains(where: \.isImpossible):
            return operations.map { operation in
                guard case .save(let sample) = operation.kind else { return .done() }
                return .refused(reason: "\(sample.quantity.value) kg is no weight")
            }
        case .dropsPushedDeletions:
            _ = await inner.push(operations.filter { if case .save = $0.kind { true } else { false } })
            return operations.map { _ in .done() }
        case .believesIDs: return await believe(operations)
        default: return await inner.push(operations.compactMap { spoiled($0) }).padded(to: operations.count)
        }
    }

    private func believe(_ operations: [PushOperation]) async -> [PushOutcome] {
        for operation in operations {
            if let id = operation.idAtPeer { health.delete(id) }
        }
        return await inner.push(operations)
    }

    private func spoiled(_ operation: PushOperation) -> PushOperation? {
        var operation = operation
        switch operation.kind {
        case .save(var sample):
            switch fault {
            case .forgetsVersions: sample.syncIdentifier = SampleID().description
            case .mixesIdentifiersOfTypes:
                deleteAll { $0.sample.syncIdentifier == sample.syncIdentifier && $0.app == "app" }
            case .takesIdentifiersOfOthers:
                deleteAll { $0.sample.syncIdentifier == sample.syncIdentifier && $0.app != "app" }
            case .buriesForGood: if memory.withLock({ $0.buried.contains(sample.id) }) { return nil }
            case .leavesUnnamedBehind: operation.replacesUnnamed = false
            default: break
            }
            operation.kind = .save(sample)
        case .delete(let deleted):
            memory.withLock { _ = $0.buried.insert(deleted.id) }
            guard fault == .obeysLateDeletions else { break }
            operation.kind = .delete(
                DeletedSample(
                    id: deleted.id, type: deleted.type, source: deleted.source,
                    syncIdentifier: deleted.syncIdentifier, version: .max, modified: deleted.modified))
        }
        return operation
    }

    private func deleteAll(_ isMeant: (MemoryHealth.Entry) -> Bool) {
        for entry in health.live where isMeant(entry) { health.delete(entry.sample.id) }
    }
}

extension PushOperation {
    fileprivate var isImpossible: Bool { if case .save(let sample) = kind { sample.end < sample.start } else { false } }
}

extension [PushOutcome] {
    fileprivate func padded(to count: Int) -> [PushOutcome] {
        self + Array(repeating: .done(), count: Swift.max(0, count - self.count))
    }
}
