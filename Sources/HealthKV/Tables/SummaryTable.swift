import ColumnFormat
import HealthModel
import LMDB

/// The counts of each type and the sums of its hours.
enum SummaryTable {
    /// The period is the second part of a key: summaries of blocks have the period 1, counts the period 0.
    private static let period: UInt8 = 1

    /// Returns the key of the counts of a type: a period that no summary has.
    static func countsKey(_ type: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 5)
        writer.appendBigEndian(type)
        writer.append(0 as UInt8)
        return writer.bytes
    }

    /// Returns the key of the summary of a block.
    static func key(_ type: UInt32, _ block: Int64) -> [UInt8] {
        var writer = ByteWriter(reserving: 9)
        writer.appendBigEndian(type)
        writer.append(period)
        writer.appendBigEndian(UInt32(bitPattern: Int32(truncatingIfNeeded: block)) ^ 1 << 31)
        return writer.bytes
    }

    /// Returns the type and block of a key; `nil` for keys of counts.
    static func parse(_ key: RawSpan) throws(FormatError) -> (type: UInt32, block: Int64)? {
        let bytes = key.copied()
        if bytes.count == 5, bytes[4] == 0 { return nil }
        guard bytes.count == 9, bytes[4] == period else { throw FormatError(.invalid, "summary key") }
        func word(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        let block = Int64(Int32(bitPattern: word(5..<9) ^ 1 << 31))
        guard SummaryPeriod.blocks.contains(block) else { throw FormatError(.invalid, "summary key") }
        return (word(0..<4), block)
    }

    /// Returns the types that have summaries.
    static func summarizedTypes(in snapshot: Snapshot) throws -> [UInt32] {
        var types: [UInt32] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.summaries])
        var found = try cursor.first()
        while found {
            if let (type, _) = try parse(cursor.key) {
                types.append(type)
                guard type < .max else { break }
                found = try cursor.seek(countsKey(type + 1))
            } else {
                found = try cursor.next()
            }
        }
        return types
    }

    static func counts(of type: UInt32, in snapshot: Snapshot) throws -> TypeCounts {
        if let changed = snapshot.context.state.counts[type] { return changed }
        let key = countsKey(type)
        guard let span = try snapshot.view.get(snapshot.tables[.summaries], key) else { return TypeCounts() }
        return try TypeCounts(span, key: key)
    }

    /// Returns the counts of every type that has any.
    static func allCounts(in snapshot: Snapshot) throws -> [(type: UInt32, counts: TypeCounts)] {
        var all: [(type: UInt32, counts: TypeCounts)] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.summaries])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            guard key.count >= 5 else { throw snapshot.damaged(.summaryMisplaced) }
            let type = key[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            // A type's counts precede its other summaries, of which there may be many.
            if key.count == 5, key[4] == 0, snapshot.context.state.counts[type] == nil {
                all.append((type, try TypeCounts(cursor.value, key: key)))
            }
            guard type < .max else { break }
            found = try cursor.seek(countsKey(type + 1))
        }
        if snapshot.context.state.counts.isEmpty { return all }
        return (all + snapshot.context.state.counts.map { ($0.key, $0.value) }).sorted { $0.type < $1.type }
    }

    /// Stores the counts of a type; none if it has no samples.
    static func put(_ counts: TypeCounts, of type: UInt32, in txn: inout WriteTransaction) throws {
        let key = countsKey(type)
        if counts == TypeCounts() {
            try txn.remove(.summaries, key)
        } else {
            try txn.put(.summaries, key, counts.value(key: key, stamp: txn.stamp))
        }
    }

    /// Stores the summary of a block; none if the block has few samples.
    static func put(
        _ content: SummaryContent, of type: UInt32, _ block: Int64, _ aggregation: SampleType.Aggregation,
        in txn: inout WriteTransaction
    ) throws {
        let key = SummaryTable.key(type, block)
        if content.samples <= txn.environment.limits.thinSamples {
            if try txn.snapshot.view.contains(txn.context.tables[.summaries], key) { try txn.remove(.summaries, key) }
        } else {
            try txn.put(.summaries, key, content.value(key: key, block: block, aggregation, stamp: txn.stamp))
        }
    }

    static func removeSummary(_ type: UInt32, _ block: Int64, in txn: inout WriteTransaction) throws {
        try txn.remove(.summaries, key(type, block))
    }

    /// Returns the summary of a block; `nil` if there is none, so that samples must be read.
    static func summary(_ type: UInt32, _ block: Int64, _ aggregation: SampleType.Aggregation, in snapshot: Snapshot)
        throws -> SummaryContent?
    {
        let key = SummaryTable.key(type, block)
        guard let span = try snapshot.view.get(snapshot.tables[.summaries], key) else { return nil }
        let stored = try SummaryBlock(span, key: key.rawBytes, verified: snapshot.context.verified)
        return try SummaryContent(stored, block: block, aggregation)
    }

    /// Recounts every type, and marks all summaries as stale.
    static func rebuildCounts(in txn: inout WriteTransaction, _ step: () throws -> Void) throws {
        try txn.clear(.summaries)
        txn.state.counts = [:]
        for (type, counts, starts) in try countAll(in: txn.snapshot, step) {
            txn.state.counts[type] = counts
            if let starts { txn.state.stale.mark(type, starts.lowerBound, starts.upperBound) }
        }
    }

    /// Counts every type by reading every row. Also returns the time range that the type covers.
    ///
    /// - Parameter step: called before each chunk; an error that it throws ends the work.
    static func countAll(in snapshot: Snapshot, _ step: () throws -> Void = {}) throws -> [(
        type: UInt32, counts: TypeCounts, starts: ClosedRange<Int64>?
    )] {
        var counts: [UInt32: TypeCounts] = [:]
        var starts: [UInt32: ClosedRange<Int64>] = [:]
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        while try cursor.next() {
            try step()
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            let lane = chunk.key.lane
            let rows = try ChunkTable.allRows(chunk, in: snapshot)
            let hides = try ChunkTable.hidden(rows, lane, in: snapshot)
            for row in rows {
                if hides?(row) ?? false {
                    counts[lane.type, default: TypeCounts()].hidden += 1
                    continue
                }
                counts[lane.type, default: TypeCounts()].add(
                    row, source: try NameTable.revision(row.revision, in: snapshot).sourceNumber, 1)
                let end = row.end == .max ? row.start : row.end
                let known = starts[lane.type]
                starts[lane.type] = min(known?.lowerBound ?? row.start, row.start)...max(known?.upperBound ?? end, end)
            }
        }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value, starts[$0.key]) }
    }

    /// Returns the blocks of a type that have a summary.
    static func summarizedBlocks(_ type: UInt32, _ wanted: ClosedRange<Int64>? = nil, in snapshot: Snapshot) throws
        -> [Int64]
    {
        var blocks: [Int64] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.summaries])
        var found = try cursor.seek(SummaryTable.key(type, wanted?.lowerBound ?? Int64(Int32.min)))
        while found, let (other, block) = try parse(cursor.key), other == type {
            if let wanted, block > wanted.upperBound { break }
            blocks.append(block)
            found = try cursor.next()
        }
        return blocks
    }
}
