import HealthModel

/// Encodes rows into the two values of a chunk.
public struct ChunkEncoder: Sendable {
    /// The size of a full chunk's hot value in bytes: one page without LMDB's overflow page header.
    public let hotBudget: Int

    /// The maximum number of rows in a chunk: it bounds the bytes that an edit rewrites.
    public static let rowLimit = 2_048

    /// An upper bound for the header and the fixed parts of columns in a hot value, in bytes.
    public static let hotOverhead = 320

    static let hotBlockShift = 12
    static let detailsBlockShift = 10

    public init(pageSize: Int) { self.init(hotBudget: pageSize - 16) }

    public init(hotBudget: Int) { self.hotBudget = hotBudget }

    /// The planned but unwritten hot columns of some rows, so that the number of rows can be chosen by size.
    public struct HotPlan {
        public let rows: Int
        let shadowed: Int
        var starts, durations, units, revisions, flags: IntColumn.Plan
        var values: ValueColumn.Plan
        /// The size of the hot value in bytes.
        public let byteCount: Int
    }

    /// Plans the hot columns of `rows`, which must not be empty.
    public func plan(_ rows: ArraySlice<StoredRow>) -> HotPlan {
        let span = rows.span
        var scratch: [Int64] = []
        scratch.reserveCapacity(rows.count)
        let starts = ChunkEncoder.plan(span, [.differences, .scaled], &scratch) { $0.start }
        let durations = ChunkEncoder.plan(span, .scaled, &scratch) { $0.end == .max ? -1 : $0.end &- $0.start }
        let units = ChunkEncoder.plan(span, [], &scratch) { Int64($0.unit) }
        let revisions = ChunkEncoder.plan(span, [], &scratch) { Int64($0.revision) }
        let flags = ChunkEncoder.plan(span, [], &scratch) { Int64($0.flags.intersection(.stored).rawValue) }
        var doubles: [Double] = []
        doubles.reserveCapacity(rows.count)
        var shadowed = 0
        for index in 0..<span.count {
            doubles.append(span[index].value)
            if span[index].isShadowed { shadowed += 1 }
        }
        let values = ValueColumn.plan(doubles.span)
        let body =
            starts.byteCount + durations.byteCount + values.byteCount + units.byteCount + revisions.byteCount
            + flags.byteCount
        return HotPlan(
            rows: rows.count, shadowed: shadowed, starts: starts, durations: durations, units: units,
            revisions: revisions, flags: flags, values: values,
            byteCount: body
                + StoredValueBuilder.overhead(
                    key: ChunkKey.storedByteCount, upper: Point.byteCount, columns: 6, body: body,
                    blockShift: ChunkEncoder.hotBlockShift))
    }

    /// Plans the column of one field. Most fields are the same in all rows; detects them without a copy.
    @inline(__always)
    static func plan(
        _ rows: Span<StoredRow>, _ hints: IntColumn.Hints, _ scratch: inout [Int64],
        _ field: (borrowing StoredRow) -> Int64
    ) -> IntColumn.Plan {
        let first = field(rows[0])
        var same = 1
        while same < rows.count, field(rows[same]) == first { same += 1 }
        if same == rows.count { return IntColumn.Plan(encoding: .constant, base: first) }
        scratch.removeAll(keepingCapacity: true)
        for index in 0..<rows.count { scratch.append(field(rows[index])) }
        return IntColumn.plan(scratch.span, hints)
    }

    /// Encodes the hot value.
    public func encodeHot(_ plan: HotPlan, key: ChunkKey, upper: Point, stamp: CommitStamp) -> [UInt8] {
        var builder = StoredValueBuilder(
            table: .chunks, key: key.stored(commit: stamp.commit), upper: upper.bytes, reserving: plan.byteCount)
        builder.rows = plan.rows
        builder.marked = plan.shadowed
        builder.column(ColumnTag.start.rawValue) { IntColumn.write(plan.starts, into: &$0) }
        builder.column(ColumnTag.duration.rawValue) { IntColumn.write(plan.durations, into: &$0) }
        builder.column(ColumnTag.value.rawValue) { ValueColumn.write(plan.values, into: &$0) }
        builder.column(ColumnTag.unit.rawValue) { IntColumn.write(plan.units, into: &$0) }
        builder.column(ColumnTag.revision.rawValue) { IntColumn.write(plan.revisions, into: &$0) }
        if plan.flags.encoding != .constant || plan.flags.base != 0 {
            builder.column(ColumnTag.flags.rawValue) { IntColumn.write(plan.flags, into: &$0) }
        }
        return builder.finish(stamp: stamp, blockShift: ChunkEncoder.hotBlockShift)
    }

    /// Encodes the two values of a chunk without rows. The empty chunk owns its span, so that a raw scan of a damaged
    /// file never prefers older copies of its rows.
    public func encodeEmpty(key: ChunkKey, upper: Point, stamp: CommitStamp) -> (hot: [UInt8], details: [UInt8]) {
        let hot = StoredValueBuilder(table: .chunks, key: key.stored(commit: stamp.commit), upper: upper.bytes)
        let details = StoredValueBuilder(table: .details, key: key.bytes, upper: upper.bytes)
        return (
            hot.finish(stamp: stamp, blockShift: ChunkEncoder.hotBlockShift),
            details.finish(stamp: stamp, blockShift: ChunkEncoder.detailsBlockShift)
        )
    }
}
