import HealthModel

/// One sample of a file, before a store has matched it.
package struct ImportedRecord: Sendable, Equatable {
    package var type: SampleType
    package var value: Double
    package var unit: HealthUnit
    package var start: Instant
    package var end: Instant
    package var source: Source
    package var device: Device?
    package var isUserEntered = false
    /// When the sample was written, as the file says.
    package var created: Instant?
    /// The id, if the file gives one.
    package var id: SampleID?
    package var syncIdentifier: String?
    package var version: Int64 = 0
    package var metadata: [String: MetadataValue] = [:]
    package var local: [String: MetadataValue] = [:]
    package var timeZone: String?
    package var group: String?
    package var workout: Workout?

    package init(
        type: SampleType, value: Double, unit: HealthUnit, start: Instant, end: Instant, source: Source
    ) {
        self.type = type
        self.value = value
        self.unit = unit
        self.start = start
        self.end = end
        self.source = source
    }

    /// The sample that the record becomes if the store does not hold it. It has no id of its own.
    var sample: Sample {
        var sample = Sample(
            type, value, unit, from: start, to: end, source: source, syncIdentifier: syncIdentifier, version: version,
            origin: .imported, isUserEntered: isUserEntered, device: device, metadata: metadata, group: group)
        sample.local = local
        sample.timeZone = timeZone
        sample.workout = workout
        return sample
    }
}
