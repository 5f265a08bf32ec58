import HealthKV

/// The calls that only a database has, each with a deadline and a check of its answer.
struct CheckedDatabase: Sendable {
    let traits: DatabaseTraits
    private let inner: any DatabasePeer
    private let deadline: CallDeadline
    private let limit: Duration
    private let authorizationLimit: Duration

    init(_ peer: any DatabasePeer, _ deadline: CallDeadline, limit: Duration, askingLimit: Duration) {
        (inner, traits) = (peer, peer.traits)
        (self.deadline, self.limit, authorizationLimit) = (deadline, limit, askingLimit)
    }

    /// Returns the form in which the peer gives a sample back. This is not a call with a deadline.
    func stored(_ sample: Sample) -> Sample { inner.stored(sample) }

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

    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] {
        let inner = inner
        let readings = try await deadline.run("dailyTotals", within: limit) { () throws(PeerError) in
            try await inner.dailyTotals(request)
        }
        try request.check(readings)
        return readings
    }
}
