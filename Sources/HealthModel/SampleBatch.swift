/// Many samples as columns, for bulk import: a few arrays instead of a million values.
///
/// What repeats (type, unit, source, flags) is a ``Kind``, named by number; what is rare is kept beside the columns.
///
/// ```swift
/// var batch = SampleBatch()
/// let steps = batch.kind(.stepCount, .count, source: Source(name: "Phone"))
/// batch.append(kind: steps, start: Instant(nanoseconds: 0), end: Instant(nanoseconds: 60), value: 12, id: SampleID())
/// ```
public struct SampleBatch: Sendable {
    /// What many rows share.
    public struct Kind: Hashable, Sendable {
        /// What was measured.
        public var type: SampleType
        /// The unit of the values.
        public var unit: HealthUnit
        /// Who wrote the samples.
        public var source: Source
        /// Whether this app wrote them or they were read from elsewhere.
        public var origin: Sample.Origin
        /// Whether a person typed them in.
        public var isUserEntered: Bool
    }

    /// The rarely present fields of one row.
    public struct Extras: Hashable, Sendable {
        /// Names the sample for its source and type across edits; `nil` for the default.
        public var syncIdentifier: String?
        /// The version that the row brings; 0 leaves it to the store.
        public var version: Int64 = 0
        /// The clock of a row that another store wrote: it is then merged, not saved as a change made here.
        public var modified: ChangeClock?
        /// How many measurements the sample stands for.
        public var count = 1
        /// Tells identical rows without ids apart, over all batches of a history: 0 for the first.
        public var multiplicity = 0
        /// The hardware that measured it, where known.
        public var device: Device?
        /// What else was noted, by key.
        public var metadata: [String: MetadataValue] = [:]
        /// Joins samples that are written and deleted as one.
        public var group: String?
        /// See ``Sample/timeZone``.
        public var timeZone: String?
        /// See ``Sample/local``.
        public var local: [String: MetadataValue] = [:]
        /// See ``Sample/workout``.
        public var workout: Workout?
        /// See ``Sample/original``.
        public var original: Sample.Original?
        /// See ``Sample/reversion``.
        public var reversion: Sample.Reversion?

        /// Fields as a row without rare ones has them.
        public init() {}
    }

    /// What rows share, in the order in which it was added.
    public private(set) var kinds: [Kind] = []
    private var kindNumbers: [Kind: UInt16] = [:]

    /// The kind of each row, a position in ``kinds``.
    public private(set) var kindOfRow: [UInt16] = []
    /// The start of each row, nanoseconds since 2001.
    public private(set) var starts: [Int64] = []
    /// The end of each row; the greatest number where it is not known yet.
    public private(set) var ends: [Int64] = []
    /// The value of each row, in the unit of its kind.
    public private(set) var values: [Double] = []

    /// One id a row, or none at all: then identity is derived from content.
    public private(set) var ids: [SampleID] = []

    /// The clock of each row, or none at all: those of rows that another store wrote and that have no ``extras``. A whole
    /// history moves with its clocks, so they have a column of their own.
    public private(set) var clocks: [ChangeClock?] = []

    /// The rare fields, by row.
    public private(set) var extras: [Int: Extras] = [:]

    /// A batch without rows.
    public init() {}

    /// Whole columns of one kind. Without `ids` identity is derived from content: importing them again changes nothing.
    ///
    /// - Throws: ``ModelError/malformedBatch(_:)`` when the columns differ in length.
    public init(
        _ type: SampleType, _ unit: HealthUnit, source: Source, origin: Sample.Origin = .imported,
        starts: [Instant], ends: [Instant]? = nil, values: [Double], ids: [SampleID]? = nil
    ) throws(ModelError) {
        guard values.count == starts.count, ends?.count ?? starts.count == starts.count,
            ids?.count ?? starts.count == starts.count
        else { throw .malformedBatch("its columns differ in length") }
        _ = kind(type, unit, source: source, origin: origin)
        kindOfRow = Array(repeating: 0, count: starts.count)
        self.starts = starts.map(\.nanoseconds)
        self.ends = ends.map { $0.map(\.nanoseconds) } ?? self.starts
        self.values = values
        self.ids = ids ?? []
    }

    /// How many rows there are.
    public var count: Int { starts.count }
    /// Whether there is no row.
    public var isEmpty: Bool { starts.isEmpty }

    /// Whether identity is derived from content.
    public var derivesIDs: Bool { ids.isEmpty }

    /// The number of a kind, added if it is new.
    public mutating func kind(
        _ type: SampleType, _ unit: HealthUnit, source: Source, origin: Sample.Origin = .imported,
        isUserEntered: Bool = false
    ) -> Int {
        let kind = Kind(type: type, unit: unit, source: source, origin: origin, isUserEntered: isUserEntered)
        if let number = kindNumbers[kind] { return Int(number) }
        precondition(kinds.count < Int(UInt16.max), "a batch holds at most 65,535 kinds")
        kindNumbers[kind] = UInt16(kinds.count)
        kinds.append(kind)
        return kinds.count - 1
    }

    /// Adds a row with an id of its own. A batch has ids in all rows or in none.
    ///
    /// - Parameter modified: the clock of a row that another store wrote: it is then merged, not saved as a change made here.
    public mutating func append(
        kind: Int, start: Instant, end: Instant, value: Double, id: SampleID, modified: ChangeClock? = nil
    ) {
        precondition(ids.count == starts.count, "a batch has ids in all rows or in none")
        ids.append(id)
        if modified != nil, clocks.isEmpty { clocks = Array(repeating: nil, count: count) }
        if modified != nil || !clocks.isEmpty { clocks.append(modified) }
        appendRow(kind: kind, start: start, end: end, value: value)
    }

