import HealthKV

/// The shared fields of many rows, stored once under a number: `SampleBatch.Kind` in a form that can be stored.
struct RowKind: Codable, Hashable {
    var type: SampleType
    var unit: HealthUnit
    var source: Source
    var origin: Sample.Origin
    var isUserEntered: Bool

    init(_ kind: SampleBatch.Kind) {
        type = kind.type
        unit = kind.unit
        source = kind.source
        origin = kind.origin
        isUserEntered = kind.isUserEntered
    }

    init(_ sample: Sample) {
        type = sample.type
        unit = sample.quantity.unit
        source = sample.source
        origin = sample.origin
        isUserEntered = sample.isUserEntered
    }
}
