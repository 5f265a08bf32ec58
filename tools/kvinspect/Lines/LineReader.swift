import HealthKV

/// Turns lines into rows of a batch. Errors say what is wrong with a line and never repeat its content.
struct LineReader {
    /// A source for lines that name none.
    private static let defaultSource = Source(name: "kvinspect")
    /// Far more texts than real histories have. Beyond it, the caches and kinds start over.
    private static let cacheLimit = 4096
    /// The number of lines whose shapes are learned before any shape has repeated.
    private static let unknownLines = 512

    let zone: Zone
    private var finder = LineFieldFinder()
    private var types = TextCache<SampleType>()
    private var units = TextCache<HealthUnit>()
    private var sources = TextCache<Source>()
    private var devices = TextCache<Device>()
    private var kinds: [UInt64: Int] = [:]
    /// The orders of sources that the dump brings.
    private(set) var priorities: [SampleType: [RankedSource]] = [:]
    /// Settings and sync state that lines brought since the last call of `takeSettings()`.
    private(set) var shadowing: [SampleType: Bool] = [:]
    private(set) var definitions: [TypeDefinition] = []
    private(set) var states: [StateEntry] = []
    /// The kinds of the batch that stand for a source of a dump, whether or not it has samples.
    private(set) var headKinds: Set<Int> = []
    /// Which of the types are categories; most files have none.
    private var categories: Set<Int> = []

    /// Whether to learn the shapes of lines.
    private let learns: Bool
    private var shapes = LineShapes()
    private var tokens = LineTokenReader()
    /// What of the line that was read last differs between lines of its shape.
    private var spots: [LineShapes.Spot] = []
    /// The number of lines with a known shape, and of all other lines.
    private(set) var known = 0
    private(set) var unknown = 0

    init(zone: Zone, learns: Bool = true) {
        self.zone = zone
        self.learns = learns
    }

    /// Returns `true` if a new reader and a new batch should take over, before new texts fill the memory.
    func isFull(_ batch: SampleBatch) -> Bool {
        types.values.count + sources.values.count + devices.values.count + batch.kinds.count > LineReader.cacheLimit
    }

    /// Whether a batch can take another line, even one with the longest head: a batch holds 65,535 kinds.
    func hasRoom(in batch: SampleBatch) -> Bool { batch.kinds.count < 1 << 15 }

    /// Returns the settings and states read so far, and forgets them.
    mutating func takeSettings() -> Settings {
        defer { (shadowing, definitions, states) = ([:], [], []) }
        return Settings(shadowing: shadowing, definitions: definitions, states: states)
    }

    /// What lines bring beside samples and orders of sources.
    struct Settings {
        var shadowing: [SampleType: Bool]
        var definitions: [TypeDefinition]
        var states: [StateEntry]
    }

    /// The fields that rows of one kind share, as numbers of the caches; -1 for an absent field.
    private struct KindKey {
        var type = -1
        var unit = -1
        var source = -1
        var isAuthored = false
        var isUserEntered = false

        /// One number for all of it. A batch cannot bring more texts than fit.
        var packed: UInt64 {
            UInt64(type + 1) << 42 | UInt64(unit + 1) << 22 | UInt64(source + 1) << 2 | (isAuthored ? 2 : 0)
                | (isUserEntered ? 1 : 0)
        }
    }

    /// The fields of one line.
    private struct Row {
        var kind = KindKey()
        var id: SampleID?
        var start: Instant?
        var end: Instant?
        var value: Double?
        var extras = SampleBatch.Extras()
        var hasExtras = false
        var modified: Instant?
        var replica: Int64 = 0
        /// The settings of the dump that begins here.
        var head: DumpHead?
        /// Whether the line holds nothing but the head.
        var isHead = false
        var isState = false
        var state: StateEntry?
    }

    /// Reads one line; its sample becomes the next row of `batch`. A blank line has no sample, nor has a line of sync
    /// state or one that holds only the head of a dump.
    mutating func read(_ line: Span<UInt8>, into batch: inout SampleBatch) throws(JSONError) {
        var scanner = JSONScanner(line)
        if scanner.peek() == nil { return }
        let row = try readFields(&scanner)
        try scanner.end()
        if let state = row.state { states.append(state) }
        if let head = row.head, row.isHead { return try take(head, &batch) }
        if row.isState { return }
        try append(row, to: &batch)
        if learns, row.head == nil { learn(line, row, batch) }
    }

