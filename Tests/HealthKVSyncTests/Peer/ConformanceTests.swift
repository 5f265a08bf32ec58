import HealthKVPeerConformance
import HealthKVSync
import SyncSupport
import Testing

@Suite("Every peer holds to the rules")
struct ConformanceTests {
    @Test("A health database in memory") func memory() async {
        let findings = await PeerConformance.run { ConformanceTests.trial(MemoryHealth()) { $0 } }
        for finding in findings { Issue.record("\(finding)") }
    }

    @Test("Another store") func store() async throws {
        let findings = await PeerConformance.run { try ConformanceTests.trial { $0 } }
        for finding in findings { Issue.record("\(finding)") }
    }

    @Test("Another store, reached by messages") func remote() async throws {
        let findings = await PeerConformance.run {
            try ConformanceTests.trial { store in
                let service = PeerService(store)
                return RemotePeer(id: "other", wakeUps: { store.wakeUps(for: $0) }) { await service.answer($0, $1) }
            }
        }
        for finding in findings { Issue.record("\(finding)") }
    }

    @Test("A faulty peer is found out, by the rule that it breaks", arguments: PeerFault.allCases)
    func planted(fault: PeerFault) async {
        let findings = await PeerConformance.run {
            if fault.isOfRecords { return try ConformanceTests.trial { FaultyRecords(inner: $0, fault: fault) } }
            let health = MemoryHealth()
            return ConformanceTests.trial(health) { FaultyPeer(health: health, inner: $0, fault: fault) }
        }
        let broken = findings.map(\.rule.id)
        #expect(broken.contains(fault.rule), "\(fault) breaks \(broken)")
    }

    @Test("Each rule is broken by some planted peer") func planned() {
        let broken = Set(PeerFault.allCases.map(\.rule))
        #expect(PeerConformance.rules.map(\.id).filter { !broken.contains($0) } == [])
        #expect(broken.isSubset(of: PeerConformance.rules.map(\.id)))
        #expect(Set(PeerConformance.rules.map(\.id)).count == PeerConformance.rules.count)
    }

    @Test("A rule can be tried alone, and a trial that cannot be made is a finding of it") func single() async throws {
        struct NoServer: Error {}
        let rule = try #require(PeerConformance.rules.first { $0.id == "pages" })
        #expect(await rule.finding { ConformanceTests.trial(MemoryHealth()) { $0 } } == nil)
        let finding = try #require(await rule.finding { throw NoServer() })
        #expect(finding.rule.id == "pages" && "\(finding)".contains("NoServer"))
    }

    /// Another store on trial, its peer as it is or with something in between.
    private static func trial(_ wrap: @escaping @Sendable (StorePeer) -> any Peer) throws -> PeerTrial {
        var options = SampleStore.Options()
        options.limits.skipsSync = true
        let other = try SampleStore.temporary(options: options)
        return PeerTrial(wrap(StorePeer(other, id: "other", as: "ours"))) { sample in
            try await other.write { _ = try $0.save(sample) }
        } reopen: {
            wrap(StorePeer(other, id: "other", as: "ours"))
        } delete: { sample in
            try await other.write { _ = try $0.delete(id: sample.id) }
        }
    }

    /// A database in memory on trial, its peer as it is or with something in between.
    private static func trial(_ health: MemoryHealth, _ wrap: @escaping @Sendable (MemoryHealthPeer) -> any Peer)
        -> PeerTrial
    {
        PeerTrial(wrap(MemoryHealthPeer(health))) { sample in
            health.save(sample)
        } writeOwn: { sample in
            health.save(sample, app: "app")
        } reopen: {
            wrap(MemoryHealthPeer(health))
        } delete: { sample in
            for entry in health.live where entry.sample.start == sample.start { health.delete(entry.sample.id) }
        }
    }
}
