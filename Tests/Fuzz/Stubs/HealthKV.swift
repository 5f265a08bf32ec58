/// Stands for the module HealthKV where importers are fuzzed: they need its model, and no store.
@_exported import HealthModel

public struct ImportReport: Sendable {
    public var inserted = 0
    public var replaced = 0
    public var unchanged = 0
    public var older = 0
    public var vetoed = 0

    public init() {}
}
