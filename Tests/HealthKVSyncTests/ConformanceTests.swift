import HealthKVSync
import PeerConformance
import Testing

@Suite("Every peer holds to the rules")
struct ConformanceTests {
    @Test("A health database in memory") func memory() async {
        let violations = await PeerSuite.run {
            let health = MemoryHealth()
            return PeerTrial(MemoryHealthPeer(health)) { sample in
                health.save(sample)
            } writeOwn: { sample in
                health.save(sample, app: "app")
            } delete: { sample in
                for entry in health.live where entry.sample.start == sample.start { health.delete(entry.sample.id) }
            }
        }
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test("Another store") func store() async throws {
        let violations = await PeerSuite.run {
            var options = SampleStore.Options()
            options.limits.skipsSync = true
            let other = try SampleStore.temporary(options: options)
            return PeerTrial(StorePeer(other, name: "other", as: "ours")) { sample in
                try await other.write { _ = try $0.save(sample) }
            } delete: { sample in
                try await other.write { _ = try $0.delete(id: sample.id) }
            }
        }
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test("A peer that forgets versions is found out") func planted() async {
        let violations = await PeerSuite.run {
            let health = MemoryHealth()
            return PeerTrial(ForgetfulPeer(inner: MemoryHealthPeer(health))) { sample in
                health.save(sample)
            } delete: { sample in
                for entry in health.live where entry.sample.start == sample.start { health.delete(entry.sample.id) }
            }
        }
        #expect(violations.count >= 3, "\(violations)")
    }
}

/// Saves everything as something new.
private struct ForgetfulPeer: Peer {
    let inner: MemoryHealthPeer
    var name: String { inner.name }
    var traits: PeerTraits { inner.traits }

    func availability() async -> PeerAvailability { await inner.availability() }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
    func authorization(of type: SampleType) async -> TypeAuthorization { .open }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { try await inner.pull(request) }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage {
        try await inner.enumerate(request)
    }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        await inner.push(
            operations.map { operation in
                guard case .save(var sample) = operation.kind else { return operation }
                sample.syncIdentifier = SampleID().description
                return PushOperation(sequence: operation.sequence, kind: .save(sample))
            })
    }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { inner.wakeUps(for: types) }
}
