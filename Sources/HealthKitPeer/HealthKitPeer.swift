import HealthKVSync

/// Apple Health as a peer: reads what the user lets the app read, and writes the app's own samples.
///
/// ```swift
/// let health = HealthKitPeer()
/// for problem in health.setupProblems(reading: true, writing: true) { print(problem) }
/// ```
///
/// Every sample is checked before a HealthKit object is made from it. A sample that HealthKit would refuse, or for
/// which it would end the process, is refused with a reason. Notes and other local data never leave the store.
public struct HealthKitPeer: DatabasePeer {
    /// `HealthKit`, the name under which the store keeps what it knows of the peer.
    public let id: PeerID = "HealthKit"
    /// A database of the system with ids of its own, which hides unreadable samples.
    public let traits = DatabaseTraits.healthKit

    let gateway: any HealthGateway
    let hasInfoKey: @Sendable (String) -> Bool
    private let deadline: @Sendable () async -> Void
    private let pause: @Sendable (Int) async -> Void

    init(
        gateway: any HealthGateway, hasInfoKey: @escaping @Sendable (String) -> Bool,
        deadline: @escaping @Sendable () async -> Void, pause: @escaping @Sendable (Int) async -> Void
    ) {
        self.gateway = gateway
        self.hasInfoKey = hasInfoKey
        self.deadline = deadline
        self.pause = pause
    }

    /// Returns whether health data exists here and may be used. While the device is locked, it can only be written.
    public func availability() async -> PeerAvailability { await gateway.availability() }

    /// Asks for access. For a correlation, it asks for the members, because HealthKit cannot ask for correlations.
    public func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {
        let (read, write) = (Self.askable(request.read), Self.askable(request.write))
        for type in read.union(write) where type.catalogNumber == nil {
            throw PeerError(.invalid, "HealthKit knows no type \(type).")
        }
        for type in write where !type.isShareable {
            throw PeerError(.invalid, "Only the system writes \(type). Ask to read it only.")
        }
        // HealthKit ends the process of an app that asks for nothing.
        if read.isEmpty, write.isEmpty { return }
        if let problem = setupProblems(reading: !read.isEmpty, writing: !write.isEmpty).first {
            throw PeerError(.invalid, problem.description)
        }
        do { try await gateway.requestAuthorization(read: read, write: write) } catch { throw PeerError(error) }
    }

    private static func askable(_ types: Set<SampleType>) -> Set<SampleType> {
        types.reduce(into: []) { askable, type in
            switch type {
            case .bloodPressure: askable.formUnion([.bloodPressureSystolic, .bloodPressureDiastolic])
            case .food: break
            default: askable.insert(type)
            }
        }
    }

    /// Returns what is known of the access to a type. HealthKit reports nothing about a correlation: the access to its
    /// members applies.
    public func authorization(of type: SampleType) async -> TypeAuthorization {
        if type == .bloodPressure { return await authorization(of: .bloodPressureSystolic) }
        guard type.kind != .correlation else { return TypeAuthorization(writing: .granted, advice: .unnecessary) }
        return (try? await gateway.authorization(of: type)) ?? TypeAuthorization(writing: .denied)
    }

    /// Returns a page of an anchored query. Only an empty page is the last one, because it is unknown what HealthKit's
    /// limit counts.
    public func pull(_ request: PullRequest) async throws(PeerError) -> PullPage {
        do { return try await gateway.changes(request) } catch { throw PeerError(error) }
    }

