import HealthModel

/// Rows to the two values of a chunk.
public struct ChunkEncoder: Sendable {
    /// How many bytes the hot value of a full chunk takes: one page less LMDB's header of an overflow page.
    public let hotBudget: Int

    /// More rows than this never share a chunk: it bounds what an edit rewrites.
    public static let rowLimit = 2_048

    static let hotBlockShift = 12
    static let detailsBlockShift = 10

    public init(pageSize: Int) { self.init(hotBudget: pageSize - 16) }

    public init(hotBudget: Int) { self.hotBudget = hotBudget }

    /// The hot columns of some rows, planned but not written, so that the number of rows can be chosen by size.
    public struct HotPlan {
        var starts: [Int64] = []
        var durations: [Int64] = []
        var values: [Double] = []
        var units: [Int64] = []
        var revisions: [Int64] = []
        var flags: [Int64] = []
        var startPlan: IntColumn.Plan
        var durationPlan: IntColumn.Plan
        var valuePlan: ValueColumn.Plan
        var unitPlan: IntColumn.Plan
        var revisionPlan: IntColumn.Plan
        var flagPlan: IntColumn.Plan
        /// How many bytes the hot value will take.
        public var byteCount: Int
        public var rows: Int { starts.count }
    }

    /// Plans the hot columns of `rows`, which must not be empty.
    public func plan(_ rows: ArraySlice<StoredRow>) -> HotPlan {
        var starts: [Int64] = []
        var durations: [Int64] = []
        var values: [Double] = []
        var units: [Int64] = []
        var revisions: [Int64] = []
        var flags: [Int64] = []
        starts.reserveCapacity(rows.count)
        durations.reserveCapacity(rows.count)
        values.reserveCapacity(rows.count)
        units.reserveCapacity(rows.count)
        revisions.reserveCapacity(rows.count)
        flags.reserveCapacity(rows.count)
        for row in rows {
            starts.append(row.start)
            durations.append(row.end == .max ? -1 : row.end &- row.start)
            values.append(row.value)
            units.append(Int64(row.unit))
            revisions.append(Int64(row.revision))
            flags.append(Int64(row.flags.intersection(.stored).rawValue))
        }
        let startPlan = IntColumn.plan(starts.span, [.differences, .scaled])
        let durationPlan = IntColumn.plan(durations.span, [.scaled])
        let valuePlan = ValueColumn.plan(values.span)
        let unitPlan = IntColumn.plan(units.span, [])
        let revisionPlan = IntColumn.plan(revisions.span, [])
        let flagPlan = IntColumn.plan(flags.span, [])
        let body =
            startPlan.byteCount + durationPlan.byteCount + valuePlan.byteCount + unitPlan.byteCount
            + revisionPlan.byteCount + flagPlan.byteCount
        return HotPlan(
            starts: starts, durations: durations, values: values, units: units, revisions: revisions, flags: flags,
            startPlan: startPlan, durationPlan: durationPlan, valuePlan: valuePlan, unitPlan: unitPlan,
            revisionPlan: revisionPlan, flagPlan: flagPlan,
            byteCount: body
                + StoredValueBuilder.overhead(
                    key: ChunkKey.byteCount, upper: Point.byteCount, columns: 6, body: body,
                    blockShift: ChunkEncoder.hotBlockShift))
    }

    /// The hot value.
    public func encodeHot(_ plan: HotPlan, key: ChunkKey, upper: Point, commit: UInt64) -> [UInt8] {
        var builder = StoredValueBuilder(
            table: .chunks, key: key.bytes, upper: upper.bytes, reserving: plan.byteCount)
        builder.rows = plan.rows
        let shadowed = Int64(StoredRow.Flags.shadowed.rawValue)
        builder.marked = plan.flags.count { $0 & shadowed != 0 }
        builder.column(ColumnTag.start.rawValue) { IntColumn.write(plan.starts.span, plan.startPlan, into: &$0) }
        builder.column(ColumnTag.duration.rawValue) { IntColumn.write(plan.durations.span, plan.durationPlan, into: &$0) }
        builder.column(ColumnTag.value.rawValue) { ValueColumn.write(plan.values.span, plan.valuePlan, into: &$0) }
        builder.column(ColumnTag.unit.rawValue) { IntColumn.write(plan.units.span, plan.unitPlan, into: &$0) }
        builder.column(ColumnTag.revision.rawValue) { IntColumn.write(plan.revisions.span, plan.revisionPlan, into: &$0) }
        if plan.flagPlan.encoding != .constant || plan.flagPlan.base != 0 {
            builder.column(ColumnTag.flags.rawValue) { IntColumn.write(plan.flags.span, plan.flagPlan, into: &$0) }
        }
        return builder.finish(commit: commit, blockShift: ChunkEncoder.hotBlockShift)
    }

    /// The two values of a chunk without rows: it owns its span, so that older copies of what was there cannot win.
    public func encodeEmpty(key: ChunkKey, upper: Point, commit: UInt64) -> (hot: [UInt8], details: [UInt8]) {
        let hot = StoredValueBuilder(table: .chunks, key: key.bytes, upper: upper.bytes)
        let details = StoredValueBuilder(table: .details, key: key.bytes, upper: upper.bytes)
        return (
            hot.finish(commit: commit, blockShift: ChunkEncoder.hotBlockShift),
            details.finish(commit: commit, blockShift: ChunkEncoder.detailsBlockShift)
        )
    }
}