    /// Reads the first line of `input` and returns its length, if its shape is known from an earlier line. Otherwise,
    /// or if a token has an unusual form, returns `nil` and changes nothing.
    mutating func readKnown(_ input: Span<UInt8>, into batch: inout SampleBatch) -> Int? {
        var values = LineValues()
        guard let (shape, length) = shapes.shape(of: input, &tokens, &values) else { return nil }
        let meaning = shapes.meanings[shape]
        let end = values.end ?? values.start
        guard values.start <= end, abs(values.value) <= Sample.greatestConverted,
            !meaning.isCategory || Int32(exactly: values.value) != nil
        else { return nil }
        batch.append(
            kind: meaning.kind, start: values.start, end: end, value: values.value, id: values.id ?? SampleID(),
            modified: values.modified.map { ChangeClock(time: $0, replica: values.replica) })
        known += 1
        guard meaning.hasExtras else { return length }
        var extras = shapes.extras[shape]
        if let text = values.syncIdentifier { extras.syncIdentifier = text }
        if let text = values.group { extras.group = text }
        batch.setExtras(extras, row: batch.count - 1)
        return length
    }

    /// Remembers the shape of the last line, unless too few lines so far had a known shape.
    private mutating func learn(_ line: Span<UInt8>, _ row: Row, _ batch: SampleBatch) {
        unknown += 1
        guard unknown < LineReader.unknownLines + known / 4, let kind = batch.kindOfRow.last else { return }
        var values = LineValues()
        for spot in spots {
            let end = tokens.read(spot.token, in: line, at: spot.range.lowerBound, into: &values)
            guard end == spot.range.upperBound else { return }
        }
        let hasExtras = row.hasExtras && row.extras != SampleBatch.Extras()
        let meaning = LineShapes.Meaning(
            kind: Int(kind), isCategory: categories.contains(row.kind.type), hasExtras: hasExtras)
        shapes.learn(line, spots, meaning, row.extras)
    }

    private mutating func readFields(_ scanner: inout JSONScanner) throws(JSONError) -> Row {
        var row = Row()
        var seen: UInt32 = 0
        var index = 0
        spots.removeAll(keepingCapacity: true)
        try scanner.beginObject()
        while let key = try scanner.nextKey(isFirst: index == 0) {
            guard let field = finder.field(scanner.bytes.extracting(key), at: index) else {
                throw JSONError(reason: "a field is not known; known are \(LineReader.knownFields)")
            }
            let bit: UInt32 = 1 << UInt32(field.rawValue)
            if seen & bit != 0 { throw JSONError(reason: "the field \(field.name) occurs twice") }
            seen |= bit
            index += 1
            if scanner.null() { continue }
            let isText = scanner.peek() == 0x22
            let start = scanner.position
            do {
                try read(field, into: &row, &scanner)
            } catch {
                throw JSONError(reason: "\(field.name): \(error.reason)")
            }
            guard let token = LineToken(field) else { continue }
            let inner = isText ? start + 1..<scanner.position - 1 : start..<scanner.position
            spots.append(LineShapes.Spot(token: token, range: inner))
        }
        row.isHead = row.head != nil && index == 1
        if row.isState, index > 1 { throw JSONError(reason: "state must be the only field") }
        return row
    }

    private static let knownFields = LineField.allCases.map(\.name).joined(separator: ", ")

    private mutating func read(_ field: LineField, into row: inout Row, _ scanner: inout JSONScanner) throws(JSONError)
    {
        switch field {
        case .id: row.id = try scanner.sampleID()
        case .type: row.kind.type = try typeNumber(&scanner)
        case .start: row.start = try scanner.instant(in: zone)
        case .end: row.end = try scanner.end(in: zone)
        case .value: row.value = try scanner.double()
        case .unit: row.kind.unit = try unitNumber(&scanner)
        case .source: row.kind.source = try sourceNumber(&scanner)
        case .origin: row.kind.isAuthored = try scanner.isAuthored()
        case .userEntered: row.kind.isUserEntered = try scanner.bool()
        case .shadowed: _ = try scanner.bool()
        case .case: _ = try scanner.string()
        case .modified: row.modified = try scanner.anyInstant(in: zone)
        case .replica: row.replica = try scanner.integer()
        case .dump: row.head = try scanner.dumpHead()
        case .state:
            row.state = try scanner.state()
            row.isState = true
        case .syncIdentifier, .syncVersion, .count, .multiplicity, .device, .metadata, .group, .timeZone, .local,
            .workout, .route, .original, .reversion:
            row.hasExtras = true
            try readExtra(field, into: &row.extras, &scanner)
        }
    }

