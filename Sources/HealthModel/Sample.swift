/// One health sample: a quantity over a span of time, from a source, with its identity.
///
/// ```swift
/// let weight = Sample(.bodyMass, 72.4, .kilogram, at: Instant(nanoseconds: 0))
/// let pounds = try weight.value(in: .pound)
/// ```
public struct Sample: Hashable, Sendable, Identifiable {
    /// The first UUID known for the sample; it survives edits.
    public var id: SampleID
    /// The type of the measurement.
    public var type: SampleType
    /// The start of the measurement.
    public var start: Instant
    /// The end, not before `start`; ``Instant/distantFuture`` while it is not known yet.
    public var end: Instant
    /// Value and unit as entered.
    public var quantity: Quantity
    /// The app or device that wrote the sample; ``Source/thisApp`` until it is saved.
    public var source: Source
    /// Identifies the sample, within its source and type, across edits and stores.
    public var syncIdentifier: String?
    /// The version, assigned by the store: 1 at first, one more with each edit, unless the app gives a greater version.
    public var version: Int64
    /// The time of the last change and the replica that made it; the store sets it.
    public var modified: ChangeClock?
    /// Whether this app wrote the sample or imported it.
    public var origin: Origin
    /// Whether a person typed the sample in.
    public var isUserEntered: Bool
    /// Whether another sample at exactly this time wins the default view. The store derives it; saving ignores it.
    public var isShadowed: Bool
    /// The number of measurements that the system condensed into this sample.
    public var count: Int
    /// Distinguishes identical samples whose identity is derived from content: 0 for the first.
    public var multiplicity: Int
    /// The hardware that made the measurement, if known.
    public var device: Device?
    /// Further facts by key: at most 255 entries and ``metadataLimit`` bytes of text.
    public var metadata: [String: MetadataValue]
    /// Joins samples that are written and deleted together, such as the nutrients of a meal.
    public var group: String?

    /// See ``timeZone``, ``local``, ``workout``, ``route``, ``original`` and ``reversion``.
    var rare: SampleRareFields?

    /// The origin of a sample.
    public enum Origin: String, Hashable, Sendable, Codable {
        /// Written by this app; it may be edited and sent to peers.
        case authored
        /// Read from a peer or a file.
        case imported
    }

    /// Creates a sample over a span of time. Parameters that are left out have the usual defaults.
    public init(
        _ type: SampleType, _ value: Double, _ unit: HealthUnit, from start: Instant, to end: Instant,
        source: Source = .thisApp, id: SampleID = SampleID(), syncIdentifier: String? = nil, version: Int64 = 0,
        origin: Origin = .authored, isUserEntered: Bool = false, device: Device? = nil,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) {
        self.id = id
        self.type = type
        self.start = start
        self.end = end
        quantity = Quantity(value, unit)
        self.source = source
        self.syncIdentifier = syncIdentifier
        self.version = version
        modified = nil
        self.origin = origin
        self.isUserEntered = isUserEntered
        isShadowed = false
        count = 1
        multiplicity = 0
        self.device = device
        self.metadata = metadata
        self.group = group
    }

    /// Creates a sample of one instant.
    public init(
        _ type: SampleType, _ value: Double, _ unit: HealthUnit, at instant: Instant, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) {
        self.init(
            type, value, unit, from: instant, to: instant, source: source, id: id, syncIdentifier: syncIdentifier,
            isUserEntered: isUserEntered, metadata: metadata, group: group)
    }

    /// Returns the value in a unit of the same dimension.
    public func value(in unit: HealthUnit) throws(ModelError) -> Double { try quantity.value(in: unit) }

    /// Whether the end is unknown.
    public var isOpenEnded: Bool { end == .distantFuture }

    /// The maximum length of a text field, in bytes of UTF-8.
    public static let textLimit = 65_535

    /// The exclusive upper bound of sample versions. A deletion with this version hides a sample forever.
    public static let versionLimit = Int64.max / 2

    /// Returns the version of an edit: one more, but never above the greatest valid version. Edits at that version are
    /// ordered by time alone.
    package static func version(after version: Int64) -> Int64 { min(version, versionLimit - 2) + 1 }

    /// The maximum total size of the texts in a sample's metadata, in bytes.
    public static let metadataLimit = 1 << 20

    /// Checks the conditions that every sample must meet before it is stored.
    public func validate() throws(ModelError) {
        guard start.isRepresentable, end.isRepresentable || isOpenEnded else { throw .instantOutOfRange }
        guard start <= end else { throw .startAfterEnd }
        guard id != .zero else { throw .zeroIdentifier }
        try Sample.validate(version: version, count: count, multiplicity: multiplicity)
        if let unit = type.canonicalUnit, !unit.isCompatible(with: quantity.unit) {
            throw .incompatibleUnits(from: quantity.unit.symbol, to: unit.symbol)
        }
        try type.validate()
        try Sample.validate(syncIdentifier, "syncIdentifier", required: true)
        try Sample.validate(group, "group", required: true)
        try Sample.validate(source.name, "source name")
        try Sample.validate(source.bundle, "source bundle")
        for text in [source.version, source.product, source.system] { try Sample.validate(text, "source revision") }
        for text in device?.fields ?? [] { try Sample.validate(text, "device") }
        try Sample.validate(metadata)
        if type.kind == .category, Int32(exactly: quantity.value) == nil {
            throw .numberOutOfRange(field: "category value")
        }
        if type == .workout, isOpenEnded, quantity.value.isNaN { throw .durationMissing }
        try Sample.validate(finite: quantity, type.canonicalUnit, "value")
        if rare != nil { try validateRareFields() }
    }

