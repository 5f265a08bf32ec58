/// Many samples as columns, for bulk import: a few arrays instead of a million values.
///
/// Repeated fields (type, unit, source, device, flags) form a ``Kind``, referenced by number. Rare fields are stored
/// beside the columns.
///
/// ```swift
/// var batch = SampleBatch()
/// let steps = batch.kind(.stepCount, .count, source: Source(name: "Phone"))
/// batch.append(kind: steps, start: Instant(nanoseconds: 0), end: Instant(nanoseconds: 60), value: 12, id: SampleID())
/// ```
public struct SampleBatch: Sendable {
    /// The fields that many rows share.
    public struct Kind: Hashable, Sendable {
        /// The type of the measurement.
        public var type: SampleType
        /// The unit of the values.
        public var unit: HealthUnit
        /// The writer of the samples.
        public var source: Source
        /// Whether this app wrote the samples or imported them.
        public var origin: Sample.Origin
        /// Whether a person typed the samples in.
        public var isUserEntered: Bool
        /// The hardware that made the measurements, unless the extras of a row name another.
        public var device: Device?
    }

    /// The rarely present fields of one row.
    public struct Extras: Hashable, Sendable {
        /// Shared by copies until one of them changes: thousands of rows have the same fields.
        private var shared = Extras.none

        private static let none = ExtraFields.Shared()

        /// Creates the fields of a row without rare fields.
        public init() {}

        /// The fields, which are copied before they change if they are shared.
        private var fields: ExtraFields {
            get { shared.fields }
            _modify {
                if !isKnownUniquelyReferenced(&shared) { shared = ExtraFields.Shared(shared.fields) }
                yield &shared.fields
            }
        }

        public static func == (left: Extras, right: Extras) -> Bool {
            left.shared === right.shared || left.shared.fields == right.shared.fields
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(shared.fields) }

        /// Equal for copies of one value that have not changed since. Texts may be equal and yet differ in their bytes,
        /// so equality does not suffice where bytes are shared.
        package var identity: ObjectIdentifier { ObjectIdentifier(shared) }
    }

    /// The kinds in the order in which they were added.
    public private(set) var kinds: [Kind] = []
    private var kindNumbers: [Kind: UInt16] = [:]

    /// The kind of each row: an index into ``kinds``.
    public private(set) var kindOfRow: [UInt16] = []
    /// The start of each row, in nanoseconds since 2001.
    public private(set) var starts: [Int64] = []
    /// The end of each row; `Int64.max` while it is not known yet.
    public private(set) var ends: [Int64] = []
    /// The value of each row, in the unit of its kind.
    public private(set) var values: [Double] = []

    /// The id of each row. Empty if identity is derived from content.
    public private(set) var ids: [SampleID] = []

    /// The clock of each row that another store wrote and that has no ``extras``. Empty if no row has one. Every row of
    /// a moved history has a clock, so clocks have their own column.
    public private(set) var clocks: [ChangeClock?] = []

    /// The rare fields by row.
    public private(set) var extras: [Int: Extras] = [:]

    /// Creates a batch without rows.
    public init() {}

    /// Creates a batch from whole columns of one kind. Without `ids`, identity is derived from content: a repeated
    /// import changes nothing.
    ///
    /// - Throws: ``ModelError/malformedBatch(_:)`` if the columns differ in length.
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

    /// The number of rows.
    public var count: Int { starts.count }
    /// Whether the batch has no rows.
    public var isEmpty: Bool { starts.isEmpty }

    /// Whether identity is derived from content.
    public var derivesIDs: Bool { ids.isEmpty }

    /// Returns the number of a kind; adds a new kind.
    public mutating func kind(
        _ type: SampleType, _ unit: HealthUnit, source: Source, origin: Sample.Origin = .imported,
        isUserEntered: Bool = false, device: Device? = nil
    ) -> Int {
        let kind = Kind(
            type: type, unit: unit, source: source, origin: origin, isUserEntered: isUserEntered, device: device)
        if let number = kindNumbers[kind] { return Int(number) }
        precondition(kinds.count < Int(UInt16.max), "a batch holds at most 65,535 kinds")
        kindNumbers[kind] = UInt16(kinds.count)
        kinds.append(kind)
        return kinds.count - 1
    }

    /// Adds a row with its own id. A batch has ids in all rows or in none.
    ///
    /// - Parameters:
    ///   - kind: the number of the row's kind, as returned by ``kind(_:_:source:origin:isUserEntered:device:)``.
    ///   - start: the start of the row.
    ///   - end: the end of the row; ``Instant/distantFuture`` while it is not known yet.
    ///   - value: the value of the row, in the unit of its kind.
    ///   - id: the id of the row.
    ///   - modified: the clock of a row that another store wrote. Such a row is merged; it is not saved as a local
    ///     change.
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

    /// Adds a sample with all its fields.
    public mutating func append(_ sample: Sample) { append(sample, origin: sample.origin) }

