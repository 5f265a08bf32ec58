import HealthModel

/// The two values of a chunk back to rows.
public struct ChunkDecoder: ~Escapable {
    private let hot: HotChunk
    private let details: DetailsChunk

    /// Joins the two values. They must own the same span, hold the same number of rows and come from one commit: both are
    /// always written together, so one that lags behind is a page that never reached the disk.
    @_lifetime(copy hot, copy details)
    public init(hot: HotChunk, details: DetailsChunk) throws(FormatError) {
        guard hot.key == details.key, hot.upper == details.upper else { throw FormatError(.misplaced, "details") }
        guard hot.rows == details.rows else { throw FormatError(.invalid, "row count") }
        guard hot.value.commit == details.value.commit else { throw FormatError(.misplaced, "commit") }
        self.hot = hot
        self.details = details
    }

    /// All rows, everything verified: checksums, order, bounds, and that each row lies in the owned span.
    public func rows(_ resolver: some DerivedIDResolver) throws(FormatError) -> [StoredRow] {
        try details.verify()
        return try rows(0..<hot.rows, resolver)
    }

    /// Some rows, as thoroughly verified, with no more of the details read than they need.
    public func rows(_ range: Range<Int>, _ resolver: some DerivedIDResolver) throws(FormatError) -> [StoredRow] {
        try hot.verify()
        guard range.lowerBound >= 0, range.upperBound <= hot.rows else { throw FormatError(.invalid, "row") }
        guard !range.isEmpty else { return [] }
        var columns = try RowColumns(hot, details, range)
        var rows: [StoredRow] = []
        rows.reserveCapacity(range.count)
        var last = hot.key.lower
        for index in range {
            let row = try columns.row(index, hot, details, resolver)
            let point = row.point
            guard index == range.lowerBound ? last <= point : last < point, point < hot.upper,
                row.durationClass == hot.key.lane.duration
            else { throw FormatError(.invalid, "order of rows") }
            rows.append(row)
            last = point
        }
        return rows
    }

    /// One row, with no more decoded than it needs. The hot value must have been verified, as finding the row does.
    public func row(at index: Int, _ resolver: some DerivedIDResolver) throws(FormatError) -> StoredRow {
        guard index >= 0, index < hot.rows else { throw FormatError(.invalid, "row") }
        var columns = try RowColumns(hot, details, index..<index + 1)
        return try columns.row(index, hot, details, resolver)
    }
}

/// The opened columns of one chunk, read row by row. What all rows share is read once, into `common`.
private struct RowColumns {
    private var common: StoredRow
    private var starts: SteppedColumn
    private let durations: IntColumn
    private let values: ValueColumn
    private let ids: IDColumn
    // These are nil where all rows share one value.
    private var clockTimes, ordinals: SteppedColumn?
    private let units, revisions, flags, versions, clockReplicas, commits, devices, counts, multiplicities: IntColumn?
    private let metadata, groups, syncIdentifiers, locals, timeZones, payloads, originals: Texts?
    private let hasTexts: Bool