    static func validate(version: Int64, count: Int, multiplicity: Int) throws(ModelError) {
        guard version >= 0, version < Sample.versionLimit else { throw .numberOutOfRange(field: "version") }
        guard count >= 1, count <= Int(Int32.max) else { throw .numberOutOfRange(field: "count") }
        guard multiplicity >= 0, multiplicity <= Int(Int32.max) else { throw .numberOutOfRange(field: "multiplicity") }
    }

    /// Refuses a quantity that is not finite as entered, or not finite in the unit in which its type is summed.
    package static func validate(
        finite quantity: Quantity?, _ canonical: HealthUnit?, _ field: @autoclosure () -> String
    ) throws(ModelError) {
        guard let quantity else { return }
        guard quantity.value.isFinite else { throw .notFinite(field: field()) }
        // No factor between two units is large enough to overflow a smaller number.
        guard abs(quantity.value) > Sample.greatestConverted, let canonical, quantity.unit != canonical else { return }
        guard try quantity.value(in: canonical).isFinite else { throw .notFinite(field: field()) }
    }

    /// Numbers up to this one are finite in every unit.
    package static let greatestConverted = 1e200

    static func validate(_ metadata: [String: MetadataValue]) throws(ModelError) {
        guard metadata.count <= 255 else { throw .numberOutOfRange(field: "metadata entries") }
        var bytes = 0
        for (key, value) in metadata {
            try Sample.validate(key, "metadata key", required: true)
            bytes += key.utf8.count
            if case .string(let text) = value {
                try Sample.validate(text, "metadata value of \(Sample.shown(key))")
                bytes += text.utf8.count
            }
            switch value {
            case .number(let number):
                try Sample.validate(finite: Quantity(number, .count), nil, "metadata value of \(Sample.shown(key))")
            case .quantity(let quantity):
                try Sample.validate(finite: quantity, nil, "metadata value of \(Sample.shown(key))")
            case .string, .bool, .date: break
            }
        }
        guard bytes <= Sample.metadataLimit else { throw .numberOutOfRange(field: "metadata bytes") }
    }

    /// Returns a metadata key as an error names it: never longer than a line.
    private static func shown(_ key: String) -> String { key.utf8.count > 100 ? "\(key.prefix(80))…" : key }

    static func validate(
        _ text: String?, _ field: @autoclosure () -> String, required: Bool = false
    ) throws(ModelError) {
        guard let text else { return }
        if text.utf8.count > textLimit || required && text.isEmpty { throw .malformedText(field: field()) }
    }
}

/// A metadata value of a kind that HealthKit supports.
public enum MetadataValue: Sendable {
    /// A text of at most ``Sample/textLimit`` bytes.
    case string(String)
    /// A finite number.
    case number(Double)
    /// A boolean.
    case bool(Bool)
    /// A point in time.
    case date(Instant)
    /// A quantity, as entered.
    case quantity(Quantity)
}

extension MetadataValue: Hashable {
    /// Compares numbers bit for bit, as ``Quantity`` does: NaN equals itself, and zero differs from minus zero.
    public static func == (left: MetadataValue, right: MetadataValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left == right
        case (.number(let left), .number(let right)): left.bitPattern == right.bitPattern
        case (.bool(let left), .bool(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.quantity(let left), .quantity(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text): hasher.combine(text)
        case .number(let number): hasher.combine(number.bitPattern)
        case .bool(let flag): hasher.combine(flag)
        case .date(let date): hasher.combine(date)
        case .quantity(let quantity): hasher.combine(quantity)
        }
    }
}

/// A hybrid logical clock: the later of wall time and all clocks read so far, and the replica that ticked it.
///
/// The store advances it by at least one nanosecond per change, so that a wrong device clock does not win forever.
public struct ChangeClock: Hashable, Sendable, Codable, Comparable {
    /// The time of the change, or slightly later where clocks disagree.
    public var time: Instant
    /// The replica (copy of the store) that ticked the clock; breaks ties between changes at the same time.
    public var replica: UInt32

    /// Creates a clock that another store reported.
    public init(time: Instant, replica: UInt32) {
        self.time = time
        self.replica = replica
    }

    /// Whether a file says when the sample was written, before its end. No store has the replica 0.
    package var isOfFile: Bool { replica == 0 && time.nanoseconds != 0 }

    /// Returns the time as which an import with this clock counts as written (SEMANTICS C2). A peer's clock says only
    /// after which look the sample came.
    package func written(ofImportTo end: Instant) -> Instant {
        isOfFile || end == .distantFuture ? time : max(end, time)
    }

    public static func < (left: ChangeClock, right: ChangeClock) -> Bool {
        left.time != right.time ? left.time < right.time : left.replica < right.replica
    }
}
