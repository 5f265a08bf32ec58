import HealthModel

extension Sample {
    /// The time as which the sample counts as written.
    var creation: Instant? { modified.map { origin == .imported ? $0.written(ofImportTo: end) : $0.time } }
}