    private mutating func readExtra(
        _ field: LineField, into extras: inout SampleBatch.Extras, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        switch field {
        case .syncIdentifier: extras.syncIdentifier = try scanner.string()
        case .syncVersion: extras.version = try scanner.integer()
        case .count: extras.count = Int(try scanner.integer())
        case .multiplicity: extras.multiplicity = Int(try scanner.integer())
        case .device: extras.device = try device(&scanner)
        case .metadata: extras.metadata = try scanner.metadata(in: zone)
        case .timeZone: extras.timeZone = try scanner.string()
        case .local: extras.local = try scanner.metadata(in: zone)
        case .workout: extras.workout = try scanner.decoded(Workout.self)
        case .route: extras.route = try scanner.decoded(WorkoutRoute.self)
        case .original: extras.original = try scanner.decoded(Sample.Original.self)
        case .reversion: extras.reversion = try scanner.decoded(Sample.Reversion.self)
        default: extras.group = try scanner.string()
        }
    }

    private mutating func append(_ row: Row, to batch: inout SampleBatch) throws(JSONError) {
        let missing = [
            row.kind.type < 0 ? "type" : nil, row.start == nil ? "start" : nil, row.value == nil ? "value" : nil,
            row.kind.unit < 0 ? "unit" : nil,
        ]
        guard let start = row.start, let value = row.value, row.kind.type >= 0, row.kind.unit >= 0 else {
            throw JSONError(reason: "missing: \(missing.compactMap(\.self).joined(separator: ", "))")
        }
        let end = row.end ?? start
        guard start <= end else { throw JSONError(ModelError.startAfterEnd) }
        if let head = row.head { try take(head, &batch) }
        let kind = try kindNumber(row.kind, in: &batch)
        if categories.contains(row.kind.type), Int32(exactly: value) == nil {
            throw JSONError(reason: "value: a category's is a whole number")
        }
        // A dump of a file that an older release wrote may have such a value.
        try LineReader.validate(value, units.values[row.kind.unit], types.values[row.kind.type])
        var clock: ChangeClock?
        if let modified = row.modified {
            guard let replica = UInt32(exactly: row.replica) else {
                throw JSONError(ModelError.numberOutOfRange(field: "replica"))
            }
            clock = ChangeClock(time: modified, replica: replica)
        }
        if row.hasExtras { try LineReader.validate(row.extras, row.kind, types.values[row.kind.type]) }
        batch.append(kind: kind, start: start, end: end, value: value, id: row.id ?? SampleID(), modified: clock)
        if row.hasExtras, row.extras != SampleBatch.Extras() { batch.setExtras(row.extras, row: batch.count - 1) }
    }

    /// Adds sources in the order of the dumped store, since a store ranks them in the order in which it first sees
    /// them, and notes the settings of types.
    private mutating func take(_ head: DumpHead, _ batch: inout SampleBatch) throws(JSONError) {
        for type in Array(head.priorities.keys) + Array(head.shadowing.keys) { try LineReader.validate(type) }
        guard head.priorities.values.allSatisfy({ $0.count <= DumpHead.sourceLimit }) else {
            throw JSONError(ModelError.numberOutOfRange(field: "sources of an order"))
        }
        for place in head.priorities.values.joined() {
            try LineReader.validate(.stepCount, Source(bundle: place.source.bundle, name: place.source.name))
        }
        for source in head.sources { try LineReader.validate(.stepCount, source) }
        for source in head.sources { headKinds.insert(batch.kind(.stepCount, .count, source: source)) }
        priorities.merge(head.priorities) { $1 }
        shadowing.merge(head.shadowing) { $1 }
        definitions += head.definitions
    }