    /// Returns a page of the live samples in a window.
    public func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        let page = try await page(request) { (window, limit) throws(GatewayError) in
            try await gateway.latest(of: request.type, in: window, named: request.syncIdentifiers, limit: limit)
        }
        return EnumerationPage(samples: page.samples, cursor: page.cursor)
    }

    /// Returns a page of the live samples in a window without their content. Of other apps' samples, no values,
    /// metadata or devices are read.
    public func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        let page = try await page(request) { (window, limit) throws(GatewayError) in
            try await gateway.latestOutlines(
                of: request.type, in: window, named: request.syncIdentifiers, limit: limit)
        }
        return OutlinePage(samples: page.samples, cursor: page.cursor)
    }

    /// Returns a page of the latest samples in a window. HealthKit returns the latest samples up to a date, and the
    /// cursor is that date. Samples with the same start are never separated.
    private func page<Item>(
        _ request: EnumerationRequest,
        _ read: (TimeRange, _ limit: Int) async throws(GatewayError) -> LatestSamples<Item>
    ) async throws(PeerError) -> (samples: [Item], cursor: [UInt8]?) {
        var window = request.window
        if let cursor = request.cursor { window.to = min(window.to, try Self.instant(cursor)) }
        var limit = max(1, request.limit)
        do {
            while true {
                let latest = try await read(window, limit)
                guard latest.count >= limit, let earliest = latest.earliest else { return (latest.samples, nil) }
                // Dates are exact to about 100 ns. A cursor one microsecond later includes all samples with the same
                // start again.
                let next = earliest + 1_000
                if next < window.to { return (latest.samples, Self.cursor(next)) }
                limit *= 2
            }
        } catch {
            throw PeerError(error)
        }
    }

    private static func cursor(_ instant: Instant) -> [UInt8] { Array(String(instant.nanoseconds).utf8) }

    private static func instant(_ cursor: [UInt8]) throws(PeerError) -> Instant {
        guard let nanoseconds = Int64(String(decoding: cursor, as: UTF8.self)) else {
            throw PeerError(.invalid, "The cursor is not one of HealthKit's. Begin without one.")
        }
        return Instant(nanoseconds: nanoseconds)
    }

    /// Returns a sample in the form in which HealthKit gives it back. HealthKit names the parts of a workout, sums up
    /// their samples and derives their durations itself, and does not report the unit of a quantity.
    public func stored(_ sample: Sample) -> Sample { StoredForm.of(sample) }

    /// Returns HealthKit's own sums of local days, merged over all sources; only for cumulative types.
    public func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        guard let days = LocalDays(request.days, zone: request.zone) else {
            throw PeerError(.invalid, "A day or the time zone is not known. Write days as YYYY-MM-DD.")
        }
        guard !days.days.isEmpty else { return [] }
        do {
            let readings = try await gateway.dailyTotals(of: request.type, days: days)
            let byDay = Dictionary(readings.map { ($0.day, $0) }) { first, _ in first }
            return request.days.map { byDay[$0] ?? DayReading(day: $0, quantity: nil) }
        } catch {
            throw PeerError(error)
        }
    }

    /// Returns the wake-ups of observers. Each type has an observer of its own, so that a failure of one silences no
    /// other. Each wake-up is answered when its work is committed, or at the deadline.
    public func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> {
        let (stream, continuation) = AsyncStream.makeStream(of: WakeUp.self)
        // HealthKit accepts no query without types.
        if types.isEmpty {
            continuation.finish()
            return stream
        }
        let (gateway, deadline) = (gateway, deadline)
        let observers = TypeObservers(gateway: gateway, pause: pause) { type, done in
            let once = OnlyOnce(done)
            continuation.yield(WakeUp([type]) { once.call() })
            Task {
                await deadline()
                once.call()
            }
        }
        for type in types.sorted() { observers.begin(type) }
        let waking = Task {
            for type in types where type.kind != .correlation { try? await gateway.enableWaking(for: type) }
        }
        continuation.onTermination = { _ in
            waking.cancel()
            observers.end()
        }
        return stream
    }

    /// Stops the system from waking the app. Otherwise it would continue to do so, even after the app's next launch.
    public func disconnected(from types: Set<SampleType>) async {
        for type in types where type.kind != .correlation { try? await gateway.disableWaking(for: type) }
    }
}

extension PeerError {
    init(_ error: GatewayError) {
        switch error {
        case .notDetermined: self.init(.notDetermined, "The user was not asked for access to Health yet.")
        case .denied: self.init(.unauthorized, "The user does not allow access to Health.")
        case .cancelled: self.init(.unauthorized, "The user cancelled the request for access to Health.")
        case .locked: self.init(.locked, "Health data cannot be read while the device is locked.")
        case .unavailable: self.init(.unavailable, "There is no health data on this device.")
        case .restricted: self.init(.restricted, "A profile of this device forbids health data.")
        case .expired: self.init(.tokenExpired, "The token is no anchor of HealthKit's. Begin without one.")
        case .invalid(let what): self.init(.invalid, what)
        case .other(let what): self.init(.transient, what)
        }
    }
}
