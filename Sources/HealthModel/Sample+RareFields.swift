/// What few samples have, behind one reference, so that the others do not carry it about.
final class SampleRareFields: Sendable, Hashable {
    let timeZone: String?
    let local: [String: MetadataValue]
    let workout: Workout?
    let original: Sample.Original?
    let reversion: Sample.Reversion?

    init?(
        timeZone: String?, local: [String: MetadataValue], workout: Workout?, original: Sample.Original?,
        reversion: Sample.Reversion?
    ) {
        if timeZone == nil && local.isEmpty && workout == nil && original == nil && reversion == nil { return nil }
        self.timeZone = timeZone
        self.local = local
        self.workout = workout
        self.original = original
        self.reversion = reversion
    }

    static func == (left: SampleRareFields, right: SampleRareFields) -> Bool {
        left === right
            || left.timeZone == right.timeZone && left.local == right.local && left.workout == right.workout
                && left.original == right.original && left.reversion == right.reversion
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(timeZone)
        hasher.combine(local)
        hasher.combine(workout)
        hasher.combine(original)
        hasher.combine(reversion)
    }
}

extension Sample {
    /// What an imported sample said before it was edited here. The edit lies over it, stays in this store and its peers, and a
    /// later import of the same sample changes what lies beneath, not the edit.
    public struct Original: Hashable, Sendable {
        /// The start that was imported.
        public var start: Instant
        /// The end that was imported.
        public var end: Instant
        /// Value and unit that were imported.
        public var quantity: Quantity
        /// Whether a person typed it in at its source.
        public var isUserEntered: Bool
        /// The metadata that was imported.
        public var metadata: [String: MetadataValue]
        /// The version at its source; a later import has a greater one.
        public var version: Int64
        /// When it was imported, and by which replica: orders it against what other stores imported. `nil` where nobody knows.
        public var modified: ChangeClock?

        /// The fields of a sample that an edit may lie over.
        public init(of sample: Sample) {
            start = sample.start
            end = sample.end
            quantity = sample.quantity
            isUserEntered = sample.isUserEntered
            metadata = sample.metadata
            version = max(1, sample.version)
            modified = sample.modified
        }

        /// What was imported, field by field.
        public init(
            start: Instant, end: Instant, quantity: Quantity, isUserEntered: Bool = false,
            metadata: [String: MetadataValue] = [:], version: Int64 = 1, modified: ChangeClock? = nil
        ) {
            self.start = start
            self.end = end
            self.quantity = quantity
            self.isUserEntered = isUserEntered
            self.metadata = metadata
            self.version = version
            self.modified = modified
        }
    }

    /// That an edit was taken off an import again: an older edit of another store does not come back.
    public struct Reversion: Hashable, Sendable {
        /// Above the version of the edit that was taken off.
        public var version: Int64
        /// When it was taken off, and by which replica.
        public var modified: ChangeClock

        /// The version and clock of a change.
        public init(version: Int64, modified: ChangeClock) {
            self.version = version
            self.modified = modified
        }
    }

    /// Where the sample was taken, as the name of a time zone such as `Asia/Kathmandu`. HealthKit keeps it as metadata.
    public var timeZone: String? {
        get { rare?.timeZone }
        set { setRare(timeZone: newValue, local, workout, original, reversion) }
    }

    /// What belongs to the sample in this store and its peers, and never goes to HealthKit. See ``note`` and ``bodyFat``.
    public var local: [String: MetadataValue] {
        get { rare?.local ?? [:] }
        set { setRare(timeZone: timeZone, newValue, workout, original, reversion) }
    }

    /// What makes a sample of the type `workout` one, beside its duration.
    public var workout: Workout? {
        get { rare?.workout }
        set { setRare(timeZone: timeZone, local, newValue, original, reversion) }
    }

    /// What was imported, where an edit made here lies over it.
    public var original: Original? {
        get { rare?.original }
        set { setRare(timeZone: timeZone, local, workout, newValue, newValue == nil ? reversion : nil) }
    }

    /// The last edit of an import that was taken off, where none lies over it now.
    public var reversion: Reversion? {
        get { rare?.reversion }
        set { setRare(timeZone: timeZone, local, workout, newValue == nil ? original : nil, newValue) }
    }

    private mutating func setRare(
        timeZone: String?, _ local: [String: MetadataValue], _ workout: Workout?, _ original: Original?,
        _ reversion: Reversion?
    ) {
        rare = SampleRareFields(
            timeZone: timeZone, local: local, workout: workout, original: original, reversion: reversion)
    }

    /// Whether the sample has any of ``timeZone``, ``local``, ``workout``, ``original`` and ``reversion``.
    package var hasRareFields: Bool { rare != nil }

    static let noteKey = "note"
    static let bodyFatKey = "bodyFat"

    /// A note that a person wrote. It never goes to HealthKit.
    public var note: String? {
        get { if case .string(let text) = local[Sample.noteKey] { text } else { nil } }
        set { local[Sample.noteKey] = newValue.map { .string($0) } }
    }

    /// Body fat as a share of one, noted beside a weight. It never goes to HealthKit.
    public var bodyFat: Double? {
        get { if case .number(let share) = local[Sample.bodyFatKey] { share } else { nil } }
        set { local[Sample.bodyFatKey] = newValue.map { .number($0) } }
    }

    /// The sample without what stays here: what an adapter may send to HealthKit. An edit that lies over an import is not sent
    /// at all, so it is taken off.
    public var shared: Sample {
        var sample = self
        sample.local = [:]
        if let original {
            sample.original = nil
            (sample.start, sample.end, sample.quantity) = (original.start, original.end, original.quantity)
            (sample.isUserEntered, sample.metadata) = (original.isUserEntered, original.metadata)
            (sample.version, sample.modified) = (original.version, original.modified)
        }
        sample.reversion = nil
        return sample
    }

    /// The number of the case that a sample of a category names; `nil` for samples of other kinds.
    public var categoryValue: Int? {
        type.kind == .category ? Int(exactly: quantity.value) : nil
    }

    /// A sample of a category, such as a phase of sleep, with HealthKit's number of the case.
    ///
    /// ```swift
    /// let asleep = Sample(category: .sleepAnalysis, 3, from: a, to: b)
    /// assert(asleep.categoryValue == 3)
    /// ```
    public init(
        category type: SampleType, _ value: Int, from start: Instant, to end: Instant, source: Source = .thisApp,
        id: SampleID = SampleID(), metadata: [String: MetadataValue] = [:]
    ) {
        self.init(type, Double(value), .count, from: start, to: end, source: source, id: id, metadata: metadata)
    }
}