    /// Adds a sample under the given origin.
    package mutating func append(_ sample: Sample, origin: Sample.Origin) {
        // Devices that are all different would use up the numbers of kinds.
        let device = kinds.count < SampleBatch.kindsWithDevice ? sample.device : nil
        let number =
            kindAmongFew(of: sample, origin, device)
            ?? kind(
                sample.type, sample.quantity.unit, source: sample.source, origin: origin,
                isUserEntered: sample.isUserEntered, device: device)
        let hasOwnDevice = device == nil && sample.device != nil
        if sample.hasNoExtras, !hasOwnDevice {
            return append(
                kind: number, start: sample.start, end: sample.end, value: sample.quantity.value, id: sample.id,
                modified: sample.modified)
        }
        var rare = Extras()
        rare.syncIdentifier = sample.syncIdentifier
        rare.version = sample.version
        rare.count = sample.count
        rare.multiplicity = sample.multiplicity
        if hasOwnDevice { rare.device = sample.device }
        rare.metadata = sample.metadata
        rare.group = sample.group
        if sample.rare != nil {
            (rare.timeZone, rare.local) = (sample.timeZone, sample.local)
            (rare.workout, rare.route) = (sample.workout, sample.route)
            (rare.original, rare.reversion) = (sample.original, sample.reversion)
        }
        let isRare = rare != Extras()
        rare.modified = sample.modified
        if isRare { extras[count] = rare }
        append(
            kind: number, start: sample.start, end: sample.end, value: sample.quantity.value, id: sample.id,
            modified: isRare ? nil : sample.modified)
    }

    /// Returns the number of a sample's kind if it is among the first few kinds. Most batches have few kinds, and
    /// hashing one costs more than these comparisons.
    private func kindAmongFew(of sample: Sample, _ origin: Sample.Origin, _ device: Device?) -> Int? {
        // A loop and no closure, which would copy the sample and count its references.
        for number in 0..<min(kinds.count, SampleBatch.fewKinds)
        where kinds[number].source == sample.source && kinds[number].type == sample.type
            && kinds[number].unit == sample.quantity.unit && kinds[number].origin == origin
            && kinds[number].isUserEntered == sample.isUserEntered && kinds[number].device == device
        {
            return number
        }
        return nil
    }

    private static let fewKinds = 8
    /// So many kinds may name a device; a sample of a further kind keeps its device among the extras.
    private static let kindsWithDevice = 4_096

    /// Sets the rare fields of a row.
    public mutating func setExtras(_ rare: Extras, row: Int) {
        precondition(row >= 0 && row < count, "the row does not exist")
        extras[row] = rare == Extras() ? nil : rare
    }

    /// Replaces the id of a row. The batch must have ids.
    package mutating func setID(_ id: SampleID, row: Int) { ids[row] = id }

    /// Gives a row the content of another row with the same id: everything but its group and the numbers by which an
    /// import tells twins apart.
    package mutating func copyContent(from source: Int, to row: Int) {
        let own = extras[row] ?? Extras()
        var rare = extras[source] ?? Extras()
        (rare.group, rare.multiplicity, rare.othersBefore) = (own.group, own.multiplicity, own.othersBefore)
        extras[row] = rare == Extras() ? nil : rare
        (kindOfRow[row], values[row]) = (kindOfRow[source], values[source])
        if !clocks.isEmpty { clocks[row] = clocks[source] }
    }

    /// Changes the clocks of all rows that have one.
    package mutating func mapClocks(_ change: (_ clock: ChangeClock, _ row: Int) -> ChangeClock) {
        for row in clocks.indices { if let clock = clocks[row] { clocks[row] = change(clock, row) } }
        var place = extras.startIndex
        while place != extras.endIndex {
            if let clock = extras.values[place].modified {
                extras.values[place].modified = change(clock, extras.keys[place])
            }
            extras.formIndex(after: &place)
        }
    }

    /// Reserves memory for rows with ids.
    package mutating func reserveCapacity(_ count: Int) {
        kindOfRow.reserveCapacity(count)
        starts.reserveCapacity(count)
        ends.reserveCapacity(count)
        values.reserveCapacity(count)
        ids.reserveCapacity(count)
    }

    /// Removes all rows and keeps kinds and memory, so that one batch can be refilled many times.
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

    /// Returns the clock of a row that another store wrote.
    public func modified(at row: Int) -> ChangeClock? {
        if !extras.isEmpty, let clock = extras[row]?.modified { return clock }
        return clocks.isEmpty ? nil : clocks[row]
    }

