import HealthKV

/// The calls that only a record peer has, each with a deadline and a check of its answer.
struct CheckedRecords: Sendable {
    let inner: any RecordPeer
    let deadline: CallDeadline
    let usualLimit: Duration

    private var limit: Duration { inner.limits.deadline(usual: usualLimit) }

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
        let memory = try await deadline.run("meet", within: limit) { () throws(PeerError) in
            try await inner.meet(told: told)
        }
        try memory?.check()
        return memory
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
}
