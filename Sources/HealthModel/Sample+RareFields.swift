/// The fields that few samples have, behind one reference, so that other samples do not pay for them.
final class SampleRareFields: Sendable, Hashable {
    struct Content: Sendable, Hashable {
        var timeZone: String?
        var local: [String: MetadataValue] = [:]
        var workout: Workout?
        var route: WorkoutRoute?
        var original: Sample.Original?
        var reversion: Sample.Reversion?
    }

    let content: Content

    /// `nil` if all fields are absent.
    init?(_ content: Content) {
        if content == Content() { return nil }
        self.content = content
    }

    var timeZone: String? { content.timeZone }
    var local: [String: MetadataValue] { content.local }
    var workout: Workout? { content.workout }
    var route: WorkoutRoute? { content.route }
    var original: Sample.Original? { content.original }
    var reversion: Sample.Reversion? { content.reversion }

    static func == (left: SampleRareFields, right: SampleRareFields) -> Bool {
        left === right || left.content == right.content
    }

    func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

extension Sample {
    /// The imported state of a sample that was edited here. The edit overlays the import and goes to this store and its
    /// peers only. A later import of the same sample changes the original, not the edit.
    public struct Original: Hashable, Sendable {
        /// The imported start.
        public var start: Instant
        /// The imported end.
        public var end: Instant
        /// The imported value and unit.
        public var quantity: Quantity
        /// Whether a person typed the sample in at its source.
        public var isUserEntered: Bool
        /// The imported metadata.
        public var metadata: [String: MetadataValue]
        /// The version at its source; a later import has a greater version.
        public var version: Int64
        /// The time of the import and the replica that made it: orders it against imports by other stores. `nil` if
        /// unknown.
        public var modified: ChangeClock?

        /// Copies the fields of a sample that an edit may overlay.
        public init(of sample: Sample) {
            start = sample.start
            end = sample.end
            quantity = sample.quantity
            isUserEntered = sample.isUserEntered
            metadata = sample.metadata
            version = max(1, sample.version)
            modified = sample.modified
        }

        /// Creates an original from imported fields.
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

    /// Records that an edit of an import was reverted, so that an older edit from another store does not come back.
    public struct Reversion: Hashable, Sendable {
        /// A version above that of the reverted edit.
        public var version: Int64
        /// The time of the reversion and the replica that made it.
        public var modified: ChangeClock

        /// Creates a reversion from its version and clock.
        public init(version: Int64, modified: ChangeClock) {
            self.version = version
            self.modified = modified
        }
    }

    /// The place of the sample, as the name of a time zone such as `Asia/Kathmandu`. HealthKit keeps it as metadata.
    public var timeZone: String? {
        get { rare?.timeZone }
        set { changeRare { $0.timeZone = newValue } }
    }

    /// Data of the sample that stays in this store and its peers and never goes to HealthKit. See ``note`` and
    /// ``bodyFat``.
    public var local: [String: MetadataValue] {
        get { rare?.local ?? [:] }
        set { changeRare { $0.local = newValue } }
    }

    /// The details of a sample of the type `workout`, except its duration.
    public var workout: Workout? {
        get { rare?.workout }
        set { changeRare { $0.workout = newValue } }
    }

    /// The imported state, if an edit made here overlays it.
    public var original: Original? {
        get { rare?.original }
        set {
            changeRare {
                $0.original = newValue
                if newValue != nil { $0.reversion = nil }
            }
        }
    }

    /// The last reverted edit of an import, if no edit overlays it now.
    public var reversion: Reversion? {
        get { rare?.reversion }
        set {
            changeRare {
                $0.reversion = newValue
                if newValue != nil { $0.original = nil }
            }
        }
    }

    mutating func changeRare(_ change: (inout SampleRareFields.Content) -> Void) {
        var content = rare?.content ?? SampleRareFields.Content()
        change(&content)
        rare = SampleRareFields(content)
    }

    /// Whether the sample has any of ``timeZone``, ``local``, ``workout``, ``route``, ``original`` and ``reversion``.
    package var hasRareFields: Bool { rare != nil }

    static let noteKey = "note"
    static let bodyFatKey = "bodyFat"

    /// A note that a person wrote. It never goes to HealthKit.
    public var note: String? {
        get { if case .string(let text) = local[Sample.noteKey] { text } else { nil } }
        set { local[Sample.noteKey] = newValue.map { .string($0) } }
    }

    /// Body fat as a fraction of one, noted with a weight. It never goes to HealthKit.
    public var bodyFat: Double? {
        get { if case .number(let share) = local[Sample.bodyFatKey] { share } else { nil } }
        set { local[Sample.bodyFatKey] = newValue.map { .number($0) } }
    }

    /// The part of the sample that an adapter may send to HealthKit: without local data. HealthKit gets an edited
    /// import in its original state, because an edit that overlays an import is never sent.
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

    /// The number of the case in a category sample; `nil` for samples of other kinds.
    public var categoryValue: Int? {
        type.kind == .category ? Int(exactly: quantity.value) : nil
    }

    /// Creates a category sample, such as a phase of sleep, from HealthKit's number of the case.
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