    /// Opens the columns for reading `range`; the ids of these rows are verified, and every other column of the details.
    init(_ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ range: Range<Int>) throws(FormatError) {
        try details.verifyBesideIDs()
        starts = SteppedColumn(try hot.required(.start))
        durations = try hot.required(.duration)
        values = try hot.values()
        ids = try details.ids()
        try details.value.verify(ids.storedRange(rows: range))
        var row = StoredRow(
            start: 0, end: 0, id: .zero, value: 0, unit: 0, revision: 0, flags: [], version: 0, clockTime: 0,
            clockReplica: 0, commit: 0, ordinal: 0)
        units = RowColumns.varying(try hot.required(.unit), 0) { row.setUnit($0) }
        revisions = RowColumns.varying(try hot.required(.revision), 0) { row.setRevision($0) }
        var bits: Int64 = 0
        flags = RowColumns.varying(try hot.integers(.flags), 0) { bits = $0 }
        try row.setFlags(bits)
        versions = RowColumns.varying(try details.unverifiedIntegers(.version), 1) { row.version = $0 }
        clockTimes = RowColumns.varying(try details.unverifiedIntegers(.clockTime), 0) { row.clockTime = $0 }
            .map { SteppedColumn($0) }
        clockReplicas = RowColumns.varying(try details.unverifiedIntegers(.clockReplica), 0) { row.setClockReplica($0) }
        commits = RowColumns.varying(try details.unverifiedIntegers(.commit), 0) { row.setCommit($0) }
        ordinals = RowColumns.varying(try details.unverifiedIntegers(.ordinal), 0) { row.setOrdinal($0) }
            .map { SteppedColumn($0) }
        devices = RowColumns.varying(try details.unverifiedIntegers(.device), 0) { row.setDevice($0) }
        counts = RowColumns.varying(try details.unverifiedIntegers(.count), 1) { row.setCount($0) }
        multiplicities = RowColumns.varying(try details.unverifiedIntegers(.multiplicity), 0) {
            row.setMultiplicity($0)
        }
        common = row
        metadata = try Texts(.metadata, details, range)
        groups = try Texts(.group, details, range)
        syncIdentifiers = try Texts(.syncIdentifier, details, range)
        locals = try Texts(.local, details, range)
        timeZones = try Texts(.timeZone, details, range)
        payloads = try Texts(.payload, details, range)
        originals = try Texts(.original, details, range)
        let all = [metadata, groups, syncIdentifiers, locals, timeZones, payloads, originals]
        hasTexts = all.contains { $0 != nil }
    }

    /// The column if its rows differ; else tells `set` what they all hold.
    private static func varying(_ column: IntColumn?, _ usual: Int64, _ set: (Int64) -> Void) -> IntColumn? {
        guard let column else {
            set(usual)
            return nil
        }
        guard column.encoding == .constant else { return column }
        set(column.base)
        return nil
    }

    mutating func row(
        _ index: Int, _ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ resolver: some DerivedIDResolver
    ) throws(FormatError) -> StoredRow {
        let span = hot.value.span
        let cold = details.value.span
        var row = common
        row.start = starts.value(span, at: index)
        let duration = durations.value(span, at: index)
        // A duration of over 292 years wraps, and its end is right all the same.
        row.end = duration == -1 ? Int64.max : row.start &+ duration
        guard row.end >= row.start, Instant(nanoseconds: row.start).isRepresentable else {
            throw FormatError(.invalid, "duration")
        }
        row.value = values.value(span, at: index)
        if let units { row.setUnit(units.value(span, at: index)) }
        if let revisions { row.setRevision(revisions.value(span, at: index)) }
        if let flags { try row.setFlags(flags.value(span, at: index)) }
        if let versions { row.version = versions.value(cold, at: index) }
        if let time = clockTimes?.value(cold, at: index) { row.clockTime = time }
        if let clockReplicas { row.setClockReplica(clockReplicas.value(cold, at: index)) }
        if let commits { row.setCommit(commits.value(cold, at: index)) }
        if let ordinal = ordinals?.value(cold, at: index) { row.setOrdinal(ordinal) }
        if let devices { row.setDevice(devices.value(cold, at: index)) }
        if let counts { row.setCount(counts.value(cold, at: index)) }
        if let multiplicities { row.setMultiplicity(multiplicities.value(cold, at: index)) }
        if hasTexts { row.rare = try rareFields(index, cold) }
        guard row.version >= 0, row.version < .max, row.count >= 1, row.multiplicity >= 0 else {
            throw FormatError(.invalid, "version or count")
        }
        try setID(&row, ids.id(cold, at: index), hot.key.lane.type, resolver)
        return row
    }

