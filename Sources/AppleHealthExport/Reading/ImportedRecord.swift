import HealthModel

/// One sample of a file, before a store has matched it.
package struct ImportedRecord: Sendable, Equatable {
    /// The type of the measurement.
    package var type: SampleType
    /// The number as it was written, in `unit`.
    package var value: Double
    /// The unit of the value as it was written.
    package var unit: HealthUnit
    /// The start of the measurement.
    package var start: Instant
    /// The end, not before `start`; ``Instant/distantFuture`` while it is not known yet.
    package var end: Instant
    /// The app or device that wrote the sample.
    package var source: Source
    /// The hardware that made the measurement, if the file names it.
    package var device: Device?
    /// Whether a person typed the sample in.
    package var isUserEntered: Bool
    /// The time at which the sample was written or last changed, if the file gives it.
    package var created: Instant?
    /// The UUID that the file gives the sample.
    package var id: SampleID?
    /// Identifies the sample, within its source and type, across edits.
    package var syncIdentifier: String?
    /// The version of the sample; 0 leaves it to the store.
    package var version: Int64
    /// Further facts by key.
    package var metadata: [String: MetadataValue]
    /// Data that stays in the store and its peers.
    package var local: [String: MetadataValue] = [:]
    /// The time zone of the measurement, such as `Asia/Kathmandu`.
    package var timeZone: String?
    /// Joins samples that are written and deleted together.
    package var group: String?
    /// The details of a workout; `nil` for samples of other types.
    package var workout: Workout?
    /// The points of a route; `nil` for samples of other types.
    package var route: WorkoutRoute?

    /// Creates a record; leave unknown fields out.
    package init(
        type: SampleType, value: Double, unit: HealthUnit, start: Instant, end: Instant, source: Source,
        device: Device? = nil, isUserEntered: Bool = false, created: Instant? = nil, id: SampleID? = nil,
        syncIdentifier: String? = nil, version: Int64 = 0, metadata: [String: MetadataValue] = [:],
        timeZone: String? = nil, group: String? = nil, workout: Workout? = nil
    ) {
        self.type = type
        self.value = value
        self.unit = unit
        self.start = start
        self.end = end
        self.source = source
        self.device = device
        self.isUserEntered = isUserEntered
        self.created = created
        self.id = id
        self.syncIdentifier = syncIdentifier
        self.version = version
        self.metadata = metadata
        self.timeZone = timeZone
        self.group = group
        self.workout = workout
    }

    /// The earliest time at which a record without a creation date can have been written. `nil` if it has a sync
    /// identifier: a later version without a number must come after the one before.
    var earliestWriting: Instant? { syncIdentifier != nil ? nil : end == .distantFuture ? start : end }

    private static let anyID = SampleID()

    /// The sample that the record becomes if the store does not hold it. It has no id of its own.
    var sample: Sample {
        var sample = Sample(
            type, value, unit, from: start, to: end, source: source, id: ImportedRecord.anyID,
            syncIdentifier: syncIdentifier, version: version, origin: .imported, isUserEntered: isUserEntered,
            device: device, metadata: metadata, group: group)
        sample.local = local
        sample.timeZone = timeZone
        sample.workout = workout
        sample.route = route
        return sample
    }
}
