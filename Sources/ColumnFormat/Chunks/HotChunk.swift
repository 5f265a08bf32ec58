import HealthModel

/// The hot value of a chunk, its header verified. Columns are bounded when they are opened.
public struct HotChunk: ~Escapable {
    public let value: StoredValue
    public let key: ChunkKey
    /// Exclusive upper bound of the owned span.
    public let upper: Point

    /// Reads the header and demands that the value belongs to `key`.
    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        value = try StoredValue(span, table: .chunks, verified: verified)
        (self.key, upper) = try HotChunk.bounds(value, key, tags: ColumnTag.hot)
        // A page may hold what it held at an older commit, whole and under the same chunk's key.
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
    /// How many rows are shadowed.
    public var shadowed: Int { value.marked }

    /// Verifies the checksums of the whole body, and that its times are such as arithmetic holds for: every row starts
    /// within the instants that samples may have, and ends at its start or behind it. Reading columns before this is
    /// reading what nobody vouches for.
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
            // More than the longest of the class, so that the width of the column decides; no end overflows with it.
            guard durations.staysWithin(-1...1 << 56, span) else { throw FormatError(.invalid, "duration") }
            return
        }
        // A duration of over 292 years wraps, and its end is right all the same.
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

    /// Decodes the duration of each row; -1 stands for an open end.
    public func decodeDurations(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.duration).decode(value.span, into: &column)
    }

    /// Decodes the value of each row as entered.
    public func decodeValues(into column: inout OutputColumn<Double>) throws(FormatError) {
        guard rows > 0 else { return }
        try values().decode(value.span, into: &column)
    }

    /// Decodes the number of the source revision of each row.
    public func decodeRevisions(into column: inout OutputColumn<Int64>) throws(FormatError) {
        guard rows > 0 else { return }
        try required(.revision).decode(value.span, into: &column)
    }

    /// Decodes the number of the unit of each row.
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

    /// The unit of all rows, if they share one.
    public func commonUnit() throws(FormatError) -> UInt32? {
        guard rows > 0 else { return nil }
        let units = try required(.unit)
        return units.isConstant ? UInt32(truncatingIfNeeded: units.base) : nil
    }

    /// The revision of all rows, if they share one.
    public func commonRevision() throws(FormatError) -> UInt32? {
        guard rows > 0 else { return nil }
        let revisions = try required(.revision)
        return revisions.isConstant ? UInt32(truncatingIfNeeded: revisions.base) : nil
    }

    /// The numbers of all revisions that rows name.
    public func distinctRevisions() throws(FormatError) -> [UInt32] {
        try required(.revision).distinctValues(value.span).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// The numbers of all units that rows name.
    public func distinctUnits() throws(FormatError) -> [UInt32] {
        try required(.unit).distinctValues(value.span).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// The number of the unit of one row. The body must have been verified.
    public func unit(at row: Int) throws(FormatError) -> UInt32 {
        guard row >= 0, row < rows else { throw FormatError(.invalid, "row") }
        return UInt32(truncatingIfNeeded: try required(.unit).value(value.span, at: row))
    }

    /// The number of the revision of one row. The body must have been verified.
    public func revision(at row: Int) throws(FormatError) -> UInt32 {
        guard row >= 0, row < rows else { throw FormatError(.invalid, "row") }
        return UInt32(truncatingIfNeeded: try required(.revision).value(value.span, at: row))
    }
}

/// Neighbouring rows of a chunk, and the start of the first: others are told from it by what lies between.
public struct FoundRows: Sendable {
    public let rows: Range<Int>
    let start: Int64
}

extension HotChunk {
    /// The rows that start within a stretch of time. Only the column of starts is read; the body is verified.
    public func find(startingIn starts: ClosedRange<Int64>) throws(FormatError) -> FoundRows {
        try verify()
        guard rows > 0 else { return FoundRows(rows: 0..<0, start: 0) }
        let found = try required(.start).rows(value.span, in: starts)
        return FoundRows(rows: found.range, start: found.first)
    }

    /// The same without the first ones that end before an instant.
    public func find(
        startingIn starts: ClosedRange<Int64>, endingFrom instant: Int64
    ) throws(FormatError) -> Range<Int> {
        let found = try find(startingIn: starts)
        guard !found.rows.isEmpty else { return found.rows }
        let starts = try required(.start)
        let durations = try required(.duration)
        var (row, start) = (found.rows.lowerBound, found.start)
        while true {
            let duration = durations.value(value.span, at: row)
            // A negative duration stands for an open end.
            if duration < 0 || start &+ duration >= instant { break }
            row += 1
            guard row < found.rows.upperBound else { break }
            start = starts.step(value.span, from: row - 1, start, to: row)
        }
        return row..<found.rows.upperBound
    }
}

/// The columns of a chunk that statistics need, opened to be read row by row.
public struct HotRows: Sendable {
    fileprivate let durations, revisions, units: IntColumn
    fileprivate let flags: IntColumn?
    fileprivate let values: ValueColumn
}

extension HotChunk {
    /// Opens columns to read a few rows; `nil` when one has to be summed from the first row. The body must have been verified.
    public func openRows() throws(FormatError) -> HotRows? {
        let rows = HotRows(
            durations: try required(.duration), revisions: try required(.revision), units: try required(.unit),
            flags: try integers(.flags), values: try values())
        let columns = [rows.durations, rows.revisions, rows.units, rows.values.integers, rows.flags ?? rows.units]
        return columns.contains { $0.encoding == .differences } ? nil : rows
    }

    /// One row of opened columns: how long it is, -1 for an open end, and what it holds.
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
