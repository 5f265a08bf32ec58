import HealthModel

/// The two values of a chunk back to rows.
public struct ChunkDecoder: ~Escapable {
    private let hot: HotChunk
    private let details: DetailsChunk

    /// Joins the two values. They must own the same span and hold the same number of rows.
    @_lifetime(copy hot, copy details)
    public init(hot: HotChunk, details: DetailsChunk) throws(FormatError) {
        guard hot.key == details.key, hot.upper == details.upper else { throw FormatError(.misplaced, "details") }
        guard hot.rows == details.rows else { throw FormatError(.invalid, "row count") }
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

/// The opened columns of one chunk, read row by row.
private struct RowColumns {
    private var starts: SteppedColumn
    private let durations, units, revisions: IntColumn
    private let flags: IntColumn?
    private let values: ValueColumn
    private let ids: IDColumn
    private var clockTimes, ordinals: SteppedColumn?
    private let versions, clockReplicas, commits, devices, counts, multiplicities: IntColumn?
    private let metadata, groups, syncIdentifiers: [[UInt8]?]?

    /// Opens the columns for reading `range`; the ids of these rows are verified, and every other column of the details.
    init(_ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ range: Range<Int>) throws(FormatError) {
        try details.verifyBesideIDs()
        starts = SteppedColumn(try hot.required(.start))
        durations = try hot.required(.duration)
        units = try hot.required(.unit)
        revisions = try hot.required(.revision)
        flags = try hot.integers(.flags)
        values = try hot.values()
        ids = try details.ids()
        try details.value.verify(ids.storedRange(rows: range))
        versions = try details.unverifiedIntegers(.version)
        clockTimes = try details.unverifiedIntegers(.clockTime).map { SteppedColumn($0) }
        clockReplicas = try details.unverifiedIntegers(.clockReplica)
        commits = try details.unverifiedIntegers(.commit)
        ordinals = try details.unverifiedIntegers(.ordinal).map { SteppedColumn($0) }
        devices = try details.unverifiedIntegers(.device)
        counts = try details.unverifiedIntegers(.count)
        multiplicities = try details.unverifiedIntegers(.multiplicity)
        metadata = try RowColumns.texts(.metadata, details)
        groups = try RowColumns.texts(.group, details)
        syncIdentifiers = try RowColumns.texts(.syncIdentifier, details)
    }

    private static func texts(_ tag: ColumnTag, _ details: borrowing DetailsChunk) throws(FormatError) -> [[UInt8]?]? {
        guard let range = try details.value.column(tag.rawValue) else { return nil }
        return try TextColumn.decode(details.value.span, range, rows: details.rows)
    }

    mutating func row(
        _ index: Int, _ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ resolver: some DerivedIDResolver
    ) throws(FormatError) -> StoredRow {
        let span = hot.value.span
        let cold = details.value.span
        let start = starts.value(span, at: index)
        let duration = durations.value(span, at: index)
        guard duration >= -1 else { throw FormatError(.invalid, "duration") }
        let end = duration == -1 ? Int64.max : start &+ duration
        guard end >= start else { throw FormatError(.invalid, "duration") }
        let bits = UInt16(truncatingIfNeeded: flags?.value(span, at: index) ?? 0)
        guard StoredRow.Flags.known.isSuperset(of: StoredRow.Flags(rawValue: bits)) else {
            throw FormatError(.unknown, "flags")
        }
        var row = StoredRow(
            start: start, end: end, id: .zero, value: values.value(span, at: index),
            unit: UInt32(truncatingIfNeeded: units.value(span, at: index)),
            revision: UInt32(truncatingIfNeeded: revisions.value(span, at: index)),
            flags: StoredRow.Flags(rawValue: bits), version: versions?.value(cold, at: index) ?? 1,
            clockTime: clockTimes?.value(cold, at: index) ?? 0,
            clockReplica: UInt32(truncatingIfNeeded: clockReplicas?.value(cold, at: index) ?? 0),
            commit: UInt64(bitPattern: commits?.value(cold, at: index) ?? 0),
            ordinal: UInt32(truncatingIfNeeded: ordinals?.value(cold, at: index) ?? 0))
        row.device = UInt32(truncatingIfNeeded: devices?.value(cold, at: index) ?? 0)
        row.count = Int32(truncatingIfNeeded: counts?.value(cold, at: index) ?? 1)
        row.multiplicity = Int32(truncatingIfNeeded: multiplicities?.value(cold, at: index) ?? 0)
        row.rare = RareFields(
            syncIdentifier: syncIdentifiers?[index].map { String(decoding: $0, as: UTF8.self) },
            group: groups?[index].map { String(decoding: $0, as: UTF8.self) }, metadata: metadata?[index])
        try setID(&row, ids.id(cold, at: index), hot.key.lane.type, resolver)
        return row
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
