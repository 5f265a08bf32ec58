import HealthKVSync

/// What every peer must hold to, for the tests of whoever writes one; `docs/PEERS.md` says the same in words.
///
/// ```swift
/// import HealthKVPeerConformance
/// import HealthKVSync
///
/// let findings = await PeerConformance.run {
///     let server = TestServer()
///     return PeerTrial(ServerPeer(server)) { sample in
///         try server.write(sample)
///     } delete: { sample in
///         try server.delete(at: sample.start)
///     }
/// }
/// for finding in findings { print(finding) }
/// ```
///
/// It needs no framework for tests, and prints nothing. A test that wants each rule by itself takes ``rules`` as its arguments, and calls
/// ``PeerRule/finding(in:)``.
public enum PeerConformance {
    /// All rules, in the order in which a new peer learns them.
    public static let rules: [PeerRule] = feeds + tokens + ownSamples + saving + deleting + rest

    /// Tries each rule on a fresh peer, one after another, and answers what was violated; nothing for a peer that holds to all of them.
    ///
    /// `make` is called for each rule, and answers a peer whose other side is empty and may be read and written.
    public static func run(
        _ rules: [PeerRule] = PeerConformance.rules, _ make: @Sendable () async throws -> PeerTrial
    ) async -> [PeerFinding] {
        var findings: [PeerFinding] = []
        for rule in rules {
            if let finding = await rule.finding(in: make) { findings.append(finding) }
        }
        return findings
    }
}
