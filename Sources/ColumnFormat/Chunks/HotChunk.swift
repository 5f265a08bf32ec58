import HealthModel

/// The hot value of a chunk with a verified header. Column bounds are checked when a column is opened.
public struct HotChunk: ~Escapable {
    public let value: StoredValue
    public let key: ChunkKey
    /// The exclusive upper bound of the owned span.
    public let upper: Point

    /// Reads the header and requires that the value belongs to `key`.
    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        value = try StoredValue(span, table: .chunks, verified: verified)
        (self.key, upper) = try HotChunk.bounds(value, key, tags: ColumnTag.hot)
        // A page may hold an intact older version of this chunk, under the same chunk key.
        if let commit = ChunkKey.commit(key), commit != value.commit { throw FormatError(.misplaced, "commit") }
    }

    static func bounds(
        _ value: borrowing StoredValue, _ key: RawSpan, tags: ColumnTag.Mask
    ) throws(FormatError) -> (ChunkKey, Point) {
        let own = try ChunkKey(value.key)
        guard try ChunkKey(key) == own else { throw FormatError(.misplaced, "key") }
        let upper = try Point(bound: value.upper)
        guard own.lower < upper else { throw FormatError(.invalid, "owned span") }
        guard value.rows <= ChunkEncoder.rowLimit else { throw FormatError(.invalid, "row count") }
        for index in 0..<value.columns where !tags.contains(value.tag(index)) { throw FormatError(.unknown, "column") }
        return (own, upper)
    }

    public var rows: Int { value.rows }
    /// The number of shadowed rows.
    public var shadowed: Int { value.marked }

    /// Verifies the checksums of the whole body, and that its times are safe for arithmetic: every row starts within
    /// the range of valid instants and does not end before its start. Columns read before this call are untrusted.
    public func verify() throws(FormatError) {
        try value.verify()
        try value.once { () throws(FormatError) in try verifyTimes() }
    }

    private func verifyTimes() throws(FormatError) {
        guard rows > 0 else { return }
        let (starts, durations, span) = (try required(.start), try required(.duration), value.span)
        let instants = Instant.earliest.nanoseconds...Instant.latest.nanoseconds - 1
        guard starts.staysWithin(instants, span) else { throw FormatError(.invalid, "start") }
        if key.lane.duration != .long {
            // A bound above the longest duration of the class, so that the column's width decides without a scan. No
            // end overflows with this bound.
            guard durations.staysWithin(-1...1 << 56, span) else { throw FormatError(.invalid, "duration") }
            return
        }
        // A duration of over 292 years wraps around, but the end is still correct.
        var ends: [Int64] = []
        ends.reserveCapacity(rows)
        durations.forEachValue(span) { _, duration in ends.append(duration) }
        var isSound = true
        starts.forEachValue(span) { row, start in
            let end = start &+ ends[row]
            isSound = isSound && (ends[row] == -1 || end >= start && end <= instants.upperBound)
        }
        if !isSound { throw FormatError(.invalid, "duration") }
    }

    func integers(_ tag: ColumnTag) throws(FormatError) -> IntColumn? {
        guard let range = try value.column(tag.rawValue) else { return nil }
        return try IntColumn(value.span, range, rows: rows)
    }

    func required(_ tag: ColumnTag) throws(FormatError) -> IntColumn {
        guard let column = try integers(tag) else { throw FormatError(.invalid, "directory") }
        return column
    }

    func values() throws(FormatError) -> ValueColumn {
        guard let range = try value.column(ColumnTag.value.rawValue) else { throw FormatError(.invalid, "directory") }
        return try ValueColumn(value.span, range, rows: rows)
    }

    /// Decodes the start of each row.
    public func decodeStarts(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.start).decode(value.span, into: &column)
    }

    /// Decodes the duration of each row; -1 means an open end.
    public func decodeDurations(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.duration).decode(value.span, into: &column)
    }

    /// Decodes the value of each row, as entered.
    public func decodeValues(into column: inout OutputColumn<Double>) throws(FormatError) {
        guard rows > 0 else { return }
        try values().decode(value.span, into: &column)
    }

    /// Decodes the source revision's number of each row.
    public func decodeRevisions(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.revision).decode(value.span, into: &column)
    }

    /// Decodes the unit's number of each row.
    public func decodeUnits(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.unit).decode(value.span, into: &column)
    }

    /// Decodes the flags of each row.
    public func decodeFlags(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        if let flags = try integers(.flags) {
            flags.decode(value.span, into: &column)
        } else {
            column.fill(0, count: rows)
        }
    }

    /// Returns the unit of all rows if they share one.
    public func commonUnit() throws(FormatError) -> UInt32? {
        guard rows > 0 else { return nil }
        let units = try required(.unit)
        return units.isConstant ? UInt32(truncatingIfNeeded: units.base) : nil
    }

    /// Returns the revision of all rows if they share one.
    public func commonRevision() throws(FormatError) -> UInt32? {
        guard rows > 0 else { return nil }
        let revisions = try required(.revision)
        return revisions.isConstant ? UInt32(truncatingIfNeeded: revisions.base) : nil
    }

    /// Returns the numbers of all revisions in the rows.
    public func distinctRevisions() throws(FormatError) -> [UInt32] {
        try required(.revision).distinctValues(value.span).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// Returns the numbers of all units in the rows.
    public func distinctUnits() throws(FormatError) -> [UInt32] {
        try required(.unit).distinctValues(value.span).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// Returns the unit's number of one row. The body must be verified already.
    public func unit(at row: Int) throws(FormatError) -> UInt32 {
        guard row >= 0, row < rows else { throw FormatError(.invalid, "row") }
        return UInt32(truncatingIfNeeded: try required(.unit).value(value.span, at: row))
    }

    /// Returns the revision's number of one row. The body must be verified already.
    public func revision(at row: Int) throws(FormatError) -> UInt32 {
        guard row >= 0, row < rows else { throw FormatError(.invalid, "row") }
        return UInt32(truncatingIfNeeded: try required(.revision).value(value.span, at: row))
    }
}

/// A range of consecutive rows of a chunk, with the start of the first row: the starts of the others are computed from
/// it.
public struct FoundRows: Sendable {
    public let rows: Range<Int>
    let start: Int64
}

extension HotChunk {
    /// Returns the rows that start within a range of time. Verifies the body; decodes only the column of starts.
    public func find(startingIn starts: ClosedRange<Int64>) throws(FormatError) -> FoundRows {
        try verify()
        guard rows > 0 else { return FoundRows(rows: 0..<0, start: 0) }
        let found = try required(.start).rows(value.span, in: starts)
        return FoundRows(rows: found.range, start: found.first)
    }

    /// Returns the same rows, without leading rows that end before an instant.
    public func find(
        startingIn starts: ClosedRange<Int64>, endingFrom instant: Int64
    ) throws(FormatError) -> FoundRows {
        try verify()
        guard rows > 0 else { return FoundRows(rows: 0..<0, start: 0) }
        let durations = try required(.duration)
        var starts = starts
        // Rows that start earlier than the longest of the chunk before the instant need not be looked at. A negative
        // duration means an open end.
        if let reach = durations.reach(value.span), reach.lowerBound >= 0 {
            let (earliest, overflow) = instant.subtractingReportingOverflow(reach.upperBound)
            if !overflow, earliest > starts.lowerBound { starts = min(earliest, starts.upperBound)...starts.upperBound }
        }
        let found = try find(startingIn: starts)
        guard !found.rows.isEmpty else { return found }
        return try skip(endingBefore: instant, found, durations)
    }

    private func skip(
        endingBefore instant: Int64, _ found: FoundRows, _ durations: IntColumn
    ) throws(FormatError) -> FoundRows {
        let starts = try required(.start)
        var (row, start) = (found.rows.lowerBound, found.start)
        while true {
            let duration = durations.value(value.span, at: row)
            if duration < 0 || start &+ duration >= instant { break }
            row += 1
            guard row < found.rows.upperBound else { break }
            start = starts.step(value.span, from: row - 1, start, to: row)
        }
        return FoundRows(rows: row..<found.rows.upperBound, start: start)
    }
}

/// The columns of a chunk that statistics need, opened for reading row by row.
public struct HotRows: Sendable {
    fileprivate let durations, revisions, units: IntColumn
    fileprivate let flags: IntColumn?
    fileprivate let values: ValueColumn
}

extension HotChunk {
    /// Opens columns for reading a few rows. Returns `nil` if a column would have to be summed from the first row. The
    /// body must be verified already.
    public func openRows() throws(FormatError) -> HotRows? {
        let rows = HotRows(
            durations: try required(.duration), revisions: try required(.revision), units: try required(.unit),
            flags: try integers(.flags), values: try values())
        let columns = [rows.durations, rows.revisions, rows.units, rows.values.integers, rows.flags ?? rows.units]
        return columns.contains { $0.encoding == .differences } ? nil : rows
    }

    /// Returns one row of opened columns; the duration is -1 for an open end.
    public func row(_ columns: HotRows, at row: Int) -> (
        duration: Int64, value: Double, revision: UInt32, unit: UInt32, flags: UInt16
    ) {
        (
            columns.durations.value(value.span, at: row), columns.values.value(value.span, at: row),
            UInt32(truncatingIfNeeded: columns.revisions.value(value.span, at: row)),
            UInt32(truncatingIfNeeded: columns.units.value(value.span, at: row)),
            columns.flags.map { UInt16(truncatingIfNeeded: $0.value(value.span, at: row)) } ?? 0
        )
    }
}
