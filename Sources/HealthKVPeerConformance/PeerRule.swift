import HealthKVSync

/// A rule that every peer must follow.
public struct PeerRule: Sendable, Identifiable, CustomStringConvertible {
    /// A short, stable name.
    public let id: String
    /// The rule in words.
    public let statement: String
    let check: @Sendable (PeerTrial) async throws -> Void

    init(_ id: String, _ statement: String, _ check: @escaping @Sendable (PeerTrial) async throws -> Void) {
        self.id = id
        self.statement = statement
        self.check = check
    }

    public var description: String { statement }

    /// Checks the rule on a fresh peer. Returns `nil` if the peer follows it.
    public func finding(in make: @Sendable () async throws -> PeerTrial) async -> PeerFinding? {
        let trial: PeerTrial
        do {
            trial = try await make()
        } catch {
            return PeerFinding(rule: self, detail: "the peer on trial could not be made: \(error)")
        }
        do {
            try await check(trial)
            return nil
        } catch {
            return PeerFinding(rule: self, detail: "\(error)")
        }
    }
}

/// A rule that a peer violates, and what the peer did instead.
public struct PeerFinding: Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: PeerRule
    /// The observed behaviour, in words.
    public let detail: String

    public var description: String { "\(rule.id): \(rule.statement), but \(detail)" }
}

/// A deviation of a peer from a rule.
struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ what: String) { description = what }
}

func demand(_ isSo: Bool, _ what: @autoclosure () -> String) throws { if !isSo { throw Violation(what()) } }
