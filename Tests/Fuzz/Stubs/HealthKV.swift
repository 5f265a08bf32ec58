// A part of the module HealthKV where importers are fuzzed: they need its model and its reports, and no store.
@_exported import HealthModel

extension DailyTotal {
    /// Throws if a sample with the total's type, value and unit would not be valid.
    public func validate() throws(ModelError) {
        try Sample(type, value ?? goal ?? 0, unit, at: time).validate()
    }
}

extension [String: MetadataValue] {
    /// The name that an app gave a sample; the store reads it in its own way.
    public var externalName: String? { if case .string(let name) = self["HKExternalUUID"] { name } else { nil } }
}
