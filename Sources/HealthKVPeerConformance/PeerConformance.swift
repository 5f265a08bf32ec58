import HealthKVSync

/// The rules that every peer must follow, for the tests of anyone who writes a peer. `docs/PEERS.md` states the same
/// rules in words.
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
/// It needs no test framework, and prints nothing. For one test per rule, pass ``rules`` as the test's arguments and
/// call ``PeerRule/finding(in:)``.
public enum PeerConformance {
    /// All rules, in the order in which the author of a new peer meets them.
    public static let rules: [PeerRule] = feeds + tokens + ownSamples + saving + deleting + rest

    /// Checks each rule on a fresh peer, one after another. Returns the violations; nothing for a peer that follows all
    /// rules.
    ///
    /// `make` is called for each rule, and returns a peer whose other side is empty, readable and writable.
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
