import HealthModel

/// Which changes of the store are put into a peer's queue, in the transaction that makes them.
public struct QueueRule: Sendable, Hashable {
    /// Queues changes of these types; `nil` for all.
    public var types: Set<SampleType>?
    /// Whether to queue changes of imported samples and of other apps' samples, too. A peer such as HealthKit gets only
    /// samples that this app wrote (SEMANTICS C25).
    public var takesImports: Bool

    /// Creates a rule for some types; `nil` for all.
    public init(types: Set<SampleType>?, takesImports: Bool = false) {
        self.types = types
        self.takesImports = takesImports
    }

    func takes(_ type: SampleType, isOwn: Bool) -> Bool {
        (takesImports || isOwn) && types?.contains(type) ?? true
    }
}