    /// Returns the batch's number of a kind. Each kind is validated once.
    private mutating func kindNumber(_ key: KindKey, in batch: inout SampleBatch) throws(JSONError) -> Int {
        if let number = kinds[key.packed] { return number }
        let type = types.values[key.type]
        let unit = units.values[key.unit]
        let source = key.source < 0 ? LineReader.defaultSource : sources.values[key.source]
        try LineReader.validate(Sample(type, 0, unit, at: Instant(nanoseconds: 0), source: source, id: .max))
        let number = batch.kind(
            type, unit, source: source, origin: key.isAuthored ? .authored : .imported, isUserEntered: key.isUserEntered
        )
        kinds[key.packed] = number
        if type.kind == .category { categories.insert(key.type) }
        return number
    }

    /// Validates a sample that has only these fields, by ``Sample/validate()``.
    private static func validate(
        _ extras: SampleBatch.Extras, _ kind: KindKey, _ type: SampleType
    ) throws(JSONError) {
        var probe = Sample(
            type, 0, type.canonicalUnit ?? .count, from: Instant(nanoseconds: 0), to: Instant(nanoseconds: 0),
            source: defaultSource, id: .max, syncIdentifier: extras.syncIdentifier, version: extras.version,
            origin: kind.isAuthored ? .authored : .imported, device: extras.device, metadata: extras.metadata,
            group: extras.group)
        (probe.timeZone, probe.local) = (extras.timeZone, extras.local)
        (probe.workout, probe.route, probe.original) = (extras.workout, extras.route, extras.original)
        if let reversion = extras.reversion { probe.reversion = reversion }
        probe.count = extras.count
        probe.multiplicity = extras.multiplicity
        try validate(probe)
    }

    /// Whether a sample can be of that type and source.
    private static func validate(_ type: SampleType, _ source: Source = defaultSource) throws(JSONError) {
        let unit = type.canonicalUnit ?? .count
        try validate(Sample(type, 0, unit, at: Instant(nanoseconds: 0), source: source, id: .max))
    }

    /// Throws if a value is not finite, as entered or in the unit in which its type is summed.
    private static func validate(_ value: Double, _ unit: HealthUnit, _ type: SampleType) throws(JSONError) {
        // The condition is negated so that it also holds for NaN.
        guard !(abs(value) <= Sample.greatestConverted) else { return }
        try validate(Sample(type, value, unit, at: Instant(nanoseconds: 0), source: defaultSource, id: .max))
    }

    private static func validate(_ sample: Sample) throws(JSONError) {
        do { try sample.validate() } catch { throw JSONError(error) }
    }
}

extension LineReader {
    private mutating func typeNumber(_ scanner: inout JSONScanner) throws(JSONError) -> Int {
        let range = try scanner.rawString()
        let json = scanner.bytes
        return try types.number(of: json.extracting(range)) { () throws(JSONError) in
            SampleType(try JSONScanner(json).text(in: range))
        }
    }

    private mutating func unitNumber(_ scanner: inout JSONScanner) throws(JSONError) -> Int {
        let range = try scanner.rawString()
        let json = scanner.bytes
        return try units.number(of: json.extracting(range)) { () throws(JSONError) in
            let symbol = try JSONScanner(json).text(in: range)
            guard let unit = try? HealthUnit(symbol: symbol) else {
                throw JSONError(reason: "a unit as HealthKit writes it was expected, such as kg, mg/dL or count/min")
            }
            return unit
        }
    }

    private mutating func sourceNumber(_ scanner: inout JSONScanner) throws(JSONError) -> Int {
        let range = try scanner.rawTexts()
        let json = scanner.bytes.extracting(range)
        return try sources.number(of: json) { () throws(JSONError) in
            var inner = JSONScanner(json)
            return try inner.source()
        }
    }

    private mutating func device(_ scanner: inout JSONScanner) throws(JSONError) -> Device {
        let range = try scanner.rawTexts()
        let json = scanner.bytes.extracting(range)
        let number = try devices.number(of: json) { () throws(JSONError) in
            var inner = JSONScanner(json)
            return try inner.device()
        }
        return devices.values[number]
    }
}

extension JSONError {
    /// Without the full stop: a reason is part of a sentence.
    init(_ error: ModelError) {
        let text = error.description
        self.init(reason: text.hasSuffix(".") ? String(text.dropLast()) : text)
    }
}