    private func rareFields(_ index: Int, _ span: RawSpan) throws(FormatError) -> RareFields? {
        func text(_ column: Texts?) throws(FormatError) -> String? {
            try bytes(column).map { String(decoding: $0, as: UTF8.self) }
        }
        func bytes(_ column: Texts?) throws(FormatError) -> [UInt8]? { try column?.text(span, at: index) }
        var content = RareFields.Content()
        content.syncIdentifier = try text(syncIdentifiers)
        content.group = try text(groups)
        content.metadata = try bytes(metadata)
        content.local = try bytes(locals)
        content.timeZone = try text(timeZones)
        content.payload = try bytes(payloads)
        content.original = try bytes(originals)
        return RareFields(content)
    }

    private func setID(
        _ row: inout StoredRow, _ stored: SampleID?, _ type: UInt32, _ resolver: some DerivedIDResolver
    ) throws(FormatError) {
        if let stored {
            row.id = stored
            return
        }
        guard let prefix = resolver.derivedPrefix(type: type, revision: row.revision) else {
            throw FormatError(.invalid, "name of a source")
        }
        row.flags.insert(.derivedID)
        row.id = DerivedID.id(
            prefix, start: row.start, end: row.end,
            value: resolver.canonicalValue(row.value, unit: row.unit, type: type), multiplicity: Int(row.multiplicity))
    }
}

/// A column of strings: all of them at once where many rows are read, one by one where few are.
private enum Texts {
    case all([[UInt8]?])
    case single(TextColumn.Reader)

    private static let few = 4

    /// `nil` when no row has a string.
    init?(_ tag: ColumnTag, _ details: borrowing DetailsChunk, _ rows: Range<Int>) throws(FormatError) {
        guard let range = try details.value.column(tag.rawValue) else { return nil }
        self =
            rows.count > Texts.few
            ? .all(try TextColumn.decode(details.value.span, range, rows: details.rows))
            : .single(try TextColumn.Reader(details.value.span, range, rows: details.rows))
    }

    func text(_ span: RawSpan, at row: Int) throws(FormatError) -> [UInt8]? {
        switch self {
        case .all(let texts): texts[row]
        case .single(let reader): try reader.text(span, at: row)
        }
    }
}

/// A column that is read row after row: differences are summed from the row that was read last, not from the first.
private struct SteppedColumn {
    private let column: IntColumn
    private var position = -1
    private var latest: Int64 = 0

    init(_ column: IntColumn) { self.column = column }

    @inline(__always)
    mutating func value(_ span: RawSpan, at row: Int) -> Int64 {
        guard column.encoding == .differences else { return column.value(span, at: row) }
        let isBehind = position >= 0 && row >= position
        latest = isBehind ? column.step(span, from: position, latest, to: row) : column.value(span, at: row)
        position = row
        return latest
    }
}

/// Fields from the integers of their columns. What does not fit was never written, and damage is found by checksums.
extension StoredRow {
    fileprivate mutating func setUnit(_ number: Int64) { unit = UInt32(truncatingIfNeeded: number) }
    fileprivate mutating func setRevision(_ number: Int64) { revision = UInt32(truncatingIfNeeded: number) }
    fileprivate mutating func setClockReplica(_ number: Int64) { clockReplica = UInt32(truncatingIfNeeded: number) }
    fileprivate mutating func setCommit(_ number: Int64) { commit = UInt64(bitPattern: number) }
    fileprivate mutating func setOrdinal(_ number: Int64) { ordinal = UInt32(truncatingIfNeeded: number) }
    fileprivate mutating func setDevice(_ number: Int64) { device = UInt32(truncatingIfNeeded: number) }
    fileprivate mutating func setCount(_ number: Int64) { count = Int32(truncatingIfNeeded: number) }
    fileprivate mutating func setMultiplicity(_ number: Int64) { multiplicity = Int32(truncatingIfNeeded: number) }

    fileprivate mutating func setFlags(_ bits: Int64) throws(FormatError) {
        flags = Flags(rawValue: UInt16(truncatingIfNeeded: bits))
        guard Flags.known.isSuperset(of: flags) else { throw FormatError(.unknown, "flags") }
    }
}
