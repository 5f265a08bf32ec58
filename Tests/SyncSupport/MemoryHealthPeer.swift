import HealthKVSync
import Synchronization

/// An app's view of a ``MemoryHealth``.
package struct MemoryHealthPeer: DatabasePeer {
    package let id: PeerID
    package let app: String
    let health: MemoryHealth
    private let drop: @Sendable (inout Sample) -> Void

    package var traits: DatabaseTraits { .healthKit }

    /// The database gives samples back without what `dropping` takes out of them.
    package init(
        _ health: MemoryHealth, id: PeerID = "health", app: String = "app",
        dropping drop: @escaping @Sendable (inout Sample) -> Void = { _ in }
    ) {
        self.health = health
        self.id = id
        self.app = app
        self.drop = drop
    }

    package func stored(_ sample: Sample) -> Sample {
        var sample = sample
        drop(&sample)
        return sample
    }

    package func availability() async -> PeerAvailability { health.state.withLock { $0.availability } }

    package func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        health.state.withLock { state in
            for type in request.write where state.writing[type] == nil { state.writing[type] = .granted }
        }
    }

    package func authorization(of type: SampleType) async -> TypeAuthorization {
        health.state.withLock { state in
            TypeAuthorization(
                writing: state.writing[type] ?? .granted, reading: .unknown, advice: .unnecessary,
                earliest: state.earliest)
        }
    }

    package func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        let result: Result<PullPage, PeerError> = health.state.withLock { state in
            state.pulls += 1
            if state.locksAtPull { (state.availability, state.locksAtPull) = (.locked, false) }
            if state.availability != .available { return .failure(PeerError(.locked, "locked")) }
            if let error = state.fail?(request.type) { return .failure(error) }
            var place = 0
            if let token = request.token {
                let parts = String(decoding: token, as: UTF8.self).split(separator: ":").compactMap { Int($0) }
                guard parts.count == 2, parts[0] == state.epoch else {
                    return .failure(PeerError(.tokenExpired, "the anchor is of another database"))
                }
                place = parts[1]
            }
            return .success(page(request, from: place, &state))
        }
        return try result.get()
    }

    private func page(_ request: PullRequest, from start: Int, _ state: inout MemoryHealth.State) -> PullPage {
        var page = PullPage(additions: [], token: nil, isDrained: true)
        var place = start
        while place < state.events.count, page.additions.count + page.deletions.count < request.limit {
            switch state.events[place] {
            case .added(let id):
                if let entry = state.live[id], entry.sample.type == request.type,
                    entry.sample.start >= request.from ?? .distantPast,
                    state.isReadable(entry.sample.type, entry.sample.start, entry.app, by: app)
                {
                    page.additions.append(pulled(entry))
                }
            case .deleted(let deletion, let type, let time, let owner):
                if type == request.type, state.isReadable(type, time, owner, by: app) {
                    page.deletions.append(deletion)
                }
            }
            place += 1
        }
        page.token = Array("\(state.epoch):\(place)".utf8)
        page.isDrained = place >= state.events.count
        return page
    }

    private func pulled(_ entry: MemoryHealth.Entry) -> PulledSample {
        var sample = entry.sample
        sample.origin = .imported
        if entry.app == app { sample.source = Source(bundle: app, name: app) }
        if let unit = sample.type.canonicalUnit, let value = try? sample.quantity.value(in: unit) {
            sample.quantity = Quantity(value, unit)
        }
        return PulledSample(stored(sample), isOwn: entry.app == app)
    }

    package func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        health.state.withLock { state in
            let end = request.cursor.flatMap { Instant(cursor: $0) } ?? request.window.to
            let found = state.live.values.filter { entry in
                entry.sample.type == request.type && entry.sample.start >= request.window.from
                    && entry.sample.start < end
                    && request.syncIdentifiers?.contains(entry.sample.syncIdentifier ?? "") ?? true
                    && state.isReadable(entry.sample.type, entry.sample.start, entry.app, by: app)
            }.sorted { ($0.sample.start, $0.sample.id) > ($1.sample.start, $1.sample.id) }
            var page = Array(found.prefix(request.limit))
            // Samples that start at once belong to one page.
            while page.count < found.count, found[page.count].sample.start == page.last?.sample.start {
                page.append(found[page.count])
            }
            let cursor = page.count < found.count ? page.last?.sample.start.cursor : nil
            return EnumerationPage(samples: page.map { pulled($0) }, cursor: cursor)
        }
    }

    package func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        let (outcomes, after) = health.state.withLock { state in
            state.pushes += 1
            if state.availability == .unavailable || state.availability == .restricted {
                return (operations.map { _ in PushOutcome.parked(.unavailable) }, state.afterPush)
            }
            return (operations.map { perform($0, &state) }, state.afterPush)
        }
        after?()
        return outcomes
    }

    private func perform(_ operation: PushOperation, _ state: inout MemoryHealth.State) -> PushOutcome {
        if state.writing[operation.type] ?? .granted != .granted { return .parked(.unauthorized) }
        if let outcome = state.refuse?(operation) { return outcome }
        switch operation.kind {
        case .save(let sample):
            let id = state.save(sample, app)
            if operation.replacesUnnamed, let older = operation.idAtPeer, older != id, state.live[older]?.app == app {
                _ = state.delete(older)
            }
            return .done(idAtPeer: id)
        case .delete(let deleted):
            let own = state.live.filter { $0.value.app == app && $0.value.sample.type == deleted.type }
            let identifier = deleted.syncIdentifier ?? deleted.id.description
            if let named = own.first(where: { $0.value.sample.syncIdentifier == identifier }) {
                // A greater version stays, as in HealthKit's adapter.
                if named.value.sample.version > operation.version { return .superseded }
                _ = state.delete(named.key)
            } else if let id = operation.idAtPeer ?? (deleted.syncIdentifier == nil ? deleted.id : nil), own[id] != nil
            {
                _ = state.delete(id)
            }
            return .done()
        }
    }

    package func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> {
        AsyncStream { continuation in
            let key = health.state.withLock { state in
                let key = (state.watchers.keys.max() ?? 0) + 1
                state.watchers[key] = continuation
                return key
            }
            continuation.onTermination = { _ in health.state.withLock { _ = $0.watchers.removeValue(forKey: key) } }
        }
    }

    package func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        health.state.withLock { state in
            request.days.map { DayReading(day: $0, quantity: state.totals["\(request.type) \($0)"]) }
        }
    }
}