    /// Returns the whole sample of a row.
    public func sample(at row: Int) -> Sample {
        let kind = kinds[Int(kindOfRow[row])]
        let rare = extras[row] ?? Extras()
        let start = Instant(nanoseconds: starts[row])
        let end = Instant(nanoseconds: ends[row])
        var sample = Sample(
            kind.type, values[row], kind.unit, from: start, to: end, source: kind.source,
            id: derivesIDs ? derivedID(row: row, multiplicity: rare.multiplicity) : ids[row],
            syncIdentifier: rare.syncIdentifier, version: rare.version, origin: kind.origin,
            isUserEntered: kind.isUserEntered, device: rare.device ?? kind.device, metadata: rare.metadata,
            group: rare.group)
        sample.modified = modified(at: row)
        sample.count = rare.count
        sample.multiplicity = rare.multiplicity
        sample.rare = SampleRareFields(
            SampleRareFields.Content(
                timeZone: rare.timeZone, local: rare.local, workout: rare.workout, route: rare.route,
                original: rare.original, reversion: rare.reversion))
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
    /// Whether the sample has none of the fields in ``SampleBatch/Extras``, apart from a device.
    fileprivate var hasNoExtras: Bool {
        syncIdentifier == nil && version == 0 && count == 1 && multiplicity == 0 && metadata.isEmpty && group == nil
            && rare == nil
    }
}

extension SampleBatch.Extras {
    /// Identifies the sample, within its source and type, across edits; `nil` for the default.
    public var syncIdentifier: String? {
        get { fields.syncIdentifier }
        _modify { yield &fields.syncIdentifier }
    }

    /// The version of the row; 0 leaves it to the store.
    public var version: Int64 {
        get { fields.version }
        _modify { yield &fields.version }
    }

    /// The clock of a row that another store wrote. Such a row is merged; it is not saved as a local change.
    public var modified: ChangeClock? {
        get { fields.modified }
        _modify { yield &fields.modified }
    }

    /// The number of measurements in the sample.
    public var count: Int {
        get { fields.count }
        _modify { yield &fields.count }
    }

    /// Distinguishes identical rows without ids across all batches of a history: 0 for the first.
    public var multiplicity: Int {
        get { fields.multiplicity }
        _modify { yield &fields.multiplicity }
    }

    /// How many equal rows come before in all batches of a history: those without a name, before a row with one, and
    /// those with a name before a row without one.
    package var othersBefore: Int {
        get { fields.othersBefore }
        _modify { yield &fields.othersBefore }
    }

    /// The hardware that made the measurement, if it is not that of the row's kind.
    public var device: Device? {
        get { fields.device }
        _modify { yield &fields.device }
    }

    /// Further facts by key.
    public var metadata: [String: MetadataValue] {
        get { fields.metadata }
        _modify { yield &fields.metadata }
    }

    /// Joins samples that are written and deleted together.
    public var group: String? {
        get { fields.group }
        _modify { yield &fields.group }
    }

    /// See ``Sample/timeZone``.
    public var timeZone: String? {
        get { fields.timeZone }
        _modify { yield &fields.timeZone }
    }

    /// See ``Sample/local``.
    public var local: [String: MetadataValue] {
        get { fields.local }
        _modify { yield &fields.local }
    }

    /// See ``Sample/workout``.
    public var workout: Workout? {
        get { fields.workout }
        _modify { yield &fields.workout }
    }

    /// See ``Sample/route``.
    public var route: WorkoutRoute? {
        get { fields.route }
        _modify { yield &fields.route }
    }

    /// See ``Sample/original``.
    public var original: Sample.Original? {
        get { fields.original }
        _modify { yield &fields.original }
    }

    /// See ``Sample/reversion``.
    public var reversion: Sample.Reversion? {
        get { fields.reversion }
        _modify { yield &fields.reversion }
    }

    /// Checks the conditions that rare fields must meet.
    ///
    /// Returns `false` if whole samples have to be checked, because conditions join some of the fields with others.
    package func validate() throws(ModelError) -> Bool {
        try Sample.validate(version: version, count: count, multiplicity: multiplicity)
        try Sample.validate(syncIdentifier, "syncIdentifier", required: true)
        try Sample.validate(group, "group", required: true)
        try Sample.validate(metadata)
        try Sample.validate(timeZone, "time zone", required: true)
        return device == nil && local.isEmpty && workout == nil && route == nil && original == nil
            && reversion == nil
    }
}

/// The fields of ``SampleBatch/Extras``.
struct ExtraFields: Hashable, Sendable {
    var syncIdentifier: String?
    var version: Int64 = 0
    var modified: ChangeClock?
    var count = 1
    var multiplicity = 0
    var othersBefore = 0
    var device: Device?
    var metadata: [String: MetadataValue] = [:]
    var group: String?
    var timeZone: String?
    var local: [String: MetadataValue] = [:]
    var workout: Workout?
    var route: WorkoutRoute?
    var original: Sample.Original?
    var reversion: Sample.Reversion?

    /// The fields in one place for several rows.
    ///
    /// unchecked: only a unique owner changes them.
    final class Shared: @unchecked Sendable {
        var fields: ExtraFields

        init(_ fields: ExtraFields = ExtraFields()) { self.fields = fields }
    }
}
