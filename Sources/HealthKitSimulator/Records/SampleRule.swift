import Foundation

/// The rule of a predicate that `HKQuery` makes. The predicate is an `NSPredicate` that hands its rule to a probe.
struct SampleRule: Sendable {
    var from = Date.distantPast
    var to = Date.distantFuture
    /// Returns `true` if the predicate picks a record. `from` and `to` only narrow the search.
    var picks: @Sendable (HealthRecord) -> Bool = { _ in true }

    final class Probe {
        var rule: SampleRule?
    }

    /// Returns the rule of a predicate. All rules of a compound predicate must hold.
    static func rule(of predicate: NSPredicate?) -> SampleRule {
        guard let predicate else { return SampleRule() }
        if let compound = predicate as? NSCompoundPredicate {
            let rules = (compound.subpredicates as [Any]).compactMap { ($0 as? NSPredicate).map(rule(of:)) }
            return SampleRule(
                from: rules.map(\.from).max() ?? .distantPast, to: rules.map(\.to).min() ?? .distantFuture,
                picks: { record in rules.allSatisfy { $0.picks(record) } })
        }
        let probe = Probe()
        _ = predicate.evaluate(with: probe)
        guard let rule = probe.rule else {
            SimulatedMisuse.found("A predicate that HealthKit did not make")
            return SampleRule()
        }
        return rule
    }
}
