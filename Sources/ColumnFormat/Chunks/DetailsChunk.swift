import HealthModel

/// The cold value of a chunk with a verified header.
public struct DetailsChunk: ~Escapable {
    public let value: StoredValue
    public let key: ChunkKey
    public let upper: Point

    /// Reads the header and requires that the value belongs to `key`.
    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        value = try StoredValue(span, table: .details, verified: verified)
        (self.key, upper) = try HotChunk.bounds(value, key, tags: ColumnTag.details)
    }

    public var rows: Int { value.rows }

    public func verify() throws(FormatError) { try value.verify() }

    func integers(_ tag: ColumnTag) throws(FormatError) -> IntColumn? {
        guard let range = try value.column(tag.rawValue) else { return nil }
        try value.verify(range)
        return try IntColumn(value.span, range, rows: rows)
    }

    /// Verifies all columns except the ids, once for all columns that ``unverifiedIntegers(_:)`` opens.
    func verifyBesideIDs() throws(FormatError) {
        guard let ids = try value.column(ColumnTag.id.rawValue) else { throw FormatError(.invalid, "directory") }
        try value.verifyAll(from: ids.upperBound)
    }

    func unverifiedIntegers(_ tag: ColumnTag) throws(FormatError) -> IntColumn? {
        guard let range = try value.column(tag.rawValue) else { return nil }
        return try IntColumn(value.span, range, rows: rows)
    }

    func ids() throws(FormatError) -> IDColumn {
        guard let range = try value.column(ColumnTag.id.rawValue) else { throw FormatError(.invalid, "directory") }
        try value.verify(range.lowerBound..<min(range.upperBound, range.lowerBound + 8))
        return try IDColumn(value.span, range, rows: rows)
    }

    /// Returns the distinct encoded metadata of the rows.
    public func distinctMetadata() throws(FormatError) -> [[UInt8]] {
        guard let range = try value.column(ColumnTag.metadata.rawValue) else { return [] }
        try value.verify(range)
        return try TextColumn.dictionary(value.span, range, rows: rows).strings
    }

    /// Returns the first row in `range` with this id; searches only stored ids.
    public func row(of id: SampleID, in range: Range<Int>) throws(FormatError) -> Int? {
        guard !range.isEmpty else { return nil }
        guard range.upperBound <= rows else { throw FormatError(.invalid, "row count") }
        let ids = try ids()
        guard ids.encoding != .derived else { return nil }
        try value.verify(ids.storedRange(rows: range))
        for row in range where ids.id(value.span, at: row) == id { return row }
        return nil
    }

    /// Reads the header of a chunk's details and requires that the same commit wrote both values: the details are on
    /// another page, which may be intact but from an older commit.
    @_lifetime(copy span)
    public init(_ span: RawSpan, of chunk: HotChunk, verified: VerifiedBlocks? = nil) throws(FormatError) {
        let key = chunk.key.bytes
        try self.init(span, key: key.rawBytes, verified: verified)
        guard value.stamp == chunk.value.stamp, rows == chunk.rows else { throw FormatError(.misplaced, "commit") }
    }

    /// Returns the stored ids of the rows in `range`, without derived ids.
    public func storedIDs(in range: Range<Int>) throws(FormatError) -> [SampleID] {
        guard !range.isEmpty else { return [] }
        guard range.upperBound <= rows else { throw FormatError(.invalid, "row count") }
        let ids = try ids()
        guard ids.encoding != .derived else { return [] }
        try value.verify(ids.storedRange(rows: range))
        return range.compactMap { ids.id(value.span, at: $0) }
    }

    /// The kinds of strings by which rows are looked up.
    public enum Text: Sendable { case syncIdentifier, group }

    /// Returns the rows in `range` with exactly this string.
    public func rows(with text: [UInt8], _ kind: Text, in range: Range<Int>) throws(FormatError) -> [Int] {
        guard range.upperBound <= rows else { throw FormatError(.invalid, "row count") }
        let tag = kind == .group ? ColumnTag.group : ColumnTag.syncIdentifier
        guard !range.isEmpty, let column = try value.column(tag.rawValue) else { return [] }
        try value.verify(column)
        return try TextColumn.Reader(value.span, column, rows: rows).rows(value.span, with: text, in: range)
    }

    /// Returns the commit of all rows if they share one, as in most chunks after an import.
    public func commonCommit() throws(FormatError) -> UInt64? {
        guard rows > 0, let column = try integers(.commit) else { return 0 }
        return column.isConstant ? UInt64(bitPattern: column.base) : nil
    }
}

extension DetailsChunk {
    /// Returns commit and ordinal of each row whose last change was in one of the wanted commits.
    public func places(
        of wanted: ClosedRange<UInt64>
    ) throws(FormatError) -> [(commit: UInt64, ordinal: UInt32)] {
        guard rows > 0 else { return [] }
        var commits = ScratchColumn<Int64>(capacity: rows)
        var ordinals = ScratchColumn<Int64>(capacity: rows)
        try commits.refill { column throws(FormatError) in try decode(.commit, into: &column) }
        try ordinals.refill { column throws(FormatError) in try decode(.ordinal, into: &column) }
        var found: [(commit: UInt64, ordinal: UInt32)] = []
        for row in 0..<rows {
            let commit = UInt64(bitPattern: commits.span[row])
            if wanted.contains(commit) { found.append((commit, UInt32(truncatingIfNeeded: ordinals.span[row]))) }
        }
        return found
    }

    private func decode(_ tag: ColumnTag, into column: inout OutputColumn<Int64>) throws(FormatError) {
        if let integers = try integers(tag) {
            integers.decode(value.span, into: &column)
        } else {
            column.fill(0, count: rows)
        }
    }
}