    /// Adds a row whose identity is derived from its content.
    public mutating func append(kind: Int, start: Instant, end: Instant, value: Double) {
        precondition(ids.isEmpty, "a batch has ids in all rows or in none")
        appendRow(kind: kind, start: start, end: end, value: value)
    }

    /// Adds a whole sample with all its fields.
    public mutating func append(_ sample: Sample) { append(sample, origin: sample.origin) }

    /// Adds a whole sample, whoever is said to have written it.
    package mutating func append(_ sample: Sample, origin: Sample.Origin) {
        let number =
            kindAmongFew(of: sample, origin)
            ?? kind(
                sample.type, sample.quantity.unit, source: sample.source, origin: origin,
                isUserEntered: sample.isUserEntered)
        if sample.hasNoExtras {
            return append(
                kind: number, start: sample.start, end: sample.end, value: sample.quantity.value, id: sample.id,
                modified: sample.modified)
        }
        var rare = Extras()
        rare.syncIdentifier = sample.syncIdentifier
        rare.version = sample.version
        rare.count = sample.count
        rare.multiplicity = sample.multiplicity
        rare.device = sample.device
        rare.metadata = sample.metadata
        rare.group = sample.group
        if sample.rare != nil {
            (rare.timeZone, rare.local) = (sample.timeZone, sample.local)
            (rare.workout, rare.original, rare.reversion) = (sample.workout, sample.original, sample.reversion)
        }
        let isRare = rare != Extras()
        rare.modified = sample.modified
        if isRare { extras[count] = rare }
        append(
            kind: number, start: sample.start, end: sample.end, value: sample.quantity.value, id: sample.id,
            modified: isRare ? nil : sample.modified)
    }

    /// The kind of a sample, if it is one of the first: most batches have few, and hashing one costs more than to compare it with them.
    private func kindAmongFew(of sample: Sample, _ origin: Sample.Origin) -> Int? {
        (0..<min(kinds.count, SampleBatch.fewKinds)).first { number in
            kinds[number].type == sample.type && kinds[number].unit == sample.quantity.unit
                && kinds[number].origin == origin && kinds[number].isUserEntered == sample.isUserEntered
                && kinds[number].source == sample.source
        }
    }

    private static let fewKinds = 8

    /// Sets the rare fields of a row.
    public mutating func setExtras(_ rare: Extras, row: Int) {
        precondition(row >= 0 && row < count, "the row does not exist")
        extras[row] = rare == Extras() ? nil : rare
    }

    /// Gives a row another id. The batch must have ids.
    package mutating func setID(_ id: SampleID, row: Int) { ids[row] = id }

    /// Makes room for rows with ids.
    package mutating func reserveCapacity(_ count: Int) {
        kindOfRow.reserveCapacity(count)
        starts.reserveCapacity(count)
        ends.reserveCapacity(count)
        values.reserveCapacity(count)
        ids.reserveCapacity(count)
    }

    /// Empties the batch and keeps its kinds and memory, so that one batch can be filled again and again.
    public mutating func removeAll() {
        kindOfRow.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        ids.removeAll(keepingCapacity: true)
        clocks.removeAll(keepingCapacity: true)
        extras.removeAll(keepingCapacity: true)
    }

    private mutating func appendRow(kind: Int, start: Instant, end: Instant, value: Double) {
        precondition(kind >= 0 && kind < kinds.count, "the kind does not exist")
        kindOfRow.append(UInt16(kind))
        starts.append(start.nanoseconds)
        ends.append(end.nanoseconds)
        values.append(value)
    }

    /// The clock of a row that another store wrote.
    public func modified(at row: Int) -> ChangeClock? {
        if !extras.isEmpty, let clock = extras[row]?.modified { return clock }
        return clocks.isEmpty ? nil : clocks[row]
    }

    /// The whole sample of a row.
    public func sample(at row: Int) -> Sample {
        let kind = kinds[Int(kindOfRow[row])]
        let rare = extras[row] ?? Extras()
        let start = Instant(nanoseconds: starts[row])
        let end = Instant(nanoseconds: ends[row])
        var sample = Sample(
            kind.type, values[row], kind.unit, from: start, to: end, source: kind.source,
            id: derivesIDs ? derivedID(row: row, multiplicity: rare.multiplicity) : ids[row],
            syncIdentifier: rare.syncIdentifier, version: rare.version, origin: kind.origin,
            isUserEntered: kind.isUserEntered, device: rare.device, metadata: rare.metadata, group: rare.group)
        sample.modified = modified(at: row)
        sample.count = rare.count
        sample.multiplicity = rare.multiplicity
        sample.rare = SampleRareFields(
            timeZone: rare.timeZone, local: rare.local, workout: rare.workout, original: rare.original,
            reversion: rare.reversion)
        return sample
    }

    private func derivedID(row: Int, multiplicity: Int) -> SampleID {
        let kind = kinds[Int(kindOfRow[row])]
        return DerivedID.id(
            DerivedID.Prefix(type: kind.type, source: kind.source.identity), start: starts[row], end: ends[row],
            value: DerivedID.canonical(values[row], kind.unit, of: kind.type), multiplicity: multiplicity)
    }
}

extension Sample {
    /// Whether none of its fields is one of ``SampleBatch/Extras``.
    fileprivate var hasNoExtras: Bool {
        syncIdentifier == nil && version == 0 && count == 1 && multiplicity == 0 && device == nil && metadata.isEmpty
            && group == nil && rare == nil
    }
}

extension DerivedID {
    /// The value that enters a derived id: canonical where the type has a unit that fits, else as entered.
    public static func canonical(_ value: Double, _ unit: HealthUnit, of type: SampleType) -> Double {
        guard let target = type.canonicalUnit, let converted = unit.derivedForm(value, in: target) else {
            return value
        }
        return converted
    }
}
